package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func newWatchCommand() *cobra.Command {
	return &cobra.Command{Use: "watch", RunE: func(*cobra.Command, []string) error { return errors.New("not built yet") }}
}

package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func newRunCommand() *cobra.Command {
	return &cobra.Command{Use: "run", RunE: func(*cobra.Command, []string) error { return errors.New("not built yet") }}
}

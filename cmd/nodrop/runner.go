package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func newRunnerCommand() *cobra.Command {
	return &cobra.Command{Use: "runner", RunE: func(*cobra.Command, []string) error { return errors.New("not built yet") }}
}

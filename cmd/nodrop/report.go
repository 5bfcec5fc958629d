package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func newReportCommand() *cobra.Command {
	return &cobra.Command{Use: "report", RunE: func(*cobra.Command, []string) error { return errors.New("not built yet") }}
}

package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func newOperatorCommand() *cobra.Command {
	return &cobra.Command{Use: "operator", RunE: func(*cobra.Command, []string) error { return errors.New("not built yet") }}
}

package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func newDeviceCommand() *cobra.Command {
	return &cobra.Command{Use: "device", RunE: func(*cobra.Command, []string) error { return errors.New("not built yet") }}
}

//go:build !standalone

package main

import (
	"context"
	"fmt"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/internal/dut"
	"nodrop.dev/nodrop/internal/dut/device"
)

func newDeviceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "device",
		Short: "Start and stop the virtual device of a bed",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newDeviceActionCommand("up", `Deploy a containerlab topology anew, and return once the device's container runs
and its links are up.`, func(ctx context.Context, d device.Driver) error {
			if err := d.Prepare(ctx); err != nil {
				return err
			}
			return d.Configure(ctx)
		}),
		newDeviceActionCommand("down", `Destroy a containerlab topology. It succeeds when nothing is there, and clears up
after a deployment that ended half way.`, func(ctx context.Context, d device.Driver) error { return d.Restore(ctx) }),
	)
	return cmd
}

func newDeviceActionCommand(name, long string, act func(context.Context, device.Driver) error) *cobra.Command {
	var lab dut.Containerlab
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   name,
		Short: map[string]string{"up": "Start the device", "down": "Stop the device"}[name],
		Long:  long + "\n\nExit codes: 0 when done, 1 otherwise.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			lab.Output = cmd.ErrOrStderr()
			if err := act(ctx, &lab); err != nil {
				return fmt.Errorf("device %s: %w", name, err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "device %s: done\n", name)
			return nil
		},
	}
	cmd.Flags().StringVar(&lab.Topology, "topology", "", "containerlab topology file; the files beside it belong to it (required)")
	cmd.Flags().StringVar(&lab.Node, "node", "", "node of the topology that is the device under test (required)")
	cmd.Flags().StringVar(&lab.Dir, "dir", "/var/lib/nodrop/labs", "where the topology is copied to, the same directory here and where the container runtime is; empty uses the files where they are")
	cmd.Flags().StringVar(&lab.Binary, "containerlab", "containerlab", "containerlab's program")
	cmd.Flags().DurationVar(&timeout, "timeout", 2*time.Minute, "how long it may take")
	_ = cmd.MarkFlagRequired("topology")
	_ = cmd.MarkFlagRequired("node")
	return cmd
}

//go:build !standalone

package inpod

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/internal/dut"
	"nodrop.dev/nodrop/internal/dut/router"
)

// NewDeviceCommand returns the command that starts and stops a virtual device, and configures others.
func NewDeviceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "device",
		Short: "Start, stop and configure the device of a bed",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDeviceUpCommand(), newDeviceDownCommand(), newDeviceConfigureCommand(), newDeviceCompareCommand(), newDeviceTelemetryCommand())
	return cmd
}

func newDeviceUpCommand() *cobra.Command {
	var placement, sessions string
	cmd := newDeviceActionCommand("up", `Deploy a containerlab topology anew, and return once the device's container runs
and its links are up. With --sessions the files device.frr.conf and device.bird.conf,
where the topology mentions them, are made from the BGP sessions of the bed. With --placement the device takes in what it receives from
the host on processors of its own, where there are two or more.`, func(ctx context.Context, lab *dut.Containerlab) error {
		if sessions != "" {
			var bed router.BedSessions
			if err := readJSON(sessions, &bed); err != nil {
				return err
			}
			lab.Files = bed.Files
		}
		if err := lab.Prepare(ctx); err != nil {
			return err
		}
		if err := lab.Configure(ctx); err != nil || placement == "" {
			return err
		}
		text, err := json.Marshal(lab.Place())
		if err == nil {
			err = os.WriteFile(placement, text, 0o600)
		}
		if err != nil {
			return fmt.Errorf("reporting the device's processors: %w", err)
		}
		return nil
	})
	cmd.Flags().StringVar(&sessions, "sessions", "", "file with the sessions of the bed; empty for a bed without")
	cmd.Flags().StringVar(&placement, "placement", "", "file that gets, as JSON, which processors the device has of its own, or why it has none; without it the device works in the processor time of its senders")
	return cmd
}

func newDeviceDownCommand() *cobra.Command {
	return newDeviceActionCommand("down", `Destroy a containerlab topology. It succeeds when nothing is there, and clears up
after a deployment that ended half way.`, func(ctx context.Context, lab *dut.Containerlab) error { return lab.Restore(ctx) })
}

func newDeviceActionCommand(name, long string, act func(context.Context, *dut.Containerlab) error) *cobra.Command {
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
	cmd.Flags().StringVar(&lab.Topology, "topology", "", "containerlab topology file; the other files of its directory belong to it (required)")
	cmd.Flags().StringVar(&lab.Node, "node", "", "node of the topology that is the device under test (required)")
	cmd.Flags().StringVar(&lab.Dir, "dir", "/var/lib/nodrop/labs", "where the topology is copied to, the same directory here and where the container runtime is; empty uses the files where they are")
	cmd.Flags().StringVar(&lab.Binary, "containerlab", "containerlab", "containerlab's program")
	cmd.Flags().DurationVar(&timeout, "timeout", 2*time.Minute, "how long it may take")
	_ = cmd.MarkFlagRequired("topology")
	_ = cmd.MarkFlagRequired("node")
	return cmd
}

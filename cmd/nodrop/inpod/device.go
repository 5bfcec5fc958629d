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
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/device"
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
	var report, sessions, configuration string
	var own bool
	cmd := newDeviceActionCommand("up", `Deploy a containerlab topology anew, and return once the device's container runs
and its links are up. With --sessions the files device.frr.conf and device.bird.conf,
where the topology mentions them, are made from the BGP sessions of the bed. With --configuration the node gets a
configuration through the container runtime, which is then read back. A node that rejects a line is left as it is.
With --own-processors the device takes in what it receives from the host on processors of its own, where there
are two or more.`, func(ctx context.Context, lab *dut.Containerlab) error {
		if sessions != "" {
			var bed router.BedSessions
			if err := readJSON(sessions, &bed); err != nil {
				return err
			}
			lab.Files = bed.Files
		}
		if configuration != "" {
			lab.Configuration = &device.Node{}
			if err := readJSON(configuration, lab.Configuration); err != nil {
				return err
			}
		}
		if err := lab.Prepare(ctx); err != nil {
			return err
		}
		if err := lab.Configure(ctx); err != nil {
			if report != "" {
				_ = os.WriteFile(report, []byte(err.Error()), 0o600) // The end of the log also has what containerlab printed.
			}
			return err
		}
		started := device.Started{Configuration: lab.Configured()}
		if own {
			started.Placement = lab.Place()
		}
		return writeStarted(report, &started)
	})
	cmd.Flags().StringVar(&sessions, "sessions", "", "file with the sessions of the bed; empty for a bed without")
	cmd.Flags().StringVar(&configuration, "configuration", "", "file with the configuration of the node, and with its base; without it the node is as the topology starts it")
	cmd.Flags().BoolVar(&own, "own-processors", false, "give the device processors of its own; without it the device works in the processor time of its senders")
	cmd.Flags().StringVar(&report, "report", "", "file that gets, as JSON, which processors the device has of its own, or why it has none, and how the node got its configuration; or why it did not get it")
	return cmd
}

// writeStarted writes the report of a started device to a file, if there is one.
func writeStarted(file string, started *device.Started) error {
	if file == "" {
		return nil
	}
	if started.Configuration != nil {
		configure.Shorten(started.Configuration, started)
	}
	text, err := json.Marshal(started)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("reporting how the device was started: %w", err)
	}
	return nil
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

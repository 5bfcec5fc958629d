//go:build !standalone

package inpod

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/platform"
)

// managedDevice contains the flags of commands that configure or compare a device.
type managedDevice struct {
	platform, address, access, base string
	within                          time.Duration
	report                          string
}

func (m *managedDevice) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&m.platform, "platform", "", "kind of the device: "+platform.Names()+" (required)")
	cmd.Flags().StringVar(&m.address, "address", "", "HOST:PORT of its server (required)")
	cmd.Flags().StringVar(&m.access, "access", "", "folder with the keys of its Secret as files (required)")
	cmd.Flags().StringVar(&m.base, "base", "", "file with the base configuration (required)")
	cmd.Flags().DurationVar(&m.within, "within", 2*time.Minute, "how long it may take")
	cmd.Flags().StringVar(&m.report, "report", "", "file that gets the result as JSON")
	for _, name := range []string{"platform", "address", "access", "base"} {
		_ = cmd.MarkFlagRequired(name)
	}
}

// run calls f with the driver and the base of the device, in a context that ends in time and with a signal,
// and writes what f returns.
func (m *managedDevice) run(cmd *cobra.Command, f func(ctx context.Context, d configure.Driver, base configure.Configuration) (any, error)) error {
	kind, err := platform.Named(m.platform)
	if err != nil {
		return fmt.Errorf("--platform: %w", err)
	}
	driver, err := kind.Driver(configure.Reach{Address: m.address, Key: keysIn(m.access)})
	if err != nil {
		return fmt.Errorf("the Secret of the device: %w", err)
	}
	base, err := configure.WholeFile(driver.Language(), m.base)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, m.within, fmt.Errorf("%v are over", m.within))
	defer cancel()
	result, err := f(ctx, driver, base)
	if err != nil {
		return withRemedy(err, m.address)
	}
	out, err := json.Marshal(result)
	if err == nil && m.report != "" {
		err = os.WriteFile(m.report, out, 0o600)
	}
	fmt.Fprintln(cmd.OutOrStdout(), string(out))
	return err
}

func newDeviceConfigureCommand() *cobra.Command {
	var m managedDevice
	var configuration string
	cmd := &cobra.Command{
		Use:   "configure",
		Short: "Give a device a configuration",
		Long: `Enter the commands that bring a device into a configuration, and read it back. The operator runs
it in pods before and after a benchmark. A device that rejects a command is left as it is: the
operator then restores its base.

Exit codes: 0 when the device reports the configuration, 1 otherwise.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return m.run(cmd, func(ctx context.Context, d configure.Driver, base configure.Configuration) (any, error) {
				wanted, err := configure.WholeFile(d.Language(), configuration)
				if err != nil {
					return nil, err
				}
				record, err := configure.Apply(ctx, d, wanted, 0)
				if err != nil {
					return nil, err
				}
				return record.Summary(d.Language(), base), nil
			})
		},
	}
	m.addFlags(cmd)
	cmd.Flags().StringVar(&configuration, "configuration", "", "file with the whole configuration (required)")
	_ = cmd.MarkFlagRequired("configuration")
	return cmd
}

func newDeviceCompareCommand() *cobra.Command {
	var m managedDevice
	var restore bool
	cmd := &cobra.Command{
		Use:   "compare",
		Short: "Compare what a device has with its base configuration",
		Long: `Read the configuration of a device, and write as JSON how it differs from its base. The
operator runs it in pods before it leases a bed, and from time to time. With --restore the device
gets its base first.

Exit codes: 0 when the comparison was written, also of a device that cannot be reached; 1 otherwise.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return m.run(cmd, func(ctx context.Context, d configure.Driver, base configure.Configuration) (any, error) {
				if restore {
					_, err := configure.Apply(ctx, d, base, 0)
					return configure.Compare(d.Language(), base, base, err), nil
				}
				have, err := configure.Read(ctx, d)
				return configure.Compare(d.Language(), base, have, err), nil
			})
		},
	}
	m.addFlags(cmd)
	cmd.Flags().BoolVar(&restore, "restore", false, "give the device its base first")
	return cmd
}

// withRemedy adds to the error of a device that is not reached what often keeps a pod from it.
func withRemedy(err error, address string) error {
	if !errors.Is(err, configure.ErrUnreachable) {
		return err
	}
	return hint.With(err, "from the nodes, check that "+address+" answers; the chart allows pods to reach what networkPolicy.managementEgress lists")
}

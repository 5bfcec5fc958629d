//go:build !standalone

package inpod

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/sshcli"
)

func newDeviceConfigureCommand() *cobra.Command {
	var c sshcli.Config
	var platform, access, configuration, report string
	var within time.Duration
	cmd := &cobra.Command{
		Use:   "configure",
		Short: "Give a device a configuration",
		Long: `Enter the commands that bring a device into a configuration, and read it back. The operator runs
it in pods before and after a benchmark. A device that rejects a command is left as it is: the
operator then restores its base.

Exit codes: 0 when the device reports the configuration, 1 otherwise.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.Platform = sshcli.Named(platform); c.Platform == nil {
				return fmt.Errorf("--platform: Unsupported value: %q: want %s", platform, sshcli.Names())
			}
			if err := readAccess(&c, access); err != nil {
				return err
			}
			text, err := os.ReadFile(configuration)
			if err != nil {
				return err
			}
			driver, err := sshcli.New(c)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("%v are over", within))
			defer cancel()
			record, err := configure.Apply(ctx, driver, driver.Dialect().Parse(string(text)), 0)
			if err != nil {
				return withRemedy(err, c.Address)
			}
			out, err := json.Marshal(record.Summary())
			if err == nil && report != "" {
				err = os.WriteFile(report, out, 0o600)
			}
			fmt.Fprintln(cmd.OutOrStdout(), string(out))
			return err
		},
	}
	cmd.Flags().StringVar(&platform, "platform", "", "command line of the device: "+sshcli.Names()+" (required)")
	cmd.Flags().StringVar(&c.Address, "address", "", "HOST:PORT of its SSH server (required)")
	cmd.Flags().StringVar(&access, "access", "", "folder with the files user, password or privateKey, and hostKeys (required)")
	cmd.Flags().StringVar(&configuration, "configuration", "", "file with the whole configuration (required)")
	cmd.Flags().DurationVar(&within, "within", 2*time.Minute, "how long it may take")
	cmd.Flags().StringVar(&report, "report", "", "file that gets, as JSON, how the device got its configuration")
	for _, name := range []string{"platform", "address", "access", "configuration"} {
		_ = cmd.MarkFlagRequired(name)
	}
	return cmd
}

// readAccess reads by what a device is reached from a folder.
func readAccess(c *sshcli.Config, folder string) error {
	data := map[string][]byte{}
	for _, key := range sshcli.AccessKeys {
		content, err := os.ReadFile(filepath.Join(folder, key))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		data[key] = content
	}
	if err := c.SetAccess(data); err != nil {
		return fmt.Errorf("the Secret of the device: %w", err)
	}
	return nil
}

// withRemedy adds to the error of a device that is not reached what often keeps a pod from it.
func withRemedy(err error, address string) error {
	if !errors.Is(err, configure.ErrUnreachable) {
		return err
	}
	return hint.With(err, "from the nodes, check ssh "+address+"; the chart allows pods to reach what networkPolicy.managementEgress lists")
}

//go:build !standalone

package inpod

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/dut/telemetry"
	"nodrop.dev/nodrop/internal/dut/telemetry/readers"
	"nodrop.dev/nodrop/internal/dut/telemetry/remote"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/traffic/agent"
)

func newDeviceTelemetryCommand() *cobra.Command {
	var device, access, tls, listen, peer string
	cmd := &cobra.Command{
		Use:   "telemetry",
		Short: "Read the counters of a device for a runner",
		Long: `Read counters and sensors of a device whenever the runner asks, over HTTPS with
mutual TLS. It ends on SIGTERM.

Exit codes: 0 when stopped by a signal, 1 otherwise.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var described v1alpha1.DeviceTelemetry
			if err := json.Unmarshal([]byte(device), &described); err != nil {
				return fmt.Errorf("--device: %w", err)
			}
			reader, err := readers.New(&described, func(key string) ([]byte, error) { return os.ReadFile(filepath.Join(access, key)) }, nil)
			if err != nil {
				return fmt.Errorf("the Secret of the device: %w", err)
			}
			defer reader.Close()
			bundle, err := pki.LoadDir(tls)
			if err != nil {
				return err
			}
			serving, err := bundle.ServerConfig(peer)
			if err != nil {
				return fmt.Errorf("reading certificates from %s: %w", tls, err)
			}
			listener, err := net.Listen("tcp", listen)
			if err != nil {
				return fmt.Errorf("listening: %w", err)
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return remote.Serve(ctx, listener, reader, serving)
		},
	}
	cmd.Flags().StringVar(&device, "device", "", "telemetry of the device as in the TestBed, as JSON (required)")
	cmd.Flags().StringVar(&access, "access", "", "folder with the files of the device's Secret (required)")
	cmd.Flags().StringVar(&tls, "tls", pki.DirDefault, "directory with ca.crt, tls.crt and tls.key")
	cmd.Flags().StringVar(&listen, "listen", ":"+strconv.Itoa(agent.Port), "address to listen at")
	cmd.Flags().StringVar(&peer, "runner", "", "name in the certificate of the one runner that may ask (required)")
	for _, name := range []string{"device", "access", "runner"} {
		_ = cmd.MarkFlagRequired(name)
	}
	return cmd
}

// openTelemetry returns the option by which a run reads its device, if there is a pod for it.
func openTelemetry(config runner.Config, bundle pki.Bundle) (_ runner.Option, closing func(), _ error) {
	described := config.Bed.Spec.Device.Telemetry()
	if config.Telemetry == nil || described == nil {
		return runner.WithTelemetry(nil), func() {}, nil
	}
	client, err := remote.NewClient(config.Telemetry.Address, config.Telemetry.Name, bundle)
	if err != nil {
		return nil, nil, err
	}
	watch := telemetry.NewWatch(client, described)
	return runner.WithTelemetry(watch), watch.Close, nil
}

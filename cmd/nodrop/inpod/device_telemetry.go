//go:build !standalone

package inpod

import (
	"context"
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
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/platform"
	"nodrop.dev/nodrop/internal/dut/configure/scale"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/dut/telemetry"
	"nodrop.dev/nodrop/internal/dut/telemetry/readers"
	"nodrop.dev/nodrop/internal/dut/telemetry/remote"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/traffic/agent"
)

func newDeviceTelemetryCommand() *cobra.Command {
	var device, access, power, powerAccess, management, managementAccess, configuration, tls, listen, peer string
	cmd := &cobra.Command{
		Use:   "telemetry",
		Short: "Read the counters of a device, and its power, and reset it, for a runner",
		Long: `Read counters and sensors of a device, and the meter of its power, whenever the runner asks, over HTTPS with
mutual TLS. Reset the device, give it its configuration again, and give it lists of as many entries as the runner asks for. It ends on SIGTERM.

Exit codes: 0 when stopped by a signal, 1 otherwise.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var read remote.Devices
			if device != "" {
				var described v1alpha1.DeviceTelemetry
				if err := json.Unmarshal([]byte(device), &described); err != nil {
					return fmt.Errorf("--device: %w", err)
				}
				reader, err := readers.New(&described, keysIn(access), nil)
				if err != nil {
					return fmt.Errorf("the Secret of the device: %w", err)
				}
				defer reader.Close()
				read.Reader = reader
			}
			if power != "" {
				var described v1alpha1.PowerMeter
				if err := json.Unmarshal([]byte(power), &described); err != nil {
					return fmt.Errorf("--power: %w", err)
				}
				meter, err := readers.NewMeter(&described, keysIn(powerAccess), nil)
				if err != nil {
					return fmt.Errorf("the Secret of the meter: %w", err)
				}
				defer meter.Close()
				read.Meter = meter
				if read.Switch, err = readers.NewSwitch(&described, keysIn(powerAccess), nil); err != nil {
					return fmt.Errorf("the Secret of the meter: %w", err)
				}
			}
			if read.Switch != nil {
				defer read.Switch.Close()
				// A pod that was killed while the power was off has left it off.
				if err := read.Switch.On(cmd.Context()); err != nil {
					return fmt.Errorf("turning the power of the device on: %w", err)
				}
			}
			if management != "" {
				resetter, err := openResetter(management, managementAccess, configuration)
				if err != nil {
					return err
				}
				read.Resetter = resetter
				if resetter.scales != nil {
					read.Scaler = resetter.scales
				}
			}
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
			return remote.Serve(ctx, listener, read, serving)
		},
	}
	cmd.Flags().StringVar(&device, "device", "", "telemetry of the device as in the TestBed, as JSON")
	cmd.Flags().StringVar(&access, "access", "", "folder with the files of the device's Secret")
	cmd.Flags().StringVar(&power, "power", "", "meter of its power as in the TestBed, as JSON")
	cmd.Flags().StringVar(&powerAccess, "power-access", "", "folder with the files of the meter's Secret")
	cmd.Flags().StringVar(&management, "management", "", "management of the device as in the TestBed, as JSON")
	cmd.Flags().StringVar(&managementAccess, "management-access", "", "folder with the files of the management's Secret")
	cmd.Flags().StringVar(&configuration, "configuration", "", "file with the whole configuration that the device has after a reset")
	cmd.Flags().StringVar(&tls, "tls", pki.DirDefault, "directory with ca.crt, tls.crt and tls.key")
	cmd.Flags().StringVar(&listen, "listen", ":"+strconv.Itoa(agent.Port), "address to listen at")
	cmd.Flags().StringVar(&peer, "runner", "", "name in the certificate of the one runner that may ask (required)")
	_ = cmd.MarkFlagRequired("runner")
	cmd.MarkFlagsRequiredTogether("device", "access")
	cmd.MarkFlagsRequiredTogether("power", "power-access")
	cmd.MarkFlagsRequiredTogether("management", "management-access", "configuration")
	cmd.MarkFlagsOneRequired("device", "power", "management")
	return cmd
}

// resetter resets a device by the commands of its bed, and gives it the configuration of the run, with and without the lists of its bed.
type resetter struct {
	*configure.Resets
	scales *scale.Scales // nil where the bed describes no lists
	driver configure.Driver
	wanted configure.Configuration
}

// Restore implements remote.Resetter.
func (r *resetter) Restore(ctx context.Context) (bool, error) {
	return configure.Restore(ctx, r.driver, r.wanted)
}

// openResetter reads how a device is managed, and what it has in the run.
func openResetter(management, access, configuration string) (*resetter, error) {
	var m v1alpha1.DeviceManagement
	if err := json.Unmarshal([]byte(management), &m); err != nil {
		return nil, fmt.Errorf("--management: %w", err)
	}
	kind, err := platform.Named(m.Platform())
	if err != nil {
		return nil, fmt.Errorf("--management: %w", err)
	}
	driver, err := kind.Driver(configure.Reach{Address: m.Address(), Key: keysIn(access)})
	if err != nil {
		return nil, fmt.Errorf("the Secret of the device: %w", err)
	}
	wanted, err := configure.WholeFile(driver.Language(), configuration)
	if err != nil {
		return nil, err
	}
	r := &resetter{Resets: configure.NewResets(driver, m.Resets()), driver: driver, wanted: wanted}
	if described := m.Scales(); len(described) > 0 {
		r.scales = scale.New(driver, m.Platform(), wanted, described)
	}
	return r, nil
}

// keysIn returns a function that reads the keys of a Secret in a folder.
func keysIn(folder string) func(key string) ([]byte, error) {
	return func(key string) ([]byte, error) { return os.ReadFile(filepath.Join(folder, key)) }
}

// openTelemetry returns the options by which a run reads and resets its device, and reads the meter of its power, if there is a pod for it. Follow, which may be
// nil, gets each reading.
func openTelemetry(config runner.Config, bundle pki.Bundle, follow telemetry.Follow) (options []runner.Option, closing func(), _ error) {
	if config.Telemetry == nil {
		return nil, func() {}, nil
	}
	client, err := remote.NewClient(config.Telemetry.Address, config.Telemetry.Name, bundle)
	if err != nil {
		return nil, nil, err
	}
	if described := config.Bed.Spec.Device.Telemetry(); described != nil {
		watch := telemetry.NewWatch(client, described)
		watch.Follow(follow)
		options = append(options, runner.WithTelemetry(watch))
	}
	if described := config.Bed.Spec.Device.Resets(); len(described) > 0 {
		options = append(options, runner.WithResets(client))
	}
	if described := config.Bed.Spec.Device.Scales(); len(described) > 0 {
		options = append(options, runner.WithScaler(client))
	}
	if device.ConfiguredInRuns(config.Bed.Spec.Device) {
		options = append(options, runner.WithRestore(client.Restore))
	}
	if described := config.Bed.Spec.Device.Power(); described != nil {
		watch := telemetry.NewPowerWatch(client, described)
		watch.Follow(follow)
		options = append(options, runner.WithPower(watch))
		if described.Switches() {
			options = append(options, runner.WithPowerSwitch(client))
		}
	}
	return options, client.Close, nil
}

package standalone

import (
	"context"
	"fmt"
	"os"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/machine"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/measure/runner"
)

// emulated is a device that is an emulated machine, with its configurations by variant.
type emulated struct {
	*machine.Machine
	configurations map[v1alpha1.VariantName]string
}

// emulates makes the driver of a bed whose device is a machine. It refuses one that cannot start here before anything is changed on
// this computer.
func (b *Bench) emulates(bundle *manifest.Bundle, o Options) error {
	spec := bundle.Bed.Spec.Device.Machine
	if spec == nil {
		return nil
	}
	if err := machine.Refusal(machine.Look(o.Machines, spec.Kernel, spec.Modules)); err != nil {
		return fmt.Errorf("the device of TestBed %s is an emulated machine, which cannot start here: %w", bundle.Bed.Name, err)
	}
	config := machine.Config{Dir: o.Machines, Kernel: spec.Kernel, Modules: spec.Modules, Processors: int(max(spec.Processors, 1)), Memory: spec.MemoryBytes()}
	for _, i := range spec.Interfaces {
		config.Interfaces = append(config.Interfaces, machine.Interface{TAP: i.Port, Name: i.Name})
	}
	b.machine = &emulated{machine.New(config), bundle.Configurations}
	return nil
}

// startMachine starts the machine in the network namespace of the run.
func (b *Bench) startMachine() error {
	fmt.Fprintf(os.Stderr, "nodrop: starting the %s, which takes up to a minute\n", b.machine.Describe())
	if err := b.start(b.machine.Machine); err != nil {
		return err
	}
	b.Device, b.Broken = b.machine.Describe(), b.machine.Broken
	if b.machine.Emulated() {
		b.Notes = append(b.Notes, "the processors of the device are emulated: its frames are counted exactly, and its rates and latencies describe the emulation")
	}
	return nil
}

// configures makes each variant of the benchmark, which was prepared once, one that configures the machine first.
func (m *emulated) configures(b *Bench) {
	if m == nil {
		return
	}
	b.completeVariants(func(one *runner.Prepared) {
		variant := one.Config.Variant
		one.Configure = func(ctx context.Context) (*v1alpha1.DeviceConfiguration, error) { return m.configure(ctx, variant) }
	})
}

// configure gives the machine the configuration of a variant, and describes it.
func (m *emulated) configure(ctx context.Context, variant v1alpha1.VariantName) (*v1alpha1.DeviceConfiguration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, configureWithin, fmt.Errorf("the configuration did not end within %s", configureWithin))
	defer cancel()
	began, script := time.Now(), m.configurations[variant]
	if err := m.ConfigureWith(ctx, script); err != nil {
		return nil, err
	}
	return &v1alpha1.DeviceConfiguration{
		Digest: configure.Digest(configure.Configuration(script)), Software: "Linux " + m.Release(), DurationMs: time.Since(began).Milliseconds(),
	}, nil
}

// Package standalone makes the test bed of a run without a cluster, in this process and on this
// machine: generators, and a device or cables in network namespaces, or interfaces that are
// cabled to a device.
package standalone

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/dut/telemetry"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/reporting/gate"
	"nodrop.dev/nodrop/internal/reporting/metrics/sink"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/sim"
	"nodrop.dev/nodrop/internal/workload"
)

// Bench is a test bed of this process: generators, and the device that was made
// for the run.
type Bench struct {
	config runner.Config
	// Variants are prepared side by side; one when the benchmark names none.
	Variants []runner.Prepared
	// driver of the device that was made for the run; nil when none was.
	driver device.Driver
	// machine is the emulated machine that is the device; nil if the device is another one.
	machine *emulated
	// Device describes what stood in for the bed's device; empty when it is the
	// bed's own.
	Device string
	// speaker has the tester's BGP sessions, and router is that of the device; nil without.
	speaker routing.Speaker
	router  trials.Router
	// workload runs applications of hosts on the ports; nil without a test that needs it.
	workload workload.Engine
	// Telemetry reads the device; nil where it is not read.
	Telemetry *telemetry.Watch
	// Power reads the meter of the device; nil where there is none.
	Power *telemetry.PowerWatch
	// PowerSwitch takes the power of the device away; nil where that is not possible.
	PowerSwitch telemetry.PowerSwitch
	// Resets of the device by commands; nil where its bed describes none.
	Resets *configure.Resets
	// Baselines of relative gates by their names.
	Baselines map[string]gate.Baseline
	// Notes contains the information that a reader of the result needs first.
	Notes []string
	// Broken waits until the run cannot go on, and says why, or until ctx ends. It is
	// nil where nothing beside this process can fail.
	Broken func(ctx context.Context) error
	// Interrupted ends when the process is interrupted, if this must be known before the
	// benchmark begins; nil otherwise.
	Interrupted context.Context
	// Hurry makes the next interruption end the process as soon as it has given back
	// what it took from this machine; nil when it took nothing.
	Hurry func()
	// Pace is the number of seconds on the generators' clock per real second; 0 if trials take
	// no time.
	Pace float64
	// Dial connects from the network that the process came from; nil where it is still
	// there.
	Dial sink.Dial
	// closers are called in reverse order.
	closers []func() error
}

// Options are for one engine each.
type Options struct {
	// Pace of the engine sim.
	Pace float64
	// TrexDir holds the server of the engine trex; empty when none was named.
	TrexDir string
	// InPlace uses the interfaces of a physical device where they are.
	InPlace bool
	// Routing of beds with BGP sessions.
	Routing Routing
	// Hidden environment variables are not given to the programs that a run starts.
	Hidden []string
	// StateDir has the notes of interfaces that were taken.
	StateDir string
	// Machines is the directory that contains kernels of emulated machines; empty when none was named.
	Machines string
}

// New makes the bed. The engines xdp and trex move the process into a network
// namespace of its own first, which executes the program anew. The calibration may
// be nil.
func New(bundle *manifest.Bundle, calibration *v1alpha1.CalibrationStatus, o Options) (*Bench, error) {
	b := &Bench{config: runner.Config{Benchmark: bundle.Benchmark, Profile: bundle.Profile, Bed: bundle.Bed, Calibration: calibration}, Pace: 1}
	m, err := b.manages(bundle, o.Routing)
	if err != nil {
		return nil, err
	}
	if err := b.watches(&bundle.Bed, o.Routing); err != nil {
		return nil, err
	}
	switch kind := bundle.Bed.Spec.Engine.Kind; kind {
	case v1alpha1.EngineSim:
		b.Pace = o.Pace
		err = b.simulate(o.Pace, bundle.Tables)
	case v1alpha1.EngineXDP:
		if err = b.emulates(bundle, o); err == nil {
			err = b.openXDP(o)
		}
	case v1alpha1.EngineTRex:
		err = b.openTRex(o)
	default:
		err = fmt.Errorf("engine %q of TestBed %s cannot run without a cluster", kind, bundle.Bed.Name)
	}
	if err == nil {
		err = b.turnPowerOn()
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	m.configures(b)
	b.machine.configures(b)
	return b, nil
}

// simulate models the device in every variant that the benchmark names.
func (b *Bench) simulate(pace float64, tables map[v1alpha1.VariantName]manifest.Tables) error {
	for _, variant := range b.config.Benchmark.Spec.VariantsInOrder() {
		config, texts := b.config, tables[variant]
		config.Variant, config.Model = variant, texts.Model
		config.JitterAverageByLoad, config.JitterMaximumByLoad = texts.JitterAverageByLoad, texts.JitterMaximumByLoad
		engine, err := runner.NewSim(config, sim.WithPace(pace))
		if err != nil {
			return hint.With(err, "docs/simulation.md describes the columns of a model")
		}
		b.prepared(config, engine, engine.Device())
	}
	return nil
}

// prepared takes a generator on a prepared device. Driver is nil when nothing can be
// done with the device.
func (b *Bench) prepared(config runner.Config, generator traffic.Generator, driver device.Driver) {
	b.Variants = append(b.Variants, runner.Prepared{Config: config, Generator: generator, Device: driver, Speaker: b.speaker, Router: b.router, Workload: b.workload})
	b.closers = append(b.closers, generator.Close)
	if b.speaker != nil {
		b.closers = append(b.closers, b.speaker.Close)
	}
}

// Close removes everything that the run made.
func (b *Bench) Close() error {
	var errs []error
	for _, f := range slices.Backward(b.closers) {
		errs = append(errs, f())
	}
	b.closers = nil
	return errors.Join(errs...)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/gate"
	"nodrop.dev/nodrop/internal/hint"
	"nodrop.dev/nodrop/internal/manifest"
	"nodrop.dev/nodrop/internal/method"
	"nodrop.dev/nodrop/internal/metrics/sink"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/runner"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

// bench is a test bed of this process: generators, and the device that was made
// for the run.
type bench struct {
	config runner.Config
	// variants are prepared side by side; one when the benchmark names none.
	variants []runner.Prepared
	// driver of the device that was made for the run; nil when none was.
	driver device.Driver
	// device describes what stood in for the bed's device; empty when it is the
	// bed's own.
	device string
	// speaker has the tester's BGP sessions, and router is that of the device; nil without.
	speaker routing.Speaker
	router  method.Router
	// baselines of relative gates by their names.
	baselines map[string]gate.Baseline
	// notes contains the information that a reader of the result needs first.
	notes []string
	// broken waits until the run cannot go on, and says why, or until ctx ends. It is
	// nil where nothing beside this process can fail.
	broken func(ctx context.Context) error
	// interrupted ends when the process is interrupted, if this must be known before the
	// benchmark begins; nil otherwise.
	interrupted context.Context
	// hurry makes the next interruption end the process as soon as it has given back
	// what it took from this machine; nil when it took nothing.
	hurry func()
	// pace is the number of seconds on the generators' clock per real second; 0 if trials take
	// no time.
	pace float64
	// dial connects from the network that the process came from; nil where it is still
	// there.
	dial sink.Dial
	// closers are called in reverse order.
	closers []func() error
}

// benchOptions are for one engine each.
type benchOptions struct {
	// pace of the engine sim.
	pace float64
	// trexDir holds the server of the engine trex; empty when none was named.
	trexDir string
	// inPlace uses the interfaces of a physical device where they are.
	inPlace bool
	// routing of beds with BGP sessions.
	routing routingOptions
	// hidden environment variables are not given to the programs that a run starts.
	hidden []string
	// stateDir has the notes of interfaces that were taken.
	stateDir string
}

// newBench makes the bed. The engines xdp and trex move the process into a network
// namespace of its own first, which executes the program anew. The calibration may
// be nil.
func newBench(bundle *manifest.Bundle, calibration *v1alpha1.CalibrationStatus, o benchOptions) (*bench, error) {
	b := &bench{config: runner.Config{Benchmark: bundle.Benchmark, Profile: bundle.Profile, Bed: bundle.Bed, Calibration: calibration}, pace: 1}
	var err error
	switch kind := bundle.Bed.Spec.Engine.Kind; kind {
	case v1alpha1.EngineSim:
		b.pace = o.pace
		err = b.simulate(o.pace, bundle.Tables)
	case v1alpha1.EngineXDP:
		err = b.openXDP(o)
	case v1alpha1.EngineTRex:
		err = b.openTRex(o)
	default:
		err = fmt.Errorf("engine %q of TestBed %s cannot run without a cluster", kind, bundle.Bed.Name)
	}
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// simulate models the device in every variant that the benchmark names.
func (b *bench) simulate(pace float64, tables map[v1alpha1.VariantName]manifest.Tables) error {
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
func (b *bench) prepared(config runner.Config, generator traffic.Generator, driver device.Driver) {
	b.variants = append(b.variants, runner.Prepared{Config: config, Generator: generator, Device: driver, Speaker: b.speaker, Router: b.router})
	b.closers = append(b.closers, generator.Close)
	if b.speaker != nil {
		b.closers = append(b.closers, b.speaker.Close)
	}
}

// close removes everything that the run made.
func (b *bench) close() error {
	var errs []error
	for _, f := range slices.Backward(b.closers) {
		errs = append(errs, f())
	}
	b.closers = nil
	return errors.Join(errs...)
}

package runner

import (
	"context"
	"fmt"
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/workload"
)

// Prepared is a device that is prepared as the variant of the configuration says,
// with the generator that is cabled to it.
type Prepared struct {
	Config    Config
	Generator traffic.Generator
	// Configure gives the device the configuration of the variant, and returns how; nil where people configured
	// it, or Device did.
	Configure func(ctx context.Context) (*v1alpha1.DeviceConfiguration, error)
	// Restore gives the device the configuration of the variant again, after a reset; nil without Configure.
	Restore trials.Restore
	// Scaler gives the device the configuration of the variant with lists; nil where the bed describes none.
	Scaler trials.Scaler
	// Device is the driver; nil when nothing can be done with the device.
	Device device.Driver
	// Speaker has the tester's BGP sessions; nil for those of the generator, if it has some.
	Speaker routing.Speaker
	// Workload runs applications of hosts on the ports; nil for the one of the generator, if it has one.
	Workload workload.Engine
	// Router of the device, if it can be started anew; nil otherwise.
	Router trials.Router
}

// RunVariants runs a benchmark in one process: once for each variant that it
// names, in their order, or once when it names none. Each begins with the rows of
// those before it. An outcome that ends the benchmark ends it here; a device that
// forwards nothing in one variant does not keep the others from being measured.
// The generators stay open.
func RunVariants(ctx context.Context, variants []Prepared, opts ...Option) State {
	var state State
	for _, v := range variants {
		before := state.Environment
		if v.Configure != nil {
			var err error
			if v.Config.Configuration, err = v.Configure(ctx); err != nil {
				return notConfigured(ctx, state, v.Config.Bed.Spec.Device, err)
			}
		}
		state = Run(ctx, v.Config, v.Generator, append(slices.Clip(opts), WithRows(state.Rows), WithDevice(v.Device), WithSpeaker(v.Speaker), WithWorkload(v.Workload), WithRouter(v.Router), WithRestore(v.Restore), WithScaler(v.Scaler))...)
		if state.Environment != nil {
			state.Environment.KeepConfigurations(before)
		}
		if !state.Finished() {
			break
		}
	}
	return state
}

// notConfigured ends a run whose device did not get the configuration of the next variant.
func notConfigured(ctx context.Context, state State, device v1alpha1.Device, err error) State {
	outcome, reason, message := conclude(ctx, device, state.Rows, fmt.Errorf("the device was not configured: %w", err))
	if reason == v1alpha1.ReasonRunnerFailed {
		reason = v1alpha1.ReasonDeviceFailed
	}
	state.Done, state.Outcome, state.Reason, state.Message = true, outcome, reason, message
	return state
}

// Finished reports whether a run came to the end of its plan, whatever it
// measured: another variant of the device can be next.
func (s State) Finished() bool {
	switch s.Reason {
	case v1alpha1.ReasonAllMeasured, v1alpha1.ReasonInconclusive, v1alpha1.ReasonNothingForwarded, v1alpha1.ReasonGeneratorBound:
		return s.Done
	}
	return false
}

package runner

import (
	"context"
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic"
)

// Prepared is a device that is prepared as the variant of the configuration says,
// with the generator that is cabled to it.
type Prepared struct {
	Config    Config
	Generator traffic.Generator
	// Device is the driver; nil when nothing can be done with the device.
	Device device.Driver
	// Speaker has the tester's BGP sessions; nil for those of the generator, if it has some.
	Speaker routing.Speaker
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
		state = Run(ctx, v.Config, v.Generator, append(slices.Clip(opts), WithRows(state.Rows), WithDevice(v.Device), WithSpeaker(v.Speaker), WithRouter(v.Router))...)
		if !state.Finished() {
			break
		}
	}
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

package runner

import (
	"context"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
)

// fakeFixed is a driver of a device that cannot be reset.
type fakeFixed struct{ device.Driver }

func (fakeFixed) Capabilities() device.Capabilities { return device.Capabilities{} }

// Only a driver with the capability is asked for a reset: without it the run says
// what to do.
func TestADeviceWithoutResetIsNotAsked(t *testing.T) {
	cfg := resetConfig(v1alpha1.ResetByDevice)
	for name, opts := range map[string][]Option{"no driver": nil, "no reset": {WithDevice(fakeFixed{})}} {
		state := Run(context.Background(), complete(cfg), engine(t, cfg), opts...)
		if state.Outcome != v1alpha1.PhaseError || !strings.Contains(state.Message, "the lab has no device that it can reset: set trigger to External") {
			t.Errorf("%s: %s: %s", name, state.Outcome, state.Message)
		}
	}
}

package sim

import (
	"context"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
)

// Device is the driver of the device that an engine models. The model is there from
// the beginning and is configured with the engine, so that only Reset does something.
type Device struct{ engine *Engine }

var _ device.Driver = Device{}

// Device is the driver of the modelled device.
func (e *Engine) Device() Device { return Device{e} }

// Describe implements device.Driver.
func (d Device) Describe() string { return "modelled in simulated time" }

// Capabilities implements device.Driver.
func (d Device) Capabilities() device.Capabilities {
	return device.Of(v1alpha1.Device{Simulated: &v1alpha1.SimulatedDevice{}})
}

// Prepare implements device.Driver.
func (d Device) Prepare(context.Context) error { return nil }

// Configure implements device.Driver.
func (d Device) Configure(context.Context) error { return nil }

// Reset resets the device: for resetTime it forwards nothing, and it forgets the
// memberships and the addresses.
func (d Device) Reset(ctx context.Context) error { return d.engine.reset(ctx) }

// Restore implements device.Driver.
func (d Device) Restore(context.Context) error { return nil }

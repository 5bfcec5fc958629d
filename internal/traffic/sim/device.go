package sim

import (
	"context"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
)

// dut is the modeled device: its behavior, and its state.
type dut struct {
	clock *Clock
	// behaviour of the device beyond forwarding.
	behaviour v1alpha1.SimulatedBehaviour
	// forwards is to how many routes the device forwards, in place of the behavior's
	// fibCapacity; nil for that.
	forwards  *int64
	addresses addresses
	// groups that the device forwards to which ports, and when.
	groups groupTable
	// rib is the device's table of routes.
	rib *rib
	// resets of the device: when it forwards nothing.
	resets []window
	// entries of its access list; 0 without one.
	entries int64
}

// Device is the driver of the device that an engine models. The model is there from
// the beginning and is configured with the engine, so that only Reset does something.
type Device struct{ engine *Engine }

var _ device.Driver = Device{}

// Device is the driver of the modeled device.
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
func (d Device) Reset(ctx context.Context) error {
	return d.engine.dut.reset(ctx, d.engine.run.trial != nil)
}

// Restart restarts the BGP of the device: its sessions are down for bgpRestartTime, and it
// has no routes until it has installed those that are announced then.
func (d Device) Restart(context.Context) error {
	d.engine.restart()
	return nil
}

// Ended returns an empty string: the BGP of the modeled device never ends by itself.
func (d Device) Ended() string { return "" }

// Memory returns the memory that the modeled device uses for its prefixes, in bytes. It is
// known only with routeMemory.
func (d Device) Memory() (bytes int64, known bool) {
	each := d.engine.dut.behaviour.RouteMemory
	if each == nil {
		return 0, false
	}
	return *each * d.engine.dut.rib.held, true
}

// restarted is the cause that a session reports when the device ends its BGP (RFC 4486).
const restarted = "the device sent NOTIFICATION Cease (6), Administrative Shutdown (2)"

func (e *Engine) restart() {
	e.speaker.lose()
	now, back := e.dut.now(), e.dut.now()
	if d := e.dut.behaviour.BGPRestartTime; d != nil {
		back += d.Duration
	}
	for _, s := range e.speaker.sessions {
		if s.state.Established {
			s.state.Established, s.state.Since, s.state.Cause = false, 0, restarted
			s.state.Flaps++
			s.back = max(back, now+time.Nanosecond)
		}
	}
	e.dut.rib.restart(now, back)
}

// Restore implements device.Driver.
func (d Device) Restore(context.Context) error { return nil }

package trials

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
)

// Resetter is a device under test that can be reset.
type Resetter interface {
	// Reset resets the device, and returns when the reset has begun.
	Reset(ctx context.Context) error
}

// PowerSwitch takes the power of a device under test away.
type PowerSwitch interface {
	// Cycle turns the power off, and returns when that is done. It is turned on again after a while.
	Cycle(ctx context.Context, off time.Duration) error
}

// NamedResets are the resets of a device under test that its bed describes.
type NamedResets interface {
	// Reset performs a reset by its name, and returns when the device has begun it.
	Reset(ctx context.Context, name string) error
}

// Scaler gives a device under test lists of a chosen number of entries.
type Scaler interface {
	// Scale gives the device the configuration of its variant with a list, which has a name in the bed, of n entries; 0 for no
	// list. It returns when the device reports the configuration. Rejected is the reason why the device did not take it; empty if
	// it did.
	Scale(ctx context.Context, name string, n int64) (rejected string, err error)
}

// Restore gives a device that was reset the configuration of its variant again, and reports whether it had another one.
type Restore func(ctx context.Context) (restored bool, err error)

// Router is the routing software of a device under test that can be started anew.
type Router interface {
	// Restart ends the software and starts it anew, without routes.
	Restart(ctx context.Context) error
	// Ended returns the reason why the software has ended by itself; empty while it runs.
	Ended() string
}

// DropCounter is a device whose dropped packets can be counted.
type DropCounter interface {
	// Dropped returns the number of packets that the device has dropped towards a port, and whether it is
	// known.
	Dropped(port string) (packets uint64, known bool, err error)
}

// MemoryReader is the routing software of a device whose memory can be read.
type MemoryReader interface {
	// Memory returns the memory in bytes that the processes of the software use, and whether
	// it is known. It is unknown if a process has ended. Memory may be called concurrently
	// with other methods of the software.
	Memory() (bytes int64, known bool)
}

// RouteCounter is the routing software of a device whose routes can be counted.
type RouteCounter interface {
	// Routes returns the number of routes in the kernel of the device, and whether it is
	// known. It may be called concurrently with other methods of the software.
	Routes() (n int64, known bool)
}

// ErrNotReset is wrapped by the error of a device that the lab could not reset. A trial is not begun again after it: the reset may
// have begun, and each attempt is a login.
var ErrNotReset = errors.New("the device was not reset")

// countShare is the part of the time, one in so many, that counting routes may take: the
// kernel goes through all of them.
const countShare = 100

// Device is the device under test, as far as the tester can reset it and reach its routing
// software.
type Device struct {
	generator *Generator
	// Resetter resets the device; nil if that is not possible.
	Resetter Resetter
	// Power of the device, which is cut to reset it; nil if that is not possible.
	Power PowerSwitch
	// Resets of the device by commands of its bed, which describes them as Described; nil if there are none.
	Resets    NamedResets
	Described []v1alpha1.DeviceReset
	// Restore restores the configuration after a reset; nil where NoDrop does not configure the device.
	Restore Restore
	// Scaler gives the device lists of its bed, which describes them as Scales; nil if that is not possible. A device without a
	// description has one list without a name.
	Scaler Scaler
	Scales []v1alpha1.DeviceScale
	// Drops counts what the device drops; nil if that is not possible.
	Drops DropCounter
	// Router of the device; nil when it cannot be started anew. Full reports whether
	// its table is full: it is started anew before the next test.
	Router Router
	Full   bool
	// routesMulticast reports whether the router routes multicast.
	routesMulticast bool
	// countAgain is the time from which the routes of the device may be counted again.
	countAgain time.Time
}

// CanReset reports whether the device can be reset.
func (d *Device) CanReset() bool { return d.Resetter != nil || d.Power != nil || d.Resets != nil }

// Reset begins a reset of a kind: by a switch of the power, which is off for a time, by the commands that have a name, or by the
// device itself. It fails with ErrNotReset.
func (d *Device) Reset(ctx context.Context, kind v1alpha1.ResetKind, name string, off time.Duration) error {
	var err error
	switch {
	case kind == v1alpha1.ResetPower && d.Power != nil:
		err = d.Power.Cycle(ctx, off)
	case kind != v1alpha1.ResetPower && d.Resets != nil:
		err = d.Resets.Reset(ctx, name)
	case d.Resetter != nil:
		err = d.Resetter.Reset(ctx)
	default:
		err = fmt.Errorf("the lab has no reset of the kind %s", kind)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotReset, err)
	}
	return nil
}

// renewRouter starts a router anew that has ended, or whose table is full.
func (d *Device) renewRouter(ctx context.Context) error {
	if d.Router != nil && (d.Full || d.Router.Ended() != "") {
		if err := d.Router.Restart(ctx); err != nil {
			return err
		}
	}
	d.Full = false
	return nil
}

// look reads what the routing software of the device shows at the end of an interval.
func (d *Device) look(in *DeviceInterval) {
	if r, can := d.Router.(MemoryReader); can {
		if n, known := r.Memory(); known {
			in.Memory = &n
		}
	}
	r, can := d.Router.(RouteCounter)
	clock := d.generator.Clock()
	began := clock.Now()
	if !can || began.Before(d.countAgain) {
		return
	}
	if n, known := r.Routes(); known {
		in.Routes = &n
	}
	now := clock.Now()
	d.countAgain = now.Add(min(now.Sub(began)*countShare, time.Minute))
}

// RouterEnded returns the reason why the routing software of the device has ended, to append
// to the note on a session that went down; empty if it runs.
func (d *Device) RouterEnded(ctx context.Context) string {
	if d.Router == nil {
		return ""
	}
	clock := d.generator.Clock()
	for begin := clock.Now(); ; {
		if why := d.Router.Ended(); why != "" {
			return "; the router of the device: " + why
		}
		if clock.Now().Sub(begin) >= endTime || clock.Sleep(ctx, LookForRoutes) != nil {
			return ""
		}
	}
}

// unroutedMulticast returns a note if the multicast router ended in a trial: lost frames are
// then no result of the device.
func (d *Device) unroutedMulticast() []traffic.Note {
	why := d.multicastEnded()
	if why == "" {
		return nil
	}
	return []traffic.Note{{Kind: traffic.NoteRouter, Text: "the router of the device ended during the trial: " + why}}
}

// multicastEnded returns the reason why the router that routes multicast has ended; empty
// while it runs, or if it is unknown.
func (d *Device) multicastEnded() string {
	if !d.routesMulticast || d.Router == nil {
		return ""
	}
	return d.Router.Ended()
}

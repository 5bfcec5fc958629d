package device

import (
	"context"
	"errors"
	"fmt"
)

// Driver brings the device of one bed, in one variant, into the states that a
// benchmark needs. The calls come in the order Prepare, Configure, Reset as often as
// trials need it, and Restore, which is called after every Prepare, also after one
// that failed. Reset may be called while a trial runs. Every call ends when its
// context does.
type Driver interface {
	// Describe returns a description of the device for the report.
	Describe() string
	// Capabilities of the device under this driver. They are at most those of its kind,
	// see Of.
	Capabilities() Capabilities
	// Prepare brings the device up, or makes sure that it is there, and returns when
	// its links are up.
	Prepare(ctx context.Context) error
	// Configure gives a device that is prepared the configuration of its variant, and
	// returns when it holds. Where Prepare has done that already it does nothing.
	Configure(ctx context.Context) error
	// Reset resets the device, and returns when the reset has begun. It fails with
	// ErrUnsupported without the capability Resets.
	Reset(ctx context.Context) error
	// Restore brings the device into the state that it had before Prepare: a virtual
	// device is gone. It succeeds when there is nothing to do.
	Restore(ctx context.Context) error
}

// ErrUnsupported is wrapped by a driver that can never do what it was asked.
var ErrUnsupported = errors.New("not supported by the device's driver")

// CannotReset is the error of Reset of a kind that cannot be reset.
func CannotReset(c Capabilities) error {
	return fmt.Errorf("resetting a device of %s: %w", c.Kind, ErrUnsupported)
}

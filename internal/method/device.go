package method

import (
	"context"
	"time"
)

// Resetter is a device under test that can be reset.
type Resetter interface {
	// Reset resets the device, and returns when the reset has begun.
	Reset(ctx context.Context) error
}

// Option changes a Lab.
type Option func(*Lab)

// WithDevice gives the lab a device that it can reset.
func WithDevice(d Resetter) Option { return func(l *Lab) { l.device = d } }

// WithLateness tells the lab how much later than asked for the engine may end a trial
// by itself, as its capabilities say.
func WithLateness(d time.Duration) Option { return func(l *Lab) { l.lateness = d } }

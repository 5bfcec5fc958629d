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

// Router is the routing software of a device under test that can be started anew.
type Router interface {
	// Restart ends the software and starts it anew, without routes.
	Restart(ctx context.Context) error
	// Ended returns the reason why the software has ended by itself; empty while it runs.
	Ended() string
}

// MemoryReader is the routing software of a device whose memory can be read.
type MemoryReader interface {
	// Memory returns the memory in bytes that the processes of the software use, and whether
	// it is known. It is unknown if a process has ended. Memory may be called concurrently
	// with other methods of the software.
	Memory() (bytes int64, known bool)
}

// WithRouter lets the lab start the routing software of the device anew, once it has ended
// by itself or its table is full.
func WithRouter(r Router) Option { return func(l *Lab) { l.router = r } }

// Option changes a Lab.
type Option func(*Lab)

// WithDevice gives the lab a device that it can reset.
func WithDevice(d Resetter) Option { return func(l *Lab) { l.device = d } }

// WithLateness sets by how much the engine may end a trial later than asked for by itself,
// according to its capabilities.
func WithLateness(d time.Duration) Option { return func(l *Lab) { l.lateness = d } }

package trials

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

// WithRouter lets the tester start the routing software of the device anew, once it has ended
// by itself or its table is full.
func WithRouter(r Router) Option { return func(l *Tester) { l.Router = r } }

// Option changes a Tester.
type Option func(*Tester)

// WithDevice gives the tester a device that it can reset.
func WithDevice(d Resetter) Option { return func(l *Tester) { l.Device = d } }

// WithLateness sets by how much the engine may end a trial later than asked for by itself,
// according to its capabilities.
func WithLateness(d time.Duration) Option { return func(l *Tester) { l.Lateness = d } }

// RouteCounter is the routing software of a device whose routes can be counted.
type RouteCounter interface {
	// Routes returns the number of routes in the kernel of the device, and whether it is
	// known. It may be called concurrently with other methods of the software.
	Routes() (n int64, known bool)
}

// countShare is the part of the time, one in so many, that counting routes may take: the
// kernel goes through all of them.
const countShare = 100

// Look reads what the routing software of the device shows at the end of an interval.
func (l *Tester) Look(d *DeviceInterval) {
	if r, can := l.Router.(MemoryReader); can {
		if n, known := r.Memory(); known {
			d.Memory = &n
		}
	}
	r, can := l.Router.(RouteCounter)
	clock := l.Generator.Clock()
	began := clock.Now()
	if !can || began.Before(l.Watched.countAgain) {
		return
	}
	if n, known := r.Routes(); known {
		d.Routes = &n
	}
	now := clock.Now()
	l.Watched.countAgain = now.Add(min(now.Sub(began)*countShare, time.Minute))
}

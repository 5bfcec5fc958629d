package trials

import (
	"time"

	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic"
)

// Option changes a Tester.
type Option func(*Tester)

// WithDevice gives the tester a device that it can reset.
func WithDevice(d Resetter) Option { return func(t *Tester) { t.Device.Resetter = d } }

// WithRouter lets the tester start the routing software of the device anew, once it has ended
// by itself or its table is full.
func WithRouter(r Router) Option { return func(t *Tester) { t.Device.Router = r } }

// WithSpeaker gives the tester its sessions with the device. Open gets them without
// passwords, which the speaker has from elsewhere.
func WithSpeaker(s routing.Speaker) Option { return func(t *Tester) { t.Routes.Speaker = s } }

// WithLateness sets by how much the engine may end a trial later than asked for by itself,
// according to its capabilities.
func WithLateness(d time.Duration) Option { return func(t *Tester) { t.lateness = d } }

// WithIntervals calls show with every interval of the trials that the tester runs, while
// they run. An engine that cannot sample has none; caps says what it counts. An interval whose
// samples fail is missing: the next one is longer, and the trial is not affected. A slow show
// makes intervals longer, too. Show is called by a goroutine of the trial, and not after the
// trial has ended.
func WithIntervals(every time.Duration, caps traffic.Capabilities, show func(Interval)) Option {
	return func(t *Tester) {
		t.watched = &watched{generator: t.Generator, device: t.Device, every: every, show: show, caps: caps}
	}
}

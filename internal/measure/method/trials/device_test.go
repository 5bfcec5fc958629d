package trials

import (
	"context"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
)

// slowCount is a router whose routes take long to count.
type slowCount struct {
	traffic.Generator
	routes int64
	clock  *waitingClock
}

func (s *slowCount) Clock() traffic.Clock { return s.clock }

func (s *slowCount) Routes() (int64, bool) {
	s.routes++
	s.clock.now = s.clock.now.Add(10 * time.Millisecond)
	return s.routes, true
}

func (s *slowCount) Restart(context.Context) error { return nil }

func (s *slowCount) Ended() string { return "" }

type waitingClock struct {
	traffic.RealClock
	now time.Time
}

func (w *waitingClock) Now() time.Time { return w.now }

// Counting routes takes a hundredth of the time at most.
func TestRoutesAreCountedRarely(t *testing.T) {
	t.Parallel()
	s := &slowCount{clock: &waitingClock{now: time.Unix(0, 0)}}
	device := &Device{generator: newGenerator(s, v1alpha1.EngineSim), Router: s}
	known := 0
	for range 100 { // intervals of 100 ms
		var d DeviceInterval
		if device.look(&d); d.Routes != nil {
			known++
		}
		s.clock.now = s.clock.now.Add(100 * time.Millisecond)
	}
	if known != int(s.routes) || known < 9 || known > 11 {
		t.Errorf("counted %d times in 10 s, with %d answers", s.routes, known)
	}
}

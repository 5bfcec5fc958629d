package xdp

import (
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic"
)

// A kernel without room for another run makes a sender wait, and no frame is left out.
func TestAKernelWithoutRoomForARun(t *testing.T) {
	t.Setenv(transmitVariable, "") // user space makes no runs
	bed := newBed(t)
	e := bed.backToBack()
	var calls atomic.Int32
	real := testRun
	testRun = func(attr *testRunAttr) unix.Errno {
		if n := calls.Add(1); n > 1 && n < 6 {
			return unix.ENOSPC
		}
		return real(attr)
	}
	t.Cleanup(func() { testRun = real })
	const frames = 5000
	// Frames of streams that pause are sent in several runs.
	trial := traffic.Trial{Loads: map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 500, PerNanos: 1e9}, Frames: 50}, 2: {Rate: traffic.Rate{Frames: 100_000, PerNanos: 1e9}, Frames: frames}}}
	m := bed.run(e, []traffic.Stream{stream(1, e), stream(2, e)}, trial, arrived)
	if calls.Load() < 6 || sent(m) != frames+50 || received(m) != frames+50 {
		t.Errorf("%d runs, %d frames sent and %d received, want %d", calls.Load(), sent(m), received(m), frames+50)
	}
}

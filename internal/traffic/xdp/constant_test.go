package xdp

import (
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// A low rate is sent frame by frame, unless the sender falls behind its schedule: it
// catches up in batches.
func TestConstantLoad(t *testing.T) {
	t.Setenv(transmitVariable, "") // user space has batches of its own
	perSecond := func(n int64) traffic.Rate { return traffic.Rate{Frames: n, PerNanos: 1e9} }
	for name, test := range map[string]struct {
		streams int
		load    func(i int) traffic.Load
		batch   uint32
	}{
		"one frame at a time": {1, func(int) traffic.Load { return traffic.Load{Rate: perSecond(100_000), Frames: 20_000} }, 1},
		// The only frames of streams with different rates are all due at once: more than
		// leave one by one within a millisecond, at any machine's speed.
		"behind its schedule": {8192, func(i int) traffic.Load {
			return traffic.Load{Rate: traffic.Rate{Frames: 1, PerNanos: 1e9 + int64(i)}, Frames: 1, Delay: time.Millisecond}
		}, batch},
		"above what goes frame by frame": {1, func(int) traffic.Load { return traffic.Load{Rate: perSecond(300_000), Frames: 20_000} }, batch},
		"as fast as it can":              {1, func(int) traffic.Load { return traffic.Load{Max: true, Frames: 20_000} }, longBatch},
		"faster than it can":             {1, func(int) traffic.Load { return traffic.Load{Rate: perSecond(100_000_000), Frames: 20_000} }, longBatch},
	} {
		t.Run(name, func(t *testing.T) {
			bed := newBed(t)
			e := bed.backToBack()
			var all []traffic.Stream
			trial := traffic.Trial{Loads: map[uint16]traffic.Load{}}
			var want uint64
			for i := range test.streams {
				all = append(all, stream(uint16(i+1), e))
				trial.Loads[uint16(i+1)] = test.load(i)
				want += test.load(i).Frames
			}
			m := bed.run(e, all, trial, arrived)
			live, pacing := e.trial.senders[0].live, m.Pacing["p1"]
			t.Logf("%d runs, at the end of batches of %d; %+v", live.runs, live.batch, pacing)
			if sent(m) != want || received(m) != want {
				t.Errorf("sent %d, received %d, want %d", sent(m), received(m), want)
			}
			for key, rx := range m.Rx {
				if rx.Duplicate+rx.Reordered+rx.OutOfSequence != 0 {
					t.Errorf("stream %d: %+v", key.Stream, rx)
				}
			}
			// Where others use the processor, a sender may fall behind at any rate.
			if live.batch != test.batch && pacing.MaxLag < behind {
				t.Errorf("batches of %d with a lag of at most %v, want %d", live.batch, pacing.MaxLag, test.batch)
			}
			if live.batch == 1 && pacing.MaxClump != 1 || test.batch == batch && test.streams > 1 && pacing.MaxClump != batch {
				t.Errorf("clumps of up to %d frames in batches of %d", pacing.MaxClump, live.batch)
			}
		})
	}
}

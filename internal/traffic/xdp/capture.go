package xdp

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
)

const (
	// MaxCaptureFrames is the most frames of each kind that a port keeps.
	MaxCaptureFrames = 1000
	// MaxCaptureBytes is CAPTURE_MAX, the most bytes that it keeps of a frame.
	MaxCaptureBytes = 2048
)

// damageOf contains the damage for each verdict of the receive program.
var damageOf = map[uint16]string{2: "truncated", 3: "corrupted", 4: "fragmented"}

// checkCapture refuses what there is no room for.
func checkCapture(c traffic.Capture) error {
	switch {
	case c.Frames < 0 || c.Frames > MaxCaptureFrames:
		return fmt.Errorf("capture of %d frames: give 0 to %d", c.Frames, MaxCaptureFrames)
	case c.Frames > 0 && (c.Bytes < 1 || c.Bytes > MaxCaptureBytes):
		return fmt.Errorf("capture of %d bytes of a frame: give 1 to %d", c.Bytes, MaxCaptureBytes)
	}
	return nil
}

// forgetCaptured makes room for the frames of another trial.
func forgetCaptured(p *kernel.Programs) {
	for kind := range p.Captures.Seen {
		atomic.StoreUint32(&p.Captures.Seen[kind], 0)
	}
}

// readCaptured adds the frames that the port kept, by the time at which they came. One
// that was kept for several reasons is there once.
func (r *receiver) readCaptured(m *traffic.Measurement) {
	most := r.attached.capture.Frames
	if most == 0 {
		return
	}
	begin := time.Now().Add(-time.Duration(monotonic()))
	type identity struct {
		time, sequence uint64
		stream         uint16
	}
	known := map[identity]int{}
	var all []traffic.CapturedFrame
	for kind, name := range kernel.CaptureKinds {
		n := min(int(atomic.LoadUint32(&r.attached.programs.Captures.Seen[kind])), most)
		for _, c := range r.attached.programs.Captured[kind*most:][:n] {
			f := traffic.CapturedFrame{
				Port: r.Name, Time: begin.Add(time.Duration(c.Time)), Kinds: []traffic.CaptureKind{name},
				Stream: c.Stream, Sequence: c.Sequence, Damage: damageOf[c.Verdict],
				Length: int(c.Length), Data: slices.Clone(c.Data[:min(c.Kept, MaxCaptureBytes)]),
			}
			if name == traffic.CaptureAfterGap {
				f.Missing = c.Sequence - c.Expected
				f.Missing -= r.attached.holes.Below(c.Stream, c.Sequence) - r.attached.holes.Below(c.Stream, c.Expected)
			}
			// The program reads the clock for each reason anew.
			id := identity{sequence: c.Sequence, stream: c.Stream}
			if f.Damage != "" {
				id.time = c.Time
			}
			if at, there := known[id]; there && all[at].Damage == "" {
				all[at].Kinds = append(all[at].Kinds, name)
				all[at].Missing = max(all[at].Missing, f.Missing)
				continue
			}
			known[id] = len(all)
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b traffic.CapturedFrame) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Sequence, b.Sequence))
	})
	m.Captured = append(m.Captured, all...)
}

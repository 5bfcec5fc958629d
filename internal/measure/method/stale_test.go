package method

import (
	"testing"

	"nodrop.dev/nodrop/internal/traffic"
)

// Frames of an earlier trial are counted over all trials of a row, but for those that
// introduced the streams: a device may hold these until it knows its neighbors.
func TestStaleFramesOfARow(t *testing.T) {
	p := testPlan(t)
	gen := &shaken{
		Generator: simulate(t, header+"\n64,33.3333,1,2,3\n", p),
		when:      func(n int, _ uint64) bool { return n <= 3 },
		change:    func(m *traffic.Measurement) { m.Stale = map[string]uint64{"p1": 2, "p2": 3} },
	}
	out := mustRun(t, open(t, gen, p, nil), p.Steps[0])
	if out.Stale != 10 || out.Settle != p.Settle || out.Settle == 0 {
		t.Errorf("%d stale frames with a settling time of %v, want those of the second and the third trial, 10", out.Stale, out.Settle)
	}
}

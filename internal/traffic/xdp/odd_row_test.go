package xdp

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/result"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// row measures a row. busy reports whether something else used the tester's processor, in sum
// or in one piece, which holds up the tester and rightly makes the row inconclusive; it is
// measured again then, twice at most.
func (b *bed) row(e *Engine, test v1alpha1.Test) (row v1alpha1.ResultRow, busy bool) {
	b.Helper()
	info, err := e.Info(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for range 3 {
		lab, step := b.lab(e, test, nil)
		out, err := method.Run(b.Context(), lab, step)
		if err != nil {
			b.Fatal(err)
		}
		row = result.Row(plan.Plan{}, result.Input{Bed: objects.TestBed(""), Info: info, Outcome: out})
		busy = slices.ContainsFunc(row.ValidityReasons, func(why string) bool {
			return strings.Contains(why, "other processes used") || strings.Contains(why, "behind its schedule")
		})
		if !busy {
			break
		}
	}
	return row, busy
}

// A row reports what a device did to the frames, and attributes it to the device.
func TestRowOfAnOddDevice(t *testing.T) {
	for name, tc := range map[string]struct {
		settings settings
		// kind of damage that the lost frames have; nil for those that never came.
		kind func(*v1alpha1.FrameSection) int64
	}{
		"loses":     {settings{"drop_every": uint32(500)}, nil},
		"corrupts":  {settings{"corrupt_every": uint32(500)}, func(f *v1alpha1.FrameSection) int64 { return *f.Corrupted }},
		"truncates": {settings{"truncate_every": uint32(500), "truncate_to": uint32(100)}, func(f *v1alpha1.FrameSection) int64 { return *f.Truncated }},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name == "corrupts" {
				t.Skip("counted like what is truncated: make test-long")
			}
			bed := newBed(t)
			d := bed.device()
			d.inXDP(tc.settings)
			d.answers()
			e := bed.open(d.ports([]netip.Prefix{netip.MustParsePrefix("198.18.1.2/24")}, []netip.Prefix{netip.MustParsePrefix("198.18.1.3/24")})...)
			test := v1alpha1.Test{Name: "latency", Latency: &v1alpha1.LatencyTest{Loads: []v1alpha1.Load{"50%"}}}
			test.Latency.TrialDuration.Duration = 500 * time.Millisecond
			row, busy := bed.row(e, test)
			f := row.Frames
			// A trial may be repeated, and where in it the device begins to count is open. On a
			// busy machine the rings behind the device run over as well, in any of the trials.
			over := int64(d.faults().Refused + bed.dropped())
			// What it corrupts, a tester that is held up sends again: the frame is the same memory.
			again := busy && name == "corrupts"
			if most := f.Sent/500 + 1; f.Lost < most-1 || f.Lost > most+over && !again {
				t.Errorf("lost %d of %d, want %d or one less, and %d at most for want of room", f.Lost, f.Sent, most, over)
			}
			damaged := int64(0)
			if tc.kind != nil {
				damaged = tc.kind(f)
			}
			if all := *f.Truncated + *f.Corrupted + *f.Fragmented; all != damaged || tc.kind != nil && (damaged > f.Lost || damaged < f.Lost-over) || *f.Stale != 0 {
				t.Errorf("lost %d, damaged so %d, in all %d, stale %d", f.Lost, damaged, all, *f.Stale)
			}
			if (row.Validity == v1alpha1.ValidityGeneratorBound) != busy {
				t.Errorf("%s: %q: want the tester blamed only where others use its processor", row.Validity, row.ValidityReasons)
			}
			if strings.Contains(row.Message, "the device damaged") != (damaged > 0) {
				t.Errorf("message %q with %d damaged frames", row.Message, damaged)
			}
		})
	}
}

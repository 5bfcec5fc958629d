package xdp

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/method"
	"nodrop.dev/nodrop/internal/plan"
	"nodrop.dev/nodrop/internal/result"
)

// A row says what a device did to the frames, and blames the device for it.
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
			e := bed.open(d.ports([]netip.Prefix{netip.MustParsePrefix("198.18.1.2/24")}, []netip.Prefix{netip.MustParsePrefix("198.18.1.3/24")})...)
			test := v1alpha1.Test{Name: "latency", Latency: &v1alpha1.LatencyTest{Loads: []v1alpha1.Load{"50%"}}}
			test.Latency.TrialDuration.Duration = 500 * time.Millisecond
			lab, step := bed.lab(e, test, nil)
			out, err := method.Run(t.Context(), lab, step)
			if err != nil {
				t.Fatal(err)
			}
			info, err := e.Info(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			row := result.Row(plan.Plan{}, result.Input{Bed: &v1alpha1.TestBed{}, Info: info, Outcome: out})
			f := row.Frames
			// A trial may be repeated, and where in it the device begins to count is open.
			if most := f.Sent/500 + 1; f.Lost < most-1 || f.Lost > most {
				t.Errorf("lost %d of %d, want %d or one less", f.Lost, f.Sent, most)
			}
			damaged := int64(0)
			if tc.kind != nil {
				damaged = tc.kind(f)
			}
			if all := *f.Truncated + *f.Corrupted + *f.Fragmented; all != damaged || tc.kind != nil && damaged != f.Lost || *f.Stale != 0 {
				t.Errorf("lost %d, damaged so %d, in all %d, stale %d", f.Lost, damaged, all, *f.Stale)
			}
			if row.Validity == v1alpha1.ValidityGeneratorBound {
				t.Errorf("the tester is blamed: %q", row.ValidityReasons)
			}
			if strings.Contains(row.Message, "the device damaged") != (damaged > 0) {
				t.Errorf("message %q with %d damaged frames", row.Message, damaged)
			}
		})
	}
}

package sim

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// One frame in a thousand comes after so many others as the model says, or as leave
// while it is delayed.
func TestOrderOfTheModel(t *testing.T) {
	rate := traffic.Load{Rate: traffic.Rate{Frames: 1, PerNanos: 10_000}}
	for columns, want := range map[string]traffic.Order{
		"reordered_ppm\n64,100,1,2,3,0,0,1000": {
			ExtentMax: 1, DegreeMax: 1, LateMaxNs: 10_000, Extents: map[uint32]uint64{1: 100}, Degrees: map[uint32]uint64{1: 100},
		},
		"reordered_ppm,reorder_extent_frames\n64,100,1,2,3,0,0,1000,3": {
			ExtentMax: 3, DegreeMax: 3, LateMaxNs: 30_000, Extents: map[uint32]uint64{3: 100}, Degrees: map[uint32]uint64{3: 100},
		},
		"delayed_ppm,delay_us\n64,100,1,2,3,0,0,1000,5000": { // 500 frames leave in 5 ms.
			ExtentMax: 500, DegreeMax: 500, LateMaxNs: 4_990_000, Extents: map[uint32]uint64{13: 100}, Degrees: map[uint32]uint64{13: 100},
		},
		"delayed_ppm,delay_us\n64,100,1,2,3,0,0,1000,15005": { // The delayed frame before comes when 499 of 1500 have come.
			ExtentMax: 1500, DegreeMax: 999, LateMaxNs: 14_995_000, Extents: map[uint32]uint64{15: 100}, Degrees: map[uint32]uint64{14: 100},
		},
		"loss_ppm\n64,100,1,2,3,0,0,1000": {},
	} {
		got := send(t, header+","+columns+"\n", time.Second, rate)[0].Order
		if got.ExtentMax != want.ExtentMax || got.DegreeMax != want.DegreeMax || got.LateMaxNs != want.LateMaxNs ||
			!maps.Equal(got.Extents, want.Extents) || !maps.Equal(got.Degrees, want.Degrees) {
			t.Errorf("%s:\n%+v, want\n%+v", columns, got, want)
		}
	}
}

// The order of delayed frames matches the definitions of RFC 4737 for frames that really come
// so late, in the middle of a trial.
func TestOrderOfDelayedFrames(t *testing.T) {
	random := rand.New(rand.NewPCG(4737, 1))
	for range 300 {
		period, overtaking := 2+random.Uint64N(40), 1+random.Uint64N(120)
		const frames = 2000
		var r row
		r.odd.delay = overtaking*1000 + 500
		got := r.order(frames*period, 0, frames, traffic.Rate{Frames: 1, PerNanos: 1000})
		extent, degree := delayedByDefinition(period, overtaking)
		if got.ExtentMax != max(1, extent) || got.DegreeMax != degree {
			t.Fatalf("each %dth frame comes after %d later ones: extent %d and n %d, want %d and %d", period, overtaking, got.ExtentMax, got.DegreeMax, extent, degree)
		}
	}
}

// delayedByDefinition is the extent of a delayed frame, and the largest n for which it
// is n-reordered, where each frame whose number is a multiple of the period comes after
// so many later ones: by RFC 4737 sections 4.2.3 and 5.3, from the order of arrival.
func delayedByDefinition(period, overtaking uint64) (extent, degree uint64) {
	type frame struct{ number, at uint64 }
	var frames []frame
	observed := (2*overtaking/period + 3) * period
	for n := range observed + 3*overtaking {
		at := 2 * n
		if n%period == 0 {
			at += 2*overtaking + 1
		}
		frames = append(frames, frame{n, at})
	}
	slices.SortFunc(frames, func(a, b frame) int { return int(a.at) - int(b.at) })
	i := slices.IndexFunc(frames, func(f frame) bool { return f.number == observed })
	j := slices.IndexFunc(frames, func(f frame) bool { return f.number > observed })
	for degree < uint64(i) && frames[uint64(i)-degree-1].number > observed {
		degree++
	}
	return uint64(max(0, i-j)), degree
}

package truth

import (
	"math"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// drawOrdering makes a pair with a device that reorders frames from some load on.
func drawOrdering(r draw) Pair {
	d := r.forwarder()
	if r.chance(80) {
		d.ReorderedPPM, d.ReorderOnsetPPM, d.ReorderExtent = int64(r.spread(10, 100_000)), r.between(0, million), r.between(1, 60)
	}
	trial := one(r, time.Second, 10*time.Second)
	test := v1alpha1.OrderingTest{Resolution: v1alpha1.LoadAmount(one(r, "0.1%", "1%")), TrialDuration: lasting(trial)}
	return Pair{
		Device: d, Tester: r.tester(d, trial), Config: d.config(v1alpha1.Test{Name: "order", Ordering: &test}),
		Claims: func(row *v1alpha1.ResultRow) []Claim { return d.orderOf(row, shareOf(test.Resolution)) },
	}
}

// orderOf are the claims of a row about the order of the frames at its load, and about the load
// at which reordering begins.
func (d Device) orderOf(row *v1alpha1.ResultRow, resolution float64) []Claim {
	s := row.Ordering
	if s == nil {
		return nil
	}
	share, low, high := offered(row)
	lasts := d.lastsFor(row, share)
	reordered := func(load float64) float64 {
		if d.ReorderedPPM == 0 || load*million < float64(d.ReorderOnsetPPM) {
			return 0
		}
		return math.Floor(d.Forward(load, lasts).Received * float64(d.ReorderedPPM) / million)
	}
	frames := max(1, d.Forward(share, lasts).Received)
	least, most := over(low, high, func(load float64) float64 {
		return million * reordered(load) / max(1, d.Forward(load, lasts).Received)
	})
	claims := []Claim{ppm("reordered, ppm", s.ReorderedPPM, least, most, million/frames)}
	// Every frame that changes its place breaks the sequence three times, and every loss once.
	least, most = over(low, high, func(load float64) float64 {
		t := d.Forward(load, lasts)
		return million * min(t.Received, 3*reordered(load)+t.Lost()) / max(1, t.Received)
	})
	sequence := ppm("out of sequence, ppm", s.OutOfSequencePPM, least, most, 4*million/frames)
	// A lost frame is out of sequence, and makes the share of the others larger.
	sequence.Low -= (million + sequence.High) * float64(row.Frames.DoubtfulLost) / max(1, float64(row.Frames.Received))
	claims = append(claims, sequence)
	// The load at which reordering begins lies between the highest in order and the lowest with
	// reordered frames. It takes a frame that is reordered.
	begins := million * lowest(func(load float64) bool { return reordered(load) >= 1 })
	onset := Claim{Figure: "reordering begins, ppm", TrueLow: begins, TrueHigh: begins}
	slack := 2 * million / (d.LineRate() * lasts.Seconds())
	onset.Low, _ = around(float64(s.InOrderPPM), offerAccuracy, slack+million*resolution/2)
	onset.High = math.Inf(1)
	if s.OnsetPPM > 0 {
		_, onset.High = around(float64(s.OnsetPPM), offerAccuracy, slack)
	}
	claims = append(claims, onset)
	if b := s.Reordering; b != nil {
		claims = append(claims, exactly("extent, frames", b.ExtentMaxFrames, float64(d.ReorderExtent), 0, 0))
		late := exactly("late by, ns", b.LateMaxNs, 0, 0, 1)
		late.TrueLow, late.TrueHigh = over(low, high, func(load float64) float64 { return float64(d.ReorderExtent) / (load * d.LineRate()) * 1e9 })
		claims = append(claims, late)
	}
	return claims
}

// lowest returns the lowest share of line rate at which a condition holds; 1 if there is none. It
// may hold no more at higher ones.
func lowest(holds func(load float64) bool) float64 {
	const step = 0.0005
	for high := step; high <= 1; high += step {
		if !holds(high) {
			continue
		}
		low := high - step
		for range 60 {
			if middle := (low + high) / 2; holds(middle) {
				high = middle
			} else {
				low = middle
			}
		}
		return high
	}
	return 1
}

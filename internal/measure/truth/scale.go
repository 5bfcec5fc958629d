package truth

import (
	"fmt"
	"math"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// drawConfigurationScale makes a pair whose device forwards with some number of entries of a list, rejects longer ones, or delays frames by
// each entry.
func drawConfigurationScale(r draw) Pair {
	d := r.forwarder()
	d.CapacityPPM, d.OverloadPPM = million, 0
	lowest, resolution := r.between(1, 100), r.between(1, 50)
	highest := lowest + int64(r.spread(1, 10_000))
	// most is the true largest number without an effect.
	most := int64(math.MaxInt64)
	if r.chance(60) {
		capacity := r.between(0, highest+highest/4)
		d.Behaviour.AccessListCapacity, most = &capacity, capacity
	}
	if r.chance(30) {
		limit := r.between(lowest, highest+highest/4)
		d.Behaviour.AccessListLimit, most = &limit, min(most, limit)
	}
	trial := time.Second
	test := v1alpha1.ConfigurationScaleTest{
		Minimum: int32(lowest), Maximum: int32(highest), Resolution: int32(resolution), Load: v1alpha1.Load(percent(r.between(10_000, 900_000))), TrialDuration: lasting(trial),
	}
	if r.chance(30) {
		each, allowed := lasting(time.Duration(r.between(1, 100))), lasting(time.Duration(r.between(1, 100*highest)))
		d.Behaviour.AccessListLatency, test.MaxAddedLatency = &each, &allowed
		most = min(most, int64(allowed.Duration/each.Duration))
	}
	return Pair{
		Device: d, Tester: r.tester(d, trial), Config: d.config(v1alpha1.Test{Name: "scale", ConfigurationScale: &test}),
		Claims: func(row *v1alpha1.ResultRow) []Claim {
			s := row.ConfigurationScale
			if s == nil || s.Capped {
				return nil
			}
			truth := float64(most)
			if most > highest {
				truth = math.Inf(1)
			}
			c := Claim{Figure: fmt.Sprintf("entries of %d to %d", lowest, highest), Low: float64(s.Entries), High: float64(s.FailedEntries) - 1, TrueLow: truth, TrueHigh: truth}
			if s.FailedEntries == 0 {
				c.High = math.Inf(1)
			}
			return []Claim{c}
		},
	}
}

package truth

import (
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// drawRecovery makes a pair whose device goes on dropping after an overload.
func drawRecovery(r draw) Pair {
	d := r.forwarder()
	d.CapacityPPM = min(d.CapacityPPM, 990_000)
	overload := one(r, time.Second, 10*time.Second)
	reduced := one(r, time.Second, 10*time.Second)
	if r.chance(80) {
		d.Recovery = time.Duration(r.spread(1e3, 2*float64(reduced)))
	}
	test := v1alpha1.RecoveryTest{OverloadDuration: lasting(overload), ReducedDuration: lasting(reduced), Repetitions: int32(r.between(1, 5))}
	search := v1alpha1.ThroughputTest{TrialDuration: lasting(time.Second), SearchTrialDuration: lasting(time.Second)}
	return Pair{
		Device: d, Tester: r.tester(d, overload+reduced),
		Config: d.config(v1alpha1.Test{Name: "throughput", Throughput: &search}, v1alpha1.Test{Name: "recovery", Recovery: &test}),
		Claims: d.recoveryClaims(&test),
	}
}

// recoveryClaims are the claims of a row about the time after an overload.
func (d Device) recoveryClaims(test *v1alpha1.RecoveryTest) func(*v1alpha1.ResultRow) []Claim {
	return func(row *v1alpha1.ResultRow) []Claim {
		s := row.Recovery
		if s == nil {
			return nil
		}
		return d.recoveryOf(s, test.OverloadDuration.Duration, test.ReducedDuration.Duration)
	}
}

// recoveryOf are the claims of a row about the recovery from the overload that it states.
func (d Device) recoveryOf(s *v1alpha1.RecoverySummary, overload, reduced time.Duration) []Claim {
	took := func(load float64) float64 {
		lost := d.Forward(load, overload).Lost()
		if lost < 1 {
			return 0
		}
		if load/2 > d.capacity(load/2) {
			return float64(reduced) // half of the load overloads it, too
		}
		return float64(min(d.Recovery, reduced))
	}
	load := float64(s.OverloadPPM) / million
	low, high := around(load, rateAccuracy, 0)
	least, most := over(low, min(high, 1), took)
	// A loss is known to the time between two frames that are lost. Of each stream half is sent
	// after the overload.
	share := max(d.Forward(load, overload).Ratio(), 1/(load*d.LineRate()*overload.Seconds()))
	apart := 2e9 / (load / 2 * d.LineRate())
	var claims []Claim
	for _, f := range []struct {
		figure string
		value  int64
	}{{"least, ns", s.MinNs}, {"average, ns", s.AvgNs}, {"most, ns", s.MaxNs}} {
		c := exactly(f.figure, f.value, 0, rateAccuracy, apart)
		c.High += apart / share
		c.TrueLow, c.TrueHigh = least, most
		claims = append(claims, c)
	}
	return claims
}

package truth

import (
	"math"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// drawBackToBack makes a pair whose longest burst is searched.
func drawBackToBack(r draw) Pair {
	d := r.lossy(r.forwarder())
	longest := one(r, 100*time.Millisecond, time.Second, 2*time.Second)
	test := v1alpha1.BackToBackTest{Repetitions: int32(r.between(1, 5)), MaxBurstDuration: lasting(longest), ResolutionFrames: one(r, int64(1), 1, 10, 100)}
	tests := []v1alpha1.Test{{Name: "burst", BackToBack: &test}}
	return Pair{
		Device: d, Tester: r.tester(d, d.burstTime(d.Burst(1), longest)), Config: d.config(tests...),
		Claims: d.backToBackClaims(&test),
	}
}

// backToBackClaims are the claims of a row about the longest burst.
func (d Device) backToBackClaims(test *v1alpha1.BackToBackTest) func(*v1alpha1.ResultRow) []Claim {
	longest := test.MaxBurstDuration.Duration
	return func(row *v1alpha1.ResultRow) []Claim {
		s := row.BackToBack
		if s == nil {
			return nil
		}
		most := math.Floor(d.LineRate() * longest.Seconds())
		_, low, _ := offered(row)
		c := Claim{
			Figure: "longest burst, frames", Low: float64(s.MinFrames - countError), High: float64(s.MaxFrames + test.ResolutionFrames + s.CaughtUpFrames + countError),
			TrueLow: d.Burst(1), TrueHigh: d.Burst(min(low, 1-rateAccuracy)),
		}
		if float64(s.MaxFrames) >= most-1 {
			c.High = math.Inf(1) // the row is a lower bound
		}
		implied := exactly("buffer time, ns", s.BufferNs, float64(s.AvgFrames)/d.LineRate()*1e9, rateAccuracy, 1+0.5e9/d.LineRate())
		return []Claim{c, implied}
	}
}

// Burst returns the longest burst that a port passes, which comes at a share of line rate: its
// buffer holds what the port does not send meanwhile. It is at most a number that no burst has.
func (d Device) Burst(load float64) float64 {
	longest := 1e18
	if c := d.capacity(load); c < load {
		longest = min(longest, float64(d.BufferFrames)*load/(load-c))
		if d.BufferFrames == 0 {
			longest = 1
		}
	}
	if d.LossPPM > 0 && load*million >= float64(d.LossOnsetPPM) {
		longest = min(longest, math.Ceil(million/float64(d.LossPPM))-1)
	}
	if d.DamagedPPM > 0 {
		longest = min(longest, math.Ceil(million/float64(d.DamagedPPM))-1)
	}
	return longest
}

// burstTime returns the time that a burst takes at line rate, at least a microsecond.
func (d Device) burstTime(frames float64, longest time.Duration) time.Duration {
	return max(time.Microsecond, min(longest, time.Duration(min(frames, 1e12)/d.LineRate()*1e9)))
}

// drawBufferSize makes a pair whose buffer is filled by two ports that send to one.
func drawBufferSize(r draw) Pair {
	d := r.forwarder()
	d.Ports, d.CapacityPPM, d.OverloadPPM = 4, million, 0
	longest := one(r, 100*time.Millisecond, time.Second)
	test := v1alpha1.BufferSizeTest{
		Oversubscription: v1alpha1.Percentage(one(r, "1%", "10%", "100%")), MaxDuration: lasting(longest),
		Repetitions: int32(r.between(1, 3)), ResolutionFrames: one(r, int64(1), 1, 10),
	}
	over := shareOf(v1alpha1.LoadAmount(test.Oversubscription))
	return Pair{
		Device: d, Tester: r.tester(d, d.burstTime(float64(d.BufferFrames)/over, longest)),
		Config: d.config(v1alpha1.Test{Name: "buffer", BufferSize: &test}),
		Claims: d.bufferSizeClaims(&test),
	}
}

// bufferSizeClaims are the claims of a row about the buffer of a port.
func (d Device) bufferSizeClaims(test *v1alpha1.BufferSizeTest) func(*v1alpha1.ResultRow) []Claim {
	over, longest := shareOf(v1alpha1.LoadAmount(test.Oversubscription)), test.MaxDuration.Duration
	return func(row *v1alpha1.ResultRow) []Claim {
		s := row.BufferSize
		if s == nil {
			return nil
		}
		// The port goes on sending until the last frame has come.
		truth := float64(d.BufferFrames)
		c := Claim{
			Figure: "buffer, frames", Low: float64(s.MinFrames - s.DrainedFrames - countError), High: float64(s.MaxFrames + test.ResolutionFrames + s.CaughtUpFrames + countError),
			TrueLow: truth, TrueHigh: truth * (1 + rateAccuracy/over),
		}
		if float64(s.MaxFrames) >= math.Floor(d.LineRate()*over*longest.Seconds())-1 {
			c.High = math.Inf(1)
		}
		return []Claim{c, exactly("buffer, bytes", s.AvgBytes, float64(s.AvgFrames)*float64(d.Size), 0, 0)}
	}
}

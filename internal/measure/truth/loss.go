package truth

import (
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// drawFrameLoss makes a pair whose frame loss is measured at falling loads.
func drawFrameLoss(r draw) Pair {
	d := r.lossy(r.forwarder())
	trial := one(r, time.Second, 10*time.Second, time.Minute)
	test := v1alpha1.FrameLossTest{Step: v1alpha1.LoadAmount(one(r, "10%", "5%")), TrialDuration: lasting(trial)}
	return Pair{
		Device: d, Tester: r.tester(d, trial), Config: d.config(v1alpha1.Test{Name: "loss", FrameLoss: &test}),
		Claims: d.lossOf,
	}
}

// drawSoak makes a pair with one long trial.
func drawSoak(r draw) Pair {
	d := r.lossy(r.forwarder())
	trial := one(r, 10*time.Second, time.Minute, 10*time.Minute, time.Hour)
	test := v1alpha1.SoakTest{Load: v1alpha1.Load(percent(r.between(10_000, million))), Duration: lasting(trial)}
	if r.chance(30) {
		interval := lasting(trial / 20)
		test.SamplingInterval = &interval
	}
	p := Pair{
		Device: d, Tester: r.tester(d, trial), Config: d.config(v1alpha1.Test{Name: "soak", Soak: &test}),
		Claims: d.lossOf,
	}
	for i := range p.Tester.Faults { // A long trial has many short faults.
		if f := &p.Tester.Faults[i]; f.Span > time.Second && r.chance(80) {
			f.Span = time.Duration(r.spread(1e3, 1e9))
			f.Period = trial / time.Duration(r.between(1, 100))
		}
	}
	return p
}

// lossOf are the claims of a row about the loss at its load, and the rate at which frames
// arrived.
func (d Device) lossOf(row *v1alpha1.ResultRow) []Claim {
	if row.Frames.Sent == 0 {
		return nil
	}
	share, low, high := offered(row)
	lasts := d.lastsFor(row, share)
	spread := countError * million / (share * d.LineRate() * lasts.Seconds())
	least, most := over(low, high, func(load float64) float64 { return million * d.Forward(load, lasts).Ratio() })
	claims := []Claim{ppm("loss, ppm", *row.Frames.LossPPM, least, most, spread).doubtful(row)}
	if rate := row.Frames.ReceivedFramesPerSecond; rate != nil {
		least, most := over(low, high, func(load float64) float64 {
			return float64(d.Ports) * d.Forward(load, lasts).Received / lasts.Seconds()
		})
		c := exactly("received, frames/s", *rate, 0, rateAccuracy, 0.5+countError*float64(d.Ports)/lasts.Seconds())
		c.High += float64(row.Frames.DoubtfulLost) / lasts.Seconds()
		c.TrueLow, c.TrueHigh = least, most
		claims = append(claims, c)
	}
	return claims
}

// lastsFor returns the time for which a trial sent its frames, if it offered a share of line rate.
func (d Device) lastsFor(row *v1alpha1.ResultRow, share float64) time.Duration {
	lasts := trialOf(row)
	if share <= 0 {
		return lasts
	}
	return time.Duration(float64(lasts) * max(1, float64(row.Frames.LineRatePPM)/million/share))
}

// drawForwardingRate makes a pair whose forwarding rate is measured.
func drawForwardingRate(r draw) Pair {
	d := r.lossy(r.forwarder())
	trial := one(r, time.Second, 10*time.Second, time.Minute)
	test := v1alpha1.ForwardingRateTest{Step: v1alpha1.LoadAmount(one(r, "10%", "5%", "2%")), TrialDuration: lasting(trial)}
	return Pair{
		Device: d, Tester: r.tester(d, trial), Config: d.config(v1alpha1.Test{Name: "rate", ForwardingRate: &test}),
		Claims: d.forwardingRateClaims(&test),
	}
}

// forwardingRateClaims are the claims of a row about the rates at which frames leave.
func (d Device) forwardingRateClaims(test *v1alpha1.ForwardingRateTest) func(*v1alpha1.ResultRow) []Claim {
	trial := test.TrialDuration.Duration
	return func(row *v1alpha1.ResultRow) []Claim {
		s := row.ForwardingRate
		share, low, high := offered(row)
		most := 0.0
		for load := share; load > 0; load -= 0.001 {
			most = max(most, d.rate(load, trial))
		}
		slack := 0.5 + countError*float64(d.Ports)/trial.Seconds()
		bounded := func(figure string, value int64, bounds *v1alpha1.RateBounds, slack float64) Claim {
			c := exactly(figure, value, 0, rateAccuracy, slack)
			if bounds != nil {
				c.Low, _ = around(float64(bounds.Low), rateAccuracy, slack)
				_, c.High = around(float64(bounds.High), rateAccuracy, slack)
			}
			return c
		}
		at := bounded("forwarding rate at the highest load, frames/s", s.AtMaxLoad, s.AtMaxLoadBounds, slack)
		at.TrueLow, at.TrueHigh = over(low, high, func(load float64) float64 { return d.rate(load, trial) })
		// The best of the loads that were tried: the best of all is at most a step away.
		step := shareOf(test.Step)
		best := bounded("maximum forwarding rate, frames/s", s.Max, s.MaxBounds, slack)
		best.TrueLow, best.TrueHigh = most-step*d.LineRate()*float64(d.Ports), most
		where := bounded("load of the maximum, as frames/s", s.Max, s.MaxBounds, slack+2*d.LineRate()*float64(d.Ports)/million)
		load := float64(s.MaxLoadPPM) / million
		where.TrueLow, where.TrueHigh = over(load*(1-rateAccuracy), min(1, load*(1+rateAccuracy)), func(load float64) float64 { return d.rate(load, trial) })
		return []Claim{at, best, where}
	}
}

// rate returns the frames/s that all ports forward while a load is offered. What they hold in
// their buffers then is not forwarded yet.
func (d Device) rate(load float64, lasts time.Duration) float64 {
	t, held := d.Forward(load, lasts), 0.0
	if excess := (load - d.capacity(load)) * d.LineRate() * lasts.Seconds(); excess > 0 {
		held = min(float64(d.BufferFrames), excess)
	}
	return max(0, t.Received-held) / lasts.Seconds() * float64(d.Ports)
}

package truth

import (
	"slices"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic/sim/fault"
)

// congested draws a device and a load for two senders to four ports: half of the frames of the first
// sender go to a port of their own, and the rest and all frames of the second to the other.
func (r draw) congested() (Device, v1alpha1.LoadAmount, time.Duration) {
	d := r.forwarder()
	d.Ports, d.OverloadPPM, d.CapacityPPM = 4, 0, r.between(700_000, million)
	hol, pressure := r.chance(50), r.chance(30)
	d.Behaviour.HeadOfLineBlocking, d.Behaviour.BackPressure = &hol, &pressure
	return d, v1alpha1.LoadAmount(percent(r.between(700_000, million))), one(r, time.Second, 10*time.Second)
}

// congesting draws the tester of a congestion. Where the device holds senders back, one that falls
// short by itself cannot be distinguished from one that is held back.
func (r draw) congesting(d Device, trial time.Duration) fault.Tester {
	t := r.tester(d, trial)
	if *d.Behaviour.BackPressure {
		t.Faults = slices.DeleteFunc(t.Faults, func(f fault.Fault) bool { return f.Kind == fault.Short })
	}
	return t
}

// congestion contains what a device makes of the frames to the two ports.
type congestion struct {
	// congested reports whether more comes to the congested port than it can send and hold.
	congested, held bool
	free, full      Trial
}

// congest returns what becomes of a load of each sender.
func (d Device) congest(load float64, lasts time.Duration) congestion {
	line, seconds := d.LineRate(), lasts.Seconds()
	c := congestion{free: Trial{Sent: load / 2 * line * seconds}, full: Trial{Sent: 1.5 * load * line * seconds}}
	limit := float64(d.CapacityPPM) / million * line * seconds
	c.free.Received = min(c.free.Sent, limit)
	c.full.Received = min(c.full.Sent, limit+float64(d.BufferFrames))
	c.congested = c.full.Lost() >= 1
	if *d.Behaviour.BackPressure && c.full.Sent > limit {
		// Both senders are slowed down until the congested port can send all.
		c.held = true
		slow := limit / c.full.Sent
		c.free.Sent, c.full.Sent = c.free.Sent*slow, c.full.Sent*slow
		c.free.Received, c.full.Received = c.free.Sent, c.full.Sent
		return c
	}
	if *d.Behaviour.HeadOfLineBlocking && c.congested {
		c.free.Received = c.free.Sent * (1 - c.full.Ratio())
	}
	return c
}

// congestionClaims are the claims about the two ports that both methods make.
func (d Device) congestionClaims(row *v1alpha1.ResultRow, load float64, lasts time.Duration, freePPM, freeRate, fullPPM int64) []Claim {
	low, high := around(load, rateAccuracy+lateTolerance(lasts), 0)
	high = min(high, load*(1+rateAccuracy))
	of := func(f func(congestion) float64) (float64, float64) {
		return over(low, high, func(load float64) float64 { return f(d.congest(load, lasts)) })
	}
	doubt := float64(row.Frames.DoubtfulLost)
	at := d.congest(load, lasts)
	least, most := of(func(c congestion) float64 { return million * c.free.Ratio() })
	free := ppm("loss of the uncongested port, ppm", freePPM, least, most, 2*countError*million/at.free.Sent)
	free.Low -= million * doubt / at.free.Sent
	least, most = of(func(c congestion) float64 { return million * c.full.Ratio() })
	full := ppm("loss of the congested port, ppm", fullPPM, least, most, 2*countError*million/at.full.Sent)
	full.Low -= million * doubt / at.full.Sent
	rate := exactly("rate of the uncongested port, frames/s", freeRate, 0, rateAccuracy, 1+2*countError/lasts.Seconds())
	rate.TrueLow, rate.TrueHigh = of(func(c congestion) float64 { return c.free.Received / lasts.Seconds() })
	rate.High += doubt / lasts.Seconds()
	return []Claim{free, full, rate}
}

// lateTolerance returns the share by which a trial may take longer.
func lateTolerance(lasts time.Duration) float64 {
	return min(max(lasts.Seconds()/100, 0.01), 0.1) / lasts.Seconds()
}

// answer is a claim of a yes or a no.
func answer(figure string, value *bool, truth bool) Claim {
	c := Claim{Figure: figure, High: 1}
	if value != nil && *value {
		c.Low = 1
	} else if value != nil {
		c.High = 0
	}
	if truth {
		c.TrueLow, c.TrueHigh = 1, 1
	}
	return c
}

// drawCongestionControl makes a pair whose congested port is observed.
func drawCongestionControl(r draw) Pair {
	d, load, trial := r.congested()
	test := v1alpha1.CongestionControlTest{Load: load, TrialDuration: lasting(trial)}
	return Pair{
		Device: d, Tester: r.congesting(d, trial), Config: d.config(v1alpha1.Test{Name: "congestion", CongestionControl: &test}),
		Claims: d.congestionControlClaims(&test),
	}
}

// congestionControlClaims are the claims of a row about a congested port and another one.
func (d Device) congestionControlClaims(test *v1alpha1.CongestionControlTest) func(*v1alpha1.ResultRow) []Claim {
	load, trial := test.Load, test.TrialDuration.Duration
	return func(row *v1alpha1.ResultRow) []Claim {
		s := row.CongestionControl
		if s == nil {
			return nil
		}
		c := d.congest(shareOf(load), trial)
		return append(d.congestionClaims(row, shareOf(load), trial, s.UncongestedLossPPM, s.UncongestedFramesPerSecond, s.CongestedLossPPM),
			answer("back pressure", s.BackPressure, c.held), answer("head of line blocking", s.HeadOfLineBlocking, c.free.Lost() >= 1))
	}
}

// drawHeadOfLineBlocking makes a pair whose uncongested port is observed with and without
// congestion.
func drawHeadOfLineBlocking(r draw) Pair {
	d, load, trial := r.congested()
	test := v1alpha1.HeadOfLineBlockingTest{Load: load, TrialDuration: lasting(trial)}
	return Pair{
		Device: d, Tester: r.congesting(d, trial), Config: d.config(v1alpha1.Test{Name: "head-of-line", HeadOfLineBlocking: &test}),
		Claims: d.headOfLineClaims(&test),
	}
}

// headOfLineClaims are the claims of a row about a congested port and another one.
func (d Device) headOfLineClaims(test *v1alpha1.HeadOfLineBlockingTest) func(*v1alpha1.ResultRow) []Claim {
	load, trial := test.Load, test.TrialDuration.Duration
	return func(row *v1alpha1.ResultRow) []Claim {
		s := row.HeadOfLineBlocking
		if s == nil {
			return nil
		}
		c := d.congest(shareOf(load), trial)
		return append(d.congestionClaims(row, shareOf(load), trial, s.UncongestedLossPPM, s.UncongestedFramesPerSecond, s.CongestedLossPPM),
			answer("blocking", s.Blocking, c.free.Lost() >= 1), ppm("loss without congestion, ppm", s.AloneLossPPM, 0, 0, 0))
	}
}

// drawBroadcast makes a pair whose broadcast throughput is searched.
func drawBroadcast(r draw) Pair {
	d := r.lossy(r.forwarder())
	trial := one(r, time.Second, 10*time.Second)
	test := v1alpha1.BroadcastTest{Resolution: v1alpha1.LoadAmount(one(r, "0.1%", "1%")), TrialDuration: lasting(trial), SearchTrialDuration: lasting(trial)}
	return Pair{
		Device: d, Tester: r.tester(d, trial), Config: d.bridged(d.config(v1alpha1.Test{Name: "broadcast", Broadcast: &test})),
		Claims: d.broadcastClaims(&test),
	}
}

// broadcastClaims are the claims of a row about frames to all ports.
func (d Device) broadcastClaims(test *v1alpha1.BroadcastTest) func(*v1alpha1.ResultRow) []Claim {
	trial := test.TrialDuration.Duration
	return func(row *v1alpha1.ResultRow) []Claim {
		s := row.Broadcast
		if s == nil {
			return nil
		}
		search := v1alpha1.ThroughputTest{Resolution: test.Resolution, TrialDuration: test.TrialDuration}
		claims := []Claim{d.searched("throughput of broadcast, ppm", row, search, 0)}
		load := float64(s.MaxLoadPPM) / million
		low, high := around(load, offerAccuracy, 0)
		receivers := float64(d.Ports - 1)
		least, most := over(low, min(1, high), func(load float64) float64 { return million * d.Forward(load, trial).Ratio() })
		loss := ppm("loss at the highest load, ppm", s.LossPPM, least, most, 2*countError*million/(d.LineRate()*trial.Seconds()))
		if s.DoubtfulLossPPM > 0 {
			loss.Low -= float64(s.DoubtfulLossPPM) + 1
		}
		claims = append(claims, loss)
		rate := exactly("forwarding rate, frames/s", s.ForwardingRate, 0, rateAccuracy, 1+2*countError*receivers/trial.Seconds())
		if b := s.ForwardingRateBounds; b != nil {
			rate.Low, rate.High = min(rate.Low, float64(b.Low)*(1-rateAccuracy)), max(rate.High, float64(b.High)*(1+rateAccuracy))
		}
		rate.TrueLow, rate.TrueHigh = over(low, min(1, high), func(load float64) float64 { return d.rate(load, trial) / float64(d.Ports) * receivers })
		claims = append(claims, rate)
		return claims
	}
}

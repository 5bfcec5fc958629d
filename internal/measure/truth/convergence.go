package truth

import (
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// events is how long a test gives the router for a change of its routes, and how often it looks.
func (r draw) events(last float64) (wait time.Duration, interval time.Duration) {
	wait = time.Duration(last) + time.Duration(r.spread(1e9, 2e10))
	if r.chance(10) { // The change takes longer than the test looks.
		wait = max(time.Second, time.Duration(last*(0.2+0.5*r.Float64())))
	}
	return wait, one(r, 20*time.Millisecond, 100*time.Millisecond, time.Second)
}

// drawConvergence makes a pair whose router takes time to learn and to forget routes.
func drawConvergence(r draw) Pair {
	d := r.router(20_000)
	load := r.between(1_000, 900_000)
	up, down := d.installs(d.Routes), d.withdraws(d.Routes)
	announced, interval := r.events(up.last)
	withdrawn, _ := r.events(down.last)
	test := v1alpha1.ConvergenceTest{
		Load: v1alpha1.Load(percent(load)), LeadTime: lasting(time.Second), AnnouncedTime: lasting(announced), WithdrawnTime: lasting(withdrawn),
		Cycles: int32(r.between(1, 3)), SamplingInterval: lasting(interval),
	}
	seen := up.last < float64(announced) && down.last < float64(withdrawn)
	if !seen {
		test.Cycles = 1
	}
	return Pair{
		Device: d.Device, Tester: r.tester(d.Device, time.Second+announced+withdrawn),
		Config: d.config(false, v1alpha1.Test{Convergence: &test}),
		Claims: func(row *v1alpha1.ResultRow) []Claim {
			s := row.Convergence
			if s == nil {
				return nil
			}
			_, low, _ := offered(row)
			turn, resolution := d.turn(low, d.Routes), float64(s.ResolutionNs)
			var claims []Claim
			if s.NeverForwarded != nil && up.last+turn < float64(announced) {
				claims = append(claims, counted("routes never forwarded", *s.NeverForwarded, 0))
			}
			return append(claims, d.changes(test, s, up, down, turn, resolution)...)
		},
	}
}

// changes are the claims of a row of convergence about the times.
func (d routed) changes(test v1alpha1.ConvergenceTest, s *v1alpha1.ConvergenceSummary, up, down changed, turn, resolution float64) []Claim {
	var claims []Claim
	for _, e := range []struct {
		name  string
		wait  time.Duration
		times v1alpha1.EventTimes
		truth changed
	}{
		{"announcement", test.AnnouncedTime.Duration, s.Announce, up},
		{"withdrawal", test.WithdrawnTime.Duration, s.Withdraw, down},
	} {
		early := e.truth.early(d.Routes, resolution, turn)
		if e.times.Unseen > 0 {
			claims = append(claims, Claim{Figure: e.name + ", not seen within ns", Low: float64(e.wait) - 2*resolution - turn, High: 1e18, TrueLow: e.truth.last * (1 + timeAccuracy), TrueHigh: e.truth.last * (1 + timeAccuracy)})
			return claims // The router begins the next event after this one.
		}
		claims = append(claims, times(e.name, e.times, e.truth.last, early, resolution+turn)...)
		claims = append(claims, d.byFrames(e.name, e.times.LossDerivedAvgNs, e.truth, turn))
	}
	return claims
}

// drawRouteFlap makes a pair whose router loses some of its routes again and again, with or
// without a further path to them.
func drawRouteFlap(r draw) Pair {
	d := r.router(20_000)
	further := r.chance(50)
	load := r.between(1_000, 900_000)
	flapped := int32(r.between(1, int64(d.Routes)))
	gone, back := d.withdraws(flapped), d.installs(flapped)
	if further { // Both changes replace a path.
		gone.last += float64(d.Dip)
		back = gone
	}
	withdrawn := time.Duration(gone.last) + time.Duration(r.spread(1e9, 2e10))
	announced := time.Duration(back.last) + time.Duration(r.spread(1e9, 2e10))
	test := v1alpha1.RouteFlapTest{
		Flapped: flapped, Flaps: int32(r.between(1, 4)), Load: v1alpha1.Load(percent(load)), LeadTime: lasting(time.Second),
		WithdrawnTime: lasting(withdrawn), AnnouncedTime: lasting(announced), SamplingInterval: lasting(one(r, 20*time.Millisecond, 100*time.Millisecond, time.Second)),
	}
	tester := r.tester(d.Device, time.Second+time.Duration(test.Flaps)*(withdrawn+announced))
	return Pair{
		Device: d.Device, Tester: tester,
		Config: d.config(further, v1alpha1.Test{RouteFlap: &test}),
		Claims: func(row *v1alpha1.ResultRow) []Claim {
			s := row.RouteFlap
			if s == nil || row.Frames == nil {
				return nil
			}
			_, low, _ := offered(row)
			turn := d.turn(low, d.Routes)
			without := 2 * float64(d.Dip) // the time for which a network has no path in a flap
			if !further {
				without = float64(withdrawn) - gone.mean + back.mean
			}
			perNetwork := 1e9 / turn
			lost := exactly("frames lost to flapping routes", s.FlappedLost, 0, 0, 0)
			truth := float64(test.Flaps) * float64(flapped) * without / 1e9 * perNetwork
			spread := timeAccuracy*truth + float64(2*test.Flaps*flapped)*(1+(float64(d.LatencyMax)+max(gone.each, back.each)/2)/turn)
			lost.TrueLow, lost.TrueHigh = truth-spread, truth+spread
			// A late frame misses an outage, or comes into it.
			lost.Low, lost.High = lost.Low-float64(row.Frames.DoubtfulLost), lost.High+float64(row.Frames.DoubtfulLost)
			claims := []Claim{lost, noneLost("frames lost to stable routes", s.StableLost, row)}
			return append(claims, d.flaps(s, further, flapped, gone, back, turn)...)
		},
	}
}

// flaps are the claims of a row of routeFlap about the times.
func (d routed) flaps(s *v1alpha1.RouteFlapSummary, further bool, flapped int32, gone, back changed, turn float64) []Claim {
	resolution := float64(s.ResolutionNs)
	var claims []Claim
	switch {
	case !further:
		claims = append(claims, counted("withdrawals that end", int64(s.Flaps-s.Withdraw.Unseen), 0))
	case s.Withdraw.Unseen == 0 && float64(d.Dip) > 2*turn: // a shorter dip may miss every frame
		claims = append(claims, times("withdrawal", s.Withdraw, gone.last, gone.early(flapped, resolution, turn), resolution+turn)...)
		claims = append(claims, exactly("withdrawal, by frames, ns", s.Withdraw.LossDerivedAvgNs, float64(d.Dip), timeAccuracy, 2*turn+float64(d.LatencyMax)))
	}
	if s.Announce.Unseen == 0 {
		claims = append(claims, times("announcement", s.Announce, back.last, back.early(flapped, resolution, turn), resolution+turn)...)
	}
	return claims
}

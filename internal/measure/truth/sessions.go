package truth

import (
	"math"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// looked is the longest time between two looks at the routes of a session.
const looked = 20 * time.Millisecond

// drawRouteRefresh makes a pair whose router sends its routes again.
func drawRouteRefresh(r draw) Pair {
	d := r.router(20_000)
	took := float64(d.Delay)
	if r.chance(90) {
		rate := int64(max(1, r.spread(float64(d.Routes)/8, 1e6)))
		d.Behaviour.RouteRefreshRate = &rate
		took += 1e9 * float64(d.Routes) / float64(rate)
	}
	interval := time.Duration(took) + time.Duration(r.spread(1e8, 1e10))
	if r.chance(10) {
		interval = max(200*time.Millisecond, time.Duration(took*(0.3+0.5*r.Float64())))
	}
	test := v1alpha1.RouteRefreshTest{
		Load: v1alpha1.Load(percent(r.between(1_000, 900_000))), LeadTime: lasting(time.Second), Interval: lasting(interval), Refreshes: int32(r.between(1, 4)),
	}
	return Pair{
		Device: d.Device, Tester: r.tester(d.Device, time.Second+time.Duration(test.Refreshes)*interval),
		Config: d.config(false, v1alpha1.Test{RouteRefresh: &test}),
		Claims: func(row *v1alpha1.ResultRow) []Claim {
			s := row.RouteRefresh
			if s == nil || row.Frames == nil {
				return nil
			}
			claims := []Claim{counted("routes", s.Routes, int64(d.Routes)), noneLost("lost frames", row.Frames.Lost, row)}
			if s.Unseen > 0 {
				claims = append(claims, Claim{Figure: "refresh, not seen within ns", Low: float64(interval) * (1 - timeAccuracy), High: 1e18, TrueLow: took, TrueHigh: took})
			}
			if s.Refresh != nil {
				claims = append(claims, spreads("refresh", s.Refresh, took, 0)...)
			}
			if s.RoutesPerSecond != nil && took > 1e6 {
				claims = append(claims, exactly("routes/s", *s.RoutesPerSecond, 1e9*float64(d.Routes)/took, timeAccuracy, 1))
			}
			return claims
		},
	}
}

// drawBGPRestart makes a pair whose router restarts its BGP.
func drawBGPRestart(r draw) Pair {
	d := r.router(20_000)
	down := time.Duration(r.spread(1e6, 1e10))
	restart := lasting(down)
	d.Behaviour.BGPRestartTime = &restart
	back := d.installs(d.Routes)
	recovery := down + time.Duration(back.last) + time.Duration(r.spread(1e9, 1e10))
	test := v1alpha1.BGPRestartTest{
		Load: v1alpha1.Load(percent(r.between(1_000, 900_000))), LeadTime: lasting(time.Second), RecoveryTime: lasting(recovery), Restarts: int32(r.between(1, 3)),
	}
	return Pair{
		Device: d.Device, Tester: r.tester(d.Device, time.Second+recovery),
		Config: d.config(false, v1alpha1.Test{BGPRestart: &test}),
		Claims: func(row *v1alpha1.ResultRow) []Claim {
			s := row.BGPRestart
			if s == nil || row.Frames == nil || s.SessionsBack == nil || s.RoutesBack == nil {
				return nil
			}
			_, low, _ := offered(row)
			turn := d.turn(low, d.Routes)
			claims := []Claim{counted("routes", s.Routes, int64(d.Routes)), counted("sessions", int64(s.Sessions), 3)}
			claims = append(claims, spreads("sessions back", s.SessionsBack, float64(down), float64(looked))...)
			claims = append(claims, spreads("routes back", s.RoutesBack, float64(down)+back.last, float64(looked))...)
			late := 2*turn + float64(d.LatencyMax) + back.each/4
			for _, c := range spreads("outage", &s.Outage, float64(down)+back.mean, 0) {
				c.Low, c.High = c.Low-late, c.High+late
				claims = append(claims, c)
			}
			return claims
		},
	}
}

// drawSessionScale makes a pair whose router holds some number of sessions.
func drawSessionScale(r draw) Pair {
	d := r.router(20)
	perPort := int32(r.between(1, 60))
	all, capacity := int64(3*perPort), r.between(1, 200)
	d.Behaviour.SessionCapacity = &capacity
	wait, each := time.Duration(r.spread(1e9, 6e10)), 0.0
	if r.chance(80) {
		rate := int64(r.spread(1, 1000))
		d.Behaviour.SessionRate, each = &rate, 1e9/float64(rate)
	}
	test := v1alpha1.SessionScaleTest{
		First: int32(r.between(1, 50)), Resolution: int32(r.between(1, 10)), WaitTime: lasting(wait), SoakTime: new(lasting(10 * time.Second)), FlapInterval: lasting(time.Second),
	}
	cfg := d.config(false, v1alpha1.Test{SessionScale: &test})
	cfg.Bed.Spec.Routing.BGP.Sessions[0].Count = perPort
	cfg.Profile.Spec.Routing.Routes[0].Sessions = nil
	held := float64(min(all, capacity))
	if each > 0 {
		held = min(held, math.Floor(float64(wait)/each))
	}
	return Pair{
		Device: d.Device, Tester: r.tester(d.Device, time.Minute), Config: cfg,
		Claims: func(row *v1alpha1.ResultRow) []Claim {
			s := row.SessionScale
			if s == nil {
				return nil
			}
			sessions := counted("sessions", int64(s.Sessions), int64(held))
			if s.Full {
				sessions.High += float64(test.Resolution) - 1
			}
			claims := []Claim{sessions, counted("sessions that went down", s.Down, 0)}
			if s.Sessions > 0 {
				claims = append(claims, exactly("established, ns", s.EstablishNs, each*float64(s.Sessions), timeAccuracy, 1))
			}
			return claims
		},
	}
}

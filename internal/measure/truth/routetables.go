package truth

import (
	"math"
	"net/netip"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

// drawRouteCapacity makes a pair whose router holds some number of routes, of which it forwards
// to all or to fewer.
func drawRouteCapacity(r draw) Pair {
	d := r.router(20_000)
	capacity := int64(r.spread(5, 40_000))
	d.Behaviour.RouteCapacity = &capacity
	held := min(capacity, int64(d.Routes))
	if r.chance(30) {
		forwards := int64(r.spread(5, 40_000))
		d.Behaviour.FIBCapacity = &forwards
		held = min(held, forwards)
	}
	each := r.between(100, 1000)
	d.Behaviour.RouteMemory = &each
	block := int32(r.between(max(1, int64(d.Routes)/20), int64(d.Routes)))
	wait := d.Delay + time.Duration(r.spread(5e8, 1e10))
	test := v1alpha1.RouteCapacityTest{Block: block, WaitTime: lasting(wait)}
	took := d.installs(block).last
	return Pair{
		Device: d.Device, Tester: r.tester(d.Device, 10*time.Second),
		Config: d.config(false, v1alpha1.Test{RouteCapacity: &test}),
		Claims: func(row *v1alpha1.ResultRow) []Claim {
			s := row.RouteCapacity
			if s == nil {
				return nil
			}
			c := counted("routes", s.Routes, held)
			if s.Full {
				c.High = float64(s.Announced) - 1
			}
			claims := []Claim{c}
			if s.SlowestBlockNs != nil && *s.SlowestBlockNs > 0 && s.Routes >= int64(block) {
				claims = append(claims, exactly("slowest block, ns", *s.SlowestBlockNs, took, timeAccuracy, 1))
			}
			if m := s.Memory; m != nil && s.Routes > 0 {
				claims = append(claims, counted("memory, bytes", m.HeldBytes-m.IdleBytes, s.Routes*each), counted("memory of a route, bytes", m.BytesPerRoute, each))
			}
			return claims
		},
	}
}

// drawFIBTruth makes a pair whose router does not forward to all routes that it advertises.
func drawFIBTruth(r draw) Pair {
	d := r.router(5_000)
	if r.chance(70) {
		dropped, misrouted, seed := int64(r.spread(1, 100_000)), int64(r.spread(1, 100_000)), int64(r.IntN(1000))
		d.Behaviour.FIBDroppedPPM, d.Behaviour.FIBMisroutedPPM, d.Behaviour.FIBSeed = &dropped, &misrouted, &seed
	}
	own := time.Duration(0) // delay of each route
	if r.chance(30) {
		own = time.Duration(r.spread(1e6, 1e9))
		delay := lasting(own)
		d.Behaviour.FIBDelay = &delay
	}
	wait := d.Delay + own + time.Duration(r.spread(1e9, 1e10))
	test := v1alpha1.FIBTruthTest{ProbesPerSecond: int32(r.spread(1000, 1e5)), Rounds: int32(r.between(3, 6)), WaitTime: lasting(wait)}
	dropped, misrouted := d.wrongRoutes()
	return Pair{
		Device: d.Device, Tester: r.tester(d.Device, 10*time.Second),
		Config: d.config(false, v1alpha1.Test{FIBTruth: &test}),
		Claims: func(row *v1alpha1.ResultRow) []Claim {
			s := row.FIBTruth
			if s == nil {
				return nil
			}
			claims := []Claim{
				counted("routes", s.Routes, int64(d.Routes)), counted("dropped", s.Dropped, dropped), counted("misrouted", s.Misrouted, misrouted),
				counted("forwarded", s.Forwarded, int64(d.Routes)-dropped-misrouted), counted("forgotten", s.Forgotten, 0),
			}
			if s.Delay == nil {
				return claims
			}
			wrong := float64(dropped + misrouted)
			for _, f := range []struct {
				figure string
				value  int64
				share  float64
			}{{"median delay, ns", s.Delay.P50Ns, 0.5}, {"p99 delay, ns", s.Delay.P99Ns, 0.99}, {"last delay, ns", s.Delay.LastNs, 1}} {
				rank := math.Ceil(f.share * float64(s.Delay.Routes))
				c := exactly(f.figure, f.value, 0, timeAccuracy, 1)
				c.Low -= float64(s.Delay.ResolutionNs) + float64(d.LatencyMax)
				c.TrueLow = float64(d.Delay) + rank*float64(d.Install)
				c.TrueHigh = float64(d.Delay) + (rank+wrong)*float64(d.Install) + float64(own)
				claims = append(claims, c)
			}
			return claims
		},
	}
}

// wrongRoutes returns the numbers of routes to which the router drops and misroutes frames.
func (d routed) wrongRoutes() (dropped, misrouted int64) {
	for i := range d.Routes {
		prefix := netip.PrefixFrom(netip.AddrFrom4([4]byte{20, byte(i >> 8), byte(i), 0}), 24)
		switch drops, misroutes := sim.FIBFault(d.Behaviour, prefix); {
		case drops:
			dropped++
		case misroutes:
			misrouted++
		}
	}
	return dropped, misrouted
}

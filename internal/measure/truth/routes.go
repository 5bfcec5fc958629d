package truth

import (
	"math"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/runner"
)

// routed describes a router whose neighbors announce routes. It begins to process them after Delay,
// and installs or replaces one route after the other.
type routed struct {
	Device
	// Routes of the first set.
	Routes int32
	// Delay from an UPDATE until the router begins, Dip the time for which it has no path to a
	// prefix while it replaces one.
	Delay, Dip time.Duration
	// Install and Withdraw are the times for a route: to install it, and to remove or replace it.
	Install, Withdraw time.Duration
}

// router draws a router, and the routes that are announced to it, up to a number.
func (r draw) router(most float64) routed {
	d := routed{Device: r.forwarder()}
	d.Ports, d.CapacityPPM, d.OverloadPPM = 3, million, 0
	d.Routes = int32(r.spread(10, most))
	rate := func() (perSecond int64, each time.Duration) {
		perSecond = int64(r.spread(float64(d.Routes)/8, 1e6))
		perSecond = max(perSecond, 1)
		return perSecond, time.Duration(float64(time.Second) / float64(perSecond))
	}
	b := &d.Behaviour
	if r.chance(90) {
		var install, withdraw int64
		install, d.Install = rate()
		withdraw, d.Withdraw = rate()
		b.RouteInstallRate, b.RouteWithdrawRate = &install, &withdraw
	}
	if r.chance(70) {
		d.Delay = time.Duration(r.spread(1e5, 2e9))
		delay := lasting(d.Delay)
		b.RouteDelay = &delay
	}
	if r.chance(70) {
		d.Dip = time.Duration(r.spread(1e6, 1e9))
		dip := lasting(d.Dip)
		b.RouteSwitchDip = &dip
	}
	return d
}

// changed describes the change of some routes: the time until the last of them has changed, the mean
// time over the routes, and the time for each.
type changed struct{ last, mean, each float64 }

// installs describes an announcement, until the router forwards to a number of routes.
func (d routed) installs(routes int32) changed { return d.handles(routes, d.Install) }

// withdraws describes a withdrawal, until the router no longer uses the paths.
func (d routed) withdraws(routes int32) changed { return d.handles(routes, d.Withdraw) }

// handles describes the change of routes one after the other. The engine sim spreads the change of a
// route evenly over its time, so that the mean is half of this time shorter than that of steps.
func (d routed) handles(routes int32, each time.Duration) changed {
	n, e := float64(routes), float64(each)
	return changed{float64(d.Delay) + n*e, float64(d.Delay) + (n+0.5)/2*e, e}
}

// byFrames is the claim of a mean time over the routes, which is known to the time between two
// frames to a route.
func (d routed) byFrames(event string, value int64, truth changed, turn float64) Claim {
	c := exactly(event+", by frames, ns", value, truth.mean, timeAccuracy, 2*turn+float64(d.LatencyMax))
	c.TrueLow, c.TrueHigh = c.TrueLow-truth.each/4, c.TrueHigh+truth.each/4
	return c
}

// turn returns the time after which each of a number of routes gets the next frame, at a load as a
// share of line rate.
func (d routed) turn(load float64, routes int32) float64 {
	return 1e9 * float64(routes) / (load * d.LineRate())
}

// early returns the longest time by which the end of a change of a number of routes is seen too
// early. An interval counts as the end if a thousandth of its frames is missing, and the time in which
// a route changes is the area of a triangle. So is the time until less than a frame is missing.
func (c changed) early(routes int32, interval, turn float64) float64 {
	return turn + math.Sqrt(2*interval*c.each*float64(routes)/1000) + math.Sqrt(2*c.each*turn)
}

// routedConfig returns the configuration of a run in which the port p1 sends to the routes that a
// session on p2 announces, and, if further holds, one on p3 with a longer path.
func (d routed) config(further bool, test v1alpha1.Test) runner.Config {
	test.Name = "routes"
	cfg := d.Device.config(test)
	cfg.Profile.Spec.Pattern = v1alpha1.Pattern{PartialMesh: &v1alpha1.PartialMeshPattern{Senders: []string{"p1"}, Receivers: []string{"p2"}}}
	first := v1alpha1.RouteSet{Name: "first", Sessions: []string{"peer-p2"}, First: "20.0.0.0/24", Count: d.Routes}
	second := first
	second.Name, second.Sessions, second.ASPath = "second", []string{"peer-p3"}, []int64{64512}
	sets := []v1alpha1.RouteSet{first, second}
	if !further {
		sets = sets[:1]
	}
	cfg.Profile.Spec.Routing = &v1alpha1.ProfileRouting{Routes: sets}
	cfg.Bed.Spec.Routing = &v1alpha1.BedRouting{BGP: v1alpha1.BGPRouting{DeviceASN: 65000, Sessions: []v1alpha1.BGPSession{
		{Name: "peer", ASN: 100001, Families: []v1alpha1.BGPFamily{v1alpha1.BGPIPv4Unicast}},
	}}}
	return cfg
}

// times are the claims of a row about the durations of an event. The true duration is last, of
// which a part is seen late and a part early.
func times(event string, e v1alpha1.EventTimes, last, early, late float64) []Claim {
	var claims []Claim
	for _, f := range []struct {
		figure string
		value  int64
	}{{"average, ns", e.AvgNs}, {"least, ns", e.MinNs}, {"most, ns", e.MaxNs}} {
		c := exactly(event+", "+f.figure, f.value, last, timeAccuracy, 1)
		c.Low, c.High = c.Low-late, c.High+early
		claims = append(claims, c)
	}
	return claims
}

// spreads are the claims of a row about times that are late by up to an amount.
func spreads(event string, s *v1alpha1.TimeSpread, truth, late float64) []Claim {
	return times(event, v1alpha1.EventTimes{AvgNs: s.AvgNs, MinNs: s.MinNs, MaxNs: s.MaxNs}, truth, 0, late)
}

// counted is the claim of an exact number.
func counted(figure string, value, truth int64) Claim {
	return Claim{Figure: figure, Low: float64(value), High: float64(value), TrueLow: float64(truth), TrueHigh: float64(truth)}
}

// noneLost is the claim of a number of lost frames of which the device lost none.
func noneLost(figure string, lost int64, row *v1alpha1.ResultRow) Claim {
	c := counted(figure, lost, 0)
	c.Low -= float64(row.Frames.DoubtfulLost)
	return c
}

package method

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
	"nodrop.dev/nodrop/internal/traffic"
)

// What a test of routes cannot be run with is refused before anything is measured, with
// the field and what to do.
func TestTestsOfRoutesAreRefused(t *testing.T) {
	t.Parallel()
	const notInSet = "no frames go to these routes, as the pattern of traffic profile peers sends nothing to the ports that announce them, the set has traffic: false, or another path is preferred: name another set"
	capacity := func(change func(*v1alpha1.RouteCapacityTest)) v1alpha1.Test {
		c := &v1alpha1.RouteCapacityTest{Block: 40000, WaitTime: metav1.Duration{Duration: time.Second}}
		change(c)
		return v1alpha1.Test{Name: "capacity", RouteCapacity: c}
	}
	converge := func(routes string) v1alpha1.Test {
		return v1alpha1.Test{Name: "convergence", Convergence: &v1alpha1.ConvergenceTest{Routes: routes, Load: "90%"}}
	}
	flap := func(routes string, flapped int32) v1alpha1.Test {
		return v1alpha1.Test{Name: "flap", RouteFlap: &v1alpha1.RouteFlapTest{Routes: routes, Flapped: flapped, Flaps: 1, Load: "90%"}}
	}
	refresh := func(session string) v1alpha1.Test {
		return v1alpha1.Test{Name: "refresh", RouteRefresh: &v1alpha1.RouteRefreshTest{Session: session, Load: "90%", Refreshes: 1}}
	}
	restart := v1alpha1.Test{Name: "restart", BGPRestart: &v1alpha1.BGPRestartTest{Load: "90%", Restarts: 1}}
	truth := func(routes string) v1alpha1.Test {
		return v1alpha1.Test{Name: "truth", FIBTruth: &v1alpha1.FIBTruthTest{Routes: routes, ProbesPerSecond: 1000, Rounds: 3}}
	}
	scale := v1alpha1.Test{Name: "scale", SessionScale: &v1alpha1.SessionScaleTest{First: 1, Resolution: 1}}
	asIs := func(*plan.Setting) {}
	noRoutes := func(in *plan.Setting) { in.Announcements, in.Streams = nil, nil }
	everywhere := func(in *plan.Setting) { in.Sessions, in.Announcements[0].Session = in.Sessions[:1], 0 }
	blind := func(in *plan.Setting) { in.Engine.Sampling = false }
	for name, tc := range map[string]struct {
		test   v1alpha1.Test
		change func(*plan.Setting)
		want   string
	}{
		"capacity":               {capacity(func(*v1alpha1.RouteCapacityTest) {}), asIs, ""},
		"capacity of all routes": {capacity(func(c *v1alpha1.RouteCapacityTest) { c.Routes, c.Witness = "cover", "peer-p2" }), asIs, ""},
		"capacity of nothing": {capacity(func(*v1alpha1.RouteCapacityTest) {}), noRoutes,
			"routeCapacity: Required value: traffic profile peers announces no routes, which the test is about: add routing to the profile, or name one that has it"},
		"capacity of an unknown set": {capacity(func(c *v1alpha1.RouteCapacityTest) { c.Routes = "full" }), asIs,
			`routeCapacity.routes: Invalid value: "full": traffic profile peers has no routes of this name: its first are networks`},
		"an announcer as witness": {capacity(func(c *v1alpha1.RouteCapacityTest) { c.Witness = "peer-p2" }), asIs,
			`routeCapacity.witness: Invalid value: "peer-p2": the witness must be a session of test bed lab that carries the family of routes networks and announces none of them: name another session`},
		"an unknown witness": {capacity(func(c *v1alpha1.RouteCapacityTest) { c.Witness = "peer-p9" }), asIs,
			`routeCapacity.witness: Invalid value: "peer-p9": the witness must be a session of test bed lab`},
		"no witness": {capacity(func(*v1alpha1.RouteCapacityTest) {}), everywhere,
			"routeCapacity.witness: Required value: every session of test bed lab announces routes networks, and one is needed that only receives them: name sessions in the set of traffic profile peers"},
		"convergence":            {converge("networks"), asIs, ""},
		"convergence of nothing": {converge(""), noRoutes, "convergence: Required value: traffic profile peers announces no routes"},
		"convergence unknown":    {converge("full"), asIs, `convergence.routes: Invalid value: "full": traffic profile peers has no routes of this name`},
		"convergence unseen": {converge(""), blind,
			`convergence.samplingInterval: Invalid value: "sim": the engine sim of test bed lab cannot read counters while a trial runs: choose a bed with another engine`},
		"convergence without frames": {converge("cover"), asIs, `convergence.routes: Invalid value: "cover": ` + notInSet},
		"flap":                       {flap("networks", 8), asIs, ""},
		"flap of nothing":            {flap("", 1), noRoutes, "routeFlap: Required value: traffic profile peers announces no routes"},
		"flap unseen":                {flap("", 1), blind, "routeFlap.samplingInterval: Invalid value: \"sim\": the engine sim of test bed lab cannot read counters"},
		"flap without frames":        {flap("cover", 1), asIs, `routeFlap.routes: Invalid value: "cover": ` + notInSet},
		"more than there are": {flap("networks", 9), asIs,
			"routeFlap.flapped: Invalid value: 9: the sessions announce 8 routes of the set: give 1 to 8, or give the set of traffic profile peers more"},
		"refresh":            {refresh(""), asIs, ""},
		"refresh of nothing": {refresh(""), noRoutes, "routeRefresh: Required value: traffic profile peers announces no routes"},
		"refresh by an unknown session": {refresh("peer-p9"), asIs,
			`routeRefresh.session: Invalid value: "peer-p9": the session must be one of test bed lab to which the device advertises routes of traffic profile peers: name another session`},
		"refresh without routes to learn": {refresh(""), everywhere,
			"routeRefresh.session: Required value: the device advertises routes to no session of test bed lab, as each announces all routes of traffic profile peers itself"},
		"restart":            {restart, asIs, ""},
		"restart of nothing": {restart, noRoutes, "bgpRestart: Required value: traffic profile peers announces no routes"},
		"restart of a switch": {restart, func(in *plan.Setting) { in.Bed.Spec.Device.Physical = &v1alpha1.PhysicalDevice{} },
			`bgpRestart: Invalid value: "physical": NoDrop cannot restart the BGP of the device of test bed lab: only of a router that nodrop run starts, and of a simulated device`},
		"truth":                {truth(""), asIs, ""},
		"truth of nothing":     {truth(""), noRoutes, "fibTruth: Required value: traffic profile peers announces no routes"},
		"truth of unknown":     {truth("full"), asIs, `fibTruth.routes: Invalid value: "full": traffic profile peers has no routes of this name`},
		"truth without frames": {truth("cover"), asIs, `fibTruth.routes: Invalid value: "cover": ` + notInSet},
		"truth without microflows": {truth(""), func(in *plan.Setting) { in.Engine.MaxMicroflows = 0 },
			`fibTruth: Invalid value: "sim": the engine sim of test bed lab does not count the frames to each route: choose a bed with the engine xdp or sim`},
		"truth of too many": {truth(""), func(in *plan.Setting) { in.Engine.MaxMicroflows = 7 },
			`fibTruth.routes: Invalid value: "networks": frames go to 8 routes, and the engine sim of test bed lab counts frames to 7 routes: announce fewer, or name a smaller set`},
		"sessions":    {scale, noRoutes, ""},
		"no sessions": {scale, func(in *plan.Setting) { in.Sessions = nil }, "sessionScale: Required value: test bed lab has no BGP sessions, which the test is about: add routing to the bed"},
		"one stream of all": {flap("networks", 4), func(in *plan.Setting) { in.Engine.Strides = false },
			`routeFlap: Invalid value: "flap": engine sim of test bed lab cannot tell flapping networks of a stream from others`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := routedSetting(t)
			tc.change(&in)
			d, ok := DescribeTest(tc.test)
			if !ok {
				t.Fatal("no method")
			}
			errs := d.Fits(tc.test, in, field.NewPath(d.Member))
			if tc.want == "" && len(errs) > 0 || tc.want != "" && (len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), tc.want)) {
				t.Errorf("got %v, want %s", errs, tc.want)
			}
		})
	}
}

// routedSetting has a session on each of four ports; that of the second announces eight
// networks, to which the first sends, and that of the first a shorter prefix for no frames.
func routedSetting(t *testing.T) plan.Setting {
	t.Helper()
	bed := objects.TestBed("lab", objects.Sim(4, "10G"), objects.Sessions(65000, v1alpha1.BGPSession{Name: "peer", ASN: 65001}))
	profile := objects.TrafficProfile("", "peers",
		objects.IPv4Pairs(64),
		objects.ProfileFunc(func(p *v1alpha1.TrafficProfile) {
			p.Spec.Routing = &v1alpha1.ProfileRouting{Routes: []v1alpha1.RouteSet{
				{Name: "networks", Sessions: []string{"peer-p2"}, First: "20.0.128.0/24", Count: 8},
				{Name: "cover", Sessions: []string{"peer-p1"}, First: "20.0.0.0/14", Count: 1, Traffic: new(false)},
			}}
		}),
	)
	b := objects.Benchmark("", "", objects.Tests(v1alpha1.Test{Name: "one", Throughput: &v1alpha1.ThroughputTest{}}))
	p, err := plan.Build(b, profile, bed)
	if err != nil {
		t.Fatal(err)
	}
	return plan.Setting{Bed: bed, Profile: "peers", Engine: traffic.Capabilities{Limits: traffic.Limits{MaxMicroflows: 100}, Sampling: true, Strides: true}, Ports: p.Ports, Streams: p.Streams, Sessions: p.Sessions, Announcements: p.Announcements}
}

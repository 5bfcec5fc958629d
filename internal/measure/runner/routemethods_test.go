package runner

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

// routed is a bed of three ports with a session on each. The second announces routes, and
// the third, if it does, further paths to them. The first is the witness, and sends.
func routed(b v1alpha1.SimulatedBehaviour, routes int32, further bool, test v1alpha1.Test) Config {
	cfg := small(header + "\n64,100,1,2,3,0.1,0.2\n")
	cfg.Bed.Spec.Engine.Sim.Ports.Count = 3
	cfg.Bed.Spec.Device.Simulated.Behaviour = &b
	cfg.Profile.Spec.FrameSizes = []int32{64}
	cfg.Profile.Spec.Pattern = v1alpha1.Pattern{PartialMesh: &v1alpha1.PartialMeshPattern{Senders: []string{"p1"}, Receivers: []string{"p2"}}}
	first := v1alpha1.RouteSet{Name: "first", Sessions: []string{"peer-p2"}, First: "20.0.0.0/24", Count: routes}
	second := first
	second.Name, second.Sessions, second.ASPath = "second", []string{"peer-p3"}, []int64{64512}
	sets := []v1alpha1.RouteSet{first, second}
	if !further {
		sets = sets[:1]
	}
	peers(&cfg, v1alpha1.BGPIPv4Unicast, sets...)
	test.Name = "routes"
	cfg.Benchmark.Spec.Tests = []v1alpha1.Test{test}
	return complete(cfg)
}

func duration(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

// rowOf runs a configuration of one test, and returns its only row.
func rowOf(t *testing.T, cfg Config) v1alpha1.ResultRow {
	t.Helper()
	state := Run(t.Context(), cfg, engine(t, cfg))
	if len(state.Rows) != 1 || state.Outcome != v1alpha1.PhaseMeasured {
		t.Fatalf("%s, %d rows: %s", state.Outcome, len(state.Rows), state.Message)
	}
	return state.Rows[0]
}

func within(t *testing.T, what string, got, want, below, above int64) {
	t.Helper()
	if got < want-below || got > want+above {
		t.Errorf("%s is %d, want %d to %d", what, got, want-below, want+above)
	}
}

// unseen returns the maximum time, in nanoseconds, by which the end is seen too early if
// routes change evenly in a time: an interval counts as the end when a thousandth of its
// frames is missing, which is the area of a triangle.
func unseen(interval, change time.Duration) int64 {
	return int64(math.Sqrt(2*float64(interval)*float64(change)/1000)) + 1
}

// What seeded devices are modelled with comes back: the capacity to the block, the times
// to the sampling interval, and the loss of flapping routes by what they lose in a dip.
func TestSeededDevicesOfRoutes(t *testing.T) {
	t.Parallel()
	devices := 1000
	if testing.Short() {
		devices = 40
	}
	const interval = 100 * time.Millisecond
	for seed := range devices {
		rng := rand.New(rand.NewPCG(12, uint64(seed)))
		install, withdraw := 1000+rng.Int64N(9000), 1000+rng.Int64N(9000)
		delay := time.Duration(rng.Int64N(2000)) * time.Millisecond
		dip := time.Duration(50+rng.Int64N(1000)) * time.Millisecond
		routes := int32(1000 + rng.Int64N(9000))
		held := 500 + rng.Int64N(20_000)
		each := 100 + held%900
		b := v1alpha1.SimulatedBehaviour{RouteInstallRate: &install, RouteWithdrawRate: &withdraw, RouteDelay: duration(delay), RouteSwitchDip: duration(dip)}
		took := func(n, rate int64) time.Duration {
			return time.Duration(float64(n) / float64(rate) * float64(time.Second))
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			full := b
			full.RouteCapacity, full.RouteMemory = &held, &each
			block := int32(100 + rng.Int64N(2000))
			row := withDevice(t, routed(full, routes, false, v1alpha1.Test{RouteCapacity: &v1alpha1.RouteCapacityTest{Block: block}}))
			c := row.RouteCapacity
			want := min(held, int64(routes))
			if c == nil || row.Frames != nil || c.Received != want || c.Full != (held < int64(routes)) {
				t.Fatalf("%+v of %d routes, the device holds %d: %s", c, routes, held, row.Message)
			}
			if m := c.Memory; m == nil || m.IdleBytes != 0 || m.EndBytes == nil || *m.EndBytes != want*each || m.HeldBytes != c.Routes*each || c.Routes > 0 && m.BytesPerRoute != each ||
				len(m.Blocks) > 64 || int32(len(m.Blocks)) != c.FullBlocks/m.BlocksEach || len(m.Blocks) > 0 && m.Blocks[0] != min(int64(block)*int64(m.BlocksEach), c.Routes)*each {
				t.Errorf("%+v, each route takes %d bytes", m, each)
			}
			if c.Full {
				within(t, "the capacity", c.Routes, held, int64(block), 0)
			}

			row = rowOf(t, routed(b, routes, false, v1alpha1.Test{Convergence: &v1alpha1.ConvergenceTest{
				LeadTime: *duration(time.Second), AnnouncedTime: *duration(15 * time.Second), WithdrawnTime: *duration(15 * time.Second), Cycles: 1,
			}}))
			v := row.Convergence
			if v == nil || v.Announce.Unseen+v.Withdraw.Unseen > 0 {
				t.Fatalf("%+v: %s", v, row.Message)
			}
			if f := row.Frames; f.LostByEvent == nil || *f.LostByEvent != f.Lost || f.Lost == 0 {
				t.Errorf("%d frames were lost, all to networks without a route, and %v are explained", f.Lost, f.LostByEvent)
			}
			whole, gone := delay+took(int64(routes), install), delay+took(int64(routes), withdraw)
			within(t, "convergence", v.Announce.AvgNs, int64(whole), unseen(interval, whole-delay), int64(interval))
			within(t, "withdrawal", v.Withdraw.AvgNs, int64(gone), unseen(interval, gone-delay), int64(interval))
			within(t, "loss-derived convergence", v.Announce.LossDerivedAvgNs, int64(delay+(whole-delay)/2), int64(time.Millisecond), int64(time.Millisecond))
			within(t, "loss-derived withdrawal", v.Withdraw.LossDerivedAvgNs, int64(delay+(gone-delay)/2), int64(time.Millisecond), int64(time.Millisecond))

			flapped := routes / 4
			row = rowOf(t, routed(b, routes, true, v1alpha1.Test{RouteFlap: &v1alpha1.RouteFlapTest{
				Flapped: flapped, Flaps: 2, LeadTime: *duration(time.Second), WithdrawnTime: *duration(10 * time.Second), AnnouncedTime: *duration(10 * time.Second),
			}}))
			f := row.RouteFlap
			if f == nil || f.Withdraw.Unseen+f.Announce.Unseen > 0 || f.StableLost != 0 || *f.LowestStablePPM != v1alpha1.PPM {
				t.Fatalf("%+v: %s", f, row.Message)
			}
			// Each network is without a path for the dip, four times.
			perSecond := float64(row.Frames.OfferedFramesPerSecond) * float64(flapped) / float64(routes)
			lost := int64(4 * dip.Seconds() * perSecond)
			within(t, "lost frames", f.FlappedLost, lost, lost/1000+100, lost/1000+100)
			within(t, "the dip", f.Withdraw.LossDerivedAvgNs, int64(dip), int64(time.Millisecond), int64(time.Millisecond))
			ends := delay + took(int64(flapped), withdraw) + dip
			within(t, "recovery", f.Withdraw.AvgNs, int64(ends), unseen(interval, took(int64(flapped), withdraw)), int64(interval))
		})
	}
}

// One frame in a million that takes 10 ms hides no route: the last of them follow 20 s after
// the announcement and the withdrawal.
func TestAnOutlierOfLatencyHidesNoRoute(t *testing.T) {
	t.Parallel()
	const interval, change = 100 * time.Millisecond, 20 * time.Second
	rate := int64(50)
	cfg := routed(v1alpha1.SimulatedBehaviour{RouteInstallRate: &rate, RouteWithdrawRate: &rate}, 1000, false, v1alpha1.Test{Convergence: &v1alpha1.ConvergenceTest{
		LeadTime: *duration(time.Second), AnnouncedTime: *duration(30 * time.Second), WithdrawnTime: *duration(30 * time.Second), Cycles: 1,
	}})
	cfg.Model = header + ",delayed_ppm,delay_us\n64,100,1,2,3,0.1,0.2,1,10000\n"
	v := rowOf(t, cfg).Convergence
	within(t, "convergence", v.Announce.AvgNs, int64(change), unseen(interval, change), int64(interval))
	within(t, "withdrawal", v.Withdraw.AvgNs, int64(change), unseen(interval, change), int64(interval))
}

// A device that takes and advertises more routes than it forwards to does not hold them.
func TestRoutesThatAreNotForwardedAreNotHeld(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		behaviour v1alpha1.SimulatedBehaviour
		forwards  int64
		routes    int64
		message   string
	}{
		"a block less":    {v1alpha1.SimulatedBehaviour{}, 700, 600, "session peer-p1 received all 800 announced routes, but of 400 frames, one to each route of the last block and of the first, 100 did not arrive, and no further for 2s: the device advertises routes that it does not forward to"},
		"one route less":  {v1alpha1.SimulatedBehaviour{}, 999, 800, "but of 400 frames, one to each route of the last block and of the first, 1 did not arrive, and no further for 2s: the device advertises routes that it does not forward to, such as 20.3.231.0/24"},
		"none":            {v1alpha1.SimulatedBehaviour{}, 0, 0, "but of 200 frames, one to each route of the last block and of the first, 200 did not arrive"},
		"as many as held": {v1alpha1.SimulatedBehaviour{}, 1000, 1000, "all 1,000 routes of the traffic profile were held: the device holds at least that many"},
		"one misrouted":   {v1alpha1.SimulatedBehaviour{FIBMisroutedPPM: new(int64(10_000)), FIBSeed: new(int64(3))}, 1000, 0, " (to port p3)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := routed(tc.behaviour, 1000, false, v1alpha1.Test{RouteCapacity: &v1alpha1.RouteCapacityTest{Block: 200, WaitTime: *duration(2 * time.Second)}})
			row := withDevice(t, cfg, sim.WithForwardingCapacity(tc.forwards))
			c := row.RouteCapacity
			if c == nil || c.Routes != tc.routes || c.Full != (tc.routes < 1000) || !strings.Contains(row.Message, tc.message) {
				t.Errorf("%+v: %s", c, row.Message)
			}
		})
	}
}

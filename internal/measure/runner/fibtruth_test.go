package runner

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

// faultsOf returns the prefixes of the set of routed that a device drops and misroutes.
func faultsOf(b v1alpha1.SimulatedBehaviour, routes int32) (dropped []string, misrouted []v1alpha1.MisroutedPrefix) {
	set := routing.Routes{First: netip.MustParsePrefix("20.0.0.0/24")}
	for i := range uint32(routes) {
		prefix := set.Prefix(i)
		switch drops, misroutes := sim.FIBFault(b, prefix); {
		case drops, b.FIBCapacity != nil && int64(i) >= *b.FIBCapacity:
			dropped = append(dropped, prefix.String())
		case misroutes:
			misrouted = append(misrouted, v1alpha1.MisroutedPrefix{Prefix: prefix.String(), Port: "p3"})
		}
	}
	return dropped, misrouted
}

func first100[T any](all []T) []T { return all[:min(100, len(all))] }

// Rows of seeded devices with faults in the forwarding table name exactly the prefixes with a
// fault, and the port at which their frames arrive. The delays are equal to the model's delays.
func TestFIBTruthOfSeededDevices(t *testing.T) {
	t.Parallel()
	devices := 200
	if testing.Short() {
		devices = 10
	}
	for seed := range devices {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(26, uint64(seed)))
			routes := int32(2000 + rng.Int64N(8000))
			install, delay := 1000+rng.Int64N(20_000), time.Duration(rng.Int64N(3000))*time.Millisecond
			b := v1alpha1.SimulatedBehaviour{
				FIBDroppedPPM: new(rng.Int64N(5000)), FIBMisroutedPPM: new(rng.Int64N(5000)), FIBSeed: new(int64(seed)),
				RouteInstallRate: &install, FIBDelay: duration(delay),
			}
			if seed%4 == 0 {
				b.FIBCapacity = new(rng.Int64N(int64(routes)))
			}
			cfg := routed(b, routes, false, v1alpha1.Test{FIBTruth: &v1alpha1.FIBTruthTest{}})
			if seed%3 == 0 { // Frames are lost by chance, too.
				cfg.Model = header + ",loss_ppm\n64,100,1,2,3,0.1,0.2,2000\n"
			}
			row := rowOf(t, cfg)
			f := row.FIBTruth
			dropped, misrouted := faultsOf(b, routes)
			if f == nil || row.Frames != nil || row.Validity != v1alpha1.ValiditySimulated {
				t.Fatalf("%+v", row)
			}
			if f.Routes != int64(routes) || f.Dropped != int64(len(dropped)) || f.Misrouted != int64(len(misrouted)) || f.Forwarded != f.Routes-f.Dropped-f.Misrouted || f.Forgotten != 0 || f.Rounds < 3 {
				t.Errorf("%+v: want %d dropped and %d misrouted of %d", f, len(dropped), len(misrouted), routes)
			}
			if lossy := seed%3 == 0; lossy != (f.LostProbes > 0) {
				t.Errorf("%d frames to forwarded routes were lost", f.LostProbes)
			}
			if !slices.Equal(f.DroppedPrefixes, first100(dropped)) || !slices.Equal(f.MisroutedPrefixes, first100(misrouted)) {
				t.Errorf("named %v and %v, want %v and %v", f.DroppedPrefixes, f.MisroutedPrefixes, first100(dropped), first100(misrouted))
			}
			if f.Forwarded == 0 {
				return
			}
			if f.Delay == nil || f.Delay.Routes != f.Forwarded {
				t.Fatalf("%+v: no delay", f)
			}
			// Routes are installed evenly, and each has a delay of its own on top.
			took := time.Duration(float64(routes) / float64(install) * float64(time.Second))
			most := int64(took + delay)
			if d := f.Delay; d.P50Ns > d.P99Ns || d.P99Ns > d.LastNs || d.LastNs > most+d.ResolutionNs*2 {
				t.Errorf("delays %+v, the last route is forwarded after %d", d, most)
			}
			turn := int64(time.Second) * int64(routes) / 50_000
			within(t, "the resolution", f.Delay.ResolutionNs, turn, 1, 1)
		})
	}
}

// A healthy device forwards to all routes, and the delay of each is known to the turn.
func TestFIBTruthOfAHealthyDevice(t *testing.T) {
	t.Parallel()
	b := v1alpha1.SimulatedBehaviour{RouteDelay: duration(1200 * time.Millisecond)}
	row := rowOf(t, routed(b, 5000, false, v1alpha1.Test{FIBTruth: &v1alpha1.FIBTruthTest{}}))
	f := row.FIBTruth
	if f == nil || f.Forwarded != 5000 || f.Dropped+f.Misrouted+f.LostProbes+f.Forgotten != 0 || row.Message != "" {
		t.Fatalf("%+v: %s", f, row.Message)
	}
	d := f.Delay
	for what, ns := range map[string]int64{"p50": d.P50Ns, "p99": d.P99Ns, "last": d.LastNs} {
		within(t, what, ns, int64(1200*time.Millisecond), 0, d.ResolutionNs+int64(10*time.Microsecond))
	}
}

// Where routes follow after the tester has stopped, there is no distribution that leaves them out.
func TestFIBTruthOfLateRoutes(t *testing.T) {
	t.Parallel()
	b := v1alpha1.SimulatedBehaviour{FIBDelay: duration(4 * time.Second)}
	row := rowOf(t, routed(b, 10, false, v1alpha1.Test{FIBTruth: &v1alpha1.FIBTruthTest{ProbesPerSecond: 100, Rounds: 100, WaitTime: *duration(100 * time.Millisecond)}}))
	if f := row.FIBTruth; f == nil || f.Forwarded != 10 || f.Delay != nil || !strings.Contains(row.Message, "so that there are no delays: raise waitTime") {
		t.Errorf("%+v: %s", f, row.Message)
	}
}

// A device that forgets a session forwards nothing, and the row does not count.
func TestFIBTruthWithoutASession(t *testing.T) {
	t.Parallel()
	cfg := routed(v1alpha1.SimulatedBehaviour{}, 5000, false, v1alpha1.Test{FIBTruth: &v1alpha1.FIBTruthTest{}})
	state := Run(t.Context(), cfg, engine(t, cfg, sim.WithSessionLoss("peer-p2", 40*time.Millisecond, "hold timer expired")))
	if len(state.Rows) != 1 || state.Rows[0].FIBTruth != nil || state.Rows[0].Validity != v1alpha1.ValidityInvalid || !strings.Contains(strings.Join(state.Rows[0].ValidityReasons, " "), "hold timer expired") {
		t.Errorf("%+v: %s", state.Rows, state.Message)
	}
}

// Convergence names the routes that were announced and never forwarded.
func TestConvergenceNamesRoutesThatNeverCame(t *testing.T) {
	t.Parallel()
	b := v1alpha1.SimulatedBehaviour{FIBDroppedPPM: new(int64(2000)), FIBMisroutedPPM: new(int64(1000)), FIBSeed: new(int64(11))}
	dropped, misrouted := faultsOf(b, 5000)
	for _, m := range misrouted { // They do not come to the port that announced them.
		dropped = append(dropped, m.Prefix)
	}
	slices.SortFunc(dropped, func(a, b string) int {
		return netip.MustParsePrefix(a).Addr().Compare(netip.MustParsePrefix(b).Addr())
	})
	test := v1alpha1.ConvergenceTest{LeadTime: *duration(time.Second), AnnouncedTime: *duration(5 * time.Second), WithdrawnTime: *duration(5 * time.Second), Cycles: 2}
	row := rowOf(t, routed(b, 5000, false, v1alpha1.Test{Convergence: &test}))
	c := row.Convergence
	if c == nil || c.NeverForwarded == nil || *c.NeverForwarded != int64(len(dropped)) || !slices.Equal(c.NeverForwardedPrefixes, dropped) || len(dropped) == 0 {
		t.Errorf("%+v, want %v never forwarded", c, dropped)
	}
	if want := fmt.Sprintf("no frame to %d of the routes was forwarded, such as to %s, ", len(dropped), dropped[0]); !strings.HasPrefix(row.Message, want) {
		t.Errorf("message %q, want %q", row.Message, want)
	}
	healthy := rowOf(t, routed(v1alpha1.SimulatedBehaviour{}, 5000, false, v1alpha1.Test{Convergence: &test})).Convergence
	if healthy == nil || healthy.NeverForwarded == nil || *healthy.NeverForwarded != 0 || healthy.NeverForwardedPrefixes != nil {
		t.Errorf("a healthy device: %+v", healthy)
	}
}

// Of a million routes all with a fault are named in their number, and the first of each kind.
func TestFIBTruthOfAMillionRoutes(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes for a minute: make test-long")
	}
	const routes = 1_000_000
	b := v1alpha1.SimulatedBehaviour{FIBDroppedPPM: new(int64(500)), FIBMisroutedPPM: new(int64(500)), FIBSeed: new(int64(2)), RouteInstallRate: new(int64(200_000)), FIBDelay: duration(500 * time.Millisecond)}
	dropped, misrouted := faultsOf(b, routes)
	began := time.Now()
	row := rowOf(t, routed(b, routes, false, v1alpha1.Test{FIBTruth: &v1alpha1.FIBTruthTest{ProbesPerSecond: 1_000_000}}))
	f := row.FIBTruth
	if f == nil || f.Delay == nil {
		t.Fatalf("%+v: %s", f, row.Message)
	}
	if f.Routes != routes || f.Dropped != int64(len(dropped)) || f.Misrouted != int64(len(misrouted)) || f.Forwarded != routes-f.Dropped-f.Misrouted ||
		!slices.Equal(f.DroppedPrefixes, first100(dropped)) || !slices.Equal(f.MisroutedPrefixes, first100(misrouted)) {
		t.Errorf("%d dropped and %d misrouted, want %d and %d", f.Dropped, f.Misrouted, len(dropped), len(misrouted))
	}
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d dropped, %d misrouted, %+v; %v, peak of this process %d MiB", f.Dropped, f.Misrouted, *f.Delay, time.Since(began).Round(time.Millisecond), usage.Maxrss>>10)
}

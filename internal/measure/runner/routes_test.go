package runner

import (
	"context"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

// peers gives a bed an eBGP session on every port, and the profile routes.
func peers(cfg *Config, family v1alpha1.BGPFamily, sets ...v1alpha1.RouteSet) {
	cfg.Bed.Spec.Routing = &v1alpha1.BedRouting{BGP: v1alpha1.BGPRouting{DeviceASN: 65000, Sessions: []v1alpha1.BGPSession{
		{Name: "peer", ASN: 100001, Families: []v1alpha1.BGPFamily{family}, BFD: &v1alpha1.BFD{}},
	}}}
	cfg.Profile.Spec.Routing = &v1alpha1.ProfileRouting{Routes: sets}
}

// Published tables of routers come back over learnt routes: 256 ports, each with an eBGP
// peer of its own AS number, and 2,048 networks in all.
func TestPublishedTableOverLearntRoutes(t *testing.T) {
	t.Parallel()
	cfg := sample(t)
	peers(&cfg, v1alpha1.BGPIPv4Unicast, v1alpha1.RouteSet{Name: "networks", First: "20.0.0.0/24", Count: 8})
	comesBack(t, complete(cfg))
}

// The same over IPv6, 1,024 networks (RFC 5180, RFC 4760).
func TestPublishedTableOverLearntRoutesIPv6(t *testing.T) {
	t.Parallel()
	cfg := sample(t)
	cfg.Profile.Spec.Packet = v1alpha1.Packet{IPv6: &v1alpha1.IPPacket{}}
	cfg.Profile.Spec.FrameSizes = []int32{256, 1518}
	peers(&cfg, v1alpha1.BGPIPv6Unicast, v1alpha1.RouteSet{Name: "networks", First: "2001:db8::/64", Count: 4})
	published := readPublished(t, cfg.Model)
	state := runSim(t, cfg)
	if state.Outcome != v1alpha1.PhaseMeasured || len(state.Rows) != 2*5 {
		t.Fatalf("%s with %d rows: %s", state.Outcome, len(state.Rows), state.Message)
	}
	for _, row := range render(t, cfg, state).tables["Test throughput"] {
		want := published[row["frame bytes"]]
		near(t, row, "offered % of line rate", want["line_rate_percent"], 0.0001, 0)
		delaysComeBack(t, row, want)
	}
}

// A trial in which a session goes down is void: it is run again with the sessions up, and
// where that fails, too, its row is invalid and names the session.
func TestASessionGoesDown(t *testing.T) {
	t.Parallel()
	soak := func() Config {
		cfg := small(header + "\n64,100,1,2,3,0.1,0.2\n")
		cfg.Profile.Spec.FrameSizes = []int32{64}
		cfg.Benchmark.Spec.Tests = []v1alpha1.Test{{Name: "soak", Soak: &v1alpha1.SoakTest{Load: "50%"}}}
		peers(&cfg, v1alpha1.BGPIPv4Unicast, v1alpha1.RouteSet{Name: "networks", First: "20.0.0.0/24", Count: 8})
		return complete(cfg)
	}
	down := func(at time.Duration) sim.Option {
		return sim.WithSessionLoss("peer-p2", at, "the hold timer expired")
	}
	cfg := soak()
	state := Run(t.Context(), cfg, engine(t, cfg, down(30*time.Second)))
	if row := state.Rows[0]; state.Outcome != v1alpha1.PhaseMeasured || row.Frames.Lost > 0 || row.Trials != 2 {
		t.Errorf("%s with %d trials, %d lost: %s", state.Outcome, row.Trials, row.Frames.Lost, state.Message)
	}
	cfg = soak()
	length := cfg.Benchmark.Spec.Tests[0].Soak.Duration.Duration
	state = Run(t.Context(), cfg, engine(t, cfg, down(30*time.Second), down(length+30*time.Second)))
	row := state.Rows[0]
	if row.Validity != v1alpha1.ValidityInvalid || row.Frames.Lost == 0 ||
		!strings.Contains(strings.Join(row.ValidityReasons, " "), "BGP session peer-p2 on port p2 is down: the hold timer expired during the trial") {
		t.Errorf("%s %v, %d lost", row.Validity, row.ValidityReasons, row.Frames.Lost)
	}
}

// reluctant is a speaker whose sessions are down for the first announcements.
type reluctant struct {
	routing.Speaker
	down  int
	final bool
}

func (r *reluctant) Announce(ctx context.Context, session string, sets []routing.Routes) (routing.Sent, error) {
	if r.down > 0 {
		r.down--
		return routing.Sent{}, &routing.DownError{Session: session, Port: "p1", Cause: "BFD is down", Final: r.final}
	}
	return r.Speaker.Announce(ctx, session, sets)
}

// A session that goes down between its opening and the announcement is awaited, unless it
// stays down.
func TestAnnouncementsAwaitTheirSession(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		down  int
		final bool
		want  v1alpha1.BenchmarkPhase
	}{
		"comes back": {down: 3, want: v1alpha1.PhaseMeasured},
		"stays down": {down: 1 << 30, want: v1alpha1.PhaseError},
		"refused":    {down: 1, final: true, want: v1alpha1.PhaseError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := small(header + "\n64,100,1,2,3,0.1,0.2\n")
			cfg.Profile.Spec.FrameSizes = []int32{64}
			cfg.Benchmark.Spec.Tests = []v1alpha1.Test{{Name: "soak", Soak: &v1alpha1.SoakTest{Load: "50%"}}}
			peers(&cfg, v1alpha1.BGPIPv4Unicast, v1alpha1.RouteSet{Name: "networks", First: "20.0.0.0/24", Count: 8})
			cfg = complete(cfg)
			gen := engine(t, cfg)
			s := &reluctant{gen.Speaker(), tc.down, tc.final}
			state := Run(t.Context(), cfg, gen, WithSpeaker(s))
			if state.Outcome != tc.want || tc.want == v1alpha1.PhaseError && !strings.Contains(state.Message, "is down: BFD is down") {
				t.Errorf("%s: %s, want %s", state.Outcome, state.Message, tc.want)
			}
		})
	}
}

package runner

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

// withDevice runs a configuration of one test over a device that can be restarted, and
// returns its only row.
func withDevice(t *testing.T, cfg Config, opts ...sim.Option) v1alpha1.ResultRow {
	t.Helper()
	e := engine(t, cfg, opts...)
	state := Run(t.Context(), cfg, e, WithDevice(e.Device()))
	if len(state.Rows) != 1 {
		t.Fatalf("%s, %d rows: %s", state.Outcome, len(state.Rows), state.Message)
	}
	return state.Rows[0]
}

// What seeded devices are modelled with comes back: the rate at which routes come again, the
// time without sessions and without routes, and the number of sessions.
func TestSeededDevicesOfSessions(t *testing.T) {
	t.Parallel()
	devices := 1000
	if testing.Short() {
		devices = 40
	}
	for seed := range devices {
		rng := rand.New(rand.NewPCG(13, uint64(seed)))
		refresh, install := 1000+rng.Int64N(9000), 1000+rng.Int64N(9000)
		delay, restart := time.Duration(rng.Int64N(1000))*time.Millisecond, time.Duration(1+rng.Int64N(5000))*time.Millisecond
		routes, sessions, rate := int32(1000+rng.Int64N(9000)), 1+rng.Int64N(150), 1+rng.Int64N(100)
		b := v1alpha1.SimulatedBehaviour{
			RouteRefreshRate: &refresh, RouteInstallRate: &install, RouteDelay: duration(delay), BGPRestartTime: duration(restart),
			SessionCapacity: &sessions, SessionRate: &rate,
		}
		at := func(n, rate int64) time.Duration {
			return time.Duration(float64(n) / float64(rate) * float64(time.Second))
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			whole := b
			whole.SessionCapacity, whole.SessionRate = nil, nil
			row := withDevice(t, routed(whole, routes, false, v1alpha1.Test{RouteRefresh: &v1alpha1.RouteRefreshTest{Refreshes: 2}}))
			r := row.RouteRefresh
			if r == nil || r.Refresh == nil || r.Unseen > 0 || r.Session != "peer-p1" || r.Routes != int64(routes) || row.Frames.Lost != 0 || row.Message != "" {
				t.Fatalf("%+v: %d lost, %s", r, row.Frames.Lost, row.Message)
			}
			within(t, "the refresh", r.Refresh.AvgNs, int64(delay+at(int64(routes), refresh)), 1, 1)
			within(t, "its longest", r.Refresh.MaxNs, r.Refresh.MinNs, 0, 1)

			row = withDevice(t, routed(whole, routes, false, v1alpha1.Test{BGPRestart: &v1alpha1.BGPRestartTest{Restarts: 2}}))
			s := row.BGPRestart
			if s == nil || s.SessionsBack == nil || s.RoutesBack == nil || s.Unseen > 0 || s.Sessions != 3 || s.Routes != int64(routes) || row.Validity == v1alpha1.ValidityInvalid {
				t.Fatalf("%+v: %s %v %s", s, row.Validity, row.ValidityReasons, row.Message)
			}
			const look = int64(20 * time.Millisecond)
			within(t, "sessions back", s.SessionsBack.MaxNs, int64(restart), 0, look)
			within(t, "routes back", s.RoutesBack.MaxNs, int64(restart+delay+at(int64(routes), install)), 0, look)
			// A route is without a path for half of the time that installing takes on average.
			within(t, "the outage", s.Outage.AvgNs, int64(restart+delay+at(int64(routes), install)/2), int64(2*time.Millisecond), int64(2*time.Millisecond))

			few := whole
			few.SessionCapacity, few.SessionRate = &sessions, &rate
			cfg := routed(few, 10, false, v1alpha1.Test{SessionScale: &v1alpha1.SessionScaleTest{WaitTime: *duration(time.Hour)}})
			cfg.Bed.Spec.Routing.BGP.Sessions[0].Count = 40
			row = withDevice(t, cfg)
			c := row.SessionScale
			held := min(sessions, 120)
			if c == nil || row.Frames != nil || int64(c.Sessions) != held || c.Full != (sessions < 120) || c.Down != 0 {
				t.Fatalf("%+v, the device holds %d sessions: %s", c, sessions, row.Message)
			}
			within(t, "establishing", c.EstablishNs, int64(at(held, rate)), 1, 1)
		})
	}
}

// A session that goes down while routes flap is counted and named, and flaps go on with the
// others.
func TestSessionsThatDoNotSurvive(t *testing.T) {
	t.Parallel()
	cfg := routed(v1alpha1.SimulatedBehaviour{}, 10, true, v1alpha1.Test{SessionScale: &v1alpha1.SessionScaleTest{SoakTime: duration(time.Minute), FlapInterval: *duration(500 * time.Millisecond)}})
	row := withDevice(t, cfg, sim.WithSessionLoss("peer-p3", 20*time.Second, "the hold timer expired"))
	want := v1alpha1.SessionScaleSummary{Sessions: 3, Tried: 3, SoakNs: int64(time.Minute), Flaps: 120, FlapsPerHour: 7200, Down: 1, DownPerHour: 60}
	if c := row.SessionScale; c == nil || *c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
	if want := "; then BGP session peer-p3 on port p3 is down: the hold timer expired"; !strings.HasSuffix(row.Message, want) {
		t.Errorf("message %q, want %q", row.Message, want)
	}
}

// What takes longer than the test waits is unseen, and says what to do.
func TestUnseenSessionsAndRoutes(t *testing.T) {
	t.Parallel()
	rate := int64(100)
	b := v1alpha1.SimulatedBehaviour{RouteRefreshRate: &rate, RouteInstallRate: &rate, BGPRestartTime: duration(time.Second), SessionRate: new(int64(1))}
	for want, test := range map[string]v1alpha1.Test{
		"after 1 of 1 requests not all routes came again within 5s: raise interval":                 {RouteRefresh: &v1alpha1.RouteRefreshTest{Refreshes: 1, Interval: *duration(5 * time.Second)}},
		"after 1 of 1 restarts not all sessions and routes came back within 5s: raise recoveryTime": {BGPRestart: &v1alpha1.BGPRestartTest{Restarts: 1, RecoveryTime: *duration(5 * time.Second)}},
		"of 2 sessions not all were established within 1s: they took 2s":                            {SessionScale: &v1alpha1.SessionScaleTest{WaitTime: *duration(time.Second)}},
	} {
		row := withDevice(t, routed(b, 1000, false, test))
		if said := row.Message + strings.Join(row.ValidityReasons, "; "); !strings.Contains(said, want) {
			t.Errorf("%q, want %q", said, want)
		}
	}
}

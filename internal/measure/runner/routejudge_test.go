package runner

import (
	"context"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

// busy is a fake generator whose processors others use in every trial.
type busy struct{ *sim.Engine }

func (b busy) Read(ctx context.Context) (traffic.Measurement, error) {
	m, err := b.Engine.Read(ctx)
	m.Notes = append(m.Notes, traffic.Note{Kind: traffic.NoteForeignLoad, Text: "others used processor 1"})
	return m, err
}

// Frames that arrive by a further path, and those to networks without a route, are no
// reason to run a trial again, nor lost for those who follow it. Those lost in a dip are.
func TestExpectedLossOfRoutesIsNoDoubt(t *testing.T) {
	t.Parallel()
	flap := v1alpha1.Test{RouteFlap: &v1alpha1.RouteFlapTest{
		Flapped: 250, Flaps: 2, LeadTime: *duration(time.Second), WithdrawnTime: *duration(5 * time.Second), AnnouncedTime: *duration(5 * time.Second),
	}}
	converge := v1alpha1.Test{Convergence: &v1alpha1.ConvergenceTest{
		LeadTime: *duration(time.Second), AnnouncedTime: *duration(5 * time.Second), WithdrawnTime: *duration(5 * time.Second), Cycles: 2,
	}}
	rate := int64(1000)
	atOnce := v1alpha1.SimulatedBehaviour{}
	slow := v1alpha1.SimulatedBehaviour{RouteInstallRate: &rate, RouteWithdrawRate: &rate, RouteDelay: duration(200 * time.Millisecond)}
	dipping := slow
	dipping.RouteSwitchDip = duration(100 * time.Millisecond)
	for name, tc := range map[string]struct {
		device  v1alpha1.SimulatedBehaviour
		further bool
		test    v1alpha1.Test
		trials  int32
		lost    bool
	}{
		"flap with a further path":       {slow, true, flap, 1, false},
		"flap at once":                   {atOnce, true, flap, 1, false},
		"flap with a dip":                {dipping, true, flap, 2, true},
		"flap without a further path":    {slow, false, flap, 1, true},
		"convergence":                    {slow, false, converge, 2, true},
		"convergence of routes at once":  {atOnce, false, converge, 2, true},
		"convergence with further paths": {slow, true, converge, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := routed(tc.device, 1000, tc.further, tc.test)
			var shown uint64
			state := Run(t.Context(), cfg, busy{engine(t, cfg)}, WithIntervals(time.Second, func(i trials.Interval) {
				shown = 0
				for _, p := range i.Ports {
					shown += p.RxTotal.Lost
				}
			}))
			if len(state.Rows) != 1 {
				t.Fatalf("%d rows: %s", len(state.Rows), state.Message)
			}
			row := state.Rows[0]
			if row.Trials != tc.trials || (row.Frames.Lost > 0) != tc.lost || row.Frames.Received+row.Frames.Lost != row.Frames.Sent {
				t.Errorf("%d trials, want %d; %+v", row.Trials, tc.trials, row.Frames)
			}
			if !tc.lost && shown > 0 {
				t.Errorf("%d frames are shown as lost", shown)
			}
		})
	}
}

// Where a network gets fewer frames than there are samples, the row says how often it gets
// one: of 1,000 networks at 5,000 frames/s every 200 ms, however they are divided.
func TestTimesAreNoFinerThanFrames(t *testing.T) {
	t.Parallel()
	const want = "each network gets a frame every 200.000 ms: times are no finer than that"
	tests := func(load v1alpha1.Load, interval time.Duration) map[string]v1alpha1.Test {
		return map[string]v1alpha1.Test{
			"flap": {RouteFlap: &v1alpha1.RouteFlapTest{
				Flapped: 250, Flaps: 1, Load: load, LeadTime: *duration(time.Second), WithdrawnTime: *duration(5 * time.Second), AnnouncedTime: *duration(5 * time.Second), SamplingInterval: *duration(interval),
			}},
			"convergence": {Convergence: &v1alpha1.ConvergenceTest{
				Load: load, LeadTime: *duration(time.Second), AnnouncedTime: *duration(5 * time.Second), WithdrawnTime: *duration(5 * time.Second), Cycles: 1, SamplingInterval: *duration(interval),
			}},
		}
	}
	for name, tc := range map[string]struct {
		load     v1alpha1.Load
		interval time.Duration
		senders  []string
		coarse   bool
	}{
		"more frames than samples":  {"20000pps", 100 * time.Millisecond, []string{"p1"}, false},
		"fewer frames than samples": {"5000pps", 100 * time.Millisecond, []string{"p1"}, true},
		"as few samples":            {"5000pps", time.Second, []string{"p1"}, false},
		"from two ports, half each": {"5000pps", 100 * time.Millisecond, []string{"p1", "p3"}, true},
	} {
		for kind, test := range tests(tc.load, tc.interval) {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				cfg := routed(v1alpha1.SimulatedBehaviour{}, 1000, false, test)
				cfg.Profile.Spec.Pattern.PartialMesh.Senders = tc.senders
				if row := rowOf(t, cfg); strings.Contains(row.Message, want) != tc.coarse || !tc.coarse && row.Message != "" {
					t.Errorf("message %q", row.Message)
				}
			})
		}
	}
}

package agent

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/traffictest"
)

func TestFleetSampleAddsUp(t *testing.T) {
	f, _, _ := newFleet(t, "node-a", "node-b")
	must(t, "configuring", f.Configure(t.Context(), []traffic.Stream{pair(1, "p1", "p2"), pair(2, "p2", "p3"), pair(3, "p1", "p3")}))
	must(t, "starting", f.Start(t.Context(), frames(10, 1, 2, 3)))
	got, err := traffictest.SampleNow(t, f)
	must(t, "sampling", err)
	if want := (traffic.Sample{Interval: got.Interval, At: 2e6, Sent: 30, Received: 30}); got != want || got.Interval < 1 {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// What the ports have counted comes from the agents that have them, and so does what the
// device has.
func TestFleetSamplesPorts(t *testing.T) {
	f, engines, _ := newFleet(t, "node-a", "node-b")
	one, two := pair(1, "p1", "p2"), pair(2, "p2", "p3")
	one.Class, two.Class = "unicast", "multicast"
	must(t, "configuring", f.Configure(t.Context(), []traffic.Stream{one, two}))
	must(t, "starting", f.Start(t.Context(), frames(10, 1, 2)))
	got, err := traffictest.PortsNow(t, f)
	must(t, "sampling", err)
	want, device := traffic.NewPortSamples(), &traffic.DeviceSample{}
	for _, e := range engines {
		want.Add(e.portSamples())
		device.Add(e.deviceSample())
	}
	if len(want.Tx) != 2 || len(want.Rx) != 2 || want.Rx[traffic.ClassAt{Port: "p3", Class: "multicast"}].Lost != 1 {
		t.Fatalf("the engines have %+v", want)
	}
	if diff := cmp.Diff(want, got.Ports) + cmp.Diff(device, got.Device); diff != "" || len(device.Interfaces) < 3 {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An interval is added up when all agents have it; one that an agent left out is left
// out, also when its samples come later.
func TestIntervalsAreAddedUp(t *testing.T) {
	var got []traffic.Sample
	s := &sums{agents: 2, parts: map[int]*sum{}, take: func(one traffic.Sample) { got = append(got, one) }}
	for _, one := range []traffic.Sample{
		{Interval: 1, At: 10, Sent: 1, Received: 2}, {Interval: 2, At: 20, Sent: 2}, {Interval: 3, At: 30, Sent: 3},
		{Interval: 1, At: 11, Sent: 10, Received: 20}, {Interval: 3, At: 29, Sent: 30, Received: 5}, {Interval: 2, At: 21, Sent: 20},
		{Interval: 4, At: 40, Sent: 4}, {Interval: 4, At: 40, Sent: 40},
	} {
		s.add(one)
	}
	want := []traffic.Sample{{Interval: 1, At: 11, Sent: 11, Received: 22}, {Interval: 3, At: 30, Sent: 33, Received: 5}, {Interval: 4, At: 40, Sent: 44}}
	if diff := cmp.Diff(want, got); diff != "" || len(s.parts) > 0 {
		t.Errorf("%d intervals are left (-want +got):\n%s", len(s.parts), diff)
	}
}

// Samples come while the agent waits for the end of sending, and so do memberships.
func TestSamplesComeWhileATrialRuns(t *testing.T) {
	c, engine, waited := waiting(t)
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	taken, last := 0, 0
	err := c.Sample(ctx, traffic.Sampling{Interval: time.Millisecond, Span: time.Hour}, func(s traffic.Sample) {
		if s.Interval <= last {
			t.Errorf("interval %d after %d", s.Interval, last)
		}
		last = s.Interval
		if taken++; taken == 3 {
			_, err := c.Join(t.Context(), []traffic.Membership{member("p1", "239.1.0.1", 1)})
			if err != nil || len(engine.memberships()) != 1 {
				t.Errorf("joining while the trial runs: %v", err)
			}
			enough()
		}
	})
	if !errors.Is(err, context.Canceled) || taken < 3 {
		t.Errorf("%d samples, %v", taken, err)
	}
	eventually(t, "the sampling has ended", func() bool { return engine.users.Load() == 1 })
	engine.Stop(t.Context())
	must(t, "waiting", <-waited)
	if _, err := c.Read(t.Context()); err != nil {
		t.Error(err)
	}
}

// A sampling that fails ends alone: the session and the trial go on, and the sampling
// can be called again.
func TestAFailedSampleVoidsNoTrial(t *testing.T) {
	for name, failure := range map[string]error{"an error": errors.New("counters are away"), "a call that was given up": context.Canceled} {
		t.Run(name, func(t *testing.T) {
			l, wire := newLab(t), &cable{}
			engine := wire.engine("node-a", "p1", "p2")
			var recovered atomic.Bool
			engine.sample = func(interval int) error {
				if interval > 2 && !recovered.Load() {
					return failure
				}
				return nil
			}
			address, _ := l.serve(0, "127.0.0.1:0", engine)
			c := l.dial(t.Context(), l.endpoint(0, address, "p1", "p2"))
			endless(t, c, engine)
			every := traffic.Sampling{Interval: 10 * time.Millisecond, Span: time.Hour}
			if err := c.Sample(t.Context(), every, func(traffic.Sample) {}); err == nil || t.Context().Err() != nil {
				t.Errorf("error %v, want that of the engine", err)
			}
			if !c.link.connected() || engine.busy() == nil {
				t.Fatal("the failure ended the session or the trial")
			}
			recovered.Store(true)
			if _, err := traffictest.SampleNow(t, c); err != nil {
				t.Errorf("sampling again: %v", err)
			}
			must(t, "stopping", c.Stop(t.Context()))
			must(t, "waiting", c.Wait(t.Context()))
			_, err := c.Read(t.Context())
			must(t, "reading", err)
		})
	}
}

// A client has the optional interfaces of the agent's engine, and a fleet those that
// all of its agents have.
func TestAbilitiesAreThoseOfTheEngines(t *testing.T) {
	l, wire := newLab(t), &cable{}
	able := wire.engine("node-a", "p1")
	plain := struct{ traffic.Generator }{wire.engine("node-b", "p2")}
	addressA, _ := l.serve(0, "127.0.0.1:0", able)
	addressB, _ := l.serve(1, "127.0.0.1:0", plain)
	f, err := DialFleet(t.Context(), []Endpoint{l.endpoint(0, addressA, "p1"), l.endpoint(1, addressB, "p2")}, []string{"p1", "p2"}, l.pki.Runner, quick)
	must(t, "dialling", err)
	defer f.Close()
	for name, tc := range map[string]struct {
		gen  traffic.Generator
		want bool
	}{"able": {f.members[0], true}, "plain": {f.members[1], false}, "both": {f, false}} {
		_, samples := traffic.As[traffic.Sampler](tc.gen)
		_, joins := traffic.As[traffic.GroupMember](tc.gen)
		if samples != tc.want || joins != tc.want {
			t.Errorf("%s: samples %t, joins %t, want %t", name, samples, joins, tc.want)
		}
	}
	must(t, "configuring", f.Configure(t.Context(), nil))
	if _, err := traffictest.SampleNow(t, f.members[1]); !errors.Is(err, traffic.ErrUnsupported) {
		t.Errorf("sampling an engine that cannot: %v", err)
	}
	if _, err := f.members[1].Join(t.Context(), nil); !errors.Is(err, traffic.ErrUnsupported) {
		t.Errorf("joining by an engine that cannot: %v", err)
	}
	if _, err := f.Info(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot be joined with others") {
		t.Errorf("an engine that cannot be armed: %v", err)
	}
}

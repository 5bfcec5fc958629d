package sim

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic"
)

// routers is an engine of three ports, a session on each, whose device behaves so.
func routers(t *testing.T, b v1alpha1.SimulatedBehaviour, opts ...Option) (*Engine, routing.Speaker) {
	t.Helper()
	e, err := New("frame_size_bytes,line_rate_percent,latency_min_us,latency_avg_us,latency_max_us\n64,100,1,2,3\n",
		[]Port{{"p1", 1e9}, {"p2", 1e9}, {"p3", 1e9}}, append(opts, WithBehaviour(b))...)
	if err != nil {
		t.Fatal(err)
	}
	var sessions []routing.Session
	for i, port := range []string{"p1", "p2", "p3"} {
		sessions = append(sessions, routing.Session{Name: port, Port: port, LocalASN: uint32(101 + i), RemoteASN: 100, Families: []routing.Family{routing.IPv4Unicast}})
	}
	if err := e.Speaker().Open(t.Context(), sessions); err != nil {
		t.Fatal(err)
	}
	return e, e.Speaker()
}

func thousand(longer ...uint32) routing.Routes {
	return routing.Routes{Name: "thousand", First: netip.MustParsePrefix("20.0.0.0/24"), Count: 1000, Attributes: routing.Attributes{ASPath: longer}}
}

// toThousand is a stream from p1 to them, which come at p2 or p3.
func toThousand() traffic.Stream {
	return traffic.Stream{TxPort: "p1", RxPorts: []string{"p2", "p3"}, FrameSize: 64, Headers: traffic.Headers{
		SrcIP: netip.MustParseAddr("198.18.0.2"), SrcIPCount: 1, DstIP: netip.MustParseAddr("20.0.0.1"), DstIPCount: 1000, DstIPBits: 24,
	}}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// A device that handles 1,000 routes in a second takes one second for a thousand, and the
// witness learns them one after the other.
func TestRoutesTakeTheirTime(t *testing.T) {
	t.Parallel()
	e, s := routers(t, v1alpha1.SimulatedBehaviour{RouteInstallRate: new(int64(1000)), RouteDelay: &metav1.Duration{Duration: 100 * time.Millisecond}})
	must[routing.Sent](t)(s.Announce(t.Context(), "p2", []routing.Routes{thousand(7)}))
	for _, want := range []struct {
		at     time.Duration
		routes uint64
	}{{100 * time.Millisecond, 0}, {350 * time.Millisecond, 250}, {1100 * time.Millisecond, 1000}} {
		if err := e.clock.Sleep(t.Context(), want.at-e.dut.now()); err != nil {
			t.Fatal(err)
		}
		if l := must[routing.Learnt](t)(s.Learnt(t.Context(), "p3")); l.Routes != want.routes {
			t.Errorf("after %s %d routes, want %d", want.at, l.Routes, want.routes)
		}
	}
	want := routing.Readvertised(100, 102, []routing.Routes{thousand(7)})
	l, err := s.Await(t.Context(), "p1", want)
	if err != nil || l.Last != uint64(1100*time.Millisecond) {
		t.Errorf("%+v, %v", l, err)
	}
	if l := must[routing.Learnt](t)(s.Learnt(t.Context(), "p2")); l.Routes != 0 {
		t.Errorf("the session learns %d of its own routes", l.Routes)
	}
}

// The table is full, and has room again once routes are withdrawn.
func TestRoutesBeyondTheCapacity(t *testing.T) {
	t.Parallel()
	_, s := routers(t, v1alpha1.SimulatedBehaviour{RouteCapacity: new(int64(1200))})
	more := routing.Routes{Name: "more", First: netip.MustParsePrefix("30.0.0.0/24"), Count: 500}
	must[routing.Sent](t)(s.Announce(t.Context(), "p2", []routing.Routes{thousand(), more}))
	all := routing.Readvertised(100, 102, []routing.Routes{thousand(), more})
	var missing *routing.UnlearnedError
	if _, err := s.Await(t.Context(), "p1", all); !errors.As(err, &missing) || missing.Got.Routes != 1200 {
		t.Errorf("%v", err)
	}
	must[routing.Sent](t)(s.Withdraw(t.Context(), "p2", []routing.Routes{thousand()}))
	must[routing.Sent](t)(s.Announce(t.Context(), "p2", []routing.Routes{more}))
	must[routing.Learnt](t)(s.Await(t.Context(), "p1", routing.Readvertised(100, 102, []routing.Routes{more})))
}

// Frames follow the table: to no port before the routes are there, to the shorter path once
// they are, and to the longer one, after a dip, for those that are withdrawn.
func TestFramesFollowTheTable(t *testing.T) {
	t.Parallel()
	e, s := routers(t, v1alpha1.SimulatedBehaviour{RouteInstallRate: new(int64(1000)), RouteWithdrawRate: new(int64(2000)), RouteSwitchDip: &metav1.Duration{Duration: 50 * time.Millisecond}})
	if err := e.Configure(t.Context(), []traffic.Stream{toThousand()}); err != nil {
		t.Fatal(err)
	}
	run := func(act func()) (atP2, atP3 uint64) {
		t.Helper()
		rate := traffic.Rate{Frames: 1, PerNanos: 1000} // 1,000,000 frames/s
		if err := e.Start(t.Context(), traffic.Trial{Loads: map[uint16]traffic.Load{0: {Rate: rate}}, Duration: 2 * time.Second}); err != nil {
			t.Fatal(err)
		}
		act()
		if err := e.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		m := must[traffic.Measurement](t)(e.Read(t.Context()))
		return m.Rx[traffic.RxKey{Port: "p2"}].Received, m.Rx[traffic.RxKey{Port: "p3"}].Received
	}
	check := func(what string, gotP2, gotP3, wantP2, wantP3 uint64) {
		t.Helper()
		if gotP2 != wantP2 || gotP3 != wantP3 {
			t.Errorf("%s: %d and %d frames, want %d and %d", what, gotP2, gotP3, wantP2, wantP3)
		}
	}
	p2, p3 := run(func() {})
	check("without a route", p2, p3, 0, 0)
	p2, p3 = run(func() { must[routing.Sent](t)(s.Announce(t.Context(), "p2", []routing.Routes{thousand()})) })
	check("announced, a second until all are there", p2, p3, 1_500_000, 0)
	p2, p3 = run(func() { must[routing.Sent](t)(s.Announce(t.Context(), "p3", []routing.Routes{thousand(7)})) })
	check("a longer path", p2, p3, 2_000_000, 0)
	half := thousand()
	half.Count = 500
	p2, p3 = run(func() { must[routing.Sent](t)(s.Withdraw(t.Context(), "p2", []routing.Routes{half})) })
	// Half of the frames move within 250 ms, each network after a dip of 50 ms.
	check("half is withdrawn", p2, p3, 1_000_000+62_500, 1_000_000-62_500-25_000)
	p2, p3 = run(func() {})
	check("afterwards", p2, p3, 1_000_000, 1_000_000)
}

// A device keeps several paths of a session with add-path apart by their identifiers, and
// advertises all of them where the receiver takes them.
func TestFurtherPathsOfASession(t *testing.T) {
	t.Parallel()
	e, s := routers(t, v1alpha1.SimulatedBehaviour{})
	for _, one := range e.speaker.sessions[:2] {
		one.AddPath = true
	}
	first, second := thousand(), thousand(7)
	first.Attributes.PathID, second.Attributes.PathID = 1, 2
	must[routing.Sent](t)(s.Announce(t.Context(), "p1", []routing.Routes{first, second}))
	short, long := routing.Readvertised(100, 101, []routing.Routes{first}), routing.Readvertised(100, 101, []routing.Routes{second})
	for _, step := range []struct {
		session string
		want    routing.Table
	}{{"p2", short.Add(long)}, {"p3", short}, {"p1", routing.Table{}}} {
		must[routing.Learnt](t)(s.Await(t.Context(), step.session, step.want))
	}
	must[routing.Sent](t)(s.Withdraw(t.Context(), "p1", []routing.Routes{first}))
	must[routing.Learnt](t)(s.Await(t.Context(), "p2", long))
	must[routing.Learnt](t)(s.Await(t.Context(), "p3", long))
}

// Labeled routes stay labeled when the device has split their range.
func TestLabeledRoutesInParts(t *testing.T) {
	t.Parallel()
	e, s := routers(t, v1alpha1.SimulatedBehaviour{})
	for _, one := range e.speaker.sessions {
		one.Families = []routing.Family{routing.IPv4LabeledUnicast}
	}
	all := thousand()
	all.Attributes.Label = 16
	must[routing.Sent](t)(s.Announce(t.Context(), "p1", []routing.Routes{all}))
	must[routing.Sent](t)(s.Withdraw(t.Context(), "p1", []routing.Routes{all.Part(100, 50)}))
	must[routing.Learnt](t)(s.Await(t.Context(), "p2", routing.Readvertised(100, 101, []routing.Routes{all.Part(0, 100), all.Part(150, 850)})))
}

package sim

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
)

// fan is a trial in hand: p1 sends 100,000 frames/s to each of some groups, from
// 225.1.1.1 up, for p2 and p3.
type fan struct {
	*testing.T
	e *Engine
}

// perfect forwards everything; its lowest latency is 1 us.
const perfect = header + "\n64,100,1,2,3,0,0\n"

func newFan(t *testing.T, model string, groups int, b v1alpha1.SimulatedBehaviour) *fan {
	t.Helper()
	e, _ := pairs(t, model, 3, WithBehaviour(b))
	streams := make([]traffic.Stream, groups)
	address := netip.MustParseAddr("225.1.1.1")
	for i := range streams {
		streams[i] = traffic.Stream{ID: uint16(i), TxPort: "p1", RxPorts: []string{"p2", "p3"}, FrameSize: 64, Headers: traffic.Headers{
			SrcIP: netip.MustParseAddr("198.18.0.2"), DstIP: address,
		}}
		address = address.Next()
	}
	if err := e.Configure(context.Background(), streams); err != nil {
		t.Fatal(err)
	}
	return &fan{t, e}
}

func (f *fan) start(d time.Duration) {
	f.Helper()
	loads := map[uint16]traffic.Load{}
	for _, s := range f.e.run.streams {
		loads[s.ID] = traffic.Load{Rate: traffic.Rate{Frames: 1, PerNanos: 10_000}}
	}
	if err := f.e.Start(context.Background(), traffic.Trial{Loads: loads, Duration: d}); err != nil {
		f.Fatal(err)
	}
}

func (f *fan) sleep(d time.Duration) {
	f.Helper()
	if err := f.e.Clock().Sleep(context.Background(), d); err != nil {
		f.Fatal(err)
	}
}

type report func(context.Context, []traffic.Membership) (traffic.Moments, error)

// of reports about n groups from 225.1.1.1 up, and returns when.
func (f *fan) of(do report, port string, n uint32) time.Duration {
	f.Helper()
	at, err := do(context.Background(), []traffic.Membership{{Port: port, Group: netip.MustParseAddr("225.1.1.1"), Count: n}})
	if err != nil || len(at) != 1 {
		f.Fatal(at, err)
	}
	return time.Duration(at[port])
}

func (f *fan) end() traffic.Measurement {
	f.Helper()
	if err := f.e.Wait(context.Background()); err != nil {
		f.Fatal(err)
	}
	m, err := f.e.Read(context.Background())
	if err != nil {
		f.Fatal(err)
	}
	return m
}

func at(m traffic.Measurement, stream uint16, port string) traffic.RxCount {
	return m.Rx[traffic.RxKey{Stream: stream, Port: port}]
}

func after(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

const micro = time.Microsecond

// A group reaches the ports that joined it, and from joinDelay after the report on.
// The frames of a stream leave every 10 us, and take 1 us.
func TestAGroupIsForwardedToItsMembers(t *testing.T) {
	f := newFan(t, perfect, 1, v1alpha1.SimulatedBehaviour{JoinDelay: after(250 * time.Millisecond)})
	f.start(10 * time.Second)
	f.sleep(time.Second)
	joined := f.of(f.e.Join, "p2", 1)
	m := f.end()
	if joined != time.Second || m.Tx[0].Sent != 1_000_000 {
		t.Fatalf("joined at %s, sent %d", joined, m.Tx[0].Sent)
	}
	rx := at(m, 0, "p2")
	if rx.Received != 875_000 || rx.Next != 1_000_000 || rx.GapEnd != 125_000 || rx.OutOfSequence != 1 || rx.Latency.Count != 875_000 {
		t.Errorf("%+v", rx)
	}
	if first, last := time.Duration(rx.FirstNs)-joined, time.Duration(rx.LastNs); first != 250*time.Millisecond+11*micro || last != 10*time.Second+micro {
		t.Errorf("the first frame came %s after the report, the last at %s", first, last)
	}
	if _, got := m.Rx[traffic.RxKey{Stream: 0, Port: "p3"}]; got {
		t.Error("p3 did not join and got frames")
	}
	// The membership goes on in the next trial, where the epoch has moved on.
	f.start(time.Second)
	if rx := at(f.end(), 0, "p2"); rx.Received != 100_000 || rx.GapEnd != 0 || time.Duration(rx.FirstNs) != 10*time.Second+11*micro {
		t.Errorf("in the next trial %+v", rx)
	}
}

func TestAGroupIsForwardedUntilItIsLeft(t *testing.T) {
	f := newFan(t, perfect, 1, v1alpha1.SimulatedBehaviour{LeaveDelay: after(100 * time.Millisecond)})
	f.of(f.e.Join, "p2", 1)
	f.of(f.e.Join, "p3", 1)
	f.start(10 * time.Second)
	f.sleep(4 * time.Second)
	left := f.of(f.e.Leave, "p2", 1)
	m := f.end()
	if rx := at(m, 0, "p2"); rx.Received != 410_000 || rx.Next != 410_000 || rx.GapEnd != 0 || time.Duration(rx.LastNs)-left != 100*time.Millisecond+micro {
		t.Errorf("%+v", rx)
	}
	if rx := at(m, 0, "p3"); rx.Received != 1_000_000 {
		t.Errorf("p3 stayed and got %d frames", rx.Received)
	}
	f.start(time.Second)
	if _, got := f.end().Rx[traffic.RxKey{Stream: 0, Port: "p2"}]; got {
		t.Error("frames came in the trial after it was left")
	}
}

func TestReportsThatChangeNothing(t *testing.T) {
	f := newFan(t, perfect, 1, v1alpha1.SimulatedBehaviour{JoinDelay: after(time.Second), LeaveDelay: after(time.Second)})
	f.start(10 * time.Second)
	f.of(f.e.Leave, "p2", 1) // is no member
	f.of(f.e.Join, "p2", 1)
	f.sleep(500 * time.Millisecond)
	f.of(f.e.Join, "p2", 1) // is one already
	f.sleep(1500 * time.Millisecond)
	f.of(f.e.Leave, "p2", 1)
	f.sleep(500 * time.Millisecond)
	f.of(f.e.Leave, "p2", 1) // left already
	f.sleep(100 * time.Millisecond)
	f.of(f.e.Join, "p2", 1) // before the device stopped
	f.sleep(400 * time.Millisecond)
	f.of(f.e.Leave, "p2", 1) // at 3 s, forwarded until 4 s
	f.sleep(2 * time.Second)
	f.of(f.e.Join, "p2", 1) // at 5 s, forwarded from 6 s on
	rx := at(f.end(), 0, "p2")
	if rx.Received != 300_000+400_000 || rx.GapEnd != 600_000 || rx.OutOfSequence != 2 || time.Duration(rx.FirstNs) != time.Second+11*micro {
		t.Errorf("%+v", rx)
	}
}

func TestAGroupThatWasLeftBeforeItCame(t *testing.T) {
	f := newFan(t, perfect, 1, v1alpha1.SimulatedBehaviour{JoinDelay: after(time.Second), LeaveDelay: after(time.Hour)})
	f.start(10 * time.Second)
	f.of(f.e.Join, "p2", 1)
	f.sleep(time.Second / 2)
	f.of(f.e.Leave, "p2", 1)
	f.of(f.e.Join, "p3", 1)
	f.sleep(time.Second / 2)
	f.of(f.e.Join, "p2", 1)
	m := f.end()
	if p2, p3 := at(m, 0, "p2").Received, at(m, 0, "p3").Received; p2 != 800_000 || p3 != 850_000 {
		t.Errorf("p2 got %d frames and p3 %d, want those from 2 s and 1.5 s on", p2, p3)
	}
}

func TestOnlySoManyGroupsAreForwarded(t *testing.T) {
	three := int32(3)
	f := newFan(t, perfect, 5, v1alpha1.SimulatedBehaviour{GroupCapacity: &three})
	heard := func() string {
		f.start(time.Second)
		m, text := f.end(), ""
		for _, port := range []string{"p2", "p3"} {
			for id := range uint16(5) {
				if n := at(m, id, port).Received; n == 100_000 {
					text += fmt.Sprint(id)
				} else if n > 0 {
					t.Errorf("%s got %d frames of group %d", port, n, id)
				}
			}
			text += " "
		}
		return text
	}
	f.of(f.e.Join, "p2", 5)
	if got := heard(); got != "012  " {
		t.Errorf("heard %q, want the first three groups", got)
	}
	// A further port needs no further place, and a group that all have left gives
	// its place up to the next that is asked for.
	f.of(f.e.Join, "p3", 2)
	f.of(f.e.Leave, "p2", 1)
	f.of(f.e.Join, "p2", 5)
	if got := heard(); got != "012 01 " {
		t.Errorf("heard %q, want no other groups", got)
	}
	f.of(f.e.Leave, "p2", 1)
	f.of(f.e.Leave, "p3", 1)
	f.sleep(time.Nanosecond)
	f.of(f.e.Join, "p3", 4)
	if got := heard(); got != "12 012 " {
		t.Errorf("heard %q, want that group 0 took the place that it gave up", got)
	}
}

func TestASourceIsAskedForAlone(t *testing.T) {
	f := newFan(t, perfect, 1, v1alpha1.SimulatedBehaviour{})
	for port, source := range map[string]string{"p2": "198.18.0.2", "p3": "198.18.0.9"} {
		m := traffic.Membership{Port: port, Group: netip.MustParseAddr("225.1.1.1"), Count: 1, Source: netip.MustParseAddr(source)}
		if _, err := f.e.Join(context.Background(), []traffic.Membership{m}); err != nil {
			t.Fatal(err)
		}
	}
	f.start(time.Second)
	if m := f.end(); at(m, 0, "p2").Received != 100_000 || at(m, 0, "p3").Received != 0 {
		t.Errorf("%+v", m.Rx)
	}
	for _, bad := range []traffic.Membership{{Port: "p9", Group: netip.MustParseAddr("225.1.1.1")}, {Port: "p2", Group: netip.MustParseAddr("198.18.0.1")}} {
		if _, err := f.e.Join(context.Background(), []traffic.Membership{bad}); err == nil {
			t.Errorf("joined %+v", bad)
		}
	}
}

// A device that is reset forwards nothing for resetTime, and forgets the groups. It
// does not matter that its ports are loaded to their capacity.
func TestAResetForwardsNothing(t *testing.T) {
	b := v1alpha1.SimulatedBehaviour{ResetTime: after(3 * time.Second)}
	e, streams := pairs(t, half, 2, WithBehaviour(b))
	ctx := context.Background()
	loads := map[uint16]traffic.Load{0: load(t, 64, whole/2, 1), 1: load(t, 64, whole/2, 1)}
	if err := e.Configure(ctx, streams); err != nil {
		t.Fatal(err)
	}
	if err := e.Start(ctx, traffic.Trial{Loads: loads, Duration: 10 * time.Second}); err != nil {
		t.Fatal(err)
	}
	f := &fan{t, e}
	f.sleep(2 * time.Second)
	if err := e.Device().Reset(ctx); err != nil {
		t.Fatal(err)
	}
	m := f.end()
	// Half of line rate is 7,440,476.19 frames/s.
	rx := at(m, 0, "p2")
	if lost := m.Tx[0].Sent - rx.Received; m.Tx[0].Sent != 74_404_761 || lost != 37_202_380-14_880_952 || rx.GapEnd != 37_202_380 || rx.Next != 74_404_761 {
		t.Errorf("sent %d, lost %d: %+v", m.Tx[0].Sent, lost, rx)
	}
	// The last frame before the reset leaves at most one of 134.4 ns before it.
	if from, silent := time.Duration(rx.SilentFromNs), time.Duration(rx.SilentToNs-rx.SilentFromNs); from < 2*time.Second-135 || from > 2*time.Second+10*micro || silent < 3*time.Second || silent > 3*time.Second+2*135 {
		t.Errorf("silent for %s from %s on, want 3 s from 2 s on", silent, from)
	}
	if err := e.Start(ctx, traffic.Trial{Loads: loads, Duration: time.Second}); err != nil {
		t.Fatal(err)
	}
	rx = at(f.end(), 0, "p2")
	if silent := rx.SilentToNs - rx.SilentFromNs; rx.Received != 7_440_476 || silent < 134 || silent > 135 {
		t.Errorf("after the reset: %+v", rx)
	}

	f = newFan(t, perfect, 1, b)
	f.of(f.e.Join, "p2", 1)
	f.start(10 * time.Second)
	f.sleep(2 * time.Second)
	if err := f.e.Device().Reset(ctx); err != nil {
		t.Fatal(err)
	}
	f.sleep(4 * time.Second)
	f.of(f.e.Join, "p2", 1)
	if rx := at(f.end(), 0, "p2"); rx.Received != 200_000+400_000 || rx.GapEnd != 600_000 {
		t.Errorf("a group that was joined again at 6 s: %+v", rx)
	}
}

// The totals of a sample equal the totals of a trial that ends there.
func TestSamplesGrowWithTime(t *testing.T) {
	ctx := context.Background()
	e, streams := pairs(t, half, 2)
	if err := e.Configure(ctx, streams); err != nil {
		t.Fatal(err)
	}
	loads := map[uint16]traffic.Load{0: load(t, 64, whole, 1), 1: load(t, 64, whole/4, 1)}
	if err := e.Start(ctx, traffic.Trial{Loads: loads, Duration: 10 * time.Second}); err != nil {
		t.Fatal(err)
	}
	f := &fan{t, e}
	for i := range 12 {
		s, err := e.sample(ctx, false)
		d := time.Duration(min(i, 10)) * time.Second
		sent := frames(loads[0].Rate, d) + frames(loads[1].Rate, d)
		received := frames(loads[1].Rate, d) + frames(e.run.handling.rate("p2", whole/2), d)
		if err != nil || s != (traffic.Sample{At: d, Sent: sent, Received: received}) {
			t.Errorf("after %d s: %+v, %v; want %d sent and %d received", i, s, err, sent, received)
		}
		f.sleep(time.Second)
	}
	m := f.end()
	s, _ := e.sample(ctx, true)
	rx := s.Ports.Rx[traffic.ClassAt{Port: "p2"}]
	if of := m.Rx[traffic.RxKey{Stream: 0, Port: "p2"}]; rx.Received != of.Received || rx.Bytes != 64*of.Received || rx.Lost != m.Tx[0].Sent-of.Received || rx.Lost == 0 || rx.Latency.Count != of.Latency.Count {
		t.Errorf("p2 after the end: %+v, want %+v", rx, of)
	}
	if s.Sent != m.Tx[0].Sent+m.Tx[1].Sent || s.At != 10*time.Second {
		t.Errorf("after the end: %+v", s)
	}
}

package method

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

// recorder records the calls of a generator, and fails once when it is asked to start its
// nth trial.
type recorder struct {
	*sim.Engine
	told   []string
	starts int
	failAt int
}

func (r *recorder) Configure(ctx context.Context, streams []traffic.Stream) error {
	r.told = append(r.told, fmt.Sprintf("configure %d", len(streams)))
	return r.Engine.Configure(ctx, streams)
}

func (r *recorder) Join(ctx context.Context, m []traffic.Membership) (traffic.Moments, error) {
	r.told = append(r.told, fmt.Sprintf("join %v", m))
	return r.Engine.Join(ctx, m)
}

func (r *recorder) Leave(ctx context.Context, m []traffic.Membership) (traffic.Moments, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	r.told = append(r.told, fmt.Sprintf("leave %v", m))
	return r.Engine.Leave(ctx, m)
}

func (r *recorder) Start(ctx context.Context, trial traffic.Trial) error {
	if r.starts++; r.starts == r.failAt {
		return errors.New("the traffic pod restarted")
	}
	r.told = append(r.told, "start")
	return r.Engine.Start(ctx, trial)
}

// multicastPlan is a plan of one latency trial with a pattern, at two frame sizes.
func multicastPlan(t *testing.T, p v1alpha1.Pattern) plan.Plan {
	t.Helper()
	var b v1alpha1.Benchmark
	b.Spec.Tests = []v1alpha1.Test{{Name: "latency", Latency: &v1alpha1.LatencyTest{Loads: []v1alpha1.Load{"50%"}}}}
	var profile v1alpha1.TrafficProfile
	profile.Spec = v1alpha1.TrafficProfileSpec{FrameSizes: []int32{64, 128}, Pattern: p, Packet: v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}}
	var bed v1alpha1.TestBed
	bed.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineSim, Sim: &v1alpha1.SimEngine{Ports: &v1alpha1.SimPorts{Count: 3, Speed: "10G"}}}
	bed.Spec.Device.Simulated = &v1alpha1.SimulatedDevice{}
	made, err := build(&b, &profile, &bed)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// Groups are joined before the first frame, joined again when the generator has
// forgotten them, and left at the end, also when the run was cancelled.
func TestGroupsAreJoinedAndLeft(t *testing.T) {
	p := multicastPlan(t, v1alpha1.Pattern{FanOut: &v1alpha1.FanOutPattern{Groups: 2}})
	gen := &recorder{Engine: simulate(t, header+"\n64,100,1,2,3\n128,100,1,2,3\n", p), failAt: 4}
	tester := open(t, gen, p, nil)
	mustRun(t, tester, p.Steps[0])
	mustRun(t, tester, p.Steps[1])
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 2 { // Twice, to see that nothing is left twice.
		if err := tester.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	members := fmt.Sprint(p.Memberships())
	join, leave := "join "+members, "leave "+members
	want := []string{
		"configure 2", join, "start", "start", // 64 B: learning, the trial
		"configure 2", join, "start", // 128 B: learning, a trial that fails
		"configure 2", join, "start", "start", leave,
	}
	if !slices.Equal(gen.told, want) {
		t.Errorf("the generator was told\n%q, want\n%q", gen.told, want)
	}
}

func TestUnicastJoinsNothing(t *testing.T) {
	p := multicastPlan(t, v1alpha1.Pattern{FullMesh: &v1alpha1.FullMeshPattern{}})
	gen := &recorder{Engine: simulate(t, header+"\n64,100,1,2,3\n", p)}
	tester := open(t, gen, p, nil)
	mustRun(t, tester, p.Steps[0])
	if err := tester.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"configure 6", "start", "start"}; !slices.Equal(gen.told, want) {
		t.Errorf("the generator was told %q, want %q", gen.told, want)
	}
}

// unicastTrial is a trial with one stream in each direction, and no group.
func unicastTrial() *trials.Trial {
	p := plan.Plan{
		Ports:   []plan.Port{{Name: "p1"}, {Name: "p2"}},
		Streams: []plan.Stream{{ID: 0, Tx: 0, Rx: []int{1}, Part: 1}, {ID: 1, Tx: 1, Rx: []int{0}, Part: 1}},
	}
	sent := traffic.TxCount{Intended: 100, Sent: 1}
	return trials.NewTrial(p, plan.Bytes(64), 1, 1, traffic.Measurement{
		Tx:     map[uint16]traffic.TxCount{0: sent, 1: sent},
		Rx:     map[traffic.RxKey]traffic.RxCount{{Stream: 0, Port: "p2"}: {Received: 1}, {Stream: 1, Port: "p1"}: {Received: 1}},
		TxTime: time.Second,
	})
}

// Both classes of a mixed pattern are summed for themselves, multicast at each of its
// receivers, also when the trial was condensed. With one class there is none.
func TestClasses(t *testing.T) {
	p := multicastPlan(t, v1alpha1.Pattern{MixedClass: &v1alpha1.MixedClassPattern{}})
	if len(p.Streams) != 3 || !p.Streams[0].Headers.DstIP.IsMulticast() {
		t.Fatalf("%+v", p.Streams)
	}
	m := traffic.Measurement{
		Tx: map[uint16]traffic.TxCount{0: {Intended: 100, Sent: 100}, 1: {Intended: 50, Sent: 50}, 2: {Intended: 50, Sent: 50}},
		Rx: map[traffic.RxKey]traffic.RxCount{{Stream: 0, Port: "p2"}: {Received: 100}, {Stream: 0, Port: "p3"}: {Received: 90}, {Stream: 1, Port: "p2"}: {Received: 49}, {Stream: 2, Port: "p3"}: {Received: 50}},
	}
	want := v1alpha1.ClassesSummary{
		Multicast: v1alpha1.ClassSummary{Sent: 100, Received: 190, Lost: 10, OfferedFramesPerSecond: 50, ReceivedFramesPerSecond: 95},
		Unicast:   v1alpha1.ClassSummary{Sent: 100, Received: 99, Lost: 1, OfferedFramesPerSecond: 50, ReceivedFramesPerSecond: 50},
	}
	trial := trials.NewTrial(p, plan.Bytes(64), 500_000, 2_000_000_000, m)
	if got := trial.Counters.Classes(); got == nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	trial.Counters.Condense()
	if got := trial.Counters.Classes(); got == nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("condensed: %+v", got)
	}
	p.Streams = p.Streams[1:]
	if got := trials.NewTrial(p, plan.Bytes(64), 500_000, 2_000_000_000, m).Counters.Classes(); got != nil {
		t.Errorf("unicast alone: %+v", got)
	}
}

// The latency of multicast is summed up by receiving port over all groups, and a
// condensed trial still knows it. Unicast takes no part.
func TestMulticastLatency(t *testing.T) {
	p := multicastPlan(t, v1alpha1.Pattern{MixedClass: &v1alpha1.MixedClassPattern{Groups: 2}})
	m := traffic.Measurement{Tx: map[uint16]traffic.TxCount{}, Rx: map[traffic.RxKey]traffic.RxCount{}}
	for _, s := range p.Streams {
		m.Tx[s.ID] = traffic.TxCount{Intended: 2, Sent: 2}
		for _, port := range s.Rx {
			l := traffic.Latency{Count: 2, MinNs: 100, MaxNs: 100_000, SumNs: 100_100} // of unicast
			if s.Headers.DstIP.IsMulticast() {
				base := uint64(port) * 1000
				l = traffic.Latency{Count: 2, MinNs: base + uint64(s.ID), MaxNs: base + 100, SumNs: 2*base + 100 + uint64(s.ID)}
			}
			m.Rx[traffic.RxKey{Stream: s.ID, Port: p.Ports[port].Name}] = traffic.RxCount{Received: 2, Latency: l}
		}
	}
	trial := trials.NewTrial(p, plan.Bytes(64), 500_000, 2_000_000_000, m)
	// Groups are the streams 0 and 2: of a port 0 + 100 and 2 + 100 ns above its base.
	want := []v1alpha1.PortLatency{{Port: "p2", MinNs: 1000, AvgNs: 1051, MaxNs: 1100}, {Port: "p3", MinNs: 2000, AvgNs: 2051, MaxNs: 2100}}
	if got := trial.Counters.MulticastLatency(); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	trial.Counters.Condense()
	if got := trial.Counters.MulticastLatency(); !slices.Equal(got, want) {
		t.Errorf("condensed: %+v", got)
	}
	if got := unicastTrial().Counters.MulticastLatency(); got != nil {
		t.Errorf("unicast: %+v", got)
	}
}

// The frames of a group are summed over its receivers, and a condensed trial
// still knows them.
func TestMulticastSummary(t *testing.T) {
	p := multicastPlan(t, v1alpha1.Pattern{FanOut: &v1alpha1.FanOutPattern{Groups: 2}})
	m := traffic.Measurement{Tx: map[uint16]traffic.TxCount{0: {Intended: 100, Sent: 100}, 1: {Intended: 100, Sent: 100}}, Rx: map[traffic.RxKey]traffic.RxCount{}}
	for key, n := range map[traffic.RxKey]uint64{{Stream: 0, Port: "p2"}: 100, {Stream: 0, Port: "p3"}: 100, {Stream: 1, Port: "p2"}: 90, {Stream: 1, Port: "p3"}: 100} {
		m.Rx[key] = traffic.RxCount{Received: n, Latency: traffic.Latency{Count: n, MinNs: 5, MaxNs: 5, SumNs: 5 * n, Buckets: map[uint32]uint64{5: n}}}
	}
	trial := trials.NewTrial(p, plan.Bytes(64), 500_000, 2_000_000_000, m)
	want := v1alpha1.MulticastSummary{Groups: 2, Receivers: 2, MinFrames: 190, MaxFrames: 200, MinFramesPerSecond: 95, MaxFramesPerSecond: 100}
	if got := trial.Counters.Multicast(); got == nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("summary %+v, want %+v", got, want)
	}
	if trial.Expected != 400 || trial.Received != 390 || trial.Lost != 10 {
		t.Errorf("trial %+v", trial)
	}
	// Two streams to one group are one group.
	p.Streams[1].Headers.DstIP = p.Streams[0].Headers.DstIP
	one := v1alpha1.MulticastSummary{Groups: 1, Receivers: 2, MinFrames: 390, MaxFrames: 390, MinFramesPerSecond: 195, MaxFramesPerSecond: 195}
	if got := trials.NewTrial(p, plan.Bytes(64), 500_000, 2_000_000_000, m).Counters.Multicast(); !reflect.DeepEqual(*got, one) {
		t.Errorf("summary %+v, want %+v", got, one)
	}
	p.Streams[1].Headers.DstIP = p.Streams[0].Headers.DstIP.Next()
	// A port that receives nothing is named.
	heard := maps.Clone(m.Rx)
	maps.DeleteFunc(heard, func(key traffic.RxKey, _ traffic.RxCount) bool { return key.Port == "p3" })
	silent := traffic.Measurement{Tx: m.Tx, Rx: heard}
	if got := trials.NewTrial(p, plan.Bytes(64), 500_000, 2_000_000_000, silent).Counters.Multicast(); !slices.Equal(got.SilentReceivers, []string{"p3"}) || got.Receivers != 2 {
		t.Errorf("silent: %+v", got)
	}
	before := trial.Counters.Latency()
	trial.Counters.Condense()
	if got := trial.Counters.Multicast(); trial.Counters.Measurement.Rx != nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("condensed: %+v", got)
	}
	if after := trial.Counters.Latency(); after.Count != 390 || after.Count != before.Count || after.SumNs.Cmp(before.SumNs) != 0 {
		t.Errorf("condensed: %+v", after)
	}
	if got := unicastTrial().Counters.Multicast(); got != nil {
		t.Errorf("unicast: %+v", got)
	}
}

// An engine whose ports cannot join groups is refused with the method that needs it,
// and nothing is tried again.
func TestGroupsNeedAMember(t *testing.T) {
	p := fanOut(t, 2, v1alpha1.Test{Name: "join", GroupJoinDelay: &v1alpha1.GroupJoinDelayTest{}})
	plain := &starts{Generator: simulate(t, ideal, p)}
	_, err := Run(t.Context(), open(t, plain, p, nil), p.Steps[0])
	var missing *traffic.MissingError
	if !errors.As(err, &missing) || !errors.Is(err, traffic.ErrUnsupported) || missing.Engine != "sim" || missing.Needs != string(v1alpha1.MethodGroupJoinDelay) || plain.n != 0 {
		t.Errorf("%v after %d trials", err, plain.n)
	}
}

// starts is a fake generator without optional interfaces that counts its trials.
type starts struct {
	traffic.Generator
	n int
}

func (s *starts) Start(ctx context.Context, trial traffic.Trial) error {
	s.n++
	return s.Generator.Start(ctx, trial)
}

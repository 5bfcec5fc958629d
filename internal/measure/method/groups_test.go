package method

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

// ideal forwards everything; the lowest latency is 1 us.
const ideal = header + "\n64,100,1,2,3\n"

// fanOut is the plan of some tests on four ports of 10G, of which the first sends to
// groups from 225.1.1.1 up that all others receive.
func fanOut(t *testing.T, groups int, tests ...v1alpha1.Test) plan.Plan {
	t.Helper()
	pairs, err := planOf(t, v1alpha1.Test{Name: "soak", Soak: &v1alpha1.SoakTest{}})
	if err != nil {
		t.Fatal(err)
	}
	p := plan.Plan{Engine: pairs.Engine, Ports: pairs.Ports, Settle: 2 * time.Second, Rest: 5 * time.Second, Streams: groupStreams(groups)}
	for _, test := range completed(t, tests...) {
		d, ok := DescribeTest(test)
		if !ok {
			t.Fatalf("%s is no method", test.Name)
		}
		for _, s := range d.Steps(test, p.Scale(plan.Bytes(64))) {
			s.Test, s.Method, s.Size = test, cmp.Or(s.Method, d.Name), plan.Bytes(64)
			p.Steps = append(p.Steps, s)
		}
	}
	return p
}

func groupStreams(groups int) []plan.Stream {
	address := netip.MustParseAddr("225.1.1.1")
	streams := make([]plan.Stream, groups)
	for i := range streams {
		streams[i] = plan.Stream{ID: uint16(i), Tx: 0, Rx: []int{1, 2, 3}, Part: int64(groups), Headers: traffic.Headers{
			SrcIP: netip.MustParseAddr("198.18.0.2"), DstIP: address, SrcIPCount: 1, DstIPCount: 1, SrcPortCount: 1, DstPortCount: 1,
		}}
		address = address.Next()
	}
	return streams
}

// fanRows runs the tests on a device.
func fanRows(t *testing.T, b v1alpha1.SimulatedBehaviour, groups int, tests ...v1alpha1.Test) []v1alpha1.ResultRow {
	t.Helper()
	p := fanOut(t, groups, tests...)
	tester := open(t, simulate(t, ideal, p, sim.WithBehaviour(b)), p, nil)
	var rows []v1alpha1.ResultRow
	for _, step := range p.Steps {
		row := rowOf(p, mustRun(t, tester, step))
		Done(tester, row)
		rows = append(rows, row)
	}
	return rows
}

func lasting(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

func joinTest(m v1alpha1.GroupJoinMethod) v1alpha1.Test {
	return v1alpha1.Test{Name: "join", GroupJoinDelay: &v1alpha1.GroupJoinDelayTest{Method: m, Load: "100%"}}
}

func leaveTest() v1alpha1.Test {
	return v1alpha1.Test{Name: "leave", GroupLeaveDelay: &v1alpha1.GroupLeaveDelayTest{Load: "100%"}}
}

// The frames of each of 10 groups leave every 672 ns, and take 1 us: a delay is that
// of the device, up to the next frame, and its latency.
func TestGroupDelaysAreExact(t *testing.T) {
	b := v1alpha1.SimulatedBehaviour{JoinDelay: lasting(25 * time.Millisecond), LeaveDelay: lasting(310 * time.Millisecond)}
	rows := fanRows(t, b, 10, joinTest("A"), joinTest("B"), leaveTest())
	for i, m := range []v1alpha1.GroupJoinMethod{"A", "B"} {
		s, ports := rows[i].GroupDelay, int32(3-i)
		if s == nil {
			t.Fatalf("%s: %+v", m, rows[i])
		}
		// 1.025 s hold 1,525,297.6 intervals, so that the next frame leaves 256 ns later.
		const want = 25_000_000 + 256 + 1000
		if s.MinNs != want || s.MaxNs != want || s.AvgNs != want || s.ResolutionNs != 672 {
			t.Errorf("%s: %+v, want %d ns", m, s, want)
		}
		if s.Repetitions != 3 || s.Method != m || s.Protocol != "IGMPv3" || s.Groups != 10 || s.Receivers != ports || s.Unseen != 0 || len(s.Ports) != int(ports) || s.Ports[0].Port != "p2" || s.Ports[0].MaxNs != want {
			t.Errorf("%s: %+v", m, s)
		}
		if rows[i].Frames.Lost != 0 || rows[i].Trials != 3 || rows[i].Message != "" {
			t.Errorf("%s: %+v", m, rows[i])
		}
	}
	// At 5.31 s, frame 7,901,785 left 480 ns ago: 5.31 s hold 7,901,785.7 intervals.
	if s := rows[2].GroupDelay; s == nil || s.MinNs != 310_000_000-480+1000 || s.MaxNs != s.MinNs || s.Method != "" || s.Receivers != 3 || s.Unseen != 0 {
		t.Errorf("leave: %+v %q", s, rows[2].Message)
	}
}

// interrupted is a generator that breaks once when a trial is read.
type interrupted struct {
	*sim.Engine
	reads int
}

func (i *interrupted) Read(ctx context.Context) (traffic.Measurement, error) {
	if i.reads++; i.reads == 2 {
		return traffic.Measurement{}, traffic.ErrInterrupted
	}
	return i.Engine.Read(ctx)
}

// A trial that is repeated after its ports have joined begins without a membership
// again, when the device has had the rest time to cease.
func TestAGroupDelayIsRepeated(t *testing.T) {
	b := v1alpha1.SimulatedBehaviour{JoinDelay: lasting(25 * time.Millisecond), LeaveDelay: lasting(4 * time.Second)}
	p := fanOut(t, 10, joinTest("A"))
	failures := 0
	tester := open(t, &interrupted{Engine: simulate(t, ideal, p, sim.WithBehaviour(b))}, p, func(e trials.Event) {
		if e.Failure != nil {
			failures++
		}
	})
	out := mustRun(t, tester, p.Steps[0])
	if s := rowOf(p, out).GroupDelay; failures != 1 || s == nil || s.MinNs != s.MaxNs || s.MaxNs != 25_001_256 || out.Trials != 3 {
		t.Errorf("%d failures, %d trials: %+v, %q", failures, out.Trials, s, out.Invalid)
	}
}

func TestDelaysThatDoNotEnd(t *testing.T) {
	minute := v1alpha1.SimulatedBehaviour{JoinDelay: lasting(time.Minute), LeaveDelay: lasting(time.Minute)}
	p := fanOut(t, 2, joinTest("A"), joinTest("B"), leaveTest())
	tester := open(t, simulate(t, ideal, p, sim.WithBehaviour(minute)), p, nil)
	for i, seconds := range []string{"11s", "11s", "15s"} {
		out := mustRun(t, tester, p.Steps[i])
		if out.Fill != nil || out.Message != "no test frame came back on p2, p3, p4 in "+seconds+"; every neighbor answered: check the device's routes and filters, and that its MTU takes the frame" {
			t.Errorf("%s: %q, %q", p.Steps[i].Name(), out.Message, out.Invalid)
		}
	}
	// Without a join delay, ports that left go on receiving for a minute, also in the
	// repetitions that follow.
	p = fanOut(t, 2, joinTest("A"), leaveTest())
	tester = open(t, simulate(t, ideal, p, sim.WithBehaviour(v1alpha1.SimulatedBehaviour{LeaveDelay: lasting(time.Minute)})), p, nil)
	for i, want := range []string{
		"group 225.1.1.1 at port p2: frames came before the port had joined",
		"18 of 18 memberships still got frames 10s after leaving",
	} {
		out := mustRun(t, tester, p.Steps[i])
		if out.Fill != nil || !strings.HasPrefix(out.Invalid, want) || out.Message != "" {
			t.Errorf("%s: %q, %q", p.Steps[i].Name(), out.Message, out.Invalid)
		}
	}
	// Some groups find no place: they are distinguished from the others.
	three := int32(3)
	rows := fanRows(t, v1alpha1.SimulatedBehaviour{GroupCapacity: &three}, 5, joinTest("A"), leaveTest())
	if s := rows[0].GroupDelay; s == nil || s.Unseen != 3*2*3 || s.MaxNs > 2000 || !strings.HasPrefix(rows[0].Message, "18 of 45 memberships got no frame within 10s of joining") {
		t.Errorf("%+v %q", s, rows[0].Message)
	}
	if rows[1].GroupDelay != nil {
		t.Errorf("groups that were not forwarded before were left: %+v", rows[1].GroupDelay)
	}
}

func capacityTest(initial, increment int32) v1alpha1.Test {
	return v1alpha1.Test{Name: "capacity", GroupCapacity: &v1alpha1.GroupCapacityTest{InitialGroups: initial, GroupIncrement: increment, Load: "100%"}}
}

func TestGroupCapacity(t *testing.T) {
	for name, tc := range map[string]struct {
		capacity, initial, increment, trials int32
		want                                 v1alpha1.GroupCapacitySummary
	}{
		// 10, 30, 50 passes; 70 does not; 60, 55, 52, 53, 54.
		"between":          {53, 10, 20, 9, v1alpha1.GroupCapacitySummary{Groups: 53, FailedGroups: 54, SilentGroups: 1}},
		"at an increment":  {50, 10, 20, 8, v1alpha1.GroupCapacitySummary{Groups: 50, FailedGroups: 51, SilentGroups: 1}},
		"below the first":  {2, 10, 20, 4, v1alpha1.GroupCapacitySummary{Groups: 2, FailedGroups: 3, SilentGroups: 1}},
		"one":              {1, 1, 99, 8, v1alpha1.GroupCapacitySummary{Groups: 1, FailedGroups: 2, SilentGroups: 1}},
		"all":              {100, 100, 1, 1, v1alpha1.GroupCapacitySummary{Groups: 100}},
		"all, step by one": {100, 98, 1, 3, v1alpha1.GroupCapacitySummary{Groups: 100}},
		"all but one":      {99, 1, 1000, 9, v1alpha1.GroupCapacitySummary{Groups: 99, FailedGroups: 100, SilentGroups: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			row := fanRows(t, v1alpha1.SimulatedBehaviour{GroupCapacity: &tc.capacity}, 100, capacityTest(tc.initial, tc.increment))[0]
			tc.want.Protocol, tc.want.Receivers, tc.want.MulticastRoutes = "IGMPv3", 3, int64(tc.want.Groups)
			if row.GroupCapacity == nil || *row.GroupCapacity != tc.want || row.Trials != tc.trials || row.Frames.Lost != 0 {
				t.Errorf("%+v in %d trials, lost %d: %q; want %+v in %d", row.GroupCapacity, row.Trials, row.Frames.Lost, row.Message, tc.want, tc.trials)
			}
			if all := strings.Contains(row.Message, "all 100 groups of the traffic profile"); all != (tc.want.FailedGroups == 0) {
				t.Errorf("message %q", row.Message)
			}
		})
	}
}

// A multicast router has a route for each group and sender.
func TestGroupCapacityOfMulticastRoutes(t *testing.T) {
	const groups, senders, room = 40, 4, 103
	p := fanOut(t, groups, capacityTest(30, 10))
	for i := range p.Streams {
		p.Streams[i].Headers.SrcIPCount = senders
	}
	p.RoutesMulticast = true
	tester := open(t, simulate(t, ideal, p, sim.WithBehaviour(v1alpha1.SimulatedBehaviour{MulticastRouteCapacity: new(int32(room))})), p, nil)
	row := rowOf(p, mustRun(t, tester, p.Steps[0]))
	want := v1alpha1.GroupCapacitySummary{Groups: room / senders, FailedGroups: room/senders + 1, MulticastRoutes: room / senders * senders, SilentGroups: 1, Protocol: "IGMPv3", Receivers: 3}
	if row.GroupCapacity == nil || *row.GroupCapacity != want {
		t.Errorf("%+v %q, want %+v", row.GroupCapacity, row.Message, want)
	}
}

// Groups that a device has no room for are named by a test of something else.
func TestGroupsBeyondTheLimitAreNamed(t *testing.T) {
	soak := v1alpha1.Test{Name: "soak", Soak: &v1alpha1.SoakTest{Load: "10%", Duration: metav1.Duration{Duration: time.Second}}}
	for capacity, want := range map[int32]string{
		3: "2 of 5 multicast groups, from 225.1.1.4 up, did not reach all ports that joined them before the trials: the device may hold fewer memberships, or fewer multicast routes",
		5: "",
	} {
		row := fanRows(t, v1alpha1.SimulatedBehaviour{GroupCapacity: &capacity}, 5, soak)[0]
		if row.Message != want || (row.Frames.Lost > 0) != (want != "") {
			t.Errorf("room for %d groups: lost %d, %q", capacity, row.Frames.Lost, row.Message)
		}
	}
}

// Groups are given the time that a join delay test before has found.
func TestGroupCapacityWaitsForTheJoinDelay(t *testing.T) {
	slow := v1alpha1.SimulatedBehaviour{JoinDelay: lasting(4 * time.Second)}
	if row := fanRows(t, slow, 5, capacityTest(5, 1))[0]; row.GroupCapacity.Groups != 2 || row.GroupCapacity.FailedGroups != 3 || row.GroupCapacity.SilentGroups != 0 {
		t.Errorf("after two seconds, in which only the two that were joined before are forwarded: %+v %q", row.GroupCapacity, row.Message)
	}
	if row := fanRows(t, slow, 5, joinTest("A"), capacityTest(5, 1))[1]; row.GroupCapacity.Groups != 5 {
		t.Errorf("after the join delay: %+v %q", row.GroupCapacity, row.Message)
	}
}

func TestMulticastIsNeeded(t *testing.T) {
	p := fanOut(t, 4)
	in := plan.Setting{Bed: objects.TestBed(""), Profile: "video", Ports: p.Ports, Streams: p.Streams, Engine: traffic.Capabilities{Multicast: true}}
	in.Bed.Name, in.Bed.Spec.Engine.Kind = "lab", "xdp"
	fits := func(test v1alpha1.Test, in plan.Setting) string {
		d, _ := DescribeTest(test)
		if errs := d.Fits(test, in, nil); len(errs) > 0 {
			return errs.ToAggregate().Error()
		}
		return ""
	}
	for _, test := range []v1alpha1.Test{joinTest("A"), joinTest("B"), leaveTest(), capacityTest(4, 1)} {
		if got := fits(test, in); got != "" {
			t.Errorf("%s: %s", test.Name, got)
		}
		deaf := in
		deaf.Engine.Multicast = false
		if got := fits(test, deaf); !strings.Contains(got, "ports of engine xdp of test bed lab cannot join multicast groups: choose a bed") {
			t.Errorf("%s: %s", test.Name, got)
		}
		if _, err := planOf(t, test); err == nil || !strings.Contains(err.Error(), "traffic profile  sends to 198.18.128.2, which is none: give the profile the pattern fanOut") {
			t.Errorf("%s over pairs: %v", test.Name, err)
		}
	}
	if got := fits(capacityTest(5, 1), in); !strings.Contains(got, `initialGroups: Invalid value: 5: traffic profile video has 4 multicast groups`) {
		t.Error(got)
	}
	in.Streams = slices.Clone(in.Streams)
	in.Streams[2].Rx = []int{3}
	if got := fits(joinTest("B"), in); !strings.Contains(got, "group 225.1.1.3 has one receiving port") {
		t.Error(got)
	}
	if got := fits(joinTest("A"), in); got != "" {
		t.Error(got)
	}
}

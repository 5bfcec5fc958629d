package method

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/workload"
)

// fakeHosts answers with completions of 1 to n ms. Package kernelstack is tested on real sockets.
type fakeHosts struct {
	fakeWorkload
	change   func(*workload.Collective)
	requests []workload.CollectiveRequest
}

func (f *fakeHosts) Collective(_ context.Context, r workload.CollectiveRequest) (workload.Collective, error) {
	f.requests = append(f.requests, r)
	out := workload.Collective{Settings: workload.Settings{CongestionControl: "cubic", MTU: r.MTU}, Retransmissions: 2, Steps: make([][]time.Duration, r.Steps())}
	for n := range r.Repetitions {
		out.Completions = append(out.Completions, time.Duration(n+1)*time.Millisecond)
		for step := range out.Steps {
			out.Steps[step] = append(out.Steps[step], time.Duration(n+1)*time.Millisecond/time.Duration(r.Steps()))
		}
	}
	for host := range r.Hosts {
		out.Links = append(out.Links, workload.Link{From: host, To: (host + 1) % r.Hosts, Time: time.Duration(100 + host)})
	}
	out.Links[0].Retransmissions = 2
	if f.change != nil {
		f.change(&out)
	}
	return out, nil
}

func collectivesTest(algorithm v1alpha1.CollectiveAlgorithm, hosts int32, sizes ...int32) v1alpha1.Test {
	return v1alpha1.Test{Name: "sum", Collectives: &v1alpha1.CollectivesTest{Algorithm: algorithm, Hosts: hosts, MessageSizes: sizes, Repetitions: 10, WarmUpRepetitions: 2, MTU: 1500}}
}

// collectiveRows measures all rows on a modelled device.
func collectiveRows(t *testing.T, p plan.Plan, engine workload.Engine) (rows []v1alpha1.ResultRow) {
	t.Helper()
	tester := open(t, simulate(t, ideal, p), p, nil)
	if engine == nil {
		engine = tester.Generator.Generator.(workload.Host).Workload()
	}
	trials.WithWorkload(engine)(tester)
	for _, step := range p.Steps {
		out, err := Run(t.Context(), tester, step)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, rowOf(p, out))
	}
	return rows
}

func TestCollectives(t *testing.T) {
	p, err := planOf(t, collectivesTest("RingAllReduce", 5, 8000, 800))
	if err != nil {
		t.Fatal(err)
	}
	fake := &fakeHosts{}
	rows := collectiveRows(t, p, fake)
	if len(rows) != 2 || rows[0].Name() != "sum with messages of 800 B" || rows[1].Name() != "sum with messages of 8000 B" {
		t.Fatalf("rows %+v", rows)
	}
	s := rows[1].Collectives
	// 64,000 bits in 5.5 ms on average, and 8/5 of it. Links are 100 to 103 ns; the one of host 5 is between hosts of port 1.
	want := v1alpha1.CollectivesSummary{
		Algorithm: "RingAllReduce", Hosts: 5, CongestionControl: "cubic", MTU: 1500, Repetitions: 10,
		Completion:             v1alpha1.CompletionTimes{AvgNs: 5_500_000, P50Ns: 5_000_000, P99Ns: 10_000_000, MaxNs: 10_000_000},
		AlgorithmBitsPerSecond: 11_636_364, BusBitsPerSecond: 18_618_182, LocalPPM: 200_000, Retransmissions: 2,
		SlowestLink: &v1alpha1.SlowestLink{FromHost: 4, FromPort: p.Ports[3].Name, ToHost: 5, ToPort: p.Ports[0].Name, P50Ns: 103, OthersP50Ns: 101},
	}
	for range 8 {
		want.StepP50Ns = append(want.StepP50Ns, 625_000)
	}
	if !reflect.DeepEqual(*s, want) || rows[1].Frames != nil {
		t.Errorf("%+v %+v\nwant %+v", s, s.SlowestLink, want)
	}
	if r := fake.requests[1]; r.Bytes != 8000 || r.WarmUp != 2 || len(r.Ports) != 4 || r.Algorithm != workload.RingAllReduce {
		t.Errorf("%+v", r)
	}
}

func TestCollectivesAreJudged(t *testing.T) {
	p, err := planOf(t, collectivesTest("RingAllReduce", 4, 800))
	if err != nil {
		t.Fatal(err)
	}
	slow := func(into, outOf time.Duration) func(*workload.Collective) {
		return func(c *workload.Collective) {
			c.Links[1].Time, c.Probes = 1000, &workload.Probes{Into: into, OutOf: outOf, Reference: 100}
		}
	}
	for name, tc := range map[string]struct {
		change  func(*workload.Collective)
		want    v1alpha1.Validity
		text    string
		port    int
		invalid string
	}{
		"wrong results":      {func(c *workload.Collective) { c.Wrong, c.Example = 3, "host 2 has 7" }, v1alpha1.ValidityInvalid, "no port is slow", -1, "3 results are wrong: host 2 has 7"},
		"busy processors":    {func(c *workload.Collective) { c.Limits.BusyPPM = 990_000 }, v1alpha1.ValidityGeneratorBound, "no port is slow", -1, "busy for 99 %"},
		"another MTU":        {func(c *workload.Collective) { c.Settings.MTU = 1400 }, v1alpha1.ValidityInvalid, "", -1, "the hosts had 1400"},
		"a slow receiver":    {slow(900, 100), v1alpha1.ValiditySimulated, "is slow, for data that the device sends by it", 2, "model"},
		"a slow sender":      {slow(100, 900), v1alpha1.ValiditySimulated, "is slow, for data that the device receives by it", 1, "model"},
		"a slow path":        {slow(100, 100), v1alpha1.ValiditySimulated, "did not tell which port", -1, "model"},
		"a slow link":        {func(c *workload.Collective) { c.Links[1].Time = 1000 }, v1alpha1.ValiditySimulated, "too few other ports", -1, "model"},
		"nothing is unusual": {nil, v1alpha1.ValiditySimulated, "RingAllReduce of 4 hosts, congestion control cubic, MTU 1500; no port is slow", -1, "model"},
	} {
		row := collectiveRows(t, p, &fakeHosts{change: tc.change})[0]
		port := ""
		if tc.port >= 0 {
			port = p.Ports[tc.port].Name
		}
		if row.Validity != tc.want || !strings.Contains(strings.Join(row.ValidityReasons, "; "), tc.invalid) || !strings.Contains(row.Message, tc.text) || row.Collectives.SlowPort != port {
			t.Errorf("%s: %s %q, %q, port %q", name, row.Validity, row.ValidityReasons, row.Message, row.Collectives.SlowPort)
		}
	}
}

// planOfEight is planOf on a bed with eight ports.
func planOfEight(test v1alpha1.Test) (plan.Plan, error) {
	var b v1alpha1.Benchmark
	b.Spec.Tests = []v1alpha1.Test{test}
	var p v1alpha1.TrafficProfile
	p.Spec = v1alpha1.TrafficProfileSpec{FrameSizes: []int32{64}, Pattern: v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}}, Packet: v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}}
	var bed v1alpha1.TestBed
	bed.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineSim, Sim: &v1alpha1.SimEngine{Ports: &v1alpha1.SimPorts{Count: 8, Speed: "10G"}}}
	bed.Spec.Device.Simulated = &v1alpha1.SimulatedDevice{}
	return build(&b, &p, &bed)
}

// TestCollectivesOfTheModel slows a port of the model to a tenth, and compares times with the ones of the links.
func TestCollectivesOfTheModel(t *testing.T) {
	for _, algorithm := range []v1alpha1.CollectiveAlgorithm{"RingAllReduce", "TreeAllReduce", "AllToAll"} {
		p, err := planOfEight(collectivesTest(algorithm, 8, 4_000_000))
		if err != nil {
			t.Fatal(err)
		}
		even := collectiveRows(t, p, nil)[0].Collectives
		if even.SlowPort != "" || even.SlowestLink.Slow || even.WrongResults != 0 {
			t.Errorf("%s: %+v %+v", algorithm, even, even.SlowestLink)
		}
		// Headers and gaps take 6 % of 10 Gbit/s. A tree of 8 hosts sends a whole message in each of its 6 steps.
		low, high := int64(9e9), int64(9.5e9)
		if algorithm == "TreeAllReduce" {
			low, high = 2.6e9, 2.8e9
		}
		if even.BusBitsPerSecond < low || even.BusBitsPerSecond > high {
			t.Errorf("%s: bus bandwidth %d", algorithm, even.BusBitsPerSecond)
		}
		p.Ports[2].BitsPerSecond /= 10
		slow := collectiveRows(t, p, nil)[0].Collectives
		if !slow.SlowestLink.Slow || slow.SlowestLink.Probes == nil || slow.Completion.P50Ns < 2*even.Completion.P50Ns {
			t.Errorf("%s: %+v %+v", algorithm, slow, slow.SlowestLink)
		}
		if l := slow.SlowestLink; l.FromPort != p.Ports[2].Name && l.ToPort != p.Ports[2].Name || slow.SlowPort != p.Ports[2].Name {
			t.Errorf("%s: port %q, %+v %+v", algorithm, slow.SlowPort, l, l.Probes)
		}
	}
}

func TestBedsWithoutPlaceForCollectives(t *testing.T) {
	for name, tc := range map[string]struct {
		sizes []int32
		hosts int32
		want  string
	}{
		"no multiple":     {[]int32{801}, 8, "messageSizes[0]: Invalid value: 801: give a multiple of 8, the bytes of a number, such as 808"},
		"small messages":  {[]int32{800, 56}, 8, "messageSizes[1]: Invalid value: 56: each of 8 hosts needs a part of 8 bytes: give 64 or more"},
		"large messages":  {[]int32{536_870_912}, 8, "give 134217728 or less for 8 hosts, or fewer hosts"},
		"all is possible": {[]int32{536_870_912, 16}, 2, ""},
	} {
		_, err := planOf(t, collectivesTest("AllToAll", tc.hosts, tc.sizes...))
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

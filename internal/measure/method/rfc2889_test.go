package method

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

const perfect = header + "\n64,100,1,2,3\n"

// bridgeBed is a bed of four ports of 10G on one layer-2 network.
func bridgeBed() *v1alpha1.TestBed {
	var bed v1alpha1.TestBed
	bed.Name = "bed"
	bed.Spec.Engine.Kind = v1alpha1.EngineSim
	bed.Spec.Device.Simulated = &v1alpha1.SimulatedDevice{}
	for i := range 4 {
		bed.Spec.Ports = append(bed.Spec.Ports, v1alpha1.Port{
			Name: fmt.Sprintf("p%d", i+1), Speed: "10G", Addresses: []string{fmt.Sprintf("198.18.0.%d/24", i+2), fmt.Sprintf("2001:2::%d/64", i+2)},
		})
	}
	return &bed
}

func planOn(bed *v1alpha1.TestBed, packet v1alpha1.Packet, size int32, tests ...v1alpha1.Test) (plan.Plan, error) {
	return patternOn(bed, packet, v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}}, size, tests...)
}

func patternOn(bed *v1alpha1.TestBed, packet v1alpha1.Packet, pattern v1alpha1.Pattern, size int32, tests ...v1alpha1.Test) (plan.Plan, error) {
	var b v1alpha1.Benchmark
	b.Spec.Tests = tests
	var p v1alpha1.TrafficProfile
	p.Name = "profile"
	p.Spec = v1alpha1.TrafficProfileSpec{FrameSizes: []int32{size}, Pattern: pattern, Packet: packet}
	return build(&b, &p, bed)
}

// bridged runs tests on a modelled bridge.
func bridged(t *testing.T, model string, behaviour v1alpha1.SimulatedBehaviour, tests ...v1alpha1.Test) []v1alpha1.ResultRow {
	t.Helper()
	p, err := planOn(bridgeBed(), v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}, 64, tests...)
	if err != nil {
		t.Fatal(err)
	}
	tester := open(t, simulate(t, model, p, sim.WithBehaviour(behaviour)), p, nil)
	var rows []v1alpha1.ResultRow
	for _, step := range p.Steps {
		out := mustRun(t, tester, step)
		row := rowOf(p, out)
		if row.Method != v1alpha1.MethodSoak && out.Trial != nil && out.FramesPerSecond == nil {
			t.Errorf("%s does not say at which rate its own streams were sent", step.Name())
		}
		Done(tester, row)
		rows = append(rows, row)
	}
	return rows
}

func cachingTest(set func(*v1alpha1.AddressCachingTest)) v1alpha1.Test {
	c := &v1alpha1.AddressCachingTest{MaxAddresses: 4096}
	if set != nil {
		set(c)
	}
	return v1alpha1.Test{Name: "caching", AddressCaching: c}
}

func learningTest(set func(*v1alpha1.AddressLearningTest)) v1alpha1.Test {
	l := &v1alpha1.AddressLearningTest{Addresses: 1000}
	if set != nil {
		set(l)
	}
	return v1alpha1.Test{Name: "learning", AddressLearning: l}
}

// The table holds the address of the test port too: a table of n addresses has room
// for n-1 on the learning port.
func TestAddressCachingCapacity(t *testing.T) {
	size := int32(1025)
	start := int32(64)
	tests := map[string]struct {
		behaviour v1alpha1.SimulatedBehaviour
		set       func(*v1alpha1.AddressCachingTest)
		addresses int64
		exceeded  int64
		message   string
	}{
		"to the address":     {v1alpha1.SimulatedBehaviour{AddressTableSize: &size}, nil, 1024, 1025, ""},
		"from a first guess": {v1alpha1.SimulatedBehaviour{AddressTableSize: &size}, func(c *v1alpha1.AddressCachingTest) { c.InitialAddresses = &start }, 1024, 1025, ""},
		"more than tried": {v1alpha1.SimulatedBehaviour{}, nil, 4096, 0,
			"4096 addresses were learnt: the capacity is at least that, and more were not tried"},
		"room for the test port only": {v1alpha1.SimulatedBehaviour{AddressTableSize: new(int32(1))}, nil, 0, 1,
			"not even one address was learnt: of 1 test frames 1 were flooded and 0 lost"},
		"learns too slowly": {v1alpha1.SimulatedBehaviour{LearningRate: new(int32(100))}, func(c *v1alpha1.AddressCachingTest) { c.MaxAddresses = 16 }, 1, 2, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			rows := bridged(t, perfect, tc.behaviour, cachingTest(tc.set), v1alpha1.Test{Name: "soak", Soak: &v1alpha1.SoakTest{Load: "50%"}})
			c := rows[0].AddressCaching
			if c == nil || c.Addresses != tc.addresses || c.ExceededAt != tc.exceeded || rows[0].Message != tc.message || c.FramesPerSecond != 1000 {
				t.Fatalf("%+v, message %q: want %d addresses, exceeded at %d, message %q", c, rows[0].Message, tc.addresses, tc.exceeded, tc.message)
			}
			for _, i := range c.Iterations {
				if i.Sent != i.Addresses || i.Received != i.Sent || (i.Flooded == 0) != (i.Addresses <= tc.addresses) {
					t.Errorf("iteration %+v, capacity %d", i, tc.addresses)
				}
			}
			// Floods are no loss, and the next test has the streams of the plan again.
			if rows[0].Frames.Lost != 0 || rows[1].Frames.Lost != 0 || rows[1].Frames.Sent == 0 || rows[0].Validity != v1alpha1.ValiditySimulated {
				t.Errorf("lost %d, then %d of %d, validity %s", rows[0].Frames.Lost, rows[1].Frames.Lost, rows[1].Frames.Sent, rows[0].Validity)
			}
		})
	}
}

func TestAddressCachingToAResolution(t *testing.T) {
	size := int32(1025)
	rows := bridged(t, perfect, v1alpha1.SimulatedBehaviour{AddressTableSize: &size}, cachingTest(func(c *v1alpha1.AddressCachingTest) { c.Resolution = 50 }))
	if c := rows[0].AddressCaching; c.Addresses > 1024 || c.ExceededAt <= 1024 || c.ExceededAt-c.Addresses > 50 {
		t.Errorf("%d passed and %d did not, want 1024 between them, and no further apart than 50", c.Addresses, c.ExceededAt)
	}
}

// What the device has not forgotten takes room: an aging time that is too short for
// it makes the capacity too small, and never too large.
func TestAddressesThatWereNotForgotten(t *testing.T) {
	size := int32(1025)
	rows := bridged(t, perfect, v1alpha1.SimulatedBehaviour{AddressTableSize: &size},
		cachingTest(func(c *v1alpha1.AddressCachingTest) { c.AgingTime.Duration = 10 * time.Second }))
	if c := rows[0].AddressCaching; c.Addresses >= 1024 {
		t.Errorf("%d addresses, though those of earlier iterations were still held", c.Addresses)
	}
}

func TestAddressLearningRate(t *testing.T) {
	tests := map[string]struct {
		behaviour   v1alpha1.SimulatedBehaviour
		set         func(*v1alpha1.AddressLearningTest)
		least, most int64
		exceeded    bool
		message     string
	}{
		// The last of 1000 addresses comes when 999 intervals have passed.
		"5000 a second":   {v1alpha1.SimulatedBehaviour{LearningRate: new(int32(5000))}, func(l *v1alpha1.AddressLearningTest) { l.Resolution = 1 }, 5000, 5005, true, ""},
		"to a resolution": {v1alpha1.SimulatedBehaviour{LearningRate: new(int32(5000))}, nil, 4900, 5005, true, ""},
		"line rate": {v1alpha1.SimulatedBehaviour{}, nil, 14_880_952, 14_880_952, false,
			"1000 addresses were learnt at 14880952/s: the device learns at least at that rate, and higher ones were not tried"},
		"not above a maximum": {v1alpha1.SimulatedBehaviour{LearningRate: new(int32(5000))}, func(l *v1alpha1.AddressLearningTest) { l.MaxRate = new(int32(2000)) }, 2000, 2000, false,
			"1000 addresses were learnt at 2000/s: the device learns at least at that rate, and higher ones were not tried"},
		"more addresses than the table holds": {v1alpha1.SimulatedBehaviour{AddressTableSize: new(int32(500))}, func(l *v1alpha1.AddressLearningTest) { l.MaxRate = new(int32(2000)) }, 0, 0, true,
			"1000 addresses were not learnt at any rate: of 1000 test frames 501 were flooded and 0 lost"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			row := bridged(t, perfect, tc.behaviour, learningTest(tc.set))[0]
			l := row.AddressLearning
			if l == nil || l.AddressesPerSecond < tc.least || l.AddressesPerSecond > tc.most || (l.ExceededAt > 0) != tc.exceeded || row.Message != tc.message {
				t.Errorf("%+v, message %q, want %d to %d addresses/s, message %q", l, row.Message, tc.least, tc.most, tc.message)
			}
		})
	}
}

// A caching test before says how many addresses can be learnt at all.
func TestAddressLearningAfterCaching(t *testing.T) {
	size := int32(501)
	rows := bridged(t, perfect, v1alpha1.SimulatedBehaviour{AddressTableSize: &size}, cachingTest(nil), learningTest(nil))
	if rows[1].AddressLearning != nil || rows[1].Message != "not measured: test caching found that the device holds 500 addresses, and 1000 would be flooded at any rate: lower addresses" {
		t.Errorf("%+v %q", rows[1].AddressLearning, rows[1].Message)
	}
}

// A tester that cannot send as fast as asked says nothing about the device. It sends
// 1,488,095 frames/s, and may take a hundredth and 20 us longer than asked.
func TestAddressLearningBeyondTheTester(t *testing.T) {
	row := bridged(t, header+",generator_limit_percent\n64,100,1,2,3,10\n", v1alpha1.SimulatedBehaviour{}, learningTest(nil))[0]
	if row.Validity != v1alpha1.ValidityGeneratorBound || row.AddressLearning.AddressesPerSecond > 1_550_000 || row.AddressLearning.AddressesPerSecond < 1_450_000 {
		t.Errorf("%s: %+v %q", row.Validity, row.AddressLearning, row.Message)
	}
}

// forgetful is a generator that loses the counters of one trial.
type forgetful struct {
	traffic.Generator
	reads, lost int
}

func (f *forgetful) Read(ctx context.Context) (traffic.Measurement, error) {
	f.reads++
	if f.reads == f.lost {
		return traffic.Measurement{}, errors.New("connection lost")
	}
	return f.Generator.Read(ctx)
}

// A trial that is repeated after a failure finds a device that has learnt meanwhile:
// the whole iteration is repeated, with other addresses.
func TestAnIterationIsWhole(t *testing.T) {
	p, err := planOn(bridgeBed(), v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}, 64, learningTest(func(l *v1alpha1.AddressLearningTest) { l.MaxRate = new(int32(8000)) }))
	if err != nil {
		t.Fatal(err)
	}
	run := func(lost int) (v1alpha1.ResultRow, int) {
		t.Helper()
		gen := &forgetful{Generator: simulate(t, perfect, p, sim.WithBehaviour(v1alpha1.SimulatedBehaviour{LearningRate: new(int32(5000))})), lost: lost}
		row := rowOf(p, mustRun(t, open(t, gen, p, nil), p.Steps[0]))
		return row, gen.reads
	}
	want, reads := run(0)
	for lost := 1; lost <= reads; lost++ {
		if got, _ := run(lost); !reflect.DeepEqual(got.AddressLearning, want.AddressLearning) {
			t.Errorf("without the counters of trial %d: %+v\nwant %+v", lost, got.AddressLearning, want.AddressLearning)
		}
	}
}

func TestBroadcast(t *testing.T) {
	test := v1alpha1.Test{Name: "broadcast", Broadcast: &v1alpha1.BroadcastTest{Resolution: "0.0001%"}}
	row := bridged(t, header+"\n64,60,1,2,3\n", v1alpha1.SimulatedBehaviour{}, test)[0]
	// At line rate 3 ports forward 60 % each of 14,880,952.4 frames/s.
	want := v1alpha1.BroadcastSummary{Receivers: 3, MaxLoadPPM: v1alpha1.PPM, ForwardingRate: 26_785_714, LossPPM: 400_000}
	if row.Broadcast == nil || row.Frames.LineRatePPM != 600_000 || row.Frames.Lost != 0 {
		t.Fatalf("%+v at %d ppm, %d lost", row.Broadcast, row.Frames.LineRatePPM, row.Frames.Lost)
	}
	got := *row.Broadcast
	got.LatencyMinNs, got.LatencyAvgNs, got.LatencyMaxNs = nil, nil, nil
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if l := row.Broadcast; l.LatencyMinNs == nil || *l.LatencyMinNs < 1000 || *l.LatencyAvgNs < *l.LatencyMinNs || *l.LatencyMaxNs < *l.LatencyAvgNs || *l.LatencyMaxNs > 2000 {
		t.Errorf("latency of one frame %v %v %v", l.LatencyMinNs, l.LatencyAvgNs, l.LatencyMaxNs)
	}
	row = bridged(t, perfect, v1alpha1.SimulatedBehaviour{}, test)[0]
	if row.Frames.LineRatePPM != v1alpha1.PPM || row.Broadcast.LossPPM != 0 || row.Broadcast.ForwardingRate != 44_642_857 {
		t.Errorf("%+v at %d ppm", row.Broadcast, row.Frames.LineRatePPM)
	}
	row = bridged(t, header+"\n64,0,1,2,3\n", v1alpha1.SimulatedBehaviour{}, test)[0]
	if row.Frames.LineRatePPM != 0 || row.Broadcast.LatencyMinNs != nil || !strings.Contains(row.Message, "no test frame came back on p2, p3, p4") {
		t.Errorf("%+v %q", row.Broadcast, row.Message)
	}
}

// Over IPv4 broadcasts are for all hosts of the sender's network; IPv6 has none.
func TestBroadcastHeaders(t *testing.T) {
	test := v1alpha1.Test{Name: "broadcast", Broadcast: &v1alpha1.BroadcastTest{}}
	for size, packet := range map[int32]v1alpha1.Packet{64: {IPv4: &v1alpha1.IPPacket{}}, 86: {IPv6: &v1alpha1.IPPacket{}}} {
		p, err := planOn(bridgeBed(), packet, size, test)
		if err != nil {
			t.Fatal(err)
		}
		s := broadcastStream(p)
		if s.Tx != 0 || !reflect.DeepEqual(s.Rx, []int{1, 2, 3}) || s.Headers.DstMAC.String() != "ff:ff:ff:ff:ff:ff" {
			t.Errorf("%+v", s)
		}
		if h := s.Headers; packet.IPv4 != nil && (h.SrcIP.String() != "198.18.0.2" || h.DstIP.String() != "198.18.0.255") || packet.IPv6 != nil && (h.SrcIP.IsValid() || h.DstIP.IsValid()) {
			t.Errorf("%d bytes: from %s to %s", size, h.SrcIP, h.DstIP)
		}
	}
}

func congestionTests() []v1alpha1.Test {
	return []v1alpha1.Test{{Name: "holb", HeadOfLineBlocking: &v1alpha1.HeadOfLineBlockingTest{}}, {Name: "congestion", CongestionControl: &v1alpha1.CongestionControlTest{}}}
}

// The congested port is asked for 150 % of its line rate and loses a third of it; the
// uncongested one gets half of its line rate.
func TestCongestion(t *testing.T) {
	yes, no := true, false
	const half, line = 7_440_476, 14_880_952
	tests := map[string]struct {
		model     string
		behaviour v1alpha1.SimulatedBehaviour
		holb      v1alpha1.HeadOfLineBlockingSummary
		control   v1alpha1.CongestionControlSummary
		validity  v1alpha1.Validity
		message   string
	}{
		"drops only": {model: perfect,
			holb:    v1alpha1.HeadOfLineBlockingSummary{Blocking: &no, UncongestedFramesPerSecond: half, CongestedLossPPM: 333_333},
			control: v1alpha1.CongestionControlSummary{BackPressure: &no, HeadOfLineBlocking: &no, UncongestedFramesPerSecond: half, CongestedFramesPerSecond: line, CongestedLossPPM: 333_333},
		},
		"head of line blocking": {model: perfect, behaviour: v1alpha1.SimulatedBehaviour{HeadOfLineBlocking: &yes},
			holb:    v1alpha1.HeadOfLineBlockingSummary{Blocking: &yes, UncongestedLossPPM: 333_333, UncongestedFramesPerSecond: half * 2 / 3, CongestedLossPPM: 333_333},
			control: v1alpha1.CongestionControlSummary{BackPressure: &no, HeadOfLineBlocking: &yes, UncongestedLossPPM: 333_333, UncongestedFramesPerSecond: half * 2 / 3, CongestedFramesPerSecond: line, CongestedLossPPM: 333_333},
		},
		"back pressure": {model: perfect, behaviour: v1alpha1.SimulatedBehaviour{BackPressure: &yes},
			holb:    v1alpha1.HeadOfLineBlockingSummary{Blocking: &no, UncongestedFramesPerSecond: half * 2 / 3},
			control: v1alpha1.CongestionControlSummary{BackPressure: &yes, HeadOfLineBlocking: &no, UncongestedFramesPerSecond: half * 2 / 3, CongestedFramesPerSecond: line},
			message: "the device held p1 back: it sent 595,238,094 of 892,857,142 frames; the device held p2 back: it sent 595,238,094 of 892,857,142 frames",
		},
		"both": {model: perfect, behaviour: v1alpha1.SimulatedBehaviour{HeadOfLineBlocking: &yes, BackPressure: &yes},
			holb:    v1alpha1.HeadOfLineBlockingSummary{Blocking: &no, UncongestedFramesPerSecond: half * 2 / 3},
			control: v1alpha1.CongestionControlSummary{BackPressure: &yes, HeadOfLineBlocking: &no, UncongestedFramesPerSecond: half * 2 / 3, CongestedFramesPerSecond: line},
			message: "the device held p1 back",
		},
		"a port that loses frames alone": {model: header + "\n64,40,1,2,3\n",
			holb:    v1alpha1.HeadOfLineBlockingSummary{Blocking: &no, UncongestedLossPPM: 200_000, AloneLossPPM: 200_000, UncongestedFramesPerSecond: line * 2 / 5, CongestedLossPPM: 733_333},
			control: v1alpha1.CongestionControlSummary{BackPressure: &no, HeadOfLineBlocking: &yes, UncongestedLossPPM: 200_000, UncongestedFramesPerSecond: line * 2 / 5, CongestedFramesPerSecond: line * 2 / 5, CongestedLossPPM: 733_333},
		},
		"a tester that is too slow": {model: header + ",generator_limit_percent\n64,100,1,2,3,50\n",
			holb:     v1alpha1.HeadOfLineBlockingSummary{UncongestedFramesPerSecond: half / 2},
			control:  v1alpha1.CongestionControlSummary{UncongestedFramesPerSecond: half / 2, CongestedFramesPerSecond: half * 3 / 2},
			validity: v1alpha1.ValidityGeneratorBound, message: "whether the device held them back is not known",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			rows := bridged(t, tc.model, tc.behaviour, congestionTests()...)
			h, c := *rows[0].HeadOfLineBlocking, *rows[1].CongestionControl
			if h.DelayNs == nil || h.AloneDelayNs == nil {
				t.Error("no delay was measured")
			}
			h.DelayNs, h.AloneDelayNs = nil, nil
			if !near(&h.UncongestedFramesPerSecond, tc.holb.UncongestedFramesPerSecond) || !reflect.DeepEqual(h, tc.holb) {
				t.Errorf("head of line blocking %s\nwant %s", said(h), said(tc.holb))
			}
			if !near(&c.UncongestedFramesPerSecond, tc.control.UncongestedFramesPerSecond) || !near(&c.CongestedFramesPerSecond, tc.control.CongestedFramesPerSecond) || !reflect.DeepEqual(c, tc.control) {
				t.Errorf("congestion control %s\nwant %s", said(c), said(tc.control))
			}
			if tc.validity == "" {
				tc.validity = v1alpha1.ValiditySimulated
			}
			if rows[1].Validity != tc.validity || !strings.Contains(rows[1].Message, tc.message) {
				t.Errorf("%s, message %q, want %s, %q", rows[1].Validity, rows[1].Message, tc.validity, tc.message)
			}
		})
	}
}

// near takes a rate that was rounded for the wanted one.
func near(got *int64, want int64) bool {
	if *got < want-2 || *got > want+2 {
		return false
	}
	*got = want
	return true
}

// said writes a summary with what its pointers point to.
func said(summary any) string {
	v := reflect.ValueOf(summary)
	var parts []string
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() == reflect.Pointer && !f.IsNil() {
			f = f.Elem()
		}
		parts = append(parts, fmt.Sprintf("%s %v", v.Type().Field(i).Name, f.Interface()))
	}
	return strings.Join(parts, ", ")
}

func TestTopologiesThatDoNotFit(t *testing.T) {
	ipv4 := v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}
	two := func(bed *v1alpha1.TestBed) { bed.Spec.Ports = bed.Spec.Ports[:2] }
	routed := func(bed *v1alpha1.TestBed) { bed.Spec.Ports[3].Gateways = []string{"198.18.0.1"} }
	broadcastTest := v1alpha1.Test{Name: "broadcast", Broadcast: &v1alpha1.BroadcastTest{}}
	tests := map[string]struct {
		test   v1alpha1.Test
		change func(*v1alpha1.TestBed)
		want   string
	}{
		"caching on two ports": {cachingTest(nil), two,
			`spec.tests[0].addressCaching: Invalid value: "caching": test bed bed has 2 ports, and addressCaching needs 3: add ports, or choose another bed`},
		"learning on two ports":   {learningTest(nil), two, "addressLearning needs 3"},
		"congestion on two ports": {congestionTests()[1], two, "congestionControl needs 4"},
		"blocking on two ports":   {congestionTests()[0], two, "headOfLineBlocking needs 4"},
		"caching over a router":   {cachingTest(nil), routed, "port p4 has the gateway 198.18.0.1, and addressCaching is about a device that bridges one layer-2 network: remove the gateways of test bed bed"},
		"broadcast over a router": {broadcastTest, routed, "and broadcast is about a device that bridges"},
		"ports of two speeds":     {congestionTests()[0], func(bed *v1alpha1.TestBed) { bed.Spec.Ports[2].Speed = "25G" }, "port p1 runs at 10G and port p3 at 25G, and headOfLineBlocking needs ports of one speed"},
		"a port out of reach": {congestionTests()[1], func(bed *v1alpha1.TestBed) {
			for i := range 2 { // the pairs stay together
				bed.Spec.Ports[i].Addresses = []string{fmt.Sprintf("198.18.1.%d/24", i+2)}
			}
		}, "congestionControl sends from 198.18.1.2/24 on port p1 to 198.18.0.4 on port p3, which is another network, and port p1 has no IPv4 gateway: change the addresses and gateways of test bed bed"},
		"addresses that age": {cachingTest(func(c *v1alpha1.AddressCachingTest) { c.MaxAddresses, c.LearningRate = 65536, 50 }), nil,
			"spec.tests[0].addressCaching.maxAddresses: Invalid value: 65536: learning and testing them takes 43m41.44s at learningRate 50, and the device forgets them after agingTime 5m0s"},
		"addresses that age before the test": {learningTest(func(l *v1alpha1.AddressLearningTest) {
			l.TestRate, l.AgingTime = 10, metav1.Duration{Duration: time.Minute}
		}), nil,
			"spec.tests[0].addressLearning.addresses: Invalid value: 1000: testing them takes 1m40s at testRate 10"},
		"a load that congests nothing": {v1alpha1.Test{Name: "c", CongestionControl: &v1alpha1.CongestionControlTest{Load: "60%"}}, nil,
			`spec.tests[0].congestionControl.load: Invalid value: "60%": the congested port is asked for one and a half times that, 90% of line rate, which congests nothing: give more than 66.6666%`},
		"a search upside down": {v1alpha1.Test{Name: "b", Broadcast: &v1alpha1.BroadcastTest{MinLoad: "50%", MaxLoad: "40%"}}, nil,
			`spec.tests[0].broadcast.minLoad: Invalid value: "50%": minLoad 50% is above maxLoad 40%`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			bed := bridgeBed()
			if tc.change != nil {
				tc.change(bed)
			}
			if _, err := planOn(bed, ipv4, 64, tc.test); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v\nwant %s", err, tc.want)
			}
		})
	}
}

// A congestion goes through a router too.
func TestCongestionOverARouter(t *testing.T) {
	rows := rowsOf(t, perfect, nil, congestionTests()...)
	if h := rows[0].HeadOfLineBlocking; h.Blocking == nil || *h.Blocking || h.CongestedLossPPM != 333_333 || rows[0].Validity != v1alpha1.ValiditySimulated {
		t.Errorf("%+v %q", h, rows[0].Message)
	}
}

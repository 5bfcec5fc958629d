package method

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

// pairsOn is a plan of pairs on a bed, one way or both.
func pairsOn(t *testing.T, bed *v1alpha1.TestBed, packet v1alpha1.Packet, both bool, tests ...v1alpha1.Test) plan.Plan {
	t.Helper()
	p, err := patternOn(bed, packet, v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{Bidirectional: &both}}, 128, tests...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func latencyTest() v1alpha1.Test {
	return v1alpha1.Test{Name: "latency", Latency: &v1alpha1.LatencyTest{Loads: []v1alpha1.Load{"50%"}}}
}

func TestWhoAnswers(t *testing.T) {
	routed := bridgeBed()
	for i := range routed.Spec.Ports {
		routed.Spec.Ports[i].Gateways = []string{"198.18.0.1", "2001:2::1"}
	}
	ipv4, ether := v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}, v1alpha1.Packet{Ethernet: &v1alpha1.EthernetPacket{HostsPerPort: 5}}
	for name, tc := range map[string]struct {
		bed    *v1alpha1.TestBed
		packet v1alpha1.Packet
		both   bool
		want   [][2]int // sender and receiver
	}{
		"IPv4":              {bridgeBed(), ipv4, false, [][2]int{{1, 0}, {3, 2}}},
		"IPv6":              {bridgeBed(), v1alpha1.Packet{IPv6: &v1alpha1.IPPacket{}}, false, [][2]int{{1, 0}, {3, 2}}},
		"Ethernet":          {bridgeBed(), ether, false, [][2]int{{1, 0}, {3, 2}}},
		"both ways":         {bridgeBed(), ipv4, true, nil},
		"Ethernet both":     {bridgeBed(), ether, true, nil},
		"a gateway knows":   {routed, ipv4, false, nil},
		"which has no name": {routed, ether, false, [][2]int{{1, 0}, {3, 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			p := pairsOn(t, tc.bed, tc.packet, tc.both, latencyTest())
			tester := open(t, simulate(t, header+"\n128,100,1,2,3\n", p), p, nil)
			streams, hops := tester.Answers()
			var got [][2]int
			for _, s := range streams {
				got = append(got, [2]int{s.Tx, s.Rx[0]})
				to := p.Streams[s.Tx/2]
				if source := tester.Source(to); hops[s.ID] != source || source == (traffic.MAC{}) {
					t.Errorf("answer of %d goes to %s, and its test frames come from %s", s.Tx, hops[s.ID], source)
				}
				if h, test := s.Headers, to.Headers; h.SrcMAC != test.DstMAC || h.SrcMACCount != test.DstMACCount || h.SrcIP != test.DstIP || h.DstIP != test.SrcIP || h.SrcPort != test.DstPort || !slices.Equal(h.VLANs, test.VLANs) {
					t.Errorf("answer %+v to %+v", h, test)
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("answers %v, want %v", got, tc.want)
			}
		})
	}
}

// There are no answers for the broadcast address and for groups.
func TestNobodyAnswersForMany(t *testing.T) {
	p := multicastPlan(t, v1alpha1.Pattern{FanOut: &v1alpha1.FanOutPattern{Groups: 2}})
	for i := range p.Ports {
		p.Ports[i].Gateways = nil
	}
	tester := open(t, simulate(t, header+"\n64,100,1,2,3\n", p), p, nil)
	if streams, _ := tester.Answers(); len(streams) != 0 {
		t.Errorf("%+v", streams)
	}
	p = pairsOn(t, bridgeBed(), v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}, false, latencyTest())
	p.Streams = []plan.Stream{broadcastStream(p)}
	tester = open(t, simulate(t, header+"\n128,100,1,2,3\n", p), p, nil)
	if streams, _ := tester.Answers(); len(streams) != 0 {
		t.Errorf("%+v", streams)
	}
}

// Answers come before the learning frames, and again before the device would forget
// them; what the trial measures is the same.
func TestAnswersAreRepeated(t *testing.T) {
	soak := func(name string, d time.Duration) v1alpha1.Test {
		return v1alpha1.Test{Name: name, Soak: &v1alpha1.SoakTest{Load: "1%", Duration: metav1.Duration{Duration: d}}}
	}
	tests := []v1alpha1.Test{soak("one", 100*time.Second), soak("two", 100*time.Second), soak("three", 100*time.Second), soak("four", 10*time.Minute)}
	rows := func(both bool) (all []v1alpha1.ResultRow, told []string) {
		p := pairsOn(t, bridgeBed(), v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}, both, tests...)
		gen := &recorder{Engine: simulate(t, header+"\n128,0.5,1,2,3\n", p)}
		tester := open(t, gen, p, nil)
		for _, step := range p.Steps {
			all = append(all, rowOf(p, mustRun(t, tester, step)))
		}
		if err := tester.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		return all, gen.told
	}
	one, told := rows(false)
	// Each pair is one stream, and one answer.
	answers := []string{"configure 2", "start", "configure 2"}
	want := slices.Concat([]string{"configure 2"}, answers, []string{"start", "start", "start"}, answers, []string{"start"}, answers, []string{"start"})
	if !slices.Equal(told, want) {
		t.Errorf("the generator was told\n%q, want\n%q", told, want)
	}
	both, _ := rows(true)
	for i := range one {
		a, b := one[i].Frames, both[i].Frames
		b.Sent, b.Received, b.Lost, *b.OutOfSequence = b.Sent/2, b.Received/2, b.Lost/2, *b.OutOfSequence/2
		for _, rate := range [][2]*int64{
			{&a.FramesPerSecond, &b.FramesPerSecond}, {&a.BitsPerSecond, &b.BitsPerSecond},
			{&a.OfferedFramesPerSecond, &b.OfferedFramesPerSecond}, {a.ReceivedFramesPerSecond, b.ReceivedFramesPerSecond},
		} {
			if *rate[0]-*rate[1]/2 > 1 || *rate[1]/2-*rate[0] > 1 { // both are rounded
				t.Errorf("a rate of %d one way, and %d both", *rate[0], *rate[1])
			}
			*rate[0] = *rate[1]
		}
		one[i].ElapsedMilliseconds = both[i].ElapsedMilliseconds // answers take time
		one[i].TrialRecords = both[i].TrialRecords               // of half the frames
		if diff := cmp.Diff(both[i], one[i]); diff != "" {
			t.Errorf("one way (+) is not as both: %s", diff)
		}
	}
}

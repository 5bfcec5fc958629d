package method

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
)

// Of 10G, 1,000,000 frames/s of 64 bytes are 67,200 ppm.
func TestSearchesBetweenRates(t *testing.T) {
	throughput := v1alpha1.Test{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{MinLoad: "100kpps", MaxLoad: "5Mpps", Resolution: "51.2Mbps"}}
	broadcast := v1alpha1.Test{Name: "broadcast", Broadcast: &v1alpha1.BroadcastTest{MinLoad: "100kpps", MaxLoad: "5Mpps", Resolution: "100kpps"}}
	p, err := planOn(bridgeBed(), v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}, 64, throughput, broadcast)
	if err != nil {
		t.Fatal(err)
	}
	for i, resolution := range []int64{6_720, 6_720} {
		if s := p.Steps[i].Search; s.MinPPM != 6_720 || s.MaxPPM != 336_000 || s.ResolutionPPM != resolution {
			t.Errorf("%s: %d to %d ppm, resolution %d", p.Steps[i].Test.Name, s.MinPPM, s.MaxPPM, s.ResolutionPPM)
		}
	}
	rows := rowsOn(t, p, header+"\n64,20,1,2,3\n", nil)
	if found := rows[0].Frames.LineRatePPM; found <= 200_000-6_720 || found > 200_000 || rows[0].Search.UpperBoundPPM-found > 6_720 {
		t.Errorf("throughput %d ppm, upper bound %d", found, rows[0].Search.UpperBoundPPM)
	}
	if b := rows[1].Broadcast; b.MaxLoadPPM != 336_000 {
		t.Errorf("broadcast up to %d ppm", b.MaxLoadPPM)
	}
}

// Falling loads keep the unit of both; of two units the first load is exact, and the
// others are percentages.
func TestFallingRates(t *testing.T) {
	for name, tc := range map[string]struct {
		highest, step v1alpha1.LoadAmount
		want          string
		sent          uint64 // of the first load, by four ports in a second
	}{
		"frames/s":          {"5Mpps", "1.2Mpps", "5Mpps 3.8Mpps 2.6Mpps 1.4Mpps 200kpps", 20_000_000},
		"bit/s":             {"1.024Gbps", "512Mbps", "1.024Gbps 512Mbps", 8_000_000},
		"percent":           {"30%", "10%", "30% 20% 10%", 17_857_143},
		"a rate by percent": {"5Mpps", "10%", "5Mpps 23.6% 13.6% 3.6%", 20_000_000},
		"percent by a rate": {"20%", "1Mpps", "20% 13.28% 6.56%", 11_904_762},
	} {
		t.Run(name, func(t *testing.T) {
			second := metav1.Duration{Duration: time.Second}
			loss := v1alpha1.Test{Name: "loss", FrameLoss: &v1alpha1.FrameLossTest{MaxLoad: tc.highest, Step: tc.step, TrialDuration: second}}
			rate := v1alpha1.Test{Name: "rate", ForwardingRate: &v1alpha1.ForwardingRateTest{MaxLoad: tc.highest, Step: tc.step, TrialDuration: second}}
			p, err := planOf(t, loss, rate)
			if err != nil {
				t.Fatal(err)
			}
			var loads []string
			for _, s := range p.Steps[:len(p.Steps)-1] {
				loads = append(loads, string(s.Load))
			}
			if got := strings.Join(loads, " "); got != tc.want || p.Steps[len(p.Steps)-1].Trials != len(loads) {
				t.Errorf("loads %s in %d trials, want %s", got, p.Steps[len(p.Steps)-1].Trials, tc.want)
			}
			if n := plan.RowsPerSize(loss); n < len(loads) {
				t.Errorf("at most %d rows, of %d", n, len(loads))
			}
			// Of a device that forwards all, two loads are enough.
			rows := rowsOn(t, p, perfect, nil)
			for _, row := range []v1alpha1.ResultRow{rows[0], rows[len(rows)-1]} {
				if sent := uint64(row.Frames.Sent); len(rows) != 3 || sent > tc.sent || tc.sent-sent > 4 {
					t.Errorf("%d rows, %s sent %d frames, want %d", len(rows), row.Test, sent, tc.sent)
				}
			}
		})
	}
}

// The load of a congestion is sent to the frame.
func TestCongestionAtARate(t *testing.T) {
	tests := congestionTests()
	tests[0].HeadOfLineBlocking.Load, tests[1].CongestionControl.Load = "12.000001Mpps", "12.000001Mpps"
	for _, row := range bridged(t, perfect, v1alpha1.SimulatedBehaviour{}, tests...) {
		if f := row.Frames; f.Sent != 60*2*12_000_001 || f.FramesPerSecond != 2*12_000_001 || f.LineRatePPM != 806_400 {
			t.Errorf("%s: sent %d, %d frames/s, %d ppm", row.Test, f.Sent, f.FramesPerSecond, f.LineRatePPM)
		}
	}
}

func TestTheOnsetIsSearchedToARate(t *testing.T) {
	test := v1alpha1.Test{Name: "order", Ordering: &v1alpha1.OrderingTest{Loads: []v1alpha1.Load{"10%", "90%"}, Resolution: "1Mpps"}}
	rows := rowsOf(t, header+",reordered_ppm,reorder_onset_percent\n64,100,1,2,3,5100,61\n", nil, test)
	if o := rows[1].Ordering; o.OnsetPPM-o.InOrderPPM > 67_200 || o.OnsetPPM-o.InOrderPPM <= 67_200/2 || o.OnsetPPM <= 610_000 || o.InOrderPPM > 610_000 {
		t.Errorf("%+v", o)
	}
}

func TestLoadsThatDoNotGoTogetherAreRefused(t *testing.T) {
	throughput := func(lowest, highest, resolution v1alpha1.LoadAmount) v1alpha1.Test {
		return v1alpha1.Test{Name: "a", Throughput: &v1alpha1.ThroughputTest{MinLoad: lowest, MaxLoad: highest, Resolution: resolution}}
	}
	fast := func(bed *v1alpha1.TestBed) { bed.Spec.Ports[1].Speed = "25G" }
	for name, tc := range map[string]struct {
		test   v1alpha1.Test
		size   int32
		change func(*v1alpha1.TestBed)
		want   string
	}{
		"percent upside down": {throughput("80%", "70%", "1%"), 64, nil, `throughput.minLoad: Invalid value: "80%": minLoad 80% is above maxLoad 70%: lower minLoad or raise maxLoad`},
		"rates upside down":   {throughput("1.5Mpps", "1Mpps", "1%"), 64, nil, `throughput.minLoad: Invalid value: "1.5Mpps": minLoad 1.5Mpps (10.08% of line rate with 64 bytes) is above maxLoad 1Mpps (6.72% of line rate with 64 bytes)`},
		"two units":           {throughput("10%", "1Mpps", "1%"), 64, nil, `throughput.minLoad: Invalid value: "10%": minLoad 10% is above maxLoad 1Mpps (6.72% of line rate with 64 bytes)`},
		"bit/s and frames/s":  {throughput("1Gbps", "1Mpps", "1kpps"), 64, nil, `minLoad 1Gbps (13.125% of line rate with 64 bytes) is above maxLoad 1Mpps (6.72%`},
		"a broadcast":         {v1alpha1.Test{Name: "b", Broadcast: &v1alpha1.BroadcastTest{MinLoad: "1Mpps", MaxLoad: "5%"}}, 64, nil, `broadcast.minLoad: Invalid value: "1Mpps": minLoad 1Mpps (6.72% of line rate with 64 bytes) is above maxLoad 5%`},
		"resolution too wide": {throughput("50%", "70%", "30%"), 64, nil, `throughput.resolution: Invalid value: "30%": resolution 30% is wider than the 20% between minLoad and maxLoad`},
		"a wide rate":         {throughput("50%", "70%", "3Mpps"), 64, nil, `throughput.resolution: Invalid value: "3Mpps": resolution 3Mpps (20.16% of line rate with 64 bytes) is wider than the 20%`},
		"beyond line rate":    {throughput("1%", "5Mpps", "1%"), 1518, nil, `throughput.maxLoad: Invalid value: "5Mpps": it is 615.2% of the line rate of port p1 (10G) with 1518 bytes: lower it`},
		"ports of two speeds": {throughput("1%", "5Mpps", "1%"), 64, fast, `throughput.maxLoad: Invalid value: "5Mpps": port p1 sends at 10G and port p2 at 25G, of which a rate is not the same share: give a percentage of line rate`},
		"a coarse step":       {v1alpha1.Test{Name: "l", FrameLoss: &v1alpha1.FrameLossTest{Step: "2Mpps"}}, 64, nil, `frameLoss.step: Invalid value: "2Mpps": the step is 2Mpps (13.44% of line rate with 64 bytes): give 1% to 10% of line rate`},
		"a fine step":         {v1alpha1.Test{Name: "r", ForwardingRate: &v1alpha1.ForwardingRateTest{Step: "1kpps"}}, 64, nil, `forwardingRate.step: Invalid value: "1kpps": the step is 1kpps (0.0067% of line rate with 64 bytes): give 1% to 100% of line rate`},
		"no congestion":       {v1alpha1.Test{Name: "c", CongestionControl: &v1alpha1.CongestionControlTest{Load: "5Mpps"}}, 64, nil, `congestionControl.load: Invalid value: "5Mpps": the congested port is asked for one and a half times that, 50.4% of line rate with 64 bytes, which congests nothing`},
		"the word throughput": {throughput("throughput", "70%", "1%"), 64, nil, `throughput.minLoad: Invalid value: "throughput": give a percentage of line rate`},
		"no load":             {throughput("1%", "70%", "0pps"), 64, nil, `throughput.resolution: Invalid value: "0pps": give a percentage of line rate`},
	} {
		t.Run(name, func(t *testing.T) {
			bed := bridgeBed()
			if tc.change != nil {
				tc.change(bed)
			}
			if _, err := planOn(bed, v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}, tc.size, tc.test); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v\nwant %s", err, tc.want)
			}
		})
	}
	for name, test := range map[string]v1alpha1.Test{
		"one load only":       throughput("50%", "50%", "1%"),
		"the same in a rate":  throughput("1Mpps", "1Mpps", "1%"),
		"bit/s up to percent": throughput("100Mbps", "70%", "10kpps"),
		"defaults":            {Name: "d", Throughput: &v1alpha1.ThroughputTest{}},
	} {
		if _, err := planOn(bridgeBed(), v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}, 64, test); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The senders of a broadcast and of a congestion are ports of their own.
	bed := bridgeBed()
	bed.Spec.Ports[3].Speed = "25G"
	broadcast := v1alpha1.Test{Name: "b", Broadcast: &v1alpha1.BroadcastTest{MaxLoad: "1Mpps"}}
	if _, err := planOn(bed, v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}, 64, broadcast); err != nil {
		t.Error(err)
	}
}

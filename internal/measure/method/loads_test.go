package method

import (
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
)

// planOf plans these tests at 64 bytes on four simulated ports of 10G.
func planOf(t *testing.T, tests ...v1alpha1.Test) (plan.Plan, error) {
	t.Helper()
	return planWith(nil, tests...)
}

// planWith is planOf with mixes next to the 64 bytes.
func planWith(mixes []v1alpha1.FrameMix, tests ...v1alpha1.Test) (plan.Plan, error) {
	return planOfTraffic(mixes, v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}}, tests...)
}

// planOfPattern is planOf with a pattern.
func planOfPattern(pattern v1alpha1.Pattern, tests ...v1alpha1.Test) (plan.Plan, error) {
	return planOfTraffic(nil, pattern, tests...)
}

func planOfTraffic(mixes []v1alpha1.FrameMix, pattern v1alpha1.Pattern, tests ...v1alpha1.Test) (plan.Plan, error) {
	var b v1alpha1.Benchmark
	b.Spec.Tests = tests
	var p v1alpha1.TrafficProfile
	p.Spec = v1alpha1.TrafficProfileSpec{FrameSizes: []int32{64}, FrameMixes: mixes, Pattern: pattern, Packet: v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}}
	var bed v1alpha1.TestBed
	bed.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineSim, Sim: &v1alpha1.SimEngine{Ports: &v1alpha1.SimPorts{Count: 4, Speed: "10G"}}}
	bed.Spec.Device.Simulated = &v1alpha1.SimulatedDevice{}
	return build(&b, &p, &bed)
}

// rowsOf runs all tests on a model as a runner does; done are rows of a run
// before.
func rowsOf(t *testing.T, model string, done []v1alpha1.ResultRow, tests ...v1alpha1.Test) []v1alpha1.ResultRow {
	t.Helper()
	p, err := planOf(t, tests...)
	if err != nil {
		t.Fatal(err)
	}
	return rowsOn(t, p, model, done)
}

func rowsOn(t *testing.T, p plan.Plan, model string, done []v1alpha1.ResultRow) []v1alpha1.ResultRow {
	t.Helper()
	tester := open(t, simulate(t, model, p), p, nil)
	var rows []v1alpha1.ResultRow
	for i, step := range p.Steps {
		if i < len(done) {
			Done(tester, done[i])
			rows = append(rows, done[i])
			continue
		}
		out := mustRun(t, tester, step)
		if out.Skipped {
			continue
		}
		row := rowOf(p, out)
		Done(tester, row)
		rows = append(rows, row)
	}
	return rows
}

func frameLossTest() v1alpha1.Test {
	return v1alpha1.Test{Name: "loss", FrameLoss: &v1alpha1.FrameLossTest{}}
}

func TestFrameLossEndsAfterTwoLoadsWithoutLoss(t *testing.T) {
	model := header + "\n64,65,1,2,3\n"
	rows := rowsOf(t, model, nil, frameLossTest())
	if len(rows) != 6 || rows[5].Load != "50%" || *rows[3].Frames.LossPPM != 71_429 || *rows[4].Frames.LossPPM != 0 || *rows[0].Frames.LossPPM != 350_000 {
		t.Fatalf("%d rows: %+v", len(rows), rows)
	}
	// A run that is resumed after the first of them measures only the second.
	again := rowsOf(t, model, rows[:5], frameLossTest())
	if len(again) != 6 || again[5].Load != "50%" {
		t.Errorf("resumed: %d rows", len(again))
	}
}

// Nothing is lost of a load that the tester could not offer: it proves nothing.
func TestFrameLossGoesOnWhereTheTesterFellShort(t *testing.T) {
	rows := rowsOf(t, header+",generator_limit_percent\n64,100,1,2,3,72\n", nil, frameLossTest())
	if len(rows) != 5 || rows[2].Validity != v1alpha1.ValidityGeneratorBound || rows[3].Validity != v1alpha1.ValiditySimulated || rows[4].Load != "60%" {
		t.Errorf("%d rows: %+v", len(rows), rows)
	}
}

func TestSoakAtTheThroughput(t *testing.T) {
	throughput := v1alpha1.Test{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{Resolution: "0.1%"}}
	soak := v1alpha1.Test{Name: "soak", Soak: &v1alpha1.SoakTest{Load: "throughput"}}
	soak.Soak.Duration.Duration = time.Hour
	rows := rowsOf(t, header+"\n64,65,1,2,3\n", nil, throughput, soak)
	if r := rows[1]; r.Frames.LineRatePPM != 650_000 || *r.Frames.LossPPM != 0 || *r.Frames.ReceivedFramesPerSecond != r.Frames.FramesPerSecond || r.Load != "throughput" {
		t.Errorf("%+v", r)
	}
	dead := rowsOf(t, header+"\n64,0,1,2,3\n", nil, throughput, soak)
	if r := dead[1]; r.Frames.Sent != 0 || !strings.Contains(r.Message, "found a throughput of 0") {
		t.Errorf("%+v", r)
	}
}

func TestForwardingRateAtOverload(t *testing.T) {
	test := v1alpha1.Test{Name: "overload", ForwardingRate: &v1alpha1.ForwardingRateTest{Step: "5%"}}
	rows := rowsOf(t, header+",overload_line_rate_percent\n64,73,1,2,3,20\n", nil, test)
	f := rows[0].ForwardingRate
	// At 75 % the device suffers already; at 70 % it forwards everything, and no
	// lower load can forward more.
	if f.MaxLoadPPM != 700_000 || f.Max != 41_666_667 || f.AtMaxLoad != 11_904_762 || rows[0].Trials != 7 {
		t.Errorf("%+v in %d trials", f, rows[0].Trials)
	}
}

// Frames that leave a buffer after the end of sending are not forwarded in its time: they do not
// raise the rate above what the device forwards in a second.
func TestForwardingRateWithoutDrainedFrames(t *testing.T) {
	test := v1alpha1.Test{Name: "overload", ForwardingRate: &v1alpha1.ForwardingRateTest{Step: "50%", TrialDuration: metav1.Duration{Duration: time.Second}}}
	rows := rowsOf(t, header+",buffer_frames\n64,73,1,2,3,180000\n", nil, test)
	const capacity = 43_452_381 // 73 % of four ports at 10 Gbit/s
	if f := rows[0].ForwardingRate; f.AtMaxLoad > capacity+10 || f.AtMaxLoad < capacity*9999/10_000 || f.Max != f.AtMaxLoad {
		t.Errorf("%+v, want %d frames/s", f, capacity)
	}
}

func TestOrderingFindsTheOnset(t *testing.T) {
	test := v1alpha1.Test{Name: "order", Ordering: &v1alpha1.OrderingTest{Loads: []v1alpha1.Load{"90%", "throughput", "30%"}, Resolution: "0.01%"}}
	throughput := v1alpha1.Test{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{}}
	rows := rowsOf(t, header+",reordered_ppm,reorder_onset_percent\n64,65,1,2,3,5100,62.5\n", nil, throughput, test)[1:]
	if rows[0].Load != "30%" || rows[1].Load != "90%" || rows[2].Load != "throughput" {
		t.Fatalf("order of loads: %+v", rows)
	}
	if o := rows[0].Ordering; *o != (v1alpha1.OrderingSummary{InOrderPPM: 300_000}) {
		t.Errorf("30%%: %+v", o)
	}
	o := rows[1].Ordering
	if o.ReorderedPPM != 5100 || o.OnsetPPM < 625_000 || o.OnsetPPM > 625_100 || o.InOrderPPM >= 625_000 || o.OnsetPPM-o.InOrderPPM > 100 {
		t.Errorf("90%%: %+v", o)
	}
	// 90 % loses frames too, each of which makes one out of sequence: 3 * 0.51 % of
	// those received, and 25 lost ones for 65 received.
	if want := int64(15_300 + 1_000_000*25/65); o.OutOfSequencePPM < want-2 || o.OutOfSequencePPM > want+2 {
		t.Errorf("out of sequence %d ppm, want %d", o.OutOfSequencePPM, want)
	}
	if at := rows[2].Ordering; at.OnsetPPM != o.OnsetPPM || at.OutOfSequencePPM != 15_300 {
		t.Errorf("throughput: %+v", at)
	}
}

// The row says how far behind the reordered frames came, and a row without any says
// nothing of it.
func TestOrderingSaysHowFarBehind(t *testing.T) {
	test := v1alpha1.Test{Name: "order", Ordering: &v1alpha1.OrderingTest{Loads: []v1alpha1.Load{"10%", "50%"}, Resolution: "50%"}}
	test.Ordering.TrialDuration.Duration = time.Second
	rows := rowsOf(t, header+",reordered_ppm,reorder_onset_percent,reorder_extent_frames\n64,100,1,2,3,1000,40,9\n", nil, test)
	if r := rows[0].Ordering.Reordering; r != nil {
		t.Errorf("10%%: %+v", r)
	}
	r := rows[1].Ordering.Reordering
	reordered := *rows[1].Frames.Reordered
	if r == nil || reordered == 0 || r.ExtentMaxFrames != 9 || r.NMax != 9 || r.FreeRunFrames != 999 || r.ExtentUnknown != 0 {
		t.Fatalf("50%%: %+v, %d reordered", r, reordered)
	}
	// A frame takes 67.2 ns at line rate of 10G, and 134.4 ns at half of it.
	if r.LateMaxNs < 9*134 || r.LateMaxNs > 9*135 {
		t.Errorf("late by %d ns, want that of 9 frames", r.LateMaxNs)
	}
	if want := []v1alpha1.ReorderingExtent{{From: 8, To: new(int64(15)), Frames: reordered}}; !reflect.DeepEqual(r.Extents, want) {
		t.Errorf("extents %+v, want %+v", r.Extents, want)
	}
	for i, n := range r.NReordered {
		if n != (v1alpha1.NReordering{N: int64(i + 1), Frames: reordered, PPM: 1000}) {
			t.Errorf("n-reordered: %+v", n)
		}
	}
	if len(r.NReordered) != 8 {
		t.Errorf("n-reordered up to %d, want 8", len(r.NReordered))
	}
}

func TestWhatNoMethodCanMeasureIsRefused(t *testing.T) {
	tests := map[string]struct {
		test v1alpha1.Test
		want string
	}{
		"coarse step":         {v1alpha1.Test{Name: "a", FrameLoss: &v1alpha1.FrameLossTest{Step: "10.1%"}}, "spec.tests[0].frameLoss.step: Invalid value: \"10.1%\": give 1% to 10% of line rate: RFC 2544 section 26.3 allows no coarser step"},
		"no percentage":       {v1alpha1.Test{Name: "a", FrameLoss: &v1alpha1.FrameLossTest{MaxLoad: "101%"}}, "spec.tests[0].frameLoss.maxLoad"},
		"unknown throughput":  {v1alpha1.Test{Name: "a", Soak: &v1alpha1.SoakTest{Load: "throughput"}}, "spec.tests[0].soak.load: Invalid value: \"throughput\": no throughput test stands before this test"},
		"unknown throughputs": {v1alpha1.Test{Name: "a", Latency: &v1alpha1.LatencyTest{Loads: []v1alpha1.Load{"50%", "throughput"}}}, "spec.tests[0].latency.loads[1]: Invalid value: \"throughput\": no throughput test stands before this test"},
		"too many frames":     {v1alpha1.Test{Name: "a", Soak: &v1alpha1.SoakTest{Load: "20Mpps"}}, "spec.tests[0].soak.load: Invalid value: \"20Mpps\": it is 134.4% of the line rate"},
		"two methods":         {v1alpha1.Test{Name: "a", Soak: &v1alpha1.SoakTest{}, FrameLoss: &v1alpha1.FrameLossTest{}}, "give exactly one method: addressCaching, addressLearning, "},
		"none":                {v1alpha1.Test{Name: "a"}, "give exactly one method"},
		"fine step":           {v1alpha1.Test{Name: "a", ForwardingRate: &v1alpha1.ForwardingRateTest{Step: "0.5%"}}, "spec.tests[0].forwardingRate.step"},
		"no load":             {v1alpha1.Test{Name: "a", Ordering: &v1alpha1.OrderingTest{Loads: []v1alpha1.Load{"fast"}}}, "spec.tests[0].ordering.loads[0]"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := planOf(t, tc.test); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
		})
	}
}

package method

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

var imix = []v1alpha1.FrameMix{{Name: "simple", IMIX: v1alpha1.IMIXSimple}}

// The device is limited at 64 and 570 bytes. Of 7:4:1 it forwards 4486 parts of
// 6840: 65.5847 %.
const imixModel = header + `,recovery_us
64,25,1,2,3,2500
570,80,1,2,3,2500
1518,100,1,2,3,2500
`

const imixPPM = 655_847

// mixRows runs tests over the mix and 64 bytes, and returns the rows of the mix.
func mixRows(t *testing.T, done []v1alpha1.ResultRow, tests ...v1alpha1.Test) []v1alpha1.ResultRow {
	t.Helper()
	p, err := planWith(imix, tests...)
	if err != nil {
		t.Fatal(err)
	}
	var rows []v1alpha1.ResultRow
	for _, row := range rowsOn(t, p, imixModel, done) {
		if row.FrameMix != "" {
			rows = append(rows, row)
		}
	}
	return rows
}

// Every search finds what the rule of the model says, also where it has the
// result of another size to begin with.
func TestThroughputOfAMix(t *testing.T) {
	for _, method := range []v1alpha1.SearchMethod{v1alpha1.SearchBinary, v1alpha1.SearchInformed, v1alpha1.SearchMLRsearch} {
		test := v1alpha1.Test{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{Search: method, Resolution: "0.0001%"}}
		if method == v1alpha1.SearchMLRsearch {
			test.Throughput.LossRatios = []v1alpha1.LossRatio{"0%", "0.5%"}
		}
		rows := mixRows(t, nil, test)
		if r := rows[0]; r.Frames.LineRatePPM != imixPPM || r.Frames.Lost != 0 || r.Frames.Sent == 0 {
			t.Errorf("%s: %+v", method, r)
		}
		if method == v1alpha1.SearchMLRsearch {
			// Half of a percent more than passes without loss.
			if r := rows[1]; r.Method != v1alpha1.MethodPartialDropRate || r.Frames.LineRatePPM < imixPPM*1004/1000 || r.Frames.LineRatePPM > imixPPM*1006/1000 {
				t.Errorf("partial drop rate: %+v", r)
			}
		}
	}
}

// The load throughput means that of the mix, also when its row is of a run before.
func TestLoadsOfAMix(t *testing.T) {
	throughput := v1alpha1.Test{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{Resolution: "0.0001%"}}
	latency := v1alpha1.Test{Name: "latency", Latency: &v1alpha1.LatencyTest{Loads: []v1alpha1.Load{"throughput"}}}
	done := []v1alpha1.ResultRow{
		{RowID: v1alpha1.RowID{Test: "throughput", Method: v1alpha1.MethodThroughput, FrameSize: 64}, Frames: &v1alpha1.FrameSection{LineRatePPM: 250_000}},
		{RowID: v1alpha1.RowID{Test: "throughput", Method: v1alpha1.MethodThroughput, FrameMix: "simple"}, Frames: &v1alpha1.FrameSection{LineRatePPM: 123_456}},
	}
	if rows := mixRows(t, nil, throughput, latency); rows[1].Frames.LineRatePPM != imixPPM || rows[1].Frames.Lost != 0 {
		t.Errorf("latency at the throughput: %+v", rows[1])
	}
	if rows := mixRows(t, done, throughput, latency); rows[1].Frames.LineRatePPM != 123_456 {
		t.Errorf("latency at the throughput of a run before: %+v", rows[1])
	}
	// From line rate down: of what is offered above 65.5847 % the rest is lost, and
	// two loads without loss end the test.
	loss := mixRows(t, nil, v1alpha1.Test{Name: "loss", FrameLoss: &v1alpha1.FrameLossTest{}})
	if len(loss) != 6 || *loss[0].Frames.LossPPM != 344_153 || *loss[3].Frames.LossPPM != 63_076 || *loss[4].Frames.LossPPM != 0 || *loss[5].Frames.LossPPM != 0 {
		t.Errorf("%d rows of frame loss: %+v", len(loss), loss)
	}
	soak := mixRows(t, nil, v1alpha1.Test{Name: "soak", Soak: &v1alpha1.SoakTest{Load: "50%"}})
	if soak[0].Frames.Lost != 0 || soak[0].Frames.Sent == 0 {
		t.Errorf("soak: %+v", soak[0])
	}
	rate := mixRows(t, nil, v1alpha1.Test{Name: "rate", ForwardingRate: &v1alpha1.ForwardingRateTest{}})
	// Four ports of 10G with 12 frames in 35888 bits, and of them 65.5847 %.
	if f := rate[0].ForwardingRate; f.Max != f.AtMaxLoad || f.Max < 8_771_916 || f.Max > 8_771_918 || rate[0].Trials != 4 {
		t.Errorf("forwarding rate: %+v in %d trials", f, rate[0].Trials)
	}
}

// All sizes of half of the streams end together, and what is lost after that is
// seen in those that go on.
func TestRecoveryFromAnOverloadOfAMix(t *testing.T) {
	rows := mixRows(t, nil,
		v1alpha1.Test{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{Resolution: "0.1%"}},
		v1alpha1.Test{Name: "recovery", Recovery: &v1alpha1.RecoveryTest{}},
		v1alpha1.Test{Name: "soak", Soak: &v1alpha1.SoakTest{Load: "50%"}})
	if r := rows[1].Recovery; r == nil || r.Repetitions != 3 || r.MinNs != r.MaxNs || r.AvgNs < 2_490_000 || r.AvgNs > 2_510_000 {
		t.Errorf("%+v %q", r, rows[1].Message)
	}
	if r := rows[2]; r.Frames.Lost != 0 || r.Frames.Sent == 0 {
		t.Errorf("the soak after it: %+v", r)
	}
}

func TestMethodsThatNeedOneSize(t *testing.T) {
	throughput := v1alpha1.Test{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{}}
	for want, test := range map[string]v1alpha1.Test{
		`spec.tests[1].backToBack: Invalid value: "bursts": this method needs frames of one size: how many frames of a burst fit into the buffer depends on which sizes come first, and profile  has the mix simple: use a profile without frameMixes for this test`: {Name: "bursts", BackToBack: &v1alpha1.BackToBackTest{}},
		`spec.tests[1].ordering: Invalid value: "order": this method needs frames of one size: every size of a mix is a stream of its own`:                                                                                                                           {Name: "order", Ordering: &v1alpha1.OrderingTest{}},
	} {
		if _, err := planWith(imix, throughput, test); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", test.Name, err)
		}
		if _, err := planWith(nil, throughput, test); err != nil {
			t.Errorf("%s without mixes: %v", test.Name, err)
		}
	}
}

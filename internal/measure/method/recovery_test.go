package method

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

func TestRecoveryAfterAnOverload(t *testing.T) {
	throughput := v1alpha1.Test{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{Resolution: "0.1%"}}
	test := v1alpha1.Test{Name: "recovery", Recovery: &v1alpha1.RecoveryTest{}}
	soak := v1alpha1.Test{Name: "soak", Soak: &v1alpha1.SoakTest{Load: "50%"}}
	run := func(model string) v1alpha1.ResultRow {
		t.Helper()
		rows := rowsOf(t, header+",recovery_us\n"+model+"\n", nil, throughput, test, soak)
		// The test after it has the streams of the plan again.
		if s := rows[2]; rows[0].Frames.LineRatePPM >= 500_000 && (s.Frames.Lost != 0 || s.Frames.Sent != 107_142_857_140) {
			t.Errorf("%s: the soak after it sent %d and lost %d", model, s.Frames.Sent, s.Frames.Lost)
		}
		return rows[1]
	}
	if r := run("64,60,1,2,3,2500").Recovery; r.Repetitions != 3 || r.OverloadPPM != 660_000 || r.ReducedPPM != 330_000 || r.MinNs != r.MaxNs || r.AvgNs < 2_499_000 || r.AvgNs > 2_501_000 {
		t.Errorf("%+v", r)
	}
	if r := run("64,60,1,2,3,0").Recovery; r.MaxNs != 0 {
		t.Errorf("%+v", r)
	}
	if row := run("64,60,1,2,3,60000000"); !strings.Contains(row.Message, "did not recover in 1m") || row.Recovery.MaxNs < 59_999_000_000 {
		t.Errorf("%+v %q", row.Recovery, row.Message)
	}
	if row := run("64,100,1,2,3,0"); row.Recovery != nil || !strings.Contains(row.Message, "nothing overloads the device") {
		t.Errorf("%+v %q", row.Recovery, row.Message)
	}
	if row := run("64,0,1,2,3,0"); row.Recovery != nil || !strings.Contains(row.Message, "found a throughput of 0") {
		t.Errorf("%+v %q", row.Recovery, row.Message)
	}
	if _, err := planOf(t, test); err == nil || !strings.Contains(err.Error(), "spec.tests[0].recovery: Invalid value") {
		t.Errorf("without a throughput test: %v", err)
	}
}

func TestWhenTheLastFrameWasLost(t *testing.T) {
	tests := map[string]struct {
		rx   traffic.RxCount
		want int64
	}{
		"none":                        {traffic.RxCount{Received: 1000, Next: 1000}, 0},
		"none, but one late":          {traffic.RxCount{Received: 1000, Next: 1000, GapEnd: 500}, 0},
		"the one before number 500":   {traffic.RxCount{Received: 999, Next: 1000, GapEnd: 500}, 499},
		"the last":                    {traffic.RxCount{Received: 998, Next: 999, GapEnd: 500}, 999},
		"all":                         {traffic.RxCount{}, 999},
		"some, which were never seen": {traffic.RxCount{Received: 999, Next: 1000}, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			trial := &trials.Trial{
				Counters: trials.Counters{Measurement: traffic.Measurement{
					Tx: map[uint16]traffic.TxCount{0: {Sent: 1000}},
					Rx: map[traffic.RxKey]traffic.RxCount{{Stream: 0, Port: "p2"}: tc.rx},
				}, Ports: []plan.Port{{Name: "p1"}, {Name: "p2"}}},
			}
			if got := lastLoss(trial, plan.Stream{Tx: 0, Rx: []int{1}}, traffic.Rate{Frames: 1, PerNanos: 1}); int64(got) != tc.want {
				t.Errorf("%d ns, want %d", got, tc.want)
			}
		})
	}
}

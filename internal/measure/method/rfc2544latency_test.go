package method

import (
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
)

func rfc2544LatencyTest(load v1alpha1.Load, definition v1alpha1.LatencyDefinition) v1alpha1.Test {
	test := v1alpha1.Test{Name: "latency", RFC2544Latency: &v1alpha1.RFC2544LatencyTest{Load: load, Repetitions: 20, Definition: definition}}
	test.RFC2544Latency.TrialDuration.Duration = 120 * time.Second
	return test
}

func TestRFC2544LatencyAveragesItsTrials(t *testing.T) {
	throughput := v1alpha1.Test{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{}}
	rows := rowsOf(t, header+"\n64,65,1,2,3\n", nil, throughput, rfc2544LatencyTest("throughput", v1alpha1.LatencyStoreAndForward))
	if len(rows) != 2 {
		t.Fatalf("%d rows", len(rows))
	}
	r := rows[1]
	s := r.RFC2544Latency
	if s == nil || s.Repetitions != 20 || s.Definition != v1alpha1.LatencyStoreAndForward || r.Trials != 20 || r.Frames.LineRatePPM != 650_000 {
		t.Fatalf("%+v of %+v", s, r)
	}
	// The model's mean is 2 us in every trial.
	if s.AvgNs != 2000 || s.MinNs != 2000 || s.MaxNs != 2000 || s.StddevNs != 0 {
		t.Errorf("%+v", s)
	}
	// 64 bytes take 51.2 ns on a wire of 10G, and two of them are left out.
	if s.WireNs != 102 {
		t.Errorf("%d ns on the wires", s.WireNs)
	}
}

func TestRFC2544LatencyLeavesOutOneWire(t *testing.T) {
	rows := rowsOf(t, header+"\n64,65,1,2,3\n", nil, rfc2544LatencyTest("1Mpps", v1alpha1.LatencyBitForwarding))
	if s := rows[0].RFC2544Latency; s == nil || s.WireNs != 51 || s.Definition != v1alpha1.LatencyBitForwarding || rows[0].Load != "1Mpps" {
		t.Errorf("%+v", s)
	}
}

func TestRFC2544LatencyOfLossyTrials(t *testing.T) {
	rows := rowsOf(t, header+"\n64,65,1,2,3\n", nil, rfc2544LatencyTest("80%", v1alpha1.LatencyStoreAndForward))
	if r := rows[0]; r.RFC2544Latency == nil || !strings.Contains(r.Message, "frames were lost in 20 of 20 trials") {
		t.Errorf("%q: %+v", r.Message, r.RFC2544Latency)
	}
}

// A device that forwards nothing ends the test after its first trial.
func TestRFC2544LatencyOfADeadDevice(t *testing.T) {
	rows := rowsOf(t, header+"\n64,0,1,2,3\n", nil, rfc2544LatencyTest("50%", v1alpha1.LatencyStoreAndForward))
	if r := rows[0]; r.RFC2544Latency != nil || r.Trials != 1 || !strings.Contains(r.Message, "no test frame came back") {
		t.Errorf("%d trials, %q: %+v", r.Trials, r.Message, r.RFC2544Latency)
	}
}

func TestDeviation(t *testing.T) {
	for name, tc := range map[string]struct {
		sample []int64
		want   int64
	}{
		"one": {[]int64{7}, 0}, "equal": {[]int64{5, 5, 5}, 0}, "spread": {[]int64{2, 4, 4, 4, 5, 5, 7, 9}, 2}, "far": {[]int64{1_000_000_000, 3_000_000_000}, 1_414_213_562},
	} {
		if got := trials.Deviation(tc.sample); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

func TestRFC2544LatencyNeedsOneSize(t *testing.T) {
	_, err := planWith([]v1alpha1.FrameMix{{Name: "simple", IMIX: v1alpha1.IMIXSimple}}, rfc2544LatencyTest("50%", v1alpha1.LatencyStoreAndForward))
	if err == nil || !strings.Contains(err.Error(), "needs frames of one size: how long a frame takes on the wire") {
		t.Errorf("error %v", err)
	}
}

package result

import (
	"math/big"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/version"
	"nodrop.dev/nodrop/internal/measure/calibration"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// calibrated is a row of a switch on a bed whose tester alone passes 40 % of line rate
// and fails at 40.5 %, with a latency of 5 us on average.
func calibrated(out trials.Outcome) Input {
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	in := Input{
		Bed: objects.TestBed(""), Outcome: out, Time: at,
		Calibration: &v1alpha1.CalibrationStatus{
			TestBedName: "loops", Time: metav1.NewTime(at), Engine: v1alpha1.EngineXDP, NoDropVersion: version.String(),
			FrameSizes: []v1alpha1.CalibratedFrameSize{
				{FrameSize: 64, LineRatePPM: 400_000, UpperBoundPPM: 405_000, Latency: &v1alpha1.LatencySummary{AvgNs: 5_000}},
				{FrameSize: 1518, LineRatePPM: 1_000_000},
			},
		},
	}
	in.Bed.Spec.Device.Physical = &v1alpha1.PhysicalDevice{Vendor: "acme", Model: "one"}
	in.Bed.Spec.Engine.Kind = v1alpha1.EngineXDP
	in.Bed.Spec.Calibration = &v1alpha1.CalibrationReference{TestBedName: "loops"}
	in.Calibration.Conditions = calibration.Conditions(onePort, in.Bed, in.Info)
	return in
}

// onePort sends from one port of 10G to another.
var onePort = plan.Plan{
	Ports:   []plan.Port{{Name: "p1", BitsPerSecond: 10_000_000_000}, {Name: "p2", BitsPerSecond: 10_000_000_000}},
	Streams: []plan.Stream{{Rx: []int{1}, Part: 1}},
}

// atRate is a step at a load in frames/s.
func atRate(load v1alpha1.Load) plan.Step { return plan.AtLoad(load, time.Second) }

func TestRowsAtTheCeilingOfTheTester(t *testing.T) {
	const ceiling = "above what the tester passes by itself, 40% with frames of 64 bytes by the calibration of test bed loops"
	trial := func(ppm int64, lost uint64) *trials.Trial {
		return &trials.Trial{Sending: trials.Sending{LoadPPM: ppm, Intended: 100, Sent: 100, Duration: time.Second}, Counts: trials.Counts{Received: 100 - lost, Lost: lost}}
	}
	for name, tc := range map[string]struct {
		size int
		out  trials.Outcome
		want string
	}{
		"a search that ended above":        {64, trials.Outcome{LoadPPM: 400_000, Trial: trial(400_000, 0), Search: &v1alpha1.SearchSummary{UpperBoundPPM: 401_000}}, ceiling},
		"a search that ended below":        {64, trials.Outcome{LoadPPM: 398_000, Trial: trial(398_000, 0), Search: &v1alpha1.SearchSummary{UpperBoundPPM: 399_000}}, ""},
		"a device that lost nothing above": {64, trials.Outcome{LoadPPM: 500_000, Trial: trial(500_000, 0)}, ""},
		"a device that lost above":         {64, trials.Outcome{LoadPPM: 500_000, Trial: trial(500_000, 1)}, ceiling},
		"a device that lost below":         {64, trials.Outcome{LoadPPM: 300_000, Trial: trial(300_000, 1)}, ""},
		"the tester passed line rate":      {1518, trials.Outcome{LoadPPM: 990_000, Trial: trial(990_000, 0), Search: &v1alpha1.SearchSummary{UpperBoundPPM: 1_000_000}}, ""},
		"a loss above, at a rate":          {64, trials.Outcome{Step: atRate("7440001pps"), LoadPPM: 499_968, Trial: trial(499_968, 1)}, ceiling},
		"a loss below, at a rate":          {64, trials.Outcome{Step: atRate("5Mpps"), LoadPPM: 336_000, Trial: trial(336_000, 1)}, ""},
		"a loss above of its own streams":  {64, trials.Outcome{FramesPerSecond: big.NewRat(7_440_000, 1), LoadPPM: 499_968, Trial: trial(499_968, 1)}, ""},
		"a search without a limit":         {64, trials.Outcome{LoadPPM: 1_000_000, Trial: trial(1_000_000, 0), Search: &v1alpha1.SearchSummary{}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tc.out.Step.Size = plan.Bytes(tc.size)
			row := Row(onePort, calibrated(tc.out))
			if rate := tc.out.Step.Amount.FramesPerSecond; rate != 0 && row.Frames.FramesPerSecond != rate {
				t.Errorf("intended %d frames/s, want %d", row.Frames.FramesPerSecond, rate)
			}
			want := v1alpha1.ValidityValid
			if tc.want != "" {
				want = v1alpha1.ValidityGeneratorBound
			}
			if row.Validity != want || !strings.Contains(strings.Join(row.ValidityReasons, "; "), tc.want) {
				t.Errorf("%s %q, want %s %q", row.Validity, row.ValidityReasons, want, tc.want)
			}
		})
	}
}

// A late engine's row has the load that was offered, and says so. So has one whose
// latency is little above the tester's own.
func TestRowsThatSayMore(t *testing.T) {
	in := calibrated(trials.Outcome{})
	for avg, want := range map[int64]string{
		5_100:  "the latency is mostly the tester's own: without the device it is 5.000 us on average",
		10_000: "the latency is mostly the tester's own",
		10_001: "",
	} {
		in.sizes = []int32{64}
		if got := nearTheFloor(in, &v1alpha1.LatencySummary{AvgNs: avg}); (got == "") != (want == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%d ns: %q, want %q", avg, got, want)
		}
	}
	in.Calibration = nil
	if got := nearTheFloor(in, &v1alpha1.LatencySummary{AvgNs: 1}); got != "" {
		t.Errorf("without a calibration: %q", got)
	}
}

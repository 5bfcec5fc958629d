package trex

import (
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/method"
	"nodrop.dev/nodrop/internal/plan"
	"nodrop.dev/nodrop/internal/result"
)

// throughputRow searches the throughput of frames of 64 bytes from left to right with
// trials of 1 s, on ports of 10M, to a resolution: line rate is 14,881 frames/s.
func throughputRow(t *testing.T, s suite, resolution v1alpha1.Percentage) v1alpha1.ResultRow {
	t.Helper()
	e, err := New(t.Context(), Options{Endpoint: s.endpoint, Force: true, Ports: []Port{
		{Name: "left", Index: 0, Addresses: prefixes("198.18.0.2/24")}, {Name: "right", Index: 1, Addresses: prefixes("198.18.0.3/24")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	var benchmark v1alpha1.Benchmark
	search := v1alpha1.ThroughputTest{Resolution: resolution}
	search.SearchTrialDuration.Duration, search.TrialDuration.Duration = time.Second, time.Second
	benchmark.Spec.Tests = []v1alpha1.Test{{Name: "throughput", Throughput: &search}}
	benchmark.Spec.SettleTime.Duration = 200 * time.Millisecond
	oneWay := false
	var profile v1alpha1.TrafficProfile
	profile.Spec = v1alpha1.TrafficProfileSpec{
		FrameSizes: []int32{64}, Packet: v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}},
		Pattern: v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{Bidirectional: &oneWay}},
	}
	var bed v1alpha1.TestBed
	bed.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineTRex, TRex: &v1alpha1.TRexEngine{Software: &v1alpha1.TRexSoftware{}}}
	bed.Spec.Device.BackToBack = &v1alpha1.BackToBackDevice{}
	for i, name := range []string{"left", "right"} {
		bed.Spec.Ports = append(bed.Spec.Ports, v1alpha1.Port{
			Name: name, Node: "here", Speed: "10M", Addresses: []string{[]string{"198.18.0.2/24", "198.18.0.3/24"}[i]},
			Attachment: &v1alpha1.Attachment{HostDevice: &v1alpha1.HostDeviceAttachment{Interface: name}},
		})
	}
	p, err := plan.Build(&benchmark, &profile, &bed)
	if err != nil {
		t.Fatal(err)
	}
	info, err := e.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hops, err := method.Resolve(t.Context(), e, p, info, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	lab := method.NewLab(e, p, hops, nil, method.WithLateness(info.Capabilities.Lateness))
	out, err := method.Run(t.Context(), lab, p.Steps[0])
	if err != nil {
		t.Fatal(err)
	}
	row := result.Row(p, result.Input{Bed: &bed, Info: info, Outcome: out})
	t.Logf("%d ppm, %d of %d offered frames/s, %s %q %q", row.Frames.LineRatePPM, row.Frames.OfferedFramesPerSecond, row.Frames.FramesPerSecond, row.Validity, row.ValidityReasons, row.Message)
	return row
}

// TRex sends its first frame some time after the start, and counts as having sent
// the last one later still. Trials of 1 s within its reach pass nevertheless, and the
// row has the load that was offered.
func TestSearchWithShortTrials(t *testing.T) {
	everyServer(t, false, func(t *testing.T, s suite) {
		if s.fake != nil {
			s.fake.lag = 30 * time.Millisecond
		}
		row := throughputRow(t, s, "0.1%")
		if !result.Trusted(row.Validity) {
			t.Errorf("%s %q, want Virtual, or Valid of a server on cards", row.Validity, row.ValidityReasons)
		}
		if f := row.Frames; f.LineRatePPM < 900_000 || f.Lost != 0 || f.FramesPerSecond > f.OfferedFramesPerSecond+1 {
			t.Errorf("%+v, want nearly line rate, and no more than was offered but for rounding", f)
		}
		if s.fake != nil && (row.Frames.LineRatePPM > 971_000 || row.Message == "") {
			t.Errorf("%d ppm, %q: of 1 s and 30 ms at most 970,873 ppm were offered", row.Frames.LineRatePPM, row.Message)
		}
	})
}

// A server that reaches half of line rate is the limit, and no more than that is
// reported, though it may be late.
func TestSearchBeyondTheReachOfTheServer(t *testing.T) {
	f := newFake(t)
	f.capacity = 14_881.0 / 2
	row := throughputRow(t, suite{endpoint: f.endpoint, fake: f}, "5%")
	if row.Validity != v1alpha1.ValidityGeneratorBound || row.Frames.LineRatePPM > 501_000 || row.Frames.LineRatePPM < 400_000 {
		t.Errorf("%d ppm, %s %q, want half of line rate at most, and GeneratorBound", row.Frames.LineRatePPM, row.Validity, row.ValidityReasons)
	}
}

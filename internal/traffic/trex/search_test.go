package trex

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	build "nodrop.dev/nodrop/internal/base/version"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/measure/calibration"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/result"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// search is a search of the throughput of frames of 64 bytes from left to right with
// trials of 1 s, on cards of 10 s.
type search struct {
	// speed of the ports: line rate is 1,488 frames/s of 1M, and 148,810 of 100M.
	speed v1alpha1.BitRate
	// resolution of the search, and the highest load, line rate when it is empty.
	resolution, maxLoad v1alpha1.LoadAmount
	// port is the UDP port that the frames are sent to.
	port int32
	// timed frames per second.
	timed int
	// device joins the ports, and calibration is the tester's, if there is one.
	device      v1alpha1.Device
	calibration *v1alpha1.CalibrationStatus
}

// backToBack is a bed without a device.
var backToBack = v1alpha1.Device{BackToBack: &v1alpha1.BackToBackDevice{}}

// bed with the ports of a server in software.
func (s search) bed() *v1alpha1.TestBed {
	bed := objects.TestBed("")
	bed.Name = "bench"
	bed.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineTRex, TRex: &v1alpha1.TRexEngine{Software: &v1alpha1.TRexSoftware{}}}
	bed.Spec.Device = s.device
	for _, p := range []v1alpha1.Port{
		{Name: "left", Addresses: []string{"198.18.0.2/24"}}, {Name: "right", Addresses: []string{"198.18.0.3/24"}},
	} {
		p.Node, p.Speed = "here", s.speed
		p.Attachment = &v1alpha1.Attachment{HostDevice: &v1alpha1.HostDeviceAttachment{Interface: p.Name}}
		bed.Spec.Ports = append(bed.Spec.Ports, p)
	}
	if s.calibration != nil {
		bed.Spec.Calibration = &v1alpha1.CalibrationReference{TestBedName: bed.Name}
	}
	return bed
}

// on searches on a server, and returns the row of the result and all trials.
func (s search) on(t *testing.T, at suite) (v1alpha1.ResultRow, []*trials.Trial, []v1alpha1.CalibrationCondition) {
	t.Helper()
	e, err := New(t.Context(), Options{Endpoint: at.endpoint, Force: true, TimedFramesPerSecond: s.timed, Ports: []Port{
		{Name: "left", Index: 0, Addresses: prefixes("198.18.0.2/24")}, {Name: "right", Index: 1, Addresses: prefixes("198.18.0.3/24")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	test := v1alpha1.ThroughputTest{Resolution: s.resolution, MaxLoad: s.maxLoad}
	test.TrialDuration.Duration = time.Second
	if OnCards() { // emulated ones begin late
		test.TrialDuration.Duration = 10 * time.Second
	}
	test.SearchTrialDuration = test.TrialDuration
	var benchmark v1alpha1.Benchmark
	benchmark.Spec.Tests = []v1alpha1.Test{{Name: "throughput", Throughput: &test}}
	benchmark.Spec.SettleTime.Duration = 200 * time.Millisecond
	benchmark.Spec.RestTime = &metav1.Duration{}
	oneWay := false
	var profile v1alpha1.TrafficProfile
	profile.Spec = v1alpha1.TrafficProfileSpec{
		FrameSizes: []int32{64},
		Packet: v1alpha1.Packet{
			IPv4: &v1alpha1.IPPacket{}, UDP: &v1alpha1.UDPPacket{DestinationPorts: &v1alpha1.PortRange{First: s.port, Count: 1}},
		},
		Pattern: v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{Bidirectional: &oneWay}},
	}
	bed := s.bed()
	if err := manifest.Default(&benchmark, &profile, bed); err != nil {
		t.Fatal(err)
	}
	p, err := plan.Build(&benchmark, &profile, bed)
	if err != nil {
		t.Fatal(err)
	}
	info, err := e.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hops, err := trials.Resolve(t.Context(), e, p, info, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var all []*trials.Trial
	observe := func(event trials.Event) {
		if t := event.Finished; t != nil {
			all = append(all, t)
		}
	}
	out, err := method.Run(t.Context(), trials.NewTester(e, p, hops, observe, trials.WithLateness(info.Capabilities.Lateness)), p.Steps[0])
	if err != nil {
		t.Fatal(err)
	}
	row := result.Row(p, result.Input{Bed: bed, Info: info, Outcome: out, Calibration: s.calibration, Time: time.Now()})
	for _, one := range all {
		t.Logf("%d ppm: sent %d of %d in %s, lost %d, ended early after %s", one.LoadPPM, one.Sent, one.Intended, one.TxTime, one.Lost, one.Ended)
	}
	t.Logf("%d ppm, %d of %d offered frames/s, %s %q %q", row.Frames.LineRatePPM, row.Frames.OfferedFramesPerSecond, row.Frames.FramesPerSecond, row.Validity, row.ValidityReasons, row.Message)
	return row, all, calibration.Conditions(p, bed, info)
}

// slowCards skips a test on cards that were too slow for every load, as emulated ones may be
// on a busy machine.
func slowCards(t *testing.T, row v1alpha1.ResultRow) {
	t.Helper()
	if OnCards() && row.Validity == v1alpha1.ValidityGeneratorBound {
		t.Skipf("the cards are too slow to send what was intended: %q %q", row.ValidityReasons, row.Message)
	}
}

// calibrate finds out what a server passes by itself.
func (s search) calibrate(t *testing.T, at suite) *v1alpha1.CalibrationStatus {
	t.Helper()
	s.device = backToBack
	row, _, conditions := s.on(t, at)
	c := calibration.Of(s.bed(), "bench", time.Now(), build.String(), []v1alpha1.ResultRow{row}, conditions)
	if c == nil {
		slowCards(t, row)
		t.Fatalf("no load is passed by the tester itself: %s %q", row.Validity, row.ValidityReasons)
	}
	return c
}

// Within the rate that the tester passes by itself, what a search of a device finds is
// the device's: all of its loads, its limit, or none. It is never the tester's, though
// TRex in software ends trials of 1 s late.
func TestSearchesWithinTheCalibratedRate(t *testing.T) {
	everyServer(t, false, func(t *testing.T, cable suite) {
		slow := func(f *fakeServer) {
			f.lag, f.late, f.capacity, f.hdr = 30*time.Millisecond, 20*time.Millisecond, 100_000, true
		}
		if cable.fake != nil {
			slow(cable.fake)
		}
		bench := search{speed: "100M", resolution: "5%", timed: 1_000, port: 10}
		resolution := int64(1_500) // frames/s
		if OnCards() {
			bench.speed, resolution = "1M", 15
		}
		bench.calibration = bench.calibrate(t, cable)
		reach := bench.calibration.FrameSizes[0]
		bench.device = v1alpha1.Device{Physical: &v1alpha1.PhysicalDevice{}}
		bench.resolution = "1%"
		bench.maxLoad = v1alpha1.LoadAmount(v1alpha1.FormatPPM(reach.LineRatePPM / 2))
		real := cable.lossy(t)
		limit := reach.FramesPerSecond / 4
		for name, tc := range map[string]struct {
			port          int32
			lowest, most  int64 // frames/s
			lossy, limits bool
		}{
			"passes all":      {portOfAll, reach.FramesPerSecond/2*9/10 - resolution, reach.FramesPerSecond / 2, false, false},
			"has a limit":     {portOfSome, limit*8/10 - resolution, limit*115/100 + resolution, true, true},
			"drops one in 20": {portOfMost, 0, 0, true, false},
		} {
			t.Run(name, func(t *testing.T) {
				device := real
				if cable.fake != nil {
					t.Parallel() // each fake server has a device of its own
					f := newFake(t)
					slow(f)
					if tc.port == portOfMost {
						f.dropEvery = 20
					}
					device = suite{endpoint: f.endpoint, fake: f, exact: true}
				}
				// The device holds 100 ms of its rate, within which a sender that was held up
				// may catch up.
				device.limit(t, uint64(limit), uint64(limit/10))
				if f := device.fake; f != nil {
					f.locked(func() { f.limited.on = tc.limits })
				}
				s := bench
				s.port = tc.port
				row, all, _ := s.on(t, device)
				slowCards(t, row)
				if !result.Trusted(row.Validity) {
					t.Errorf("%s %q, want Virtual, or Valid of a server on cards", row.Validity, row.ValidityReasons)
				}
				if f := row.Frames.FramesPerSecond; f < tc.lowest || f > tc.most {
					t.Errorf("%d frames/s, want %d to %d", f, tc.lowest, tc.most)
				}
				early := slices.ContainsFunc(all, func(t *trials.Trial) bool { return t.Ended > 0 })
				if early != tc.lossy {
					t.Errorf("all were ended early: %v, want %v", early, tc.lossy)
				}
			})
		}
	})
}

// TRex sends its first frame some time after the start, and counts as having sent
// the last one later still. Trials of 1 s within its reach pass nevertheless, and the
// row has the load that was offered.
func TestSearchWithShortTrials(t *testing.T) {
	everyServer(t, false, func(t *testing.T, s suite) {
		if s.fake != nil {
			s.fake.lag = 30 * time.Millisecond
		}
		speed := v1alpha1.BitRate("10M")
		if OnCards() {
			speed = "1M"
		}
		row, _, _ := search{speed: speed, resolution: "0.1%", port: portOfAll, device: backToBack}.on(t, s)
		slowCards(t, row)
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
	t.Parallel()
	f := newFake(t)
	f.capacity = 14_881.0 / 2
	row, _, _ := search{speed: "10M", resolution: "5%", port: portOfAll, device: backToBack}.on(t, suite{endpoint: f.endpoint, fake: f})
	if row.Validity != v1alpha1.ValidityGeneratorBound || row.Frames.LineRatePPM > 501_000 || row.Frames.LineRatePPM < 400_000 {
		t.Errorf("%d ppm, %s %q, want half of line rate at most, and GeneratorBound", row.Frames.LineRatePPM, row.Validity, row.ValidityReasons)
	}
}

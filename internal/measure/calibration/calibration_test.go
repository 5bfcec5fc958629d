package calibration

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func bed(name string, device v1alpha1.Device) *v1alpha1.TestBed {
	b := objects.TestBed(name)
	b.Spec.Device, b.Spec.Engine.Kind = device, v1alpha1.EngineXDP
	for _, name := range []string{"p1", "p2"} {
		b.Spec.Ports = append(b.Spec.Ports, v1alpha1.Port{Name: name, Node: "lab-1", Speed: "10G",
			Attachment: objects.HostDevice("nd-" + name)})
	}
	return b
}

func loops() *v1alpha1.TestBed {
	return bed("loops", v1alpha1.Device{BackToBack: &v1alpha1.BackToBackDevice{}})
}

func row(method v1alpha1.Method, size int32, ppm int64, avg int64, change ...func(*v1alpha1.ResultRow)) v1alpha1.ResultRow {
	r := v1alpha1.ResultRow{
		RowID:  v1alpha1.RowID{Method: method, FrameSize: size},
		Frames: &v1alpha1.FrameSection{LineRatePPM: ppm, FramesPerSecond: ppm * 10, Sent: 7, Received: 7}, Validity: v1alpha1.ValidityValid,
		Latency: &v1alpha1.LatencySummary{MinNs: avg - 1, AvgNs: avg, MaxNs: avg + 1},
	}
	for _, c := range change {
		c(&r)
	}
	return r
}

// someConditions are conditions of traffic and tester.
func someConditions(change ...func([]v1alpha1.CalibrationCondition)) []v1alpha1.CalibrationCondition {
	all := []v1alpha1.CalibrationCondition{
		{Name: "network layer", Value: "IPv4"}, {Name: "engine.kind", Value: "xdp"}, {Name: "kernel", Of: "lab-1", Value: "6.12.1"},
		{Name: "receiveRing", Of: "lab-1/nd-p1", Value: "512"}, {Name: "receiveRing", Of: "lab-1/nd-p2", Value: "4096"},
	}
	for _, c := range change {
		c(all)
	}
	return all
}

func TestOf(t *testing.T) {
	is := func(v v1alpha1.Validity) func(*v1alpha1.ResultRow) {
		return func(r *v1alpha1.ResultRow) { r.Validity = v }
	}
	rows := []v1alpha1.ResultRow{
		// The tester is the limit, which is what is looked for.
		row(v1alpha1.MethodThroughput, 64, 400_000, 900, is(v1alpha1.ValidityGeneratorBound), func(r *v1alpha1.ResultRow) {
			r.Search = &v1alpha1.SearchSummary{UpperBoundPPM: 405_000}
		}),
		row(v1alpha1.MethodLatency, 64, 40_000, 500),
		row(v1alpha1.MethodLatency, 64, 390_000, 800, is(v1alpha1.ValidityVirtual)),
		// These rows do not count.
		row(v1alpha1.MethodLatency, 64, 900_000, 100, is(v1alpha1.ValidityGeneratorBound)),
		row(v1alpha1.MethodLatency, 64, 50_000, 100, is(v1alpha1.ValidityContended)),
		row(v1alpha1.MethodThroughput, 128, 0, 100),
		row(v1alpha1.MethodSoak, 64, 1_000_000, 100, func(r *v1alpha1.ResultRow) { r.Frames.Lost = 1 }),
		row(v1alpha1.MethodBackToBack, 64, 1_000_000, 100),
		row(v1alpha1.MethodThroughput, 256, 500_000, 100, is(v1alpha1.ValidityContended)),
		// No latency was measured here.
		row(v1alpha1.MethodThroughput, 1518, 1_000_000, 0, func(r *v1alpha1.ResultRow) { r.Latency = nil }),
	}
	got := Of(loops(), "team/calibrate", noon, "v0.3.1", rows, someConditions())
	want := &v1alpha1.CalibrationStatus{
		Time: metav1.NewTime(noon), Benchmark: "team/calibrate", TestBedName: "loops", JoinedBy: v1alpha1.JoinedByLoops,
		Engine: v1alpha1.EngineXDP, NoDropVersion: "v0.3.1", Interfaces: []string{"lab-1/nd-p1", "lab-1/nd-p2"},
		Conditions: []v1alpha1.CalibrationCondition{
			{Name: "network layer", Value: "IPv4"}, {Name: "engine.kind", Value: "xdp"}, {Name: "kernel", Value: "6.12.1"},
			{Name: "receiveRing", Of: "lab-1/nd-p1", Value: "512"}, {Name: "receiveRing", Of: "lab-1/nd-p2", Value: "4096"},
		},
		FrameSizes: []v1alpha1.CalibratedFrameSize{
			{FrameSize: 64, LineRatePPM: 400_000, UpperBoundPPM: 405_000, FramesPerSecond: 4_000_000, LatencyLoadPPM: 40_000, Latency: &v1alpha1.LatencySummary{MinNs: 499, AvgNs: 500, MaxNs: 501}},
			{FrameSize: 1518, LineRatePPM: 1_000_000, FramesPerSecond: 10_000_000},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	cables := bed("cables", v1alpha1.Device{BackToBack: &v1alpha1.BackToBackDevice{JoinedBy: v1alpha1.JoinedByCables}})
	if got := Of(cables, "team/calibrate", noon, "v0.3.1", rows, someConditions()); got.JoinedBy != v1alpha1.JoinedByCables {
		t.Errorf("joined by %s", got.JoinedBy)
	}
	if got := Of(cables, "team/calibrate", noon, "v0.3.1", rows[3:9], nil); got != nil {
		t.Errorf("%+v of rows that say nothing", got)
	}
	if got := Of(bed("switch", v1alpha1.Device{Physical: &v1alpha1.PhysicalDevice{}}), "team/calibrate", noon, "v0.3.1", rows, someConditions()); got != nil {
		t.Errorf("%+v of a bed with a device", got)
	}
}

// TestReorderingFloor checks that a calibration has the greatest share of frames that the
// tester reordered by itself, and that a device's reordering is compared with it.
func TestReorderingFloor(t *testing.T) {
	with := func(reordered, received int64, validity v1alpha1.Validity) v1alpha1.ResultRow {
		return row(v1alpha1.MethodThroughput, 64, 400_000, 900, func(r *v1alpha1.ResultRow) {
			r.Frames.Reordered, r.Frames.Received, r.Validity = &reordered, received, validity
		})
	}
	for name, tc := range map[string]struct {
		rows []v1alpha1.ResultRow
		want *int64
	}{
		"not counted":       {[]v1alpha1.ResultRow{row(v1alpha1.MethodThroughput, 64, 400_000, 900)}, nil},
		"none":              {[]v1alpha1.ResultRow{with(0, 1000, v1alpha1.ValidityValid)}, new(int64(0))},
		"one of a billion":  {[]v1alpha1.ResultRow{with(1, 1e9, v1alpha1.ValidityValid)}, new(int64(1))},
		"the greatest":      {[]v1alpha1.ResultRow{with(1, 1000, v1alpha1.ValidityValid), with(5, 1000, v1alpha1.ValidityGeneratorBound)}, new(int64(5000))},
		"others were there": {[]v1alpha1.ResultRow{with(1, 1000, v1alpha1.ValidityValid), with(5, 1000, v1alpha1.ValidityContended)}, new(int64(1000))},
	} {
		got := Of(loops(), "team/calibrate", noon, "v0.3.1", tc.rows, nil)
		if diff := cmp.Diff(tc.want, got.FrameSizes[0].ReorderedPPM); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	c := Of(loops(), "team/calibrate", noon, "v0.3.1", []v1alpha1.ResultRow{with(5, 1000, v1alpha1.ValidityValid)}, someConditions())
	for name, tc := range map[string]struct {
		sizes               []int32
		reordered, received int64
		mostly              bool
	}{
		"as many":      {[]int32{64}, 5, 1000, true},
		"twice":        {[]int32{64}, 10, 1000, true},
		"three times":  {[]int32{64}, 15, 1000, false},
		"none":         {[]int32{64}, 0, 1000, false},
		"another size": {[]int32{128}, 5, 1000, false},
	} {
		if got := OrderFloor(c, tc.sizes, tc.reordered, tc.received); (got != "") != tc.mostly {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// What a device plugin or a driver hands out is named too, and a pool once.
func TestInterfacesOfCards(t *testing.T) {
	b := loops()
	for i, a := range []v1alpha1.Attachment{
		{SRIOV: &v1alpha1.SRIOVAttachment{ResourceName: "intel.com/dut"}}, {SRIOV: &v1alpha1.SRIOVAttachment{ResourceName: "intel.com/dut"}},
		{ResourceClaim: &v1alpha1.ResourceClaimAttachment{TemplateName: "dut-p3"}},
	} {
		if i == len(b.Spec.Ports) {
			b.Spec.Ports = append(b.Spec.Ports, v1alpha1.Port{Name: "p3", Node: "lab-2"})
		}
		b.Spec.Ports[i].Attachment = &a
	}
	if diff := cmp.Diff([]string{"lab-1/intel.com/dut", "lab-2/dut-p3"}, Interfaces(b)); diff != "" {
		t.Error(diff)
	}
}

func TestDoubt(t *testing.T) {
	tests := map[string]struct {
		change func(*Use)
		want   string
	}{
		"none":              {func(*Use) {}, ""},
		"of the same minor": {func(u *Use) { u.Version = "v0.3.9" }, ""},
		"just young enough": {func(u *Use) { u.Time = noon.Add(DefaultMaxAge) }, ""},
		"not asked for":     {func(u *Use) { u.Bed.Spec.Calibration = nil }, "name that one in spec.calibration.testBedName"},
		"not there":         {func(u *Use) { u.Calibration = nil }, "test bed loops, which spec.calibration.testBedName names, holds no calibration"},
		"too old":           {func(u *Use) { u.Time = noon.Add(31 * 24 * time.Hour) }, "was 31 days old, more than spec.calibration.maxAge, 720h0m0s: calibrate again"},
		"too old for this bed": {func(u *Use) {
			u.Bed.Spec.Calibration.MaxAge = &metav1.Duration{Duration: time.Hour}
			u.Time = noon.Add(90 * time.Minute)
		}, "was 1 hour old, more than spec.calibration.maxAge, 1h0m0s"},
		"another engine": {func(u *Use) { u.Calibration.Engine = v1alpha1.EngineSim }, "with the engine sim, and this bed has xdp"},
		"cards after software": {func(u *Use) {
			u.Calibration.Engine, u.Calibration.EngineMode = v1alpha1.EngineTRex, v1alpha1.TRexInSoftware
			u.Bed.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineTRex, TRex: &v1alpha1.TRexEngine{HugePages: &v1alpha1.TRexHugePages{}}}
		}, "with the engine trex in software, and this bed has trex on cards: give both the same engine"},
		"software after cards": {func(u *Use) {
			u.Calibration.Engine, u.Calibration.EngineMode = v1alpha1.EngineTRex, v1alpha1.TRexOnCards
			u.Bed.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineTRex, TRex: &v1alpha1.TRexEngine{Software: &v1alpha1.TRexSoftware{}}}
		}, "with the engine trex on cards, and this bed has trex in software: give both the same engine"},
		"software of both": {func(u *Use) {
			loops := loops()
			loops.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineTRex, TRex: &v1alpha1.TRexEngine{Software: &v1alpha1.TRexSoftware{}}}
			u.Bed.Spec.Engine = loops.Spec.Engine
			u.Calibration = Of(loops, "team/calibrate", noon, "v0.3.1", []v1alpha1.ResultRow{row(v1alpha1.MethodThroughput, 64, 1, 1)}, someConditions())
		}, ""},
		"a mode that nobody told": {func(u *Use) {
			u.Calibration.Engine = v1alpha1.EngineTRex
			u.Bed.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineTRex, TRex: &v1alpha1.TRexEngine{Software: &v1alpha1.TRexSoftware{}}}
		}, "with the engine trex, and this bed has trex in software"},
		"another version":    {func(u *Use) { u.Version = "v0.4.0" }, "with NoDrop v0.3.1, and this is v0.4.0"},
		"an unknown version": {func(u *Use) { u.Version = "devel" }, "this is devel"},
		"another frame size": {func(u *Use) { u.FrameSizes = append(u.FrameSizes, 9000) }, "has no frames of 9000 bytes"},
		"another kernel": {func(u *Use) { u.Conditions[2].Value = "6.12.9" },
			"test bed loops was calibrated with kernel of lab-1: 6.12.1, and this run has 6.12.9: set it as it was, or calibrate again"},
		"another ring":   {func(u *Use) { u.Conditions[4].Value = "512" }, "with receiveRing of lab-1/nd-p2: 4096, and this run has 512"},
		"another family": {func(u *Use) { u.Conditions[0].Value = "IPv6" }, "with network layer: IPv4, and this run has IPv6: calibrate again with a profile that sends the same packets"},
		"what is new": {func(u *Use) {
			u.Conditions = append(u.Conditions, v1alpha1.CalibrationCondition{Name: "packet.tunnel.gre", Value: "{}"})
		}, "with packet.tunnel.gre: none, and this run has {}"},
		"what is gone":       {func(u *Use) { u.Conditions = u.Conditions[1:] }, "with network layer: IPv4, and this run has none"},
		"an old calibration": {func(u *Use) { u.Calibration.Conditions = nil }, "does not say for which traffic and tester it holds: calibrate again"},
		"one port of two":    {func(u *Use) { u.Conditions = u.Conditions[:4] }, ""},
		"other ports":        {func(u *Use) { u.Bed.Spec.Ports[1].Attachment.HostDevice.Interface = "eth7" }, "without lab-1/eth7, the interface of port p2"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			u := Use{
				Bed: bed("switch", v1alpha1.Device{Physical: &v1alpha1.PhysicalDevice{}}), Time: noon, Version: "v0.3.0", FrameSizes: []int32{64}, Conditions: someConditions(),
				Calibration: Of(loops(), "team/calibrate", noon, "v0.3.1", []v1alpha1.ResultRow{row(v1alpha1.MethodThroughput, 64, 1, 1)}, someConditions()),
			}
			u.Bed.Spec.Calibration = &v1alpha1.CalibrationReference{TestBedName: "loops"}
			tc.change(&u)
			if got := Doubt(u); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "less than a minute", time.Minute: "1 minute", 59 * time.Minute: "59 minutes", 25 * time.Hour: "1 day", 47 * time.Hour: "1 day", 48 * time.Hour: "2 days",
	} {
		if got := Age(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
}

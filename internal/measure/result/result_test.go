package result

import (
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
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
	"nodrop.dev/nodrop/internal/traffic"
)

// latencyOf counts latencies as an engine does.
func latencyOf(values []uint64) trials.Latency {
	l := trials.Latency{SumNs: new(big.Int), JitterSumNs: new(big.Int), Buckets: make([]uint64, traffic.BucketCount), MinNs: values[0]}
	for i, v := range values {
		l.Count++
		l.MinNs, l.MaxNs = min(l.MinNs, v), max(l.MaxNs, v)
		l.SumNs.Add(l.SumNs, new(big.Int).SetUint64(v))
		l.Buckets[traffic.BucketIndex(v)]++
		if i > 0 {
			jitter := max(v, values[i-1]) - min(v, values[i-1])
			l.JitterCount++
			l.JitterMaxNs = max(l.JitterMaxNs, jitter)
			l.JitterSumNs.Add(l.JitterSumNs, new(big.Int).SetUint64(jitter))
		}
	}
	return l
}

func TestSummaryRoundsOnce(t *testing.T) {
	s := latencyOf([]uint64{1000, 1001, 1001, 90}).Summary(4)
	want := v1alpha1.LatencySummary{MinNs: 90, AvgNs: 773, MaxNs: 1001, JitterAvgNs: new(int64(304)), JitterMaxNs: new(int64(911))}
	want.P50Ns, want.P90Ns, want.P99Ns, want.P999Ns = 1001, 1001, 1001, 1001
	if !reflect.DeepEqual(*s, want) {
		t.Errorf("%+v, want %+v", *s, want)
	}
	if s := (trials.Latency{SumNs: new(big.Int), JitterSumNs: new(big.Int)}).Summary(1); s != nil {
		t.Errorf("%+v of no frame", s)
	}
	one := latencyOf([]uint64{77}).Summary(1)
	if one.P50Ns != 77 || one.P999Ns != 77 || one.JitterAvgNs != nil || one.JitterMaxNs != nil || one.TimedFrames != nil {
		t.Errorf("one frame: %+v, want all timed, and no jitter", one)
	}
	if some := latencyOf([]uint64{77}).Summary(1_000); some.TimedFrames == nil || *some.TimedFrames != 1 {
		t.Errorf("one frame of 1000: %+v", some)
	}
}

// A percentile is never below the exact one, and at most 1/64 above it.
func TestPercentilesAreWithinABucket(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	for range 200 {
		values := make([]uint64, 1+rng.IntN(5000))
		for i := range values {
			values[i] = rng.Uint64N(1 << (1 + rng.IntN(39)))
		}
		l := latencyOf(values)
		slices.Sort(values)
		for _, perMille := range []uint64{500, 900, 990, 999} {
			rank := (uint64(len(values))*perMille + 999) / 1000
			exact := int64(values[max(rank, 1)-1])
			if got := l.Percentile(perMille); got < exact || got > exact+exact/64+1 {
				t.Fatalf("%d per mille of %d frames is %d, exactly %d", perMille, len(values), got, exact)
			}
		}
	}
}

func TestValidity(t *testing.T) {
	short := &trials.Trial{Sending: trials.Sending{Intended: 100, Sent: 90, Duration: time.Second}}
	whole := func(notes ...traffic.Note) *trials.Trial {
		return &trials.Trial{Sending: trials.Sending{Intended: 100, Sent: 100, Duration: time.Second}, Counts: trials.Counts{Received: 100}, Notes: notes}
	}
	foreign := traffic.Note{Kind: traffic.NoteForeignLoad, Text: "others used 1.3 of 2 processors"}
	dropped := traffic.Note{Kind: traffic.NoteReceiver, Text: "p2 dropped 3 frames"}
	flapped := traffic.Note{Kind: traffic.NoteCounter, Text: "the link of port p1 came or went 2 times"}
	stepped := traffic.Note{Kind: traffic.NoteClock, Text: "the clock of lab-1 was set back by 1s"}
	flooded := traffic.Note{Kind: traffic.NoteMisdelivered, Text: "3 test frames arrived at p3"}
	overtaken := traffic.Note{Kind: traffic.NoteOvertaken, Text: "7 reordered frames came into p2 by another receive queue"}
	reordered := whole(overtaken)
	reordered.Reordered = 9
	above := whole(dropped)
	above.LoadPPM = 500_000
	virtual := v1alpha1.Device{Containerlab: &v1alpha1.ContainerlabDevice{}}
	physical := v1alpha1.Device{Physical: &v1alpha1.PhysicalDevice{}}
	simulated := v1alpha1.Device{Simulated: &v1alpha1.SimulatedDevice{}}
	const model = "the device is a model: the figures were computed"
	back := v1alpha1.Device{BackToBack: &v1alpha1.BackToBackDevice{}}
	tests := map[string]struct {
		device  v1alpha1.Device
		driver  string
		trial   *trials.Trial
		limit   *trials.Trial
		want    v1alpha1.Validity
		reasons []string
	}{
		"modelled":                  {simulated, "", whole(), nil, v1alpha1.ValiditySimulated, []string{model}},
		"router in a container":     {virtual, "veth", whole(), nil, v1alpha1.ValidityVirtual, []string{"the device is software"}},
		"packet sockets of TRex":    {back, "net_af_packet", whole(), nil, v1alpha1.ValidityVirtual, []string{"port p1 is a packet socket of TRex's software mode"}},
		"cabled virtual interfaces": {back, "veth", whole(), nil, v1alpha1.ValidityVirtual, []string{"port p1 is a virtual interface"}},
		"card of a hypervisor":      {physical, "virtio_net", whole(), nil, v1alpha1.ValidityUncalibrated, []string{"not measured back to back", "port p1 is a virtual card of a hypervisor (virtio)"}},
		"VMware":                    {back, "vmxnet3", whole(), nil, v1alpha1.ValidityVirtual, []string{"(VMXNET3)"}},
		"Hyper-V":                   {back, "hv_netvsc", whole(), nil, v1alpha1.ValidityVirtual, []string{"(Hyper-V)"}},
		"TUN":                       {back, "tun", whole(), nil, v1alpha1.ValidityVirtual, []string{"a TUN or TAP interface"}},
		"macvlan":                   {back, "macvlan", whole(), nil, v1alpha1.ValidityVirtual, []string{"a virtual interface on another one"}},
		"others, where it ended":    {back, "ixgbe", whole(), whole(foreign), v1alpha1.ValidityContended, []string{"where the search ended, others used 1.3"}},
		"cabled interfaces":         {back, "ixgbe", whole(), nil, v1alpha1.ValidityValid, nil},
		"switch":                    {physical, "mlx5_core", whole(), nil, v1alpha1.ValidityUncalibrated, []string{"not measured back to back"}},
		"others on the machine":     {virtual, "veth", whole(foreign), nil, v1alpha1.ValidityContended, []string{"others used 1.3", "the device is software"}},
		"slow tester":               {virtual, "veth", whole(foreign), short, v1alpha1.ValidityGeneratorBound, []string{"to send the 100 frames", "others used", "software"}},
		"receiver dropped":          {simulated, "", whole(dropped), nil, v1alpha1.ValidityGeneratorBound, []string{"p2 dropped 3 frames", model}},
		"dropped above":             {simulated, "", whole(), above, v1alpha1.ValidityGeneratorBound, []string{"at 50%, where the search ended, p2 dropped 3 frames", model}},
		"a link went down":          {simulated, "", whole(flapped), nil, v1alpha1.ValidityContended, []string{"came or went 2 times", model}},
		"a link went down above":    {simulated, "", whole(), whole(flapped), v1alpha1.ValidityContended, []string{"came or went 2 times", model}},
		"the clock was set":         {simulated, "", whole(stepped), nil, v1alpha1.ValidityContended, []string{"set back by 1s", model}},
		"the clock was set above":   {simulated, "", whole(), whole(stepped), v1alpha1.ValiditySimulated, []string{model}},
		"frames at the wrong port":  {simulated, "", whole(flooded), nil, v1alpha1.ValiditySimulated, []string{model}},
		"too many came back":        {simulated, "", &trials.Trial{Sending: trials.Sending{Sent: 1}, Counts: trials.Counts{Excess: 2}}, nil, v1alpha1.ValidityGeneratorBound, []string{"2 more frames were received than sent", model}},
		"another process sent":      {back, "igb", whole(traffic.Note{Kind: traffic.NoteMiscount, Text: "the card sent 900 others"}), nil, v1alpha1.ValidityContended, []string{"the card sent 900 others"}},
		"a card did not send": {back, "igb", &trials.Trial{Sending: trials.Sending{Intended: 2, Sent: 1, CardUnsent: 1, Duration: time.Second}, Counts: trials.Counts{Received: 1}, Notes: []traffic.Note{{Kind: traffic.NoteCardUnsent, Text: "the card did not send 1 frame"}}}, nil,
			v1alpha1.ValidityGeneratorBound, []string{"the card did not send 1 frame"}},
		"reordered by its queues": {back, "igb", reordered, nil, v1alpha1.ValidityGeneratorBound, []string{"7 reordered frames came into p2"}},
		"nothing ran":             {simulated, "", nil, nil, v1alpha1.ValiditySimulated, []string{model}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := Input{
				Bed:     objects.TestBed("", objects.Device(tc.device)),
				Info:    traffic.Info{Ports: []traffic.PortInfo{{Name: "p1", Driver: tc.driver}}},
				Outcome: trials.Outcome{Trial: tc.trial, Limit: tc.limit},
			}
			got, reasons := Judge(in)
			if got != tc.want || len(reasons) != len(tc.reasons) {
				t.Fatalf("%s %q, want %s with %d reasons", got, reasons, tc.want, len(tc.reasons))
			}
			for i, want := range tc.reasons {
				if !strings.Contains(reasons[i], want) {
					t.Errorf("reason %q, want %q in it", reasons[i], want)
				}
			}
		})
	}
}

// What did not happen is graver than anything about the tester.
func TestWhatDidNotHappenIsInvalid(t *testing.T) {
	short := &trials.Trial{Sending: trials.Sending{Intended: 100, Sent: 90, Duration: time.Second}}
	validity, reasons := Judge(Input{Bed: objects.TestBed(""), Outcome: trials.Outcome{Trial: short, Limit: short, Invalid: "the device was not reset"}})
	if validity != v1alpha1.ValidityInvalid || len(reasons) != 2 || reasons[0] != "the device was not reset" {
		t.Errorf("%s %q", validity, reasons)
	}
	if Trusted(validity) {
		t.Error("an invalid row is trusted")
	}
}

func TestRowWithoutATrial(t *testing.T) {
	step := plan.Step{Test: v1alpha1.Test{Name: "latency"}, Method: v1alpha1.MethodLatency, Size: plan.Bytes(64), Load: "throughput"}
	row := Row(plan.Plan{}, Input{Bed: objects.TestBed(""), Outcome: trials.Outcome{Step: step, Message: "not measured"}})
	if row.Load != "throughput" || row.Frames.LineRatePPM != 0 || row.Frames.FramesPerSecond != 0 || row.Latency != nil || row.Message != "not measured" || row.Validity != v1alpha1.ValidityValid {
		t.Errorf("%+v", row)
	}
}

// The row's message reports frames that arrived at a wrong port.
func TestMisdeliveredFramesAreTold(t *testing.T) {
	trial := &trials.Trial{Sending: trials.Sending{Sent: 1}, Counts: trials.Counts{Received: 1}, Notes: []traffic.Note{{Kind: traffic.NoteMisdelivered, Text: "3 test frames arrived at p3"}}}
	row := Row(plan.Plan{}, Input{Bed: objects.TestBed(""), Outcome: trials.Outcome{Trial: trial, Message: "so it is"}})
	if row.Message != "so it is; 3 test frames arrived at p3" || row.Validity != v1alpha1.ValidityValid {
		t.Errorf("%q, %s", row.Message, row.Validity)
	}
}

// A calibration that fits makes a row of a physical device Valid.
func TestACalibratedBed(t *testing.T) {
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	in := Input{
		Bed:     objects.TestBed(""),
		Outcome: trials.Outcome{Step: plan.Step{Size: plan.Bytes(64)}, Trial: &trials.Trial{Sending: trials.Sending{Intended: 1, Sent: 1, Duration: time.Second}, Counts: trials.Counts{Received: 1}}},
		Calibration: &v1alpha1.CalibrationStatus{
			TestBedName: "loops", Time: metav1.NewTime(at), Engine: v1alpha1.EngineXDP, NoDropVersion: version.String(),
			FrameSizes: []v1alpha1.CalibratedFrameSize{{FrameSize: 64}},
		},
		Time: at.Add(time.Hour),
	}
	in.Bed.Spec.Device.Physical = &v1alpha1.PhysicalDevice{Vendor: "acme", Model: "one"}
	in.Bed.Spec.Engine.Kind = v1alpha1.EngineXDP
	in.Bed.Spec.Calibration = &v1alpha1.CalibrationReference{TestBedName: "loops"}
	in.Calibration.Conditions = calibration.Conditions(plan.Plan{}, in.Bed, in.Info)
	if row := Row(plan.Plan{}, in); row.Validity != v1alpha1.ValidityValid || row.ValidityReasons != nil {
		t.Errorf("%s %q", row.Validity, row.ValidityReasons)
	}
	in.Outcome.Step.Size = plan.Bytes(128)
	if row := Row(plan.Plan{}, in); row.Validity != v1alpha1.ValidityUncalibrated || len(row.ValidityReasons) != 1 || !strings.Contains(row.ValidityReasons[0], "no frames of 128 bytes") {
		t.Errorf("%s %q", row.Validity, row.ValidityReasons)
	}
}

// A device that is reset on purpose takes its links down.
func TestAResetIsNoDisturbance(t *testing.T) {
	note := traffic.Note{Kind: traffic.NoteCounter, Text: "the link of port p1 went down"}
	in := Input{Bed: objects.TestBed(""), Outcome: trials.Outcome{DeviceReset: true, Trial: &trials.Trial{Sending: trials.Sending{Sent: 1}, Notes: []traffic.Note{note}}}}
	if validity, reasons := Judge(in); validity != v1alpha1.ValidityValid || len(reasons) > 0 {
		t.Errorf("%s %q", validity, reasons)
	}
}

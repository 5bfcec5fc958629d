package report

import (
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/compare"
	"nodrop.dev/nodrop/internal/reporting/gate"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// curves is a result with latency at several loads of several frame sizes, and
// texts that every format has to escape.
func curves() *Document {
	d := chassis()
	d.Benchmark.Name = "curves"
	d.Message = `all rows <were> measured | "really" & truly`
	d.Notes = []string{"a note with <script>alert(1)</script>, a comma, and | a bar"}
	d.Spec.Tests = append(d.Spec.Tests, v1alpha1.Test{Name: "latency", Latency: &v1alpha1.LatencyTest{
		Loads: []v1alpha1.Load{"10%", "50%", "90%", "throughput"}, TrialDuration: seconds(60)}})
	for _, throughput := range d.Rows[:3] {
		for i, load := range []v1alpha1.Load{"10%", "50%", "90%", "throughput"} {
			row := *throughput.DeepCopy()
			row.Test, row.Method, row.Load, row.Trials = "latency", v1alpha1.MethodLatency, load, 1
			row.Frames.LineRatePPM = []int64{100_000, 500_000, 900_000, throughput.Frames.LineRatePPM}[i]
			l := *throughput.Latency
			l.AvgNs, l.MaxNs = l.MinNs+(l.AvgNs-l.MinNs)*row.Frames.LineRatePPM/throughput.Frames.LineRatePPM, l.MinNs+(l.MaxNs-l.MinNs)*row.Frames.LineRatePPM/throughput.Frames.LineRatePPM
			row.Latency = &l
			if row.Frames.LineRatePPM > throughput.Frames.LineRatePPM {
				row.Frames.Lost = row.Frames.Sent / 7
				row.Frames.Received = row.Frames.Sent - row.Frames.Lost
				l.AvgNs, l.MaxNs = throughput.Latency.MaxNs, throughput.Latency.MaxNs
			}
			d.Rows = append(d.Rows, row)
		}
	}
	return d
}

// failed is a result of a lab that failed before all rows were measured.
func failed() *Document {
	d := curves()
	d.Benchmark.Name = "failed"
	d.Phase, d.Message = v1alpha1.PhaseError, "the agent on lab-1 did not answer"
	d.Rows = d.Rows[:5]
	return d
}

// variants is a result of a device in two configurations: one is faster, its
// highest latencies fall though the means rise, and a row of it is missing.
func variants() *Document {
	d := curves()
	off, on := v1alpha1.VariantName("fec-off"), v1alpha1.VariantName("fec-on")
	d.Benchmark.Name, d.Message, d.Notes = "variants", "all rows were measured", nil
	d.Spec.Variants = []v1alpha1.VariantName{off, on}
	d.Environment.Variants = []v1alpha1.VariantEnvironment{{Name: off, Device: "modelled by models/off.csv"}, {Name: on, Device: "modelled by models/on.csv"}}
	rows := d.Rows
	d.Rows = nil
	for i, variant := range d.Spec.Variants {
		for n, row := range rows {
			row = *row.DeepCopy()
			row.Variant = variant
			if l := *row.Latency; i > 0 {
				l.AvgNs, l.MaxNs, l.JitterMaxNs = l.AvgNs+19, l.MaxNs-90, new(*l.JitterMaxNs-5)
				row.Latency = &l
			}
			if i > 0 && n == 0 {
				row.Frames.FramesPerSecond, row.Frames.LineRatePPM = row.Frames.FramesPerSecond/10*9, row.Frames.LineRatePPM/10*9
				row.Frames.OfferedFramesPerSecond = row.Frames.FramesPerSecond
			}
			if i == 0 || n != len(rows)-1 {
				d.Rows = append(d.Rows, row)
			}
		}
	}
	d.Differences = compare.Differences(d.Spec.Variants, d.Rows)
	return d
}

// gated is a result with gates of all verdicts: with bounds of their own, and compared with
// another result and with a history.
func gated() *Document {
	d := curves()
	benchmark := objects.Benchmark("", "", objects.BenchmarkSpec(d.Spec))
	benchmark.Namespace, benchmark.Name = d.Benchmark.Namespace, "gated"
	tolerance := v1alpha1.Tolerance("2.5%")
	relative := func(b v1alpha1.GateBaseline) *v1alpha1.RelativeBound {
		return &v1alpha1.RelativeBound{Baseline: b, MaxDecrease: &tolerance, MaxIncrease: &tolerance}
	}
	benchmark.Spec.Gates = []v1alpha1.Gate{
		{Name: "line-rate", Test: "throughput", FrameSizes: []int32{1518, 9216}, Metric: "LineRate", Min: "99.9%"},
		{Name: "tail", Test: "latency", Metric: "LatencyMax", Max: "10us"},
		{Name: "like-before", Test: "throughput", Metric: "Throughput", Relative: relative(v1alpha1.GateBaseline{BenchmarkName: "before"})},
		{Name: "as-usual", Test: "throughput", Metric: "LatencyAvg", Relative: relative(v1alpha1.GateBaseline{Trend: &v1alpha1.TrendBaseline{MinRuns: 3}})},
		{Name: "percentile", Test: "throughput", FrameSizes: []int32{64}, Metric: "LatencyP99", Max: "5us"},
	}
	before := slices.Clone(d.Rows)
	for i := range before {
		before[i] = *before[i].DeepCopy()
		before[i].Frames.OfferedFramesPerSecond = before[i].Frames.OfferedFramesPerSecond / 100 * 103
		before[i].Frames.FramesPerSecond = before[i].Frames.OfferedFramesPerSecond
	}
	run := gate.Run{Of: gate.BaselineIdentity{Benchmark: "before", UID: "8b3e", Time: d.StartTime, TestBed: "nexus9508", Device: "modelled"}, Rows: before}
	history := gate.NewHistory(&benchmark.Spec.Gates[3], &benchmark.Spec.Tests[0])
	for range 3 {
		history.Add(run)
	}
	benchmark.Status = v1alpha1.BenchmarkStatus{Outcome: v1alpha1.PhaseMeasured, Message: "all rows were measured", TestBedName: d.TestBed, StartTime: d.StartTime}
	content := Content{
		Benchmark: benchmark, Rows: d.Rows, Environment: d.Environment,
		Profile: objects.TrafficProfile("", "", objects.ProfileSpec(*d.Profile)), Bed: objects.TestBed("", objects.BedSpec(*d.Bed)),
		Baselines: map[string]gate.Baseline{
			"like-before": gate.FromRun(&benchmark.Spec.Gates[2], &benchmark.Spec.Tests[0], run),
			"as-usual":    history.Baseline(),
		},
	}
	benchmark.Status.Phase, benchmark.Status.Message = Judge(content).Outcome(v1alpha1.PhaseMeasured, "all rows were measured")
	return New(content)
}

func allDocuments() map[string]*Document {
	return map[string]*Document{"chassis": chassis(), "router": router(), "aborted": aborted(), "curves": curves(), "failed": failed(), "mixes": mixes(), "gated": gated(), "variants": variants()}
}

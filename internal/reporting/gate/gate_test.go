package gate

import (
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method"
)

// row is a throughput row of a rate.
func row(size int32, validity v1alpha1.Validity, framesPerSecond int64) v1alpha1.ResultRow {
	return v1alpha1.ResultRow{
		RowID:    v1alpha1.RowID{Test: "throughput", Method: v1alpha1.MethodThroughput, FrameSize: size},
		Validity: validity,
		Frames: &v1alpha1.FrameSection{LineRatePPM: 500_000, FramesPerSecond: framesPerSecond, OfferedFramesPerSecond: framesPerSecond,
			Sent: framesPerSecond, Received: framesPerSecond},
	}
}

func specOf(gates ...v1alpha1.Gate) *v1alpha1.BenchmarkSpec {
	return &v1alpha1.BenchmarkSpec{Gates: gates, Tests: []v1alpha1.Test{
		{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{LossRatios: []v1alpha1.LossRatio{"0%", "0.5%"}, Search: v1alpha1.SearchMLRsearch}},
		{Name: "loss", FrameLoss: &v1alpha1.FrameLossTest{MaxLoad: "100%", Step: "50%"}},
	}}
}

func atLeast(bound v1alpha1.GateBound) v1alpha1.Gate {
	return v1alpha1.Gate{Name: "g", Test: "throughput", Metric: "Throughput", Min: bound}
}

func within(decrease, increase v1alpha1.Tolerance) v1alpha1.Gate {
	g := v1alpha1.Gate{Name: "g", Test: "throughput", Metric: "Throughput", Relative: &v1alpha1.RelativeBound{Baseline: v1alpha1.GateBaseline{BenchmarkName: "old"}}}
	if decrease != "" {
		g.Relative.MaxDecrease = &decrease
	}
	if increase != "" {
		g.Relative.MaxIncrease = &increase
	}
	return g
}

// baselineOf is the baseline of a gate by rows.
func baselineOf(g v1alpha1.Gate, rows ...v1alpha1.ResultRow) map[string]Baseline {
	return map[string]Baseline{g.Name: FromRun(&g, &specOf().Tests[0], Run{Of: BaselineIdentity{Benchmark: "old"}, Rows: rows})}
}

func TestVerdicts(t *testing.T) {
	const valid = v1alpha1.ValidityValid
	pdr := row(64, valid, 900)
	pdr.Method, pdr.LossRatioPPM, pdr.Frames.Lost = v1alpha1.MethodPartialDropRate, 5000, 3
	nothing := row(64, valid, 0)
	nothing.Frames.LineRatePPM, nothing.Frames.Sent = 0, 100
	unsent := row(64, valid, 0)
	unsent.Message = "no ARP"
	for name, tc := range map[string]struct {
		gate      v1alpha1.Gate
		rows      []v1alpha1.ResultRow
		baselines map[string]Baseline
		change    func(*Input)
		want      v1alpha1.GateVerdict
		reason    Reason
		message   string
	}{
		"at the bound":           {gate: atLeast("1000"), rows: []v1alpha1.ResultRow{row(64, valid, 1000)}, want: v1alpha1.GatePassed},
		"one below":              {gate: atLeast("1k"), rows: []v1alpha1.ResultRow{row(64, valid, 999)}, want: v1alpha1.GateFailed, reason: OutOfBounds, message: "throughput 64 B: 999 frames/s is below 1,000 frames/s"},
		"a software device":      {gate: atLeast("1k"), rows: []v1alpha1.ResultRow{row(64, v1alpha1.ValidityVirtual, 1000)}, want: v1alpha1.GatePassed},
		"a model":                {gate: atLeast("1k"), rows: []v1alpha1.ResultRow{row(64, v1alpha1.ValiditySimulated, 1)}, want: v1alpha1.GateFailed, reason: OutOfBounds},
		"a slow tester":          {gate: atLeast("1k"), rows: []v1alpha1.ResultRow{row(64, v1alpha1.ValidityGeneratorBound, 1)}, want: v1alpha1.GateInconclusive, reason: NotConclusive, message: "the row is GeneratorBound"},
		"a slow tester, by far":  {gate: atLeast("1k"), rows: []v1alpha1.ResultRow{row(64, v1alpha1.ValidityGeneratorBound, 1<<40)}, want: v1alpha1.GateInconclusive, reason: NotConclusive},
		"the tester itself":      {gate: atLeast("1k"), rows: []v1alpha1.ResultRow{row(64, v1alpha1.ValidityGeneratorBound, 1000)}, change: func(in *Input) { in.Device.BackToBack = &v1alpha1.BackToBackDevice{} }, want: v1alpha1.GatePassed},
		"nothing passed":         {gate: atLeast("1k"), rows: []v1alpha1.ResultRow{nothing}, want: v1alpha1.GateFailed, reason: OutOfBounds},
		"nothing was sent":       {gate: atLeast("1k"), rows: []v1alpha1.ResultRow{unsent}, want: v1alpha1.GateInconclusive, reason: NotMeasured, message: "nothing was sent: no ARP"},
		"one of two in doubt":    {gate: atLeast("1k"), rows: []v1alpha1.ResultRow{row(64, valid, 1000), row(128, v1alpha1.ValidityContended, 1000)}, want: v1alpha1.GateInconclusive, reason: NotConclusive},
		"failed and in doubt":    {gate: atLeast("1k"), rows: []v1alpha1.ResultRow{row(64, v1alpha1.ValidityContended, 1000), row(128, valid, 1), row(256, valid, 2)}, want: v1alpha1.GateFailed, reason: OutOfBounds, message: "128 B: 1 frames/s is below 1,000 frames/s, and 1 more row"},
		"no row":                 {gate: atLeast("1k"), want: v1alpha1.GateInconclusive, reason: NoRow},
		"a partial drop rate":    {gate: atLeast("1k"), rows: []v1alpha1.ResultRow{row(64, valid, 1000), pdr}, want: v1alpha1.GatePassed},
		"interrupted":            {gate: atLeast("1k"), rows: []v1alpha1.ResultRow{row(64, valid, 1000)}, change: func(in *Input) { in.Unfinished = "the benchmark is Aborted" }, want: v1alpha1.GateInconclusive, reason: Unfinished, message: "not every row was measured: the benchmark is Aborted"},
		"interrupted and failed": {gate: atLeast("1k"), rows: []v1alpha1.ResultRow{row(64, valid, 1)}, change: func(in *Input) { in.Unfinished = "the benchmark is Aborted" }, want: v1alpha1.GateFailed, reason: OutOfBounds},
		"no baseline":            {gate: within("1%", ""), rows: []v1alpha1.ResultRow{row(64, valid, 1000)}, want: v1alpha1.GateInconclusive, reason: NoBaseline, message: "there is no baseline"},
		"no such row there":      {gate: within("1%", ""), rows: []v1alpha1.ResultRow{row(64, valid, 1000)}, baselines: baselineOf(within("1%", ""), row(128, valid, 1000)), want: v1alpha1.GateInconclusive, reason: NoBaseline, message: "the baseline old has no such row"},
		"in doubt there":         {gate: within("1%", ""), rows: []v1alpha1.ResultRow{row(64, valid, 1000)}, baselines: baselineOf(within("1%", ""), row(64, v1alpha1.ValidityUncalibrated, 1000)), want: v1alpha1.GateInconclusive, reason: NoBaseline, message: "it is Uncalibrated"},
		"simulated there":        {gate: within("1%", ""), rows: []v1alpha1.ResultRow{row(64, valid, 1000)}, baselines: baselineOf(within("1%", ""), row(64, v1alpha1.ValiditySimulated, 1000)), want: v1alpha1.GateInconclusive, reason: BaselineDiffers, message: "the row is Valid, and that of the baseline old is Simulated"},
		"at the tolerance":       {gate: within("0.1%", ""), rows: []v1alpha1.ResultRow{row(64, valid, 999)}, baselines: baselineOf(within("0.1%", ""), row(64, valid, 1000)), want: v1alpha1.GatePassed},
		"beyond the tolerance":   {gate: within("0.0999%", ""), rows: []v1alpha1.ResultRow{row(64, valid, 999)}, baselines: baselineOf(within("0.0999%", ""), row(64, valid, 1000)), want: v1alpha1.GateFailed, reason: OutOfBounds, message: "999 frames/s is more than 0.0999% below 1,000 frames/s of the baseline"},
		"more is no less":        {gate: within("0%", ""), rows: []v1alpha1.ResultRow{row(64, valid, 2000)}, baselines: baselineOf(within("0%", ""), row(64, valid, 1000)), want: v1alpha1.GatePassed},
		"too much more":          {gate: within("", "50%"), rows: []v1alpha1.ResultRow{row(64, valid, 1501)}, baselines: baselineOf(within("", "50%"), row(64, valid, 1000)), want: v1alpha1.GateFailed, reason: OutOfBounds},
		"another test":           {gate: v1alpha1.Gate{Name: "g", Test: "soak", Metric: "FrameLoss", Max: "0%"}, want: v1alpha1.GateInconclusive, reason: Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Spec: specOf(tc.gate), Rows: tc.rows, Baselines: tc.baselines}
			if tc.change != nil {
				tc.change(&in)
			}
			j := Judge(in)
			g := j.Gates[0]
			reason := g.Reason
			for _, r := range g.Rows {
				if reason == "" && r.Verdict == g.Verdict {
					reason = r.Reason
				}
			}
			if j.Verdict != tc.want || g.Verdict != tc.want || reason != tc.reason || !strings.Contains(g.Explanation(), tc.message) {
				t.Errorf("%s, %s %q: %q, want %s %q: %q", j.Verdict, g.Verdict, reason, g.Explanation(), tc.want, tc.reason, tc.message)
			}
		})
	}
}

// A single lost frame of very many is a loss.
func TestFrameLossIsNeverRoundedToNone(t *testing.T) {
	r := v1alpha1.ResultRow{RowID: v1alpha1.RowID{Test: "loss", Method: v1alpha1.MethodFrameLoss, FrameSize: 64, Load: "100%"}, Validity: v1alpha1.ValidityValid,
		Frames: &v1alpha1.FrameSection{Sent: 9_000_000_000_000, Received: 8_999_999_999_999, Lost: 1}}
	j := Judge(Input{Spec: specOf(v1alpha1.Gate{Name: "g", Test: "loss", Metric: "FrameLoss", Max: "0%"}), Rows: []v1alpha1.ResultRow{r}})
	if j.Verdict != v1alpha1.GateFailed || *j.Gates[0].Rows[0].Value != 1 {
		t.Errorf("%+v", j.Gates[0])
	}
}

// TestCongestionGates evaluates gates on marks, CNPs and flow control. Rows without the figures are inconclusive, and name the
// setting of the profile that they need.
func TestCongestionGates(t *testing.T) {
	frames := func(change func(*v1alpha1.FrameSection)) *v1alpha1.FrameSection {
		f := &v1alpha1.FrameSection{Sent: 9_000_000_000_000, Received: 9_000_000_000_000}
		change(f)
		return f
	}
	for _, tc := range []struct {
		name        string
		metric, max string
		frames      *v1alpha1.FrameSection
		want        v1alpha1.GateVerdict
		value       int64
		why         string
	}{
		{"one mark of very many", "CongestedFrames", "0%", frames(func(f *v1alpha1.FrameSection) { f.Congested = new(int64(1)) }), v1alpha1.GateFailed, 1, ""},
		{"no mark", "CongestedFrames", "0%", frames(func(f *v1alpha1.FrameSection) { f.Congested = new(int64(0)) }), v1alpha1.GatePassed, 0, ""},
		{"a fifth is marked", "CongestedFrames", "20%", frames(func(f *v1alpha1.FrameSection) { f.Received, f.Congested = 1000, new(int64(200)) }), v1alpha1.GatePassed, 200_000_000, ""},
		{"nothing received", "CongestedFrames", "20%", frames(func(f *v1alpha1.FrameSection) { f.Received, f.Congested = 0, new(int64(0)) }), v1alpha1.GateInconclusive, 0, "no frame was received"},
		{"marks are not counted", "CongestedFrames", "20%", frames(func(*v1alpha1.FrameSection) {}), v1alpha1.GateInconclusive, 0, "ecn"},
		{"a CNP is lost", "LostCNPs", "0", frames(func(f *v1alpha1.FrameSection) { f.CNP = &v1alpha1.CNPSummary{Sent: 8, Received: 7} }), v1alpha1.GateFailed, 1, ""},
		{"others send CNPs too", "LostCNPs", "0", frames(func(f *v1alpha1.FrameSection) { f.CNP = &v1alpha1.CNPSummary{Sent: 8, Received: 9} }), v1alpha1.GatePassed, 0, ""},
		{"no CNPs", "LostCNPs", "0", frames(func(*v1alpha1.FrameSection) {}), v1alpha1.GateInconclusive, 0, "cnp"},
		{"PFC", "PFCFrames", "224", frames(func(f *v1alpha1.FrameSection) { f.FlowControl = &v1alpha1.FlowControlSummary{PFCFrames: 225} }), v1alpha1.GateFailed, 225, ""},
		{"no pause", "PauseFrames", "0", frames(func(f *v1alpha1.FrameSection) { f.FlowControl = &v1alpha1.FlowControlSummary{PFCFrames: 225} }), v1alpha1.GatePassed, 0, ""},
		{"flow control is not counted", "PauseFrames", "0", frames(func(*v1alpha1.FrameSection) {}), v1alpha1.GateInconclusive, 0, "rocev2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := v1alpha1.ResultRow{RowID: v1alpha1.RowID{Test: "loss", Method: v1alpha1.MethodFrameLoss, FrameSize: 64, Load: "100%"}, Validity: v1alpha1.ValidityValid, Frames: tc.frames}
			j := Judge(Input{Spec: specOf(v1alpha1.Gate{Name: "g", Test: "loss", Metric: tc.metric, Max: v1alpha1.GateBound(tc.max)}), Rows: []v1alpha1.ResultRow{r}})
			value := j.Gates[0].Rows[0].Value
			if j.Verdict != tc.want || (value == nil) != (tc.why != "") || value != nil && *value != tc.value || !strings.Contains(j.Gates[0].Explanation(), tc.why) {
				t.Errorf("%s: %+v: %s", j.Verdict, j.Gates[0], j.Gates[0].Explanation())
			}
		})
	}
}

// TestAnyRows holds what is true of every gate and all rows, for thousands of both.
func TestAnyRows(t *testing.T) {
	validities := []v1alpha1.Validity{v1alpha1.ValidityValid, v1alpha1.ValidityVirtual, v1alpha1.ValiditySimulated, v1alpha1.ValidityUncalibrated, v1alpha1.ValidityContended, v1alpha1.ValidityGeneratorBound, v1alpha1.ValidityInvalid}
	seen := map[v1alpha1.GateVerdict]int{}
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		value := func() int64 { return rng.Int64N([]int64{3, 2000, 1 << 40, 1 << 60}[rng.IntN(4)]) }
		var rows, old []v1alpha1.ResultRow
		for i := range rng.IntN(6) {
			rows = append(rows, row(int32(64+i), validities[rng.IntN(len(validities))], value()))
			if rng.IntN(4) > 0 {
				old = append(old, row(int32(64+i), validities[rng.IntN(3)], value()))
			}
		}
		gates := []v1alpha1.Gate{atLeast(v1alpha1.GateBound(fmt.Sprint(value()))), within(v1alpha1.Tolerance(fmt.Sprintf("%d.%04d%%", rng.IntN(1000), rng.IntN(10_000))), "")}
		gates[1].Name = "relative"
		in := Input{Spec: specOf(gates...), Rows: rows, Baselines: baselineOf(gates[1], old...)}
		j := Judge(in)
		seen[j.Verdict]++
		for _, g := range j.Gates {
			for i, r := range g.Rows {
				if trusted := slices.Contains(validities[:3], rows[i].Validity); !trusted && r.Verdict != v1alpha1.GateInconclusive {
					t.Fatalf("seed %d: a row that is %s was %s", seed, rows[i].Validity, r.Verdict)
				}
				if (r.Verdict == v1alpha1.GatePassed) != (r.Reason == "") || (r.Verdict == v1alpha1.GateFailed) != (r.Reason == OutOfBounds) {
					t.Fatalf("seed %d: %s for the reason %q", seed, r.Verdict, r.Reason)
				}
				if r.Verdict != v1alpha1.GateInconclusive && r.Min != nil && (*r.Value >= *r.Min) != (r.Verdict == v1alpha1.GatePassed) {
					t.Fatalf("seed %d: %d against %d is %s", seed, *r.Value, *r.Min, r.Verdict)
				}
				if g.Name == "relative" && r.Verdict != v1alpha1.GateInconclusive {
					ppm, err := gates[1].Relative.MaxDecrease.PPM()
					if err != nil {
						t.Fatal(err)
					}
					bound := new(big.Rat).Mul(big.NewRat(*r.Baseline, 1), big.NewRat(max(0, v1alpha1.PPM-ppm), v1alpha1.PPM))
					if passes := big.NewRat(*r.Value, 1).Cmp(bound) >= 0; passes != (r.Verdict == v1alpha1.GatePassed) {
						t.Fatalf("seed %d: %d is %s, %d of the baseline with %d ppm", seed, *r.Value, r.Verdict, *r.Baseline, ppm)
					}
				}
			}
			failed, inconclusive := g.Count(v1alpha1.GateFailed), g.Count(v1alpha1.GateInconclusive)
			want := v1alpha1.GatePassed
			switch {
			case failed > 0:
				want = v1alpha1.GateFailed
			case inconclusive > 0 || len(g.Rows) == 0:
				want = v1alpha1.GateInconclusive
			}
			if g.Verdict != want {
				t.Fatalf("seed %d: the gate is %s with %d rows, %d failed and %d inconclusive", seed, g.Verdict, len(g.Rows), failed, inconclusive)
			}
		}
		rng.Shuffle(len(in.Rows), func(i, k int) { in.Rows[i], in.Rows[k] = in.Rows[k], in.Rows[i] })
		other := Judge(in)
		for i := range j.Gates {
			if a, b := j.Gates[i], other.Gates[i]; a.Verdict != b.Verdict || a.Count(v1alpha1.GateFailed) != b.Count(v1alpha1.GateFailed) {
				t.Fatalf("seed %d: %s in one order and %s in another", seed, a.Verdict, b.Verdict)
			}
		}
		outcome, _ := j.Outcome(v1alpha1.PhaseMeasured, "")
		if string(outcome) != string(j.Verdict) {
			t.Fatalf("seed %d: a benchmark that passed and a verdict %s end %s", seed, j.Verdict, outcome)
		}
		for _, s := range j.Status() {
			if len(s.Message) > maxStatusMessage {
				t.Fatalf("seed %d: a message of %d bytes", seed, len(s.Message))
			}
		}
	}
	for _, v := range []v1alpha1.GateVerdict{v1alpha1.GatePassed, v1alpha1.GateFailed, v1alpha1.GateInconclusive} {
		if seen[v] < 20 {
			t.Errorf("%d of the judgements are %s: the test shows nothing", seen[v], v)
		}
	}
}

// The outcome of a measurement that is worse than its gates stays.
func TestOutcome(t *testing.T) {
	for _, tc := range []struct {
		measured v1alpha1.BenchmarkPhase
		verdict  v1alpha1.GateVerdict
		want     v1alpha1.BenchmarkPhase
	}{
		{v1alpha1.PhaseMeasured, v1alpha1.GatePassed, v1alpha1.PhasePassed},
		{v1alpha1.PhaseMeasured, v1alpha1.GateInconclusive, v1alpha1.PhaseInconclusive},
		{v1alpha1.PhaseMeasured, v1alpha1.GateFailed, v1alpha1.PhaseFailed},
		{v1alpha1.PhaseInconclusive, v1alpha1.GatePassed, v1alpha1.PhaseInconclusive},
		{v1alpha1.PhaseInconclusive, v1alpha1.GateFailed, v1alpha1.PhaseFailed},
		{v1alpha1.PhaseAborted, v1alpha1.GateFailed, v1alpha1.PhaseAborted},
		{v1alpha1.PhaseError, v1alpha1.GateInconclusive, v1alpha1.PhaseError},
		{v1alpha1.PhaseInvalid, v1alpha1.GateFailed, v1alpha1.PhaseInvalid},
		{v1alpha1.PhaseFailed, v1alpha1.GatePassed, v1alpha1.PhaseFailed},
	} {
		j := &Judgement{Verdict: tc.verdict, Gates: []JudgedGate{{Name: "g", Verdict: tc.verdict, Message: "so"}}}
		if got, _ := j.Outcome(tc.measured, "measured"); got != tc.want {
			t.Errorf("%s with gates that are %s ends %s, want %s", tc.measured, tc.verdict, got, tc.want)
		}
	}
	if got, message := (*Judgement)(nil).Outcome(v1alpha1.PhaseMeasured, "measured"); got != v1alpha1.PhaseMeasured || message != "measured" {
		t.Errorf("without gates: %s %q", got, message)
	}
}

func TestBounds(t *testing.T) {
	for _, tc := range []struct {
		unit Unit
		text v1alpha1.GateBound
		want int64
		is   string
	}{
		{FramesPerSecond, "14.88M", 14_880_000, "14,880,000"}, {FramesPerSecond, "1488095", 1_488_095, "1,488,095"}, {Number, "10k", 10_000, "10,000"},
		{Number, "1.5", -1, ""}, {Number, "-1", -1, ""}, {Number, "90%", -1, ""}, {Number, "1Ki", -1, ""}, {Number, "1e30", -1, ""},
		{PPM, "99.5%", 995_000, "99.5%"}, {PPM, "0.0001%", 1, "0.0001%"}, {PPM, "0.00001%", -1, ""}, {PPM, "5", -1, ""},
		{PPB, "0%", 0, "0%"}, {PPB, "0.0000001%", 1, "0.0000001%"}, {PPB, "0.00000001%", -1, ""}, {PPB, "100%", 1_000_000_000, "100%"},
		{Nanoseconds, "50us", 50_000, "50.000 us"}, {Nanoseconds, "1.5ms", 1_500_000, "1.500 ms"}, {Nanoseconds, "1.000001ms", 1_000_001, "1,000.001 us"}, {Nanoseconds, "-1s", -1, ""}, {Nanoseconds, "5", -1, ""},
		{YesNo, "yes", 1, "yes"}, {YesNo, "no", 0, "no"}, {YesNo, "1", -1, ""},
	} {
		got, err := tc.unit.Parse(tc.text)
		switch {
		case tc.want < 0 && (err == nil || !strings.Contains(err.Error(), tc.unit.Form())):
			t.Errorf("%q as %s is %d, %v", tc.text, tc.unit, got, err)
		case tc.want >= 0 && (err != nil || got != tc.want || tc.unit.Text(got) != tc.is):
			t.Errorf("%q as %s is %d (%s), %v, want %d (%s)", tc.text, tc.unit, got, tc.unit.Text(got), err, tc.want, tc.is)
		}
	}
}

// TestTrend finds the level of the first runs.
func TestTrend(t *testing.T) {
	g := within("1%", "")
	g.Relative.Baseline = v1alpha1.GateBaseline{Trend: &v1alpha1.TrendBaseline{MinRuns: 3}}
	run := func(h *History, n int64, validity v1alpha1.Validity) {
		h.Add(Run{Of: BaselineIdentity{Benchmark: "nightly", UID: fmt.Sprintf("%04d", len(h.runs))}, Rows: []v1alpha1.ResultRow{row(64, validity, n)}})
	}
	for name, tc := range map[string]struct {
		make     func(*History)
		want     int64
		unusable string
	}{
		"a level":      {func(h *History) { run(h, 1000, "Valid"); run(h, 1001, "Valid"); run(h, 1005, "Valid") }, 1001, ""},
		"too few runs": {func(h *History) { run(h, 1000, "Valid"); run(h, 1001, "Valid") }, 1001, "the history has 2 of the 3 runs"},
		"rows in doubt are absent": {func(h *History) {
			run(h, 1000, "Valid")
			run(h, 1, "Contended")
			run(h, 1001, "Valid")
			run(h, 1005, "Valid")
		}, 1001, ""},
		"none that is conclusive": {func(h *History) { run(h, 1, "Contended") }, 1, "it is Contended"},
		"simulated before": {func(h *History) {
			run(h, 1000, "Simulated")
			run(h, 1, "Valid")
			run(h, 1, "Valid")
			run(h, 1000, "Simulated")
			run(h, 1001, "Simulated")
		}, 1000, ""},
		"a change": {func(h *History) {
			for i := range int64(15) {
				run(h, 2000+i%7, "Valid")
			}
			for i := range int64(15) {
				run(h, 1000+i%5, "Valid")
			}
		}, 2001, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := NewHistory(&g, &specOf().Tests[0])
			tc.make(h)
			f, ok := new(h.Baseline()).figure(row(64, "", 0).RowID)
			if !ok || f.Unusable == "" && f.Value != tc.want || (f.Unusable == "") != (tc.unusable == "") || !strings.Contains(f.Unusable, tc.unusable) {
				t.Errorf("%+v, want %d %q", f, tc.want, tc.unusable)
			}
		})
	}
	if b := NewHistory(&g, &specOf().Tests[0]).Baseline(); b.Missing == "" {
		t.Errorf("without a run: %+v", b)
	}
}

// TestEveryMethodHasMetrics holds that every figure of every method can be asked for by a name
// of its own.
func TestEveryMethodHasMetrics(t *testing.T) {
	n := 0
	for _, d := range method.All() {
		n++
		all := Metrics(d)
		columns := map[string]bool{}
		for _, c := range d.Columns {
			name := ofColumn(c).Name
			if columns[name] {
				t.Errorf("%s has %s twice: give the column a Metric", d.Name, name)
			}
			columns[name] = true
		}
		for _, m := range all {
			if m.Name == "" || m.Name[0] < 'A' || m.Name[0] > 'Z' {
				t.Errorf("%s: %q is no name of a metric: give the column a Metric", d.Name, m.Name)
			}
		}
		if len(all) == 0 {
			t.Errorf("%s has no metric", d.Name)
		}
	}
	if n < 20 {
		t.Errorf("only %d methods", n)
	}
}

var update = flag.Bool("update", false, "write the table of metrics in docs/gates.md")

// TestMetricsAreDocumented holds the names of all metrics to those in the docs: none changes
// when a heading of a report does.
func TestMetricsAreDocumented(t *testing.T) {
	const path, begin, end = "../../../docs/gates.md", "<!-- metrics: begin -->\n", "<!-- metrics: end -->"
	forms := []string{"number", "frames/s", "percent", "percent", "time", "yes or no"}
	var b strings.Builder
	b.WriteString("\n| method | metrics of the method | and |\n|---|---|---|\n")
	for _, d := range method.All() {
		var own, common []string
		for i, m := range Metrics(d) {
			if i < len(d.Columns) {
				own = append(own, fmt.Sprintf("`%s` (%s)", m.Name, forms[m.Unit]))
			} else {
				common = append(common, "`"+m.Name+"`")
			}
		}
		and := strings.Join(common, ", ")
		if slices.Contains(common, "`FrameLoss`") {
			and = "frame metrics"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", d.Member, strings.Join(own, ", "), and)
	}
	b.WriteString("\n")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(text), begin)
	_, behind, ends := strings.Cut(rest, end)
	if !begins || !ends {
		t.Fatalf("%s has no place for the metrics", path)
	}
	want := before + begin + b.String() + end + behind
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Errorf("%s does not have the metrics as they are: go test ./internal/reporting/gate -update writes them; a name that gates use stays, by Metric of its column", path)
	}
}

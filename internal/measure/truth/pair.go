package truth

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/result"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/traffic/sim"
	"nodrop.dev/nodrop/internal/traffic/sim/fault"
	"nodrop.dev/nodrop/internal/workload"
)

// Pair is a device and a tester, with the test by which the tester measures the device.
type Pair struct {
	// Method whose rows are judged.
	Method v1alpha1.Method
	// Seed of the pair: the same seed makes the same pair.
	Seed uint64
	// Config of the run, without the defaults of the API.
	Config runner.Config
	// Device and Tester as they were drawn.
	Device Device
	Tester fault.Tester
	// Options of the engine in addition to the tester.
	Options []sim.Option
	// Workload is a model of hosts and a device that the engine sim does not model; nil for its own.
	Workload workload.Engine
	// Claims returns what a row states of the device, each with the truth.
	Claims func(row *v1alpha1.ResultRow) []Claim
}

// Claim is a figure of a row with its interval, and the truth.
type Claim struct {
	// Figure names the figure and its unit.
	Figure string
	// Low and High bound the interval that the row supports.
	Low, High float64
	// TrueLow and TrueHigh bound the true value; they differ where the truth depends on what
	// the row leaves open, such as the exact load.
	TrueLow, TrueHigh float64
}

// holds reports whether the interval and the truth have a value in common.
func (c Claim) holds() bool {
	return !math.IsNaN(c.Low) && c.Low <= c.TrueHigh && c.TrueLow <= c.High
}

// String compares figure and truth.
func (c Claim) String() string {
	return fmt.Sprintf("%s: the row has [%g, %g], the truth is [%g, %g]", c.Figure, c.Low, c.High, c.TrueLow, c.TrueHigh)
}

// Verdict is the judgment of a row or of a pair.
type Verdict int

// The verdicts, the worst last.
const (
	Right Verdict = iota
	Inconclusive
	Wrong
)

// String names the verdict.
func (v Verdict) String() string {
	return [...]string{"right", "inconclusive", "wrong and unmarked"}[v]
}

// Outcome is the judgment of a pair: that of its worst row.
type Outcome struct {
	Verdict Verdict
	// Rows of the method, by verdict.
	Rows [3]int
	// Reasons why rows are wrong.
	Reasons []string
	// State of the run.
	State runner.State
}

// Defaults fills in the defaults of the API, as the API server does.
type Defaults func(objects ...k8sruntime.Object) error

// Measure runs the pair in simulated time, and judges the rows of its method.
func (p *Pair) Measure(ctx context.Context, defaults Defaults) (Outcome, error) {
	cfg := p.Config
	if err := defaults(&cfg.Benchmark, &cfg.Profile, &cfg.Bed); err != nil {
		return Outcome{}, fmt.Errorf("completing the pair %d of %s: %w", p.Seed, p.Method, err)
	}
	cfg.Model = p.Device.Model()
	opts := append([]sim.Option{sim.WithTester(p.Tester), sim.WithSeed(p.Seed)}, p.Options...)
	engine, err := runner.NewSim(cfg, opts...)
	if err != nil {
		return Outcome{}, fmt.Errorf("modelling the pair %d of %s: %w", p.Seed, p.Method, err)
	}
	state := runner.Run(ctx, cfg, engine, runner.WithDevice(engine.Device()), runner.WithWorkload(p.Workload))
	if state.Outcome == v1alpha1.PhaseError {
		return Outcome{State: state}, fmt.Errorf("measuring the pair %d of %s: %w", p.Seed, p.Method, errors.New(state.Message))
	}
	return p.Judge(state), nil
}

// Judge judges the rows of the method in a run. It needs Method and Claims only.
func (p *Pair) Judge(state runner.State) Outcome {
	out := Outcome{State: state}
	for i := range state.Rows {
		row := &state.Rows[i]
		if row.Method != p.Method {
			continue
		}
		verdict, reasons := p.judgeRow(row)
		out.Rows[verdict]++
		out.Reasons = append(out.Reasons, reasons...)
		out.Verdict = max(out.Verdict, verdict)
	}
	if out.Rows == [3]int{} {
		out.Verdict = Inconclusive // The run says why it has no row.
	}
	return out
}

// judgeRow judges a row: one that is not to be trusted is inconclusive, whatever it contains.
func (p *Pair) judgeRow(row *v1alpha1.ResultRow) (Verdict, []string) {
	if !result.Trusted(row.Validity) {
		return Inconclusive, nil
	}
	claims := p.Claims(row)
	if claims == nil {
		return Inconclusive, nil
	}
	verdict, reasons := Right, []string(nil)
	for _, c := range claims {
		if !c.holds() {
			verdict = Wrong
			reasons = append(reasons, fmt.Sprintf("%s: %s", row.Name(), c))
		}
	}
	return verdict, reasons
}

// String describes device and tester.
func (p *Pair) String() string {
	var faults []string
	for _, f := range p.Tester.Faults {
		faults = append(faults, f.String())
	}
	return fmt.Sprintf("%s, pair %d\n  device: %s\n  tester: %s", p.Method, p.Seed, p.Device, strings.Join(faults, "; "))
}

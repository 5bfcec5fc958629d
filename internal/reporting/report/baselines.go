package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/gate"
	"nodrop.dev/nodrop/internal/reporting/history"
	"nodrop.dev/nodrop/internal/reporting/repeated"
)

// Judge judges the gates of a result; nil when it has none.
func Judge(c Content) *gate.Judgement { return gate.Judge(c.judged()) }

// judged returns the input for the gates of a result. Unfinished contains the phase of a
// benchmark that is neither measured nor failed. A benchmark with a failed gate counts as
// measured.
func (c Content) judged() gate.Input {
	in := gate.Input{Spec: &c.Benchmark.Spec, Rows: repeated.Merge(c.Rows), Baselines: c.Baselines}
	if c.Bed != nil {
		in.Device = c.Bed.Spec.Device
	}
	phase := c.Benchmark.Status.Outcome
	if phase == "" {
		phase = c.Benchmark.Status.Phase
	}
	if !phase.Measured() && phase != v1alpha1.PhaseFailed {
		in.Unfinished = fmt.Sprintf("the benchmark is %s", phase)
	}
	return in
}

// Baselines finds what the gates of a benchmark compare with among results. It keeps figures
// only, so that many and large results can be added.
type Baselines struct {
	own    *Document
	digest string
	gates  []gateBaseline
	// seen are the results that were added, by UID and time.
	seen map[string]bool
}

type gateBaseline struct {
	gate     *v1alpha1.Gate
	test     *v1alpha1.Test
	selector labels.Selector
	history  *gate.History // of a trend
	// newest result that was found, and the baseline that it makes.
	newest *Document
	found  gate.Baseline
}

// NewBaselines begins to look for the baselines of a result, of which all but the rows is
// needed. It fails on a selector that is none.
func NewBaselines(own *Document) (*Baselines, error) {
	b := &Baselines{own: own, seen: map[string]bool{}}
	for i := range own.Spec.Gates {
		g := &own.Spec.Gates[i]
		test := own.Spec.Test(g.Test)
		if g.Relative == nil || test == nil {
			continue
		}
		one := gateBaseline{gate: g, test: test}
		switch of := g.Relative.Baseline; {
		case of.Trend != nil:
			one.history = gate.NewHistory(g, one.test)
		case of.BenchmarkSelector != nil:
			var err error
			if one.selector, err = metav1.LabelSelectorAsSelector(of.BenchmarkSelector); err != nil {
				return nil, fmt.Errorf("gate %s: %w", g.Name, err)
			}
		}
		b.gates = append(b.gates, one)
	}
	var err error
	b.digest, err = history.Inputs(&own.Spec, own.Profile, own.TestBed, own.Bed)
	return b, err
}

// Add looks at a result, once. It fails where the result cannot be identified.
func (b *Baselines) Add(d *Document) error {
	if d.Benchmark.UID != "" && d.Benchmark.UID == b.own.Benchmark.UID || !d.wasMeasured() {
		return nil
	}
	key := d.Benchmark.Name + "/" + d.Benchmark.UID
	if d.StartTime != nil {
		key += d.StartTime.UTC().Format(time.RFC3339)
	}
	if b.seen[key] {
		return nil
	}
	b.seen[key] = true
	digest := ""
	for i := range b.gates {
		one := &b.gates[i]
		switch {
		case one.history != nil:
			if d.history() != b.own.history() {
				continue
			}
			if digest == "" {
				var err error
				if digest, err = history.Inputs(&d.Spec, d.Profile, d.TestBed, d.Bed); err != nil {
					return err
				}
			}
			if digest == b.digest {
				one.history.Add(runOf(d))
			}
		case one.wants(d) && (one.newest == nil || one.newest.StartTime.Before(d.StartTime)):
			one.newest = &Document{StartTime: d.StartTime}
			one.found = one.baseline(b.own, d)
		}
	}
	return nil
}

// wasMeasured reports whether every row was measured, and that the device forwarded frames,
// whatever the gates of the result say.
func (d *Document) wasMeasured() bool {
	return d.Phase.Measured() || d.Phase == v1alpha1.PhaseFailed && !slices.ContainsFunc(d.Rows, nothingForwarded)
}

// wants reports whether a result is what the gate compares with.
func (g *gateBaseline) wants(d *Document) bool {
	if g.selector != nil {
		return g.selector.Matches(labels.Set(d.Benchmark.Labels))
	}
	name := g.gate.Relative.Baseline.BenchmarkName
	return name == d.Benchmark.Name || name == d.history()
}

// history is the name under which the result is compared with others.
func (d *Document) history() string { return d.Spec.History(d.Benchmark.Name) }

// baseline is a result as the baseline of the gate, unless it measured the test otherwise.
func (g *gateBaseline) baseline(own, d *Document) gate.Baseline {
	run := runOf(d)
	missing := func(why string) gate.Baseline {
		return gate.Baseline{Of: run.Of, Missing: fmt.Sprintf("the baseline %s cannot be compared with: %s", d.Benchmark.Name, why)}
	}
	switch test := d.Spec.Test(g.test.Name); {
	case test == nil:
		return missing("it has no test " + g.test.Name)
	case !same(g.test, test):
		return missing("its test " + g.test.Name + " has other settings")
	case !same(trafficOf(own.Profile), trafficOf(d.Profile)):
		return missing("it measured with other traffic")
	case own.Spec.SettleTime != d.Spec.SettleTime:
		return missing(fmt.Sprintf("its settleTime is %s", d.Spec.SettleTime.Duration))
	}
	return gate.FromRun(g.gate, g.test, run)
}

// trafficOf is a profile without what rows have of their own.
func trafficOf(p *v1alpha1.TrafficProfileSpec) *v1alpha1.TrafficProfileSpec {
	if p == nil {
		return nil
	}
	p = p.DeepCopy()
	p.FrameSizes = nil
	return p
}

func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

func runOf(d *Document) gate.Run {
	run := gate.Run{Rows: d.Rows, Gates: d.Spec.Gates, Of: gate.BaselineIdentity{Benchmark: d.Benchmark.Name, UID: d.Benchmark.UID, Time: d.StartTime, TestBed: d.TestBed}}
	if d.Environment != nil {
		run.Of.Device = d.Environment.Device
	}
	if d.Bed != nil {
		run.Device = d.Bed.Device
	}
	if d.Gates != nil {
		run.Judged = d.Gates.Gates
	}
	return run
}

// Found returns the baselines that were found, by the name of the gate. The baseline of a gate without
// a result names what is missing.
func (b *Baselines) Found() map[string]gate.Baseline {
	if len(b.gates) == 0 {
		return nil
	}
	found := map[string]gate.Baseline{}
	for i := range b.gates {
		one := &b.gates[i]
		switch {
		case one.history != nil:
			one.found = one.history.Baseline()
		case one.newest != nil:
		case one.selector != nil:
			one.found = gate.Baseline{Missing: fmt.Sprintf("no finished benchmark with the labels %s is known", one.selector)}
		default:
			one.found = gate.Baseline{Missing: fmt.Sprintf("no finished benchmark %s is known", one.gate.Relative.Baseline.BenchmarkName)}
		}
		found[one.gate.Name] = one.found
	}
	return found
}

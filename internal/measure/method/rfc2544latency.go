package method

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

func describeRFC2544Latency() trials.Definition {
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodRFC2544Latency, Member: "rfc2544Latency", Latency: true,
			Given:   func(t v1alpha1.Test) bool { return t.RFC2544Latency != nil },
			OneSize: "how long a frame takes on the wire, which its definition leaves out, depends on its size",
			Load:    func(t v1alpha1.Test) v1alpha1.Load { return t.RFC2544Latency.Load },
			Steps: func(test v1alpha1.Test, _ plan.Scale) []plan.Step {
				t := test.RFC2544Latency
				step := plan.AtLoad(t.Load, t.TrialDuration.Duration)
				return []plan.Step{step.Repeated(int(t.Repetitions))}
			},
		},
		Run:     rfc2544Latency,
		Purpose: "average of the latency of many trials at one load (RFC 2544 section 26.2)",
		Columns: []trials.Column{
			{Heading: "latency of the trials, us", Name: "avg", Unit: trials.Nanoseconds, Value: repeated.Number(func(s *v1alpha1.RFC2544LatencySummary) int64 { return s.AvgNs })},
			{Heading: "latency of the trials, us", Name: "min", Unit: trials.Nanoseconds, Value: repeated.Number(func(s *v1alpha1.RFC2544LatencySummary) int64 { return s.MinNs })},
			{Heading: "latency of the trials, us", Name: "max", Unit: trials.Nanoseconds, Value: repeated.Number(func(s *v1alpha1.RFC2544LatencySummary) int64 { return s.MaxNs })},
			{Heading: "latency of the trials, us", Name: "stddev", Unit: trials.Nanoseconds, Value: repeated.Number(func(s *v1alpha1.RFC2544LatencySummary) int64 { return s.StddevNs })},
			{Heading: "on wires, us", Name: "left out", Unit: trials.Nanoseconds, Value: repeated.Number(func(s *v1alpha1.RFC2544LatencySummary) int64 { return s.WireNs })},
		},
		Headline: repeated.Headline(func(s *v1alpha1.RFC2544LatencySummary) trials.Figure { return trials.TimeFigure(s.AvgNs) }),
		Trials: func(test v1alpha1.Test) string {
			t := test.RFC2544Latency
			kinds := map[v1alpha1.LatencyDefinition]string{v1alpha1.LatencyStoreAndForward: "store-and-forward", v1alpha1.LatencyBitForwarding: "bit-forwarding"}
			return fmt.Sprintf("%d trials of %s at %s, averaged; latency of %s devices (RFC 1242 section 3.8)", t.Repetitions, human.Duration(t.TrialDuration.Duration), t.Load, kinds[t.Definition])
		},
	}
}

var repeated = trials.Summary[v1alpha1.RFC2544LatencySummary](func(row *v1alpha1.ResultRow) *v1alpha1.RFC2544LatencySummary { return row.RFC2544Latency })

// rfc2544Latency runs the trials of a step, and averages the mean latency of each. The
// slowest trial makes the row.
func rfc2544Latency(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	var out trials.Outcome
	var means []int64
	var all trials.Spread
	var lossy int
	var doubt string
	lowest := v1alpha1.PPM
	for range step.Trials {
		one, err := tester.AtLoad(ctx, step)
		if err != nil || one.Trial == nil {
			return one, err
		}
		t := one.Trial
		t.Counters.Condense()
		if t.Lost > 0 {
			lossy++
		}
		l := t.Counters.Latency()
		if l.Count == 0 {
			return one, nil // Nothing came back: the message says so.
		}
		mean := l.Average()
		doubt = cmp.Or(doubt, t.Hurried(time.Duration(mean), time.Duration(l.MaxNs)))
		limit := out.Limit
		if len(means) == 0 || mean > all.Max {
			out = one
		}
		out.Limit = cmp.Or(limit, one.Limit)
		lowest = min(lowest, t.CountedPPM())
		means = append(means, mean)
		all.Add(mean)
	}
	if lossy > 0 && out.Message == "" {
		out.Message = fmt.Sprintf("frames were lost in %s of %s trials: latency is of those that came back", traffic.Grouped(lossy), traffic.Grouped(len(means)))
	}
	out.Doubt = doubt
	definition := step.Test.RFC2544Latency.Definition
	sum := v1alpha1.RFC2544LatencySummary{
		Definition: definition, Repetitions: int32(len(means)), AvgNs: all.Average(), MinNs: all.Min, MaxNs: all.Max,
		StddevNs: trials.Deviation(means), WireNs: wireNs(tester.Plan, step.Size, definition),
	}
	if lowest < out.LoadPPM {
		sum.LowestOfferedPPM = lowest
		out.Coarse = fmt.Sprintf("the tester was late: the trials offered %s of line rate and more", trials.Percent(lowest))
	}
	out.Fill = func(row *v1alpha1.ResultRow) { row.RFC2544Latency = &sum }
	return out, nil
}

// wireNs returns the time on the wire that a definition of latency excludes, in nanoseconds,
// for the stream with the longest one.
func wireNs(p plan.Plan, size plan.Size, definition v1alpha1.LatencyDefinition) int64 {
	on := func(port int) *big.Rat {
		bits := big.NewRat(8*int64(size.Bytes), p.Ports[port].BitsPerSecond)
		return bits.Mul(bits, big.NewRat(int64(time.Second), 1))
	}
	longest := int64(0)
	for _, s := range p.Streams {
		for _, rx := range s.Rx {
			took := on(rx)
			if definition == v1alpha1.LatencyStoreAndForward {
				took.Add(took, on(s.Tx))
			}
			longest = max(longest, frame.Round(took))
		}
	}
	return longest
}

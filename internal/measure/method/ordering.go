package method

import (
	"context"
	"fmt"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/search"
)

func describeOrdering() trials.Definition {
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodOrdering, Member: "ordering", Ordering: true, Rising: true,
			OneSize: "every size of a mix is a stream of its own, so that frames which overtake those of another size would not be seen",
			Given:   func(t v1alpha1.Test) bool { return t.Ordering != nil },
			Loads:   func(t v1alpha1.Test) []v1alpha1.Load { return orderingLoads(t.Ordering) },
			Bounds: func(t v1alpha1.Test) []plan.Bound {
				return []plan.Bound{{Field: "resolution", Load: t.Ordering.Resolution}}
			},
			Steps: func(test v1alpha1.Test, _ plan.Scale) []plan.Step {
				var steps []plan.Step
				for _, load := range orderingLoads(test.Ordering) {
					steps = append(steps, plan.AtLoad(load, test.Ordering.TrialDuration.Duration))
				}
				return steps
			},
		},
		Run:      ordering,
		Purpose:  "frames out of order at rising loads, and the load at which that begins (RFC 4737)",
		Headline: orderingFigure,
		Columns: []trials.Column{
			{Heading: "reordered", Name: "frames", Value: counted(func(row *v1alpha1.ResultRow) *int64 { return row.Frames.OrZero().Reordered })},
			{Heading: "reordered", Name: "%", Unit: trials.PPM, Value: order.Number(func(s *v1alpha1.OrderingSummary) int64 { return s.ReorderedPPM })},
			{Heading: "out of sequence", Name: "frames", Value: counted(func(row *v1alpha1.ResultRow) *int64 { return row.Frames.OrZero().OutOfSequence })},
			{Heading: "out of sequence", Name: "%", Unit: trials.PPM, Value: order.Number(func(s *v1alpha1.OrderingSummary) int64 { return s.OutOfSequencePPM })},
			{Heading: "extent", Name: "max frames", Value: behind.Number(func(s *v1alpha1.ReorderingSummary) int64 { return s.ExtentMaxFrames })},
			{Heading: "late by", Name: "max, us", Unit: trials.Nanoseconds, Value: behind.Number(func(s *v1alpha1.ReorderingSummary) int64 { return s.LateMaxNs })},
			{Heading: "3-reordered", Name: "%", Metric: "ReorderedByThreePercent", Unit: trials.PPM, Value: behind.Number(func(s *v1alpha1.ReorderingSummary) int64 {
				for _, n := range s.NReordered {
					if n.N == 3 {
						return n.PPM
					}
				}
				return 0
			})},
			{Heading: "begins at", Name: "%", Unit: trials.PPM, Value: func(row *v1alpha1.ResultRow) (int64, bool) {
				n, ok := order.Number(func(s *v1alpha1.OrderingSummary) int64 { return s.OnsetPPM })(row)
				return n, ok && n > 0
			}},
		},
		Trials: func(test v1alpha1.Test) string {
			t := test.Ordering
			return fmt.Sprintf("trials of %s; the onset is searched to %s", human.Duration(t.TrialDuration.Duration), trials.OfLineRate(t.Resolution))
		},
	}
}

var order = trials.Summary[v1alpha1.OrderingSummary](func(row *v1alpha1.ResultRow) *v1alpha1.OrderingSummary { return row.Ordering })

// behind is a number of the frames that were reordered.
var behind = trials.Summary[v1alpha1.ReorderingSummary](func(row *v1alpha1.ResultRow) *v1alpha1.ReorderingSummary {
	if row.Ordering == nil {
		return nil
	}
	return row.Ordering.Reordering
})

// counted is a count of the row, where the test was measured; older results leave out
// what is zero.
func counted(of func(*v1alpha1.ResultRow) *int64) func(*v1alpha1.ResultRow) (int64, bool) {
	return func(row *v1alpha1.ResultRow) (int64, bool) {
		if n := of(row); n != nil {
			return *n, row.Ordering != nil
		}
		return 0, row.Ordering != nil
	}
}

// orderingFigure is the load at which reordering begins, or that at which it has not.
func orderingFigure(row *v1alpha1.ResultRow) (trials.Figure, bool) {
	switch s := row.Ordering; {
	case s == nil:
		return trials.Figure{}, false
	case s.OnsetPPM > 0:
		return trials.Figure{Number: s.OnsetPPM, Text: fmt.Sprintf("reordered from %s on", trials.Percent(s.OnsetPPM))}, true
	}
	return trials.Figure{Number: row.Frames.OrZero().LineRatePPM, Text: "in order" + trials.AtLoad(row)}, true
}

func orderingLoads(t *v1alpha1.OrderingTest) []v1alpha1.Load {
	if len(t.Loads) > 0 {
		return t.Loads
	}
	return plan.Falling("100%", "10%", plan.Scale{})
}

// ordering measures one load: reordered frames as RFC 4737 defines them
// (type-P-reordered), and the older count of frames out of sequence. At the first
// load with reordered frames it searches where between it and the load before
// they begin.
func ordering(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	out, err := tester.AtLoad(ctx, step)
	if err != nil || out.Trial == nil {
		return out, err
	}
	var sum v1alpha1.OrderingSummary
	for _, row := range tester.Results.Before(step) {
		if row.Ordering != nil && row.Validity != v1alpha1.ValidityGeneratorBound {
			sum = *row.Ordering
		}
	}
	t := out.Trial
	ppm := t.CountedPPM()
	sum.Reordering = reordering(t)
	sum.ReorderedPPM, sum.OutOfSequencePPM = trials.SharePPM(t.Reordered, t.Received), trials.SharePPM(t.OutOfSequence, t.Received)
	switch below := sum.OnsetPPM == 0 || ppm < sum.OnsetPPM; {
	case below && t.MayHaveReordered():
		sum.OnsetPPM = ppm // as far as the device is the reason, which the validity of the row doubts
	case below && t.Reordered > 0:
		sum.OnsetPPM = ppm
		if sum.InOrderPPM >= ppm {
			sum.InOrderPPM = 0
		}
		doubt, err := onset(ctx, tester, step, &sum)
		if err != nil {
			return trials.Outcome{}, err
		}
		if doubt != nil {
			out.Limit, out.Several = doubt, true
		}
		if out.Message == "" {
			out.Message = fmt.Sprintf("frames are reordered from %s of line rate on", trials.Percent(sum.OnsetPPM))
			if sum.InOrderPPM > 0 {
				out.Message += fmt.Sprintf(", and none at %s", trials.Percent(sum.InOrderPPM))
			}
		}
	case below && !t.Unsent():
		sum.InOrderPPM = max(sum.InOrderPPM, ppm)
	}
	out.Fill = func(row *v1alpha1.ResultRow) { row.Ordering = &sum }
	return out, nil
}

// onset halves the interval between the highest load in order and the lowest with reordered frames
// down to the resolution. The bounds are offered loads. A trial in which the tester fell short
// says nothing about its load, and ends the search. One in which the tester may have reordered the
// frames does too, and is returned.
func onset(ctx context.Context, tester *trials.Tester, step plan.Step, sum *v1alpha1.OrderingSummary) (doubt *trials.Trial, err error) {
	resolution := tester.Plan.Scale(step.Size).PPM(step.Test.Ordering.Resolution)
	for low, high := sum.InOrderPPM, sum.OnsetPPM; high-low > resolution; {
		middle := low + (high-low)/2
		t, err := tester.Trial(ctx, step, middle, step.TrialDuration, search.Bracket{PassedPPM: low, FailedPPM: high})
		switch {
		case err != nil:
			return nil, err
		case t.MayHaveReordered():
			return t, nil
		case t.Reordered > 0:
			high, sum.OnsetPPM = middle, min(sum.OnsetPPM, t.CountedPPM())
		case t.Unsent():
			return nil, nil
		default:
			low, sum.InOrderPPM = middle, max(sum.InOrderPPM, t.CountedPPM())
		}
	}
	return nil, nil
}

package method

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/search"
	"nodrop.dev/nodrop/internal/traffic"
)

func describeAddressCaching() trials.Definition {
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodAddressCaching, Member: "addressCaching", Ethernet: true, Topology: addressTopology,
			WholeDevice: "fills the address table of the device",
			Given:       func(t v1alpha1.Test) bool { return t.AddressCaching != nil },
			Validate:    validateAddressCaching,
			Steps: func(test v1alpha1.Test, _ plan.Scale) []plan.Step {
				t := test.AddressCaching
				n := iterations(int64(t.MaxAddresses), int64(t.Resolution))
				longest := sendingFor(int64(t.MaxAddresses), int64(t.LearningRate))
				return []plan.Step{{TrialDuration: longest, Trials: 3 * n, Duration: time.Duration(n) * (t.AgingTime.Duration + longest)}}
			},
		},
		Run:     addressCaching,
		Purpose: "addresses on one port that the device forwards to without flooding (RFC 2889 section 5.7)",
		Headline: caching.Headline(func(s *v1alpha1.AddressCachingSummary) trials.Figure {
			return trials.CountFigure(s.Addresses, "addresses", s.ExceededAt == 0)
		}),
		Columns: []trials.Column{
			{Heading: "capacity", Name: "addresses", Value: caching.Number(func(s *v1alpha1.AddressCachingSummary) int64 { return s.Addresses })},
			{Heading: "exceeded at", Name: "addresses", Value: func(row *v1alpha1.ResultRow) (int64, bool) {
				n, ok := caching.Number(func(s *v1alpha1.AddressCachingSummary) int64 { return s.ExceededAt })(row)
				return n, ok && n > 0
			}},
		},
		Trials: func(test v1alpha1.Test) string {
			t := test.AddressCaching
			return fmt.Sprintf("frames without a network layer from up to %s addresses on the first port at %s frames/s, tested from the second and watched on the third, after %s of silence each time", traffic.Grouped(t.MaxAddresses), traffic.Grouped(t.LearningRate), human.Duration(t.AgingTime.Duration))
		},
	}
}

var caching = trials.Summary[v1alpha1.AddressCachingSummary](func(row *v1alpha1.ResultRow) *v1alpha1.AddressCachingSummary { return row.AddressCaching })

// validateAddressCaching refuses a search whose addresses age while they are tested
// (RFC 2889 section 5.7.3).
func validateAddressCaching(test v1alpha1.Test, path *field.Path) field.ErrorList {
	t := test.AddressCaching
	if took := 2 * sendingFor(int64(t.MaxAddresses), int64(t.LearningRate)); took >= t.AgingTime.Duration {
		return field.ErrorList{field.Invalid(path.Child("maxAddresses"), t.MaxAddresses, fmt.Sprintf(
			"learning and testing them takes %s at learningRate %d, and the device forgets them after agingTime %s: lower maxAddresses, raise learningRate, or give the device and the test a longer aging time",
			took, t.LearningRate, t.AgingTime.Duration))}
	}
	return nil
}

// addressCaching searches the greatest number of addresses on the learning port of
// which no test frame is flooded or lost.
func addressCaching(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	t := step.Test.AddressCaching
	rate := int64(t.LearningRate)
	if line := lineFrames(tester.Plan.Ports[learningPort], step.Size.Bytes); rate > line {
		return trials.Outcome{Message: fmt.Sprintf("not measured: learningRate %d is above the %d frames/s of line rate at %d bytes: lower it", rate, line, step.Size.Bytes)}, nil
	}
	a := &addresses{tester: tester, step: step, aging: t.AgingTime.Duration}
	if text := a.forgotten(int64(t.MaxAddresses), rate); text != "" {
		return trials.Outcome{Message: text}, nil
	}
	start := int64(0)
	if t.InitialAddresses != nil {
		start = int64(*t.InitialAddresses)
	}
	most := int64(t.MaxAddresses)
	found, err := search.Longest(ctx, most, start, int64(t.Resolution), func(ctx context.Context, n int64) (bool, error) {
		return a.try(ctx, n, iteration{count: n, learnRate: rate, testRate: rate})
	})
	if err != nil {
		return trials.Outcome{}, err
	}
	out := a.outcome(rate)
	switch found {
	case 0:
		out.Message = "not even one address was learnt: " + a.missed()
	case most:
		out.Message = fmt.Sprintf("%d addresses were learnt: the capacity is at least that, and more were not tried", most)
	}
	summary := v1alpha1.AddressCachingSummary{Addresses: found, ExceededAt: a.exceeded, FramesPerSecond: rate, Iterations: a.iterations}
	out.Fill = func(row *v1alpha1.ResultRow) { row.AddressCaching = &summary }
	return out, nil
}

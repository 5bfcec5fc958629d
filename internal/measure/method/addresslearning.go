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

func describeAddressLearning() trials.Definition {
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodAddressLearning, Member: "addressLearning", Ethernet: true, Topology: addressTopology,
			WholeDevice: "fills the address table of the device",
			Given:       func(t v1alpha1.Test) bool { return t.AddressLearning != nil },
			Validate:    validateAddressLearning,
			Steps: func(test v1alpha1.Test, _ plan.Scale) []plan.Step {
				t := test.AddressLearning
				most := int64(1e6) // about: line rate is not known here
				if t.MaxRate != nil {
					most = int64(*t.MaxRate)
				}
				n, tested := iterations(most, int64(t.Resolution)), sendingFor(int64(t.Addresses), int64(t.TestRate))
				return []plan.Step{{TrialDuration: tested, Trials: 3 * n, Duration: time.Duration(n) * (t.AgingTime.Duration + tested)}}
			},
		},
		Run:     addressLearning,
		Purpose: "highest rate of new addresses that the device learns without flooding (RFC 2889 section 5.8)",
		Headline: learnt.Headline(func(s *v1alpha1.AddressLearningSummary) trials.Figure {
			return trials.CountFigure(s.AddressesPerSecond, "addresses/s", s.ExceededAt == 0)
		}),
		Columns: []trials.Column{
			{Heading: "learning rate", Name: "addresses/s", Value: learnt.Number(func(s *v1alpha1.AddressLearningSummary) int64 { return s.AddressesPerSecond })},
			{Heading: "exceeded at", Name: "addresses/s", Value: func(row *v1alpha1.ResultRow) (int64, bool) {
				n, ok := learnt.Number(func(s *v1alpha1.AddressLearningSummary) int64 { return s.ExceededAt })(row)
				return n, ok && n > 0
			}},
		},
		Trials: func(test v1alpha1.Test) string {
			t := test.AddressLearning
			return fmt.Sprintf("frames without a network layer from %s addresses on the first port at every rate, tested from the second and watched on the third, after %s of silence each time; the rate is searched to %s addresses/s", traffic.Grouped(t.Addresses), human.Duration(t.AgingTime.Duration), traffic.Grouped(t.Resolution))
		},
	}
}

var learnt = trials.Summary[v1alpha1.AddressLearningSummary](func(row *v1alpha1.ResultRow) *v1alpha1.AddressLearningSummary { return row.AddressLearning })

// validateAddressLearning refuses addresses that age while they are tested.
func validateAddressLearning(test v1alpha1.Test, path *field.Path) field.ErrorList {
	t := test.AddressLearning
	if took := sendingFor(int64(t.Addresses), int64(t.TestRate)); took >= t.AgingTime.Duration {
		return field.ErrorList{field.Invalid(path.Child("addresses"), t.Addresses, fmt.Sprintf(
			"testing them takes %s at testRate %d, and the device forgets them after agingTime %s: lower addresses, raise testRate, or give the device and the test a longer aging time",
			took, t.TestRate, t.AgingTime.Duration))}
	}
	return nil
}

// addressLearning searches the highest rate at which a number of new addresses is
// learnt so that no test frame is flooded or lost.
func addressLearning(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	t := step.Test.AddressLearning
	count, testRate := int64(t.Addresses), int64(t.TestRate)
	for _, row := range tester.Results.Rows {
		if c := row.AddressCaching; c != nil && c.ExceededAt > 0 && c.Addresses < count && int(row.FrameSize) == step.Size.Bytes {
			return trials.Outcome{Message: fmt.Sprintf("not measured: test %s found that the device holds %d addresses, and %d would be flooded at any rate: lower addresses", row.Test, c.Addresses, count)}, nil
		}
	}
	most := lineFrames(tester.Plan.Ports[learningPort], step.Size.Bytes)
	if testRate > most {
		return trials.Outcome{Message: fmt.Sprintf("not measured: testRate %d is above the %d frames/s of line rate at %d bytes: lower it", testRate, most, step.Size.Bytes)}, nil
	}
	if t.MaxRate != nil {
		most = min(most, int64(*t.MaxRate))
	}
	a := &addresses{tester: tester, step: step, aging: t.AgingTime.Duration}
	if text := a.forgotten(count, testRate); text != "" {
		return trials.Outcome{Message: text}, nil
	}
	found, err := search.Longest(ctx, most, 0, int64(t.Resolution), func(ctx context.Context, rate int64) (bool, error) {
		if a.forgotten(count, rate) != "" {
			return false, nil // The first addresses would be gone before the last was learnt.
		}
		return a.try(ctx, rate, iteration{count: count, learnRate: rate, testRate: testRate, tolerance: burstTolerance})
	})
	if err != nil {
		return trials.Outcome{}, err
	}
	out := a.outcome(testRate)
	switch found {
	case 0:
		out.Message = fmt.Sprintf("%d addresses were not learnt at any rate: %s", count, a.missed())
	case most:
		out.Message = fmt.Sprintf("%d addresses were learnt at %d/s: the device learns at least at that rate, and higher ones were not tried", count, most)
	}
	summary := v1alpha1.AddressLearningSummary{AddressesPerSecond: found, ExceededAt: a.exceeded, Addresses: count, Iterations: a.iterations}
	if t := a.learnt; t != nil && t.TxTime > t.Duration+t.Duration/100 {
		summary.OfferedPerSecond = trials.PerSecond(int64(t.Sent), t.TxTime)
		out.Coarse = fmt.Sprintf("the tester was late: it offered the addresses at %s/s", traffic.Grouped(uint64(summary.OfferedPerSecond)))
	}
	out.Fill = func(row *v1alpha1.ResultRow) { row.AddressLearning = &summary }
	return out, nil
}

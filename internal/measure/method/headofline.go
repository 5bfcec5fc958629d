package method

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
)

func describeHeadOfLineBlocking() trials.Definition {
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodHeadOfLineBlocking, Member: "headOfLineBlocking", Topology: congestionTopology,
			Given: func(t v1alpha1.Test) bool { return t.HeadOfLineBlocking != nil },
			Bounds: func(t v1alpha1.Test) []plan.Bound {
				return []plan.Bound{{Field: "load", Load: t.HeadOfLineBlocking.Load}}
			},
			Together: func(t v1alpha1.Test, at plan.Scale, path *field.Path) field.ErrorList {
				return congests(t.HeadOfLineBlocking.Load, at, path)
			},
			Steps: func(test v1alpha1.Test, at plan.Scale) []plan.Step {
				t := test.HeadOfLineBlocking
				return []plan.Step{congestionStep(t.Load, at, t.TrialDuration.Duration, 2)}
			},
		},
		Run:     headOfLine,
		Purpose: "what a congested port takes from one that is not (RFC 2889 section 5.5, RFC 2285 section 3.7.3)",
		Columns: []trials.Column{
			{Heading: "head of line", Name: "blocking", Unit: trials.YesNo, Value: func(row *v1alpha1.ResultRow) (int64, bool) {
				if row.HeadOfLineBlocking == nil {
					return 0, false
				}
				return answered(row.HeadOfLineBlocking.Blocking)
			}},
			{Heading: "uncongested port", Name: "frames/s", Value: headOfLineOf.Number(func(s *v1alpha1.HeadOfLineBlockingSummary) int64 { return s.UncongestedFramesPerSecond })},
			{Heading: "uncongested port", Name: "% lost", Unit: trials.PPM, Value: headOfLineOf.Number(func(s *v1alpha1.HeadOfLineBlockingSummary) int64 { return s.UncongestedLossPPM })},
			{Heading: "uncongested port", Name: "% lost alone", Unit: trials.PPM, Value: headOfLineOf.Number(func(s *v1alpha1.HeadOfLineBlockingSummary) int64 { return s.AloneLossPPM })},
			{Heading: "its latency, us", Name: "avg", Unit: trials.Nanoseconds, Value: headOfLineOf.Optional(func(s *v1alpha1.HeadOfLineBlockingSummary) *int64 { return s.DelayNs })},
			{Heading: "its latency, us", Name: "alone", Unit: trials.Nanoseconds, Value: headOfLineOf.Optional(func(s *v1alpha1.HeadOfLineBlockingSummary) *int64 { return s.AloneDelayNs })},
			{Heading: "congested port", Name: "% lost", Unit: trials.PPM, Value: headOfLineOf.Number(func(s *v1alpha1.HeadOfLineBlockingSummary) int64 { return s.CongestedLossPPM })},
		},
		Trials: func(test v1alpha1.Test) string {
			t := test.HeadOfLineBlocking
			return congestionTrials(t.Load, t.TrialDuration.Duration) + ", after the frames to the third alone"
		},
	}
}

var headOfLineOf = trials.Summary[v1alpha1.HeadOfLineBlockingSummary](func(row *v1alpha1.ResultRow) *v1alpha1.HeadOfLineBlockingSummary { return row.HeadOfLineBlocking })

// answered is a yes or no as a number of a column.
func answered(yes *bool) (int64, bool) {
	switch {
	case yes == nil:
		return 0, false
	case *yes:
		return 1, true
	}
	return 0, true
}

// headOfLine sends to the uncongested port alone, then together with the congesting streams,
// and compares. Head of line blocking means that the uncongested port then loses a greater
// share of its frames. A longer delay is reported, but not judged.
func headOfLine(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	streams := between(tester.Plan, congestionFlows)
	alone, _, err := congest(ctx, tester, step, streams[:1])
	if err != nil {
		return trials.Outcome{}, err
	}
	t, rate, err := congest(ctx, tester, step, streams)
	if err != nil {
		return trials.Outcome{}, err
	}
	out := trials.Outcome{LoadPPM: t.LoadPPM, FramesPerSecond: rate, Trial: t, Limit: testersPart(alone, t), Several: true}
	before, after := countPort(alone, uncongestedPort), countPort(t, uncongestedPort)
	notePorts(alone, "alone")
	notePorts(t, "together")
	summary := v1alpha1.HeadOfLineBlockingSummary{
		UncongestedLossPPM: after.lossPPM(), UncongestedFramesPerSecond: t.PerSecond(int64(after.received)),
		CongestedLossPPM: countPort(t, congestedPort).lossPPM(), AloneLossPPM: before.lossPPM(),
		DelayNs: after.delay(), AloneDelayNs: before.delay(),
	}
	switch {
	case t.Received == 0:
		out.Message = tester.Silence(t)
	case !wasCongested(t):
		out.Message = noCongestion(t)
	default:
		blocking := summary.UncongestedLossPPM > summary.AloneLossPPM
		summary.Blocking = &blocking
		out.Message = t.Notes.HeldBackText()
	}
	out.Fill = func(row *v1alpha1.ResultRow) { row.HeadOfLineBlocking = &summary }
	return out, nil
}

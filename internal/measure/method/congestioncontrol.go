package method

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
)

func describeCongestionControl() trials.Definition {
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodCongestionControl, Member: "congestionControl", Topology: congestionTopology,
			Given: func(t v1alpha1.Test) bool { return t.CongestionControl != nil },
			Bounds: func(t v1alpha1.Test) []plan.Bound {
				return []plan.Bound{{Field: "load", Load: t.CongestionControl.Load}}
			},
			Together: func(t v1alpha1.Test, at plan.Scale, path *field.Path) field.ErrorList {
				return congests(t.CongestionControl.Load, at, path)
			},
			Steps: func(test v1alpha1.Test, at plan.Scale) []plan.Step {
				t := test.CongestionControl
				return []plan.Step{congestionStep(t.Load, at, t.TrialDuration.Duration, 1)}
			},
		},
		Run:     congestionControl,
		Purpose: "back pressure, head of line blocking and loss at a congested port (RFC 2889 section 5.5)",
		Columns: []trials.Column{
			{Heading: "back", Name: "pressure", Unit: trials.YesNo, Value: func(row *v1alpha1.ResultRow) (int64, bool) {
				if row.CongestionControl == nil {
					return 0, false
				}
				return answered(row.CongestionControl.BackPressure)
			}},
			{Heading: "head of line", Name: "blocking", Unit: trials.YesNo, Value: func(row *v1alpha1.ResultRow) (int64, bool) {
				if row.CongestionControl == nil {
					return 0, false
				}
				return answered(row.CongestionControl.HeadOfLineBlocking)
			}},
			{Heading: "offered", Name: "frames/s", Value: func(row *v1alpha1.ResultRow) (int64, bool) {
				return row.Frames.OrZero().OfferedFramesPerSecond, row.CongestionControl != nil
			}},
			{Heading: "uncongested port", Name: "frames/s", Value: congestionOf.Number(func(s *v1alpha1.CongestionControlSummary) int64 { return s.UncongestedFramesPerSecond })},
			{Heading: "uncongested port", Name: "% lost", Unit: trials.PPM, Value: congestionOf.Number(func(s *v1alpha1.CongestionControlSummary) int64 { return s.UncongestedLossPPM })},
			{Heading: "congested port", Name: "frames/s", Value: congestionOf.Number(func(s *v1alpha1.CongestionControlSummary) int64 { return s.CongestedFramesPerSecond })},
			{Heading: "congested port", Name: "% lost", Unit: trials.PPM, Value: congestionOf.Number(func(s *v1alpha1.CongestionControlSummary) int64 { return s.CongestedLossPPM })},
		},
		Trials: func(test v1alpha1.Test) string {
			t := test.CongestionControl
			return congestionTrials(t.Load, t.TrialDuration.Duration)
		},
	}
}

var congestionOf = trials.Summary[v1alpha1.CongestionControlSummary](func(row *v1alpha1.ResultRow) *v1alpha1.CongestionControlSummary { return row.CongestionControl })

// congestionControl overloads one port from two others, of which one sends every
// second frame to a port that is not overloaded. The device exerts back pressure when
// the senders offer less than intended since it held them back; where the engine
// cannot tell that from a tester that fell short, the answer stays open. There is head
// of line blocking when frames to the uncongested port are lost.
func congestionControl(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	t, rate, err := congest(ctx, tester, step, between(tester.Plan, congestionFlows))
	if err != nil {
		return trials.Outcome{}, err
	}
	out := trials.Outcome{LoadPPM: t.LoadPPM, FramesPerSecond: rate, Trial: t, Limit: testersPart(t)}
	notePorts(t, "")
	full, free := countPort(t, congestedPort), countPort(t, uncongestedPort)
	summary := v1alpha1.CongestionControlSummary{
		UncongestedLossPPM: free.lossPPM(), UncongestedFramesPerSecond: t.PerSecond(int64(free.received)),
		CongestedLossPPM: full.lossPPM(), CongestedFramesPerSecond: t.PerSecond(int64(full.received)),
	}
	held, short := t.Notes.HeldBack(), t.Unsent() && !t.Notes.HeldBack()
	if wasCongested(t) {
		blocking := free.lost > 0
		summary.HeadOfLineBlocking = &blocking
		if !short {
			summary.BackPressure = &held
		}
	}
	switch {
	case t.Received == 0:
		out.Message = tester.Silence(t)
	case short:
		out.Message = "the senders offered less than intended, and the engine saw no pause: whether the device held them back is not known"
	case !wasCongested(t):
		out.Message = noCongestion(t)
	default:
		out.Message = t.Notes.HeldBackText()
	}
	out.Fill = func(row *v1alpha1.ResultRow) { row.CongestionControl = &summary }
	return out, nil
}

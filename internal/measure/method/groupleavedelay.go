package method

import (
	"context"
	"fmt"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

func describeGroupLeaveDelay() trials.Definition {
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodGroupLeaveDelay, Member: "groupLeaveDelay", ArrivalTimes: true,
			WholeDevice: "times the control plane of the device",
			Given:       func(t v1alpha1.Test) bool { return t.GroupLeaveDelay != nil },
			Load:        func(t v1alpha1.Test) v1alpha1.Load { return t.GroupLeaveDelay.Load },
			Fits:        trials.NeedsMulticast,
			Steps: func(test v1alpha1.Test, _ plan.Scale) []plan.Step {
				lead, wait := leaveTimes(test.GroupLeaveDelay)
				step := plan.AtLoad(test.GroupLeaveDelay.Load, lead+wait)
				return []plan.Step{step.Repeated(int(test.GroupLeaveDelay.Repetitions))}
			},
		},
		Run:       groupLeaveDelay,
		OwnGroups: true,
		Purpose:   "time from the report that ends a membership to the last frame of the group (RFC 3918 section 6.2)",
		Headline:  delayed.Headline(func(s *v1alpha1.GroupDelaySummary) trials.Figure { return trials.TimeFigure(s.AvgNs) }),
		Columns:   delayColumns("leave delay, us"),
		Trials: func(test v1alpha1.Test) string {
			t := test.GroupLeaveDelay
			lead, wait := leaveTimes(t)
			return fmt.Sprintf("ports leave %s after the beginning, trials of %s, %s", human.Duration(lead), human.Duration(lead+wait), trials.HowOften(t.Repetitions))
		},
	}
}

func leaveTimes(t *v1alpha1.GroupLeaveDelayTest) (lead, wait time.Duration) {
	return t.LeadTime.Duration, t.WaitTime.Duration
}

// groupLeaveDelay measures the group leave delay (RFC 3918 section 6.2): frames are
// sent to ports that are members, then these leave, and when the last frame of each
// group comes is held against when the report left.
func groupLeaveDelay(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	groups := trials.GroupsOf(tester.Plan.Streams)
	lead, wait := leaveTimes(step.Test.GroupLeaveDelay)
	d := groupDelay{
		lead: lead, wait: wait, measured: groups,
		unseen: fmt.Sprintf("still got frames %s after leaving (raise waitTime, or see whether the device floods groups)", human.Duration(wait)),
		before: func(ctx context.Context) error {
			_, err := tester.Groups.Join(ctx, groups)
			return err
		},
		kind:   trials.EventLeave,
		report: func(ctx context.Context) (traffic.Moments, error) { return tester.Groups.Leave(ctx, groups) },
		read: func(tx traffic.TxCount, rx traffic.RxCount, moment uint64) (int64, bool, string) {
			switch {
			case rx.Received == 0 || rx.FirstNs >= moment:
				return 0, false, fmt.Sprintf("no frame came in the %s before the port left, so that it cannot be said when the last one did: raise leadTime, or see whether the device forwards the group", human.Duration(lead))
			case rx.Next >= tx.Sent:
				return 0, false, ""
			}
			return int64(max(rx.LastNs, moment) - moment), true, ""
		},
	}
	return d.measure(ctx, tester, step, v1alpha1.GroupDelaySummary{})
}

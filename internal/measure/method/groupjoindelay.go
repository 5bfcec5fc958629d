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
	"nodrop.dev/nodrop/internal/traffic"
)

func describeGroupJoinDelay() trials.Definition {
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodGroupJoinDelay, Member: "groupJoinDelay", ArrivalTimes: true,
			WholeDevice: "times the control plane of the device",
			Given:       func(t v1alpha1.Test) bool { return t.GroupJoinDelay != nil },
			Load:        func(t v1alpha1.Test) v1alpha1.Load { return t.GroupJoinDelay.Load },
			Fits:        fitsGroupJoinDelay,
			Steps: func(test v1alpha1.Test, _ plan.Scale) []plan.Step {
				t := test.GroupJoinDelay
				lead, wait := joinTimes(t)
				step := plan.AtLoad(test.GroupJoinDelay.Load, lead+wait)
				return []plan.Step{step.Repeated(int(t.Repetitions))}
			},
		},
		Run:       groupJoinDelay,
		OwnGroups: true,
		Purpose:   "time from the report of a membership to the first frame of the group (RFC 3918 section 6.1)",
		Headline:  delayed.Headline(func(s *v1alpha1.GroupDelaySummary) trials.Figure { return trials.TimeFigure(s.AvgNs) }),
		Columns:   delayColumns("join delay, us"),
		Trials: func(test v1alpha1.Test) string {
			t := test.GroupJoinDelay
			lead, wait := joinTimes(t)
			return fmt.Sprintf("method %s of RFC 3918: ports join %s after the beginning, trials of %s, %s", t.Method, human.Duration(lead), human.Duration(lead+wait), trials.HowOften(t.Repetitions))
		},
	}
}

func joinTimes(t *v1alpha1.GroupJoinDelayTest) (lead, wait time.Duration) {
	return t.LeadTime.Duration, t.WaitTime.Duration
}

func fitsGroupJoinDelay(test v1alpha1.Test, in plan.Setting, path *field.Path) field.ErrorList {
	errs := trials.NeedsMulticast(test, in, path)
	if len(errs) > 0 || test.GroupJoinDelay.Method != v1alpha1.GroupJoinMethodB {
		return errs
	}
	for _, g := range trials.GroupsOf(in.Streams) {
		if len(g.Ports) < 2 {
			return field.ErrorList{field.Invalid(path.Child("method"), v1alpha1.GroupJoinMethodB, fmt.Sprintf(
				"group %s has one receiving port, and method B needs another one that is a member before: use a bed with more ports, or method A", g.Address))}
		}
	}
	return nil
}

// groupJoinDelay measures the group join delay (RFC 3918 section 6.1): frames are
// sent to groups whose ports have not joined them, then these join, and when the
// first frame of each group comes is held against when the report left. With method
// B the last port of each group has joined before, so that the device knows it.
func groupJoinDelay(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	groups := trials.GroupsOf(tester.Plan.Streams)
	how := step.Test.GroupJoinDelay.Method
	var members, measured []trials.MulticastGroup
	for _, g := range groups {
		if how == v1alpha1.GroupJoinMethodB {
			first, rest := g, g
			last := len(g.Ports) - 1
			first.Ports, rest.Ports = g.Ports[last:], g.Ports[:last]
			members, measured = append(members, first), append(measured, rest)
		} else {
			measured = append(measured, g)
		}
	}
	lead, wait := joinTimes(step.Test.GroupJoinDelay)
	d := groupDelay{
		lead: lead, wait: wait, measured: measured,
		unseen: fmt.Sprintf("got no frame within %s of joining (raise waitTime, or join fewer groups)", human.Duration(wait)),
		before: func(ctx context.Context) error {
			_, err := tester.Groups.Join(ctx, members)
			return err
		},
		kind:   trials.EventJoin,
		report: func(ctx context.Context) (traffic.Moments, error) { return tester.Groups.Join(ctx, measured) },
		read: func(_ traffic.TxCount, rx traffic.RxCount, moment uint64) (int64, bool, string) {
			switch {
			case rx.Received == 0:
				return 0, false, ""
			case rx.FirstNs < moment:
				return 0, false, "frames came before the port had joined: the device floods groups, or still forwards what was left before. Turn on snooping of memberships, or raise restTime"
			}
			return int64(rx.FirstNs - moment), true, ""
		},
	}
	out, err := d.measure(ctx, tester, step, v1alpha1.GroupDelaySummary{Method: how})
	if err != nil || out.Trial == nil {
		return out, err
	}
	for _, g := range members {
		for _, s := range g.Streams {
			if out.Invalid == "" && out.Trial.Counters.At(s, g.Ports[0]).Received == 0 {
				out.Invalid = fmt.Sprintf("group %s did not reach port %s, which had joined before the trial: method B needs a device that forwards the group already", g.Address, tester.Plan.Ports[g.Ports[0]].Name)
			}
		}
	}
	return out, nil
}

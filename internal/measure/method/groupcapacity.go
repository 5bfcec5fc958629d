package method

import (
	"context"
	"fmt"
	"math/bits"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

func describeGroupCapacity() trials.Definition {
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodGroupCapacity, Member: "groupCapacity",
			WholeDevice: "fills the table of groups of the device",
			Given:       func(t v1alpha1.Test) bool { return t.GroupCapacity != nil },
			Load:        func(t v1alpha1.Test) v1alpha1.Load { return t.GroupCapacity.Load },
			Fits:        fitsGroupCapacity,
			Steps: func(test v1alpha1.Test, _ plan.Scale) []plan.Step {
				t := test.GroupCapacity
				step := plan.AtLoad(test.GroupCapacity.Load, t.TrialDuration.Duration)
				// How many increments it takes is not known; the halvings are.
				step.Trials = 10 + bits.Len32(uint32(t.GroupIncrement))
				step.Duration = time.Duration(step.Trials) * (step.TrialDuration + joinTime(t))
				return []plan.Step{step}
			},
		},
		Run:       groupCapacity,
		OwnGroups: true,
		Purpose:   "greatest number of multicast groups of which every frame is forwarded (RFC 3918 section 7.1)",
		Headline: capacity.Headline(func(s *v1alpha1.GroupCapacitySummary) trials.Figure {
			return trials.CountFigure(int64(s.Groups), "groups", s.FailedGroups == 0)
		}),
		Columns: []trials.Column{
			{Heading: "multicast groups", Name: "forwarded", Value: capacity.Number(func(s *v1alpha1.GroupCapacitySummary) int64 { return int64(s.Groups) })},
			{Heading: "multicast groups", Name: "first failed", Value: func(row *v1alpha1.ResultRow) (int64, bool) {
				n, ok := capacity.Number(func(s *v1alpha1.GroupCapacitySummary) int64 { return int64(s.FailedGroups) })(row)
				return n, ok && n > 0
			}},
			{Heading: "multicast", Name: "routes", Value: capacity.Number(func(s *v1alpha1.GroupCapacitySummary) int64 { return s.MulticastRoutes })},
			{Heading: "multicast", Name: "ports", Value: capacity.Number(func(s *v1alpha1.GroupCapacitySummary) int64 { return int64(s.Receivers) })},
		},
		Trials: func(test v1alpha1.Test) string {
			t := test.GroupCapacity
			return fmt.Sprintf("%s groups joined first, then %s more each time, then halved; trials of %s, %s after joining",
				traffic.Grouped(t.InitialGroups), traffic.Grouped(t.GroupIncrement), human.Duration(t.TrialDuration.Duration), human.Duration(joinTime(t)))
		},
	}
}

var capacity = trials.Summary[v1alpha1.GroupCapacitySummary](func(row *v1alpha1.ResultRow) *v1alpha1.GroupCapacitySummary { return row.GroupCapacity })

func joinTime(t *v1alpha1.GroupCapacityTest) time.Duration {
	if t.JoinTime == nil {
		return 0
	}
	return t.JoinTime.Duration
}

func fitsGroupCapacity(test v1alpha1.Test, in plan.Setting, path *field.Path) field.ErrorList {
	errs := trials.NeedsMulticast(test, in, path)
	if len(errs) > 0 {
		return errs
	}
	if n, first := len(trials.GroupsOf(in.Streams)), test.GroupCapacity.InitialGroups; int(first) > n {
		return field.ErrorList{field.Invalid(path.Child("initialGroups"), first, fmt.Sprintf(
			"traffic profile %s has %d multicast groups: lower initialGroups, or give the profile more groups", in.Profile, n))}
	}
	return nil
}

// groupCapacity searches the greatest number of groups of which every frame is
// forwarded to every port that joined (RFC 3918 section 7.1, where one frame of
// each group is enough). It joins more as long as they are, and then halves the
// interval between the greatest number that passed and the least that did not.
func groupCapacity(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	ppm, loads, message, err := tester.Loads(step)
	if err != nil || message != "" {
		return trials.Outcome{Message: message}, err
	}
	test := step.Test.GroupCapacity
	s := groupSearch{tester: tester, step: step, ppm: ppm, loads: loads, groups: trials.GroupsOf(tester.Plan.Streams), wait: joinTime(test)}
	for _, row := range tester.Results.Rows {
		if row.GroupDelay != nil && row.Method == v1alpha1.MethodGroupJoinDelay && int(row.FrameSize) == step.Size.Bytes {
			s.wait = max(s.wait, time.Duration(row.GroupDelay.MaxNs))
		}
	}
	out := trials.Outcome{LoadPPM: ppm}
	sum := v1alpha1.GroupCapacitySummary{Protocol: trials.Reports(s.groups), Receivers: int32(len(trials.Receivers(s.groups)))}
	passed, failed, all := 0, 0, len(s.groups)
	for n := min(int(test.InitialGroups), all); n > passed; {
		t, err := s.try(ctx, n)
		if err != nil {
			return trials.Outcome{}, err
		}
		lossy, silent := heard(t, s.groups[:n])
		t.Note(func(r *v1alpha1.TrialRecord) { r.Tried = int64(n) })
		t.Figure("lossyGroups", int64(lossy))
		t.Figure("silentGroups", int64(silent))
		t.Figure("multicastRoutes", routesOf(s.groups[:n]))
		switch {
		case t.TesterLimited() || lossy > 0 && t.Doubtful():
			out.Trial, out.Limit = t, t
			out.Message = fmt.Sprintf("the search ended at %d groups, which the tester could not send to", n)
			return s.found(out, sum, passed, failed), nil
		case lossy == 0:
			passed, out.Trial = n, t
		default:
			failed, sum.SilentGroups = n, int32(silent)
			if out.Trial == nil {
				out.Trial = t
			}
		}
		if n = min(passed+int(test.GroupIncrement), all); failed > 0 {
			n = passed + (failed-passed)/2
		}
	}
	switch {
	case failed == 0:
		out.Message = fmt.Sprintf("all %d groups of the traffic profile were forwarded: the device holds at least that many", all)
	case passed == 0 && out.Trial.Received == 0:
		out.Message = tester.Silence(out.Trial)
	case passed == 0:
		out.Message = fmt.Sprintf("not even one group was forwarded without loss at %s", trials.Percent(ppm))
	default:
		out.Message = fmt.Sprintf("of %s groups not every frame was forwarded; %s of them did not reach every port at all", traffic.Grouped(failed), traffic.Grouped(sum.SilentGroups))
	}
	return s.found(out, sum, passed, failed), nil
}

// groupSearch is a search in hand.
type groupSearch struct {
	tester *trials.Tester
	step   plan.Step
	ppm    int64
	loads  map[uint16]traffic.Load
	groups []trials.MulticastGroup
	// wait is the time that the device is given after a report.
	wait time.Duration
	// joined is the number of groups that the ports have joined, always the first ones.
	joined int
}

func (s *groupSearch) found(out trials.Outcome, sum v1alpha1.GroupCapacitySummary, passed, failed int) trials.Outcome {
	sum.Groups, sum.FailedGroups = int32(passed), int32(failed)
	sum.MulticastRoutes = routesOf(s.groups[:passed])
	out.Fill = func(row *v1alpha1.ResultRow) { row.GroupCapacity = &sum }
	return out
}

// routesOf returns the number of multicast routes that groups need.
func routesOf(groups []trials.MulticastGroup) (n int64) {
	for _, g := range groups {
		n += g.Routes()
	}
	return n
}

// try sends to the first n groups while the ports are members of these.
func (s *groupSearch) try(ctx context.Context, n int) (*trials.Trial, error) {
	loads := map[uint16]traffic.Load{}
	for _, g := range s.groups[:n] {
		for _, stream := range g.Streams {
			loads[stream.ID] = s.loads[stream.ID]
		}
	}
	act := trials.Prepared(func(ctx context.Context, again bool) error {
		if again {
			s.joined = 0 // The generator may have forgotten them.
		}
		return s.members(ctx, n)
	})
	d := s.step.TrialDuration
	event := trials.Event{Step: s.step, LoadPPM: s.ppm, Duration: d}
	return s.tester.Twice(ctx, event, traffic.Trial{Loads: loads, Duration: d}, trials.LateTolerance(d), act)
}

// members makes the ports members of the first n groups, and waits until the device
// has had its time.
func (s *groupSearch) members(ctx context.Context, n int) error {
	var err error
	switch {
	case n == s.joined:
		return nil
	case n > s.joined:
		_, err = s.tester.Groups.Join(ctx, s.groups[s.joined:n])
	default:
		_, err = s.tester.Groups.Leave(ctx, s.groups[n:s.joined])
	}
	if err != nil {
		return err
	}
	before := s.joined
	s.joined = n
	if err := s.tester.Generator.Sleep(ctx, s.wait); err != nil || !s.tester.Plan.RoutesMulticast {
		return err
	}
	return s.establish(ctx, min(before, n), n)
}

// establish sends to the groups that were joined until a router forwards them.
func (s *groupSearch) establish(ctx context.Context, from, to int) error {
	var streams []plan.Stream
	for _, g := range s.groups[from:to] {
		streams = append(streams, g.Streams...)
	}
	if len(streams) == 0 {
		return nil
	}
	err := s.tester.Introduce(ctx, streams)
	s.tester.Learning.Unheard = "" // The search finds it out.
	return err
}

// heard counts the groups of which a port missed a frame, and those of which a port
// had none.
func heard(t *trials.Trial, groups []trials.MulticastGroup) (lossy, silent int) {
	for _, g := range groups {
		missed, none := false, false
		for _, s := range g.Streams {
			for _, port := range s.Rx {
				n := t.Counters.At(s, port).Received
				missed, none = missed || n < t.Counters.Measurement.Tx[s.ID].Sent, none || n == 0
			}
		}
		if missed {
			lossy++
		}
		if none {
			silent++
		}
	}
	return lossy, silent
}

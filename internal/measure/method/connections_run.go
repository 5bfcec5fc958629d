package method

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/record"
	"nodrop.dev/nodrop/internal/measure/search"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/workload"
)

// hostMTU is the MTU of clients and servers.
const hostMTU = 1500

// connectionsRun is a test in hand.
type connectionsRun struct {
	tester *trials.Tester
	test   *v1alpha1.ConnectionsTest
	ports  workload.ConnectionsRequest
	trials int32
	// passed and failed have the last trials of each rate by their answer.
	passed, failed map[int64]connectionsTrial
	// invalid explains why the last trial has no answer.
	invalid string
}

// connectionsTrial is a trial with its record.
type connectionsTrial struct {
	workload.Connections
	record *v1alpha1.TrialRecord
	// doubt explains why the hosts may be the reason for a failure, and limited reports whether they are.
	doubt   string
	limited bool
}

// connections measures one figure of connections through the device. No frames are sent.
func connections(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	t := step.Test.Connections
	run := &connectionsRun{tester: tester, test: t, passed: map[int64]connectionsTrial{}, failed: map[int64]connectionsTrial{}}
	run.ports = workload.ConnectionsRequest{Protocol: workload.Protocol(t.Protocol), Clients: int(t.Clients), Servers: int(t.Servers), MTU: hostMTU}
	if t.Timeout != nil {
		run.ports.Timeout = t.Timeout.Duration
	}
	run.ports.Client, run.ports.Server = clientAndServer(t.Client, t.Server, tester.Plan.Ports)
	if t.Measure == v1alpha1.ConnectionsCapacity {
		return run.capacity(ctx)
	}
	return run.rate(ctx)
}

// udp reports whether the connections have no end.
func (run *connectionsRun) udp() bool { return run.ports.Protocol == workload.UDP }

// trial opens, verifies and closes connections.
func (run *connectionsRun) trial(ctx context.Context, n int, open, shut, tried int64, passed func(workload.Connections) bool) (one connectionsTrial, ok bool, err error) {
	if run.trials > 0 {
		if err := run.tester.Generator.Sleep(ctx, connectionsWait(run.test)); err != nil {
			return one, false, err
		}
	}
	run.trials++
	request := run.ports
	request.Connections, request.OpenRate, request.CloseRate = n, float64(open), float64(shut)
	found, err := uninterrupted(ctx, func() (workload.Connections, error) { return run.tester.Workload.Connections(ctx, request) })
	if err != nil {
		return one, false, err
	}
	late := ""
	if run.test.Measure != v1alpha1.ConnectionsCapacity { // A number does not depend on the rate.
		late = found.Late(request)
	}
	one.Connections, ok = found, passed(found) && late == ""
	r := v1alpha1.TrialRecord{Role: "connections", Tried: tried, Verdict: v1alpha1.TrialFailed}
	if ok {
		r.Verdict = v1alpha1.TrialPassed
	}
	one.record = run.tester.Log.Add(r)
	if !ok {
		one.doubt = cmp.Or(late, found.Doubt())
		one.limited = late != "" || found.ServerDrops > 0 || found.Limits.SoftnetDrops > 0
	}
	run.invalid = strings.Join(found.Differences(request), "; ")
	switch {
	case run.invalid != "":
		run.endsAt(one, v1alpha1.TrialEndedEarly)
	case late != "":
		run.endsAt(one, v1alpha1.TrialShortOfLoad)
	case one.limited:
		run.endsAt(one, v1alpha1.TrialTesterLost)
	case one.doubt != "":
		one.record.Reasons = []v1alpha1.TrialReason{v1alpha1.TrialContended}
	}
	return one, ok, nil
}

// endsAt notes why a trial has no answer of the device, which ends a search.
func (run *connectionsRun) endsAt(one connectionsTrial, why v1alpha1.TrialReason) {
	one.record.Verdict, one.record.Reasons = v1alpha1.TrialFailed, []v1alpha1.TrialReason{why}
}

// capacity opens more connections than the device is expected to hold. The number of those that are verified together has to be
// verified once more, without others next to them.
func (run *connectionsRun) capacity(ctx context.Context) (trials.Outcome, error) {
	rate, n := int64(run.test.Rate), int(run.test.Connections)
	all := func(c workload.Connections) bool { return c.Verified == c.Attempted }
	first, ok, err := run.trial(ctx, n, rate, rate, int64(n), all)
	if err != nil {
		return trials.Outcome{}, err
	}
	out := trials.Outcome{Doubt: first.doubt, Invalid: run.invalid}
	if first.doubt != "" && !first.limited && run.invalid == "" {
		// Busy hosts do not fail at the same number twice.
		second, _, err := run.trial(ctx, n, rate, rate, int64(n), all)
		if err != nil {
			return trials.Outcome{}, err
		}
		if second.Verified == first.Verified && !second.limited {
			out.Doubt, first.record.Reasons, second.record.Reasons = "", nil, nil
		}
	}
	sum := v1alpha1.ConnectionsSummary{Measure: run.test.Measure, Capacity: new(first.Verified)}
	messages := []string{}
	switch {
	case ok:
		messages = append(messages, fmt.Sprintf("all %s connections were established and verified: the device holds at least that many", traffic.Grouped(n)))
	case first.Verified == 0:
		messages = append(messages, "no connection was verified")
	case out.Doubt == "" && out.Invalid == "":
		again, whole, err := run.trial(ctx, int(first.Verified), rate, rate, first.Verified, all)
		if err != nil {
			return trials.Outcome{}, err
		}
		if sum.CapacityReached, sum.Unsteady = whole, !whole; !whole {
			messages = append(messages, fmt.Sprintf("of %s connections alone only %s were verified: the device loses connections although it is not full, or keeps %s for longer than waitTime",
				traffic.Grouped(again.Attempted), traffic.Grouped(again.Verified), run.kept()))
		}
		out.Doubt, out.Invalid = again.doubt, run.invalid
	}
	return run.outcome(out, sum, first, messages), nil
}

// kept names the connections that a device may keep after a trial.
func (run *connectionsRun) kept() string {
	if run.udp() {
		return "earlier ones"
	}
	return "closed ones"
}

// errHostsLimit ends a search at a trial in which the hosts were the limit, or that has no answer.
var errHostsLimit = errors.New("the hosts were the limit")

// rate searches the highest rate at which all connections are opened or closed.
func (run *connectionsRun) rate(ctx context.Context) (trials.Outcome, error) {
	opens := run.test.Measure == v1alpha1.ConnectionsSetUpRate
	var last connectionsTrial // that ended the search
	found, err := search.Count(ctx, ratesOf(run.test), func(ctx context.Context, rate int64) (bool, error) {
		open, passed := rate, allOpened
		if !opens {
			open, passed = int64(run.test.Rate), allClosed
		}
		one, ok, err := run.trial(ctx, int(run.test.Connections), open, rate, rate, passed)
		if err != nil {
			return false, err
		}
		if ok {
			run.passed[rate] = one
		} else {
			run.failed[rate] = one
		}
		if !opens && one.Verified < one.Attempted {
			run.invalid = fmt.Sprintf("%d of %d connections were not established and verified at %d connections/s, so that they could not be closed: lower rate or connections", one.Attempted-one.Verified, one.Attempted, open)
			run.endsAt(one, v1alpha1.TrialEndedEarly)
		}
		if run.invalid != "" || one.limited {
			last = one
			return false, errHostsLimit
		}
		return ok, nil
	})
	if err != nil && !errors.Is(err, errHostsLimit) {
		return trials.Outcome{}, err
	}
	sum := v1alpha1.ConnectionsSummary{Measure: run.test.Measure, Unsteady: !found.Steady(), FailedRate: found.Failed}
	highest := new(found.Passed)
	if opens {
		sum.SetUpRate = highest
	} else {
		sum.TearDownRate = highest
	}
	one, has := run.passed[found.Passed]
	var messages []string
	switch {
	case !has:
		one = run.failed[found.Failed]
		if found.Failed == 0 {
			one = last
		}
		messages = append(messages, fmt.Sprintf("not all connections passed at the lowest rate of %d connections/s", run.test.MinimumRate))
	case found.Failed == 0 && last.record == nil:
		messages = append(messages, fmt.Sprintf("all connections passed at the highest rate of %d connections/s: the device may be faster", run.test.MaximumRate))
	}
	if failed, ok := run.failed[found.Failed]; ok && has {
		messages = append(messages, fmt.Sprintf("at %s connections/s %s", traffic.Grouped(found.Failed), describeFailed(failed.Connections)))
	}
	if !found.Steady() {
		messages = append(messages, "the answers differ: the device passes some rates in one trial and fails them in another, or passes a higher rate than one that it fails")
	}
	return run.outcome(trials.Outcome{Doubt: cmp.Or(last.doubt, run.failed[found.Failed].doubt), Invalid: run.invalid}, sum, one, messages), nil
}

// allOpened reports whether all connections were verified, and no segment was sent again: TCP sends a lost first packet again after
// a second.
func allOpened(c workload.Connections) bool {
	return c.Verified == c.Attempted && c.OpenRetransmissions == 0
}

// allClosed reports whether all connections were closed by both sides, and no segment was sent again.
func allClosed(c workload.Connections) bool {
	return c.Closed == c.Attempted && c.CloseRetransmissions == 0
}

// outcome makes the result with the counts of a trial.
func (run *connectionsRun) outcome(out trials.Outcome, sum v1alpha1.ConnectionsSummary, one connectionsTrial, messages []string) trials.Outcome {
	c := one.Connections
	sum.Trials = run.trials
	if run.udp() {
		sum.Protocol = v1alpha1.ConnectionsUDP
	}
	sum.Attempted, sum.Established, sum.Refused, sum.TimedOut = c.Attempted, c.Established, c.Refused, c.TimedOut
	sum.Verified, sum.Reset, sum.Unanswered, sum.Wrong = c.Verified, c.Reset, c.Unanswered, c.Wrong
	sum.Closed, sum.CloseReset, sum.CloseTimedOut = c.Closed, c.CloseReset, c.CloseTimedOut
	sum.OpenRetransmissions, sum.CloseRetransmissions = int64(c.OpenRetransmissions), int64(c.CloseRetransmissions)
	sum.SetUpP50Ns, sum.SetUpP99Ns = int64(workload.Percentile(c.SetUps, 50)), int64(workload.Percentile(c.SetUps, 99))
	sum.SetUpMaxNs = int64(workload.Percentile(c.SetUps, 100))
	sum.OpenNs, sum.CloseNs, sum.BusyPPM = int64(c.OpenSpan), int64(c.CloseSpan), c.Limits.BusyPPM
	for _, f := range connectionsFigures(&sum) {
		record.AddFigure(one.record, f.name, *f.value)
	}
	if c.Verified < c.Attempted || len(c.Examples) > 0 {
		messages = append(messages, describeFailed(c))
	}
	out.Message = joined(messages)
	out.Fill = func(row *v1alpha1.ResultRow) { row.Connections, row.Frames = &sum, nil }
	return out
}

// connectionsFigure is a figure of the trial that a row shows.
type connectionsFigure struct {
	name  string
	value *int64
}

// connectionsFigures are the figures of the record that the row repeats.
func connectionsFigures(s *v1alpha1.ConnectionsSummary) []connectionsFigure {
	return []connectionsFigure{
		{"attempted", &s.Attempted}, {"established", &s.Established}, {"refused", &s.Refused}, {"timedOut", &s.TimedOut},
		{"verified", &s.Verified}, {"reset", &s.Reset}, {"unanswered", &s.Unanswered}, {"wrong", &s.Wrong},
		{"closed", &s.Closed}, {"closeReset", &s.CloseReset}, {"closeTimedOut", &s.CloseTimedOut},
		{"openRetransmissions", &s.OpenRetransmissions}, {"closeRetransmissions", &s.CloseRetransmissions},
		{"setUpP50Ns", &s.SetUpP50Ns}, {"setUpP99Ns", &s.SetUpP99Ns}, {"setUpMaxNs", &s.SetUpMaxNs},
		{"openNs", &s.OpenNs}, {"closeNs", &s.CloseNs}, {"busyPPM", &s.BusyPPM},
	}
}

// describeFailed describes what failed in a trial.
func describeFailed(c workload.Connections) string {
	var texts []string
	for _, f := range []struct {
		n    int64
		what string
	}{
		{c.Refused, "were refused"}, {c.TimedOut, "were not established in time"}, {c.Reset, "ended early"}, {c.Unanswered, "had no answer"}, {c.Wrong, "had a wrong answer"},
		{c.CloseReset, "were reset while they were closed"}, {c.CloseTimedOut, "were not closed in time"},
	} {
		if f.n > 0 {
			texts = append(texts, fmt.Sprintf("%s of %s connections %s", traffic.Grouped(f.n), traffic.Grouped(c.Attempted), f.what))
		}
	}
	if n := c.OpenRetransmissions; n > 0 {
		texts = append(texts, fmt.Sprintf("%s segments were sent again while connections were opened", traffic.Grouped(int64(n))))
	}
	if n := c.CloseRetransmissions; n > 0 {
		texts = append(texts, fmt.Sprintf("%s segments were sent again while connections were closed", traffic.Grouped(int64(n))))
	}
	return strings.Join(append(texts, c.Examples...), "; ")
}

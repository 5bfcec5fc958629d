package method

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/record"
	"nodrop.dev/nodrop/internal/measure/search"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/workload"
)

const (
	// messageTries is the number of trials at a rate while the tester may be the reason for the loss.
	messageTries = 3
	// listedGroups is the maximum number of groups with losses that a row lists.
	listedGroups = 100
)

// messageRun is a search in hand.
type messageRun struct {
	tester  *trials.Tester
	request workload.MessagesRequest
	trials  int32
	// passed and failed have the last trials of each rate by their answer.
	passed, failed map[int64]*messageTrial
	// last is the trial that ended the search; nil if none did. invalid explains why it has no answer.
	last    *messageTrial
	invalid string
}

// messageTrial is a trial with its record.
type messageTrial struct {
	workload.Messages
	rate   int64
	record *v1alpha1.TrialRecord
	// doubt explains why the tester may be the reason for a loss, and limited reports whether it is.
	doubt   string
	limited bool
}

// messageRate searches the highest rate of messages at which no subscriber misses one.
func messageRate(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	t := step.Test.MessageRate
	first, err := netip.ParseAddr(string(t.FirstGroup))
	if err != nil {
		return trials.Outcome{}, fmt.Errorf("reading firstGroup: %w", err)
	}
	publisher, subscribers := messagePorts(t, tester.Plan.Ports)
	run := &messageRun{tester: tester, passed: map[int64]*messageTrial{}, failed: map[int64]*messageTrial{}}
	run.request = workload.MessagesRequest{
		Publishers: messageHosts(t.Publishers, publisher), Subscribers: messageHosts(t.Subscribers, subscribers...),
		FirstGroup: first, Groups: int(t.Groups), Bytes: int(t.MessageSize), MTU: int(t.MTU),
		Duration: messageTime(t.TrialDuration, 5*time.Second), JoinTime: messageTime(t.JoinTime, 10*time.Second), SettleTime: messageSettle,
	}
	for range t.Subscribers {
		run.request.ReceiveBuffers = append(run.request.ReceiveBuffers, int(t.ReceiveBuffer))
	}
	found, err := search.Count(ctx, messageRates(t), run.try)
	if err != nil && !errors.Is(err, errHostsLimit) {
		return trials.Outcome{}, err
	}
	return run.outcome(found), nil
}

// try measures at a rate. A trial in which the tester may be the reason for the loss is repeated.
func (run *messageRun) try(ctx context.Context, rate int64) (bool, error) {
	var one *messageTrial
	for n := range messageTries {
		var err error
		if one, err = run.trial(ctx, rate); err != nil {
			return false, err
		}
		if run.invalid != "" || one.doubt == "" || n == messageTries-1 {
			break
		}
		one.record.Verdict = v1alpha1.TrialVoid
	}
	if one.record.Verdict == v1alpha1.TrialPassed {
		run.passed[rate] = one
		return true, nil
	}
	if run.invalid != "" || one.limited {
		run.last = one
		return false, errHostsLimit
	}
	run.failed[rate] = one
	return false, nil
}

// trial sends messages at a rate.
func (run *messageRun) trial(ctx context.Context, rate int64) (*messageTrial, error) {
	run.trials++
	request := run.request
	request.Rate = float64(rate)
	found, err := uninterrupted(ctx, func() (workload.Messages, error) { return run.tester.Workload.Messages(ctx, request) })
	if err != nil {
		return nil, err
	}
	one := &messageTrial{Messages: found, rate: rate}
	r := v1alpha1.TrialRecord{Role: "messages", Tried: rate, Verdict: v1alpha1.TrialFailed}
	late := found.Late(request)
	run.invalid = cmp.Or(found.Unreached, strings.Join(found.Differences(request), "; "))
	switch {
	case run.invalid != "":
		r.Reasons = []v1alpha1.TrialReason{v1alpha1.TrialEndedEarly}
	case found.Lost() == 0 && late == "":
		r.Verdict = v1alpha1.TrialPassed
	case found.DeviceLost() > 0:
		// The device lost messages of the load that there was. Bursts may be the reason.
		if one.doubt = cmp.Or(late, found.Uneven(), workload.Limits{BusyPPM: found.Limits.BusyPPM}.Doubt()); one.doubt != "" {
			r.Reasons = []v1alpha1.TrialReason{v1alpha1.TrialContended}
		}
	case found.Lost() > 0:
		one.limited, one.doubt = true, found.TesterLoss()
		r.Reasons = []v1alpha1.TrialReason{v1alpha1.TrialTesterLost}
	default:
		one.limited, one.doubt = true, late
		r.Reasons = []v1alpha1.TrialReason{v1alpha1.TrialShortOfLoad}
	}
	one.record = run.tester.Log.Add(r)
	return one, nil
}

// outcome makes the row.
func (run *messageRun) outcome(found search.Counted) trials.Outcome {
	sum := v1alpha1.MessageRateSummary{Rate: found.Passed, FailedRate: found.Failed, Trials: run.trials, Unsteady: !found.Steady()}
	passed, failed := run.passed[found.Passed], run.failed[found.Failed]
	out := trials.Outcome{Invalid: run.invalid}
	if failed != nil {
		out.Doubt = failed.doubt
	}
	if run.last != nil {
		out.Doubt = cmp.Or(run.last.doubt, out.Doubt)
		failed = cmp.Or(failed, run.last)
	}
	var messages []string
	if passed != nil {
		sum.Passed = new(run.counts("passed", passed))
	}
	if failed != nil && run.invalid == "" {
		sum.Failed = new(run.counts("failed", failed))
	}
	switch {
	case run.invalid != "":
		messages = append(messages, run.invalid)
	case found.Passed == 0 && run.last == nil:
		messages = append(messages, fmt.Sprintf("messages were lost at the lowest rate of %s messages/s: lower minimumRate", traffic.Grouped(found.Failed)))
	case found.Passed > 0 && found.Failed == 0 && run.last == nil:
		messages = append(messages, fmt.Sprintf("all messages arrived at the highest rate of %s messages/s: the device may be faster", traffic.Grouped(found.Passed)))
	}
	if sum.Failed != nil {
		messages = append(messages, describeLostMessages(sum.Failed))
	}
	if !found.Steady() {
		messages = append(messages, "the answers differ: the device passes some rates in one trial and fails them in another, or passes a higher rate than one that it fails")
	}
	out.Message = joined(messages)
	out.Fill = func(row *v1alpha1.ResultRow) { row.MessageRate, row.Frames = &sum, nil }
	return out
}

// counts makes the counts of a trial, and adds them to its record under a prefix.
func (run *messageRun) counts(prefix string, one *messageTrial) v1alpha1.MessageCounts {
	c := v1alpha1.MessageCounts{
		Rate: one.rate, OfferedRate: int64(one.PerSecond() + 0.5), Sent: one.Sent, Lost: one.Lost(), DeviceLost: one.DeviceLost(),
		InterfaceDrops: one.PublisherDrops + int64(one.Limits.SoftnetDrops), LongestLagNs: int64(one.LongestLag), BusyPPM: one.Limits.BusyPPM,
	}
	for _, s := range one.Subscribers {
		c.Duplicates += s.Duplicates
		c.Reordered += s.Reordered
		c.SocketDrops += s.SocketDrops
		c.InterfaceDrops += s.InterfaceDrops
		c.P50Ns, c.P99Ns, c.MaxNs = max(c.P50Ns, int64(s.P50)), max(c.P99Ns, int64(s.P99)), max(c.MaxNs, int64(s.Max))
		c.Subscribers = append(c.Subscribers, v1alpha1.SubscriberCounts{
			Address: s.Address, Port: s.Port, Received: s.Received, Lost: s.Lost, Duplicates: s.Duplicates, Reordered: s.Reordered,
			SocketDrops: s.SocketDrops, ReceiveBuffer: int64(s.ReceiveBuffer), P99Ns: int64(s.P99), MaxNs: int64(s.Max),
		})
	}
	for n := range run.request.Groups {
		g := v1alpha1.GroupLoss{Group: workload.Group(run.request.FirstGroup, n).String()}
		for _, s := range one.Subscribers {
			if s.LostByGroup[n] > 0 {
				g.Lost += s.LostByGroup[n]
				g.Subscribers++
			}
		}
		if g.Lost > 0 && len(c.Groups) < listedGroups {
			c.Groups = append(c.Groups, g)
		}
	}
	note := func(name string, value int64) { record.AddFigure(one.record, prefix+"."+name, value) }
	for _, f := range messageFigures(&c) {
		note(f.name, *f.value)
	}
	for _, s := range c.Subscribers {
		note("subscriberReceiveBuffer", s.ReceiveBuffer)
		note("subscriberP99Ns", s.P99Ns)
		note("subscriberMaxNs", s.MaxNs)
	}
	for _, g := range c.Groups {
		note("groupLost", g.Lost)
		note("groupSubscribers", int64(g.Subscribers))
	}
	return c
}

// messageFigure is a figure of a trial that a row shows.
type messageFigure struct {
	name  string
	value *int64
}

// messageFigures are the figures of the record that the row repeats.
func messageFigures(c *v1alpha1.MessageCounts) []messageFigure {
	return []messageFigure{
		{"rate", &c.Rate}, {"offeredRate", &c.OfferedRate}, {"sent", &c.Sent}, {"lost", &c.Lost}, {"deviceLost", &c.DeviceLost}, {"duplicates", &c.Duplicates},
		{"reordered", &c.Reordered}, {"socketDrops", &c.SocketDrops}, {"interfaceDrops", &c.InterfaceDrops}, {"p50Ns", &c.P50Ns}, {"p99Ns", &c.P99Ns}, {"maxNs", &c.MaxNs},
		{"longestLagNs", &c.LongestLagNs}, {"busyPPM", &c.BusyPPM},
	}
}

// describeLostMessages describes the losses of a trial.
func describeLostMessages(c *v1alpha1.MessageCounts) string {
	if c.Lost == 0 {
		return fmt.Sprintf("at %s messages/s none was lost", traffic.Grouped(c.Rate))
	}
	worst := c.Subscribers[0]
	subscribers := 0
	for _, s := range c.Subscribers {
		if s.Lost > worst.Lost {
			worst = s
		}
		if s.Lost > 0 {
			subscribers++
		}
	}
	text := fmt.Sprintf("at %s messages/s %d of %d subscribers lost messages, subscriber %s on port %s %s of %s", traffic.Grouped(c.Rate), subscribers, len(c.Subscribers), worst.Address, worst.Port, traffic.Grouped(worst.Lost), traffic.Grouped(c.Sent))
	if c.DeviceLost == 0 {
		return text + ": the tester dropped as many, and the device is not the reason"
	}
	return text
}

package method

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"slices"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/record"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// groupDelay contains the common parts of the group join delay and the group leave delay:
// trials in which ports report memberships, some time after sending began.
type groupDelay struct {
	lead, wait time.Duration
	// before brings the memberships into the state in which the trial begins.
	before func(ctx context.Context) error
	// report sends the membership reports from which the delays count, for the groups and
	// ports in measured. kind is the kind of this event.
	kind     trials.EventKind
	report   func(ctx context.Context) (traffic.Moments, error)
	measured []trials.MulticastGroup
	// read is the delay that a port found, in nanoseconds from the moment of its
	// report. It has not ended within the trial when seen is false; when the trial
	// proves nothing, invalid says why.
	read func(tx traffic.TxCount, rx traffic.RxCount, moment uint64) (ns int64, seen bool, invalid string)
	// unseen describes, for a message, the memberships whose delay has not ended.
	unseen string
}

// measure runs the trials of a step, and fills in the summary. The trial with the
// longest delay makes the row.
func (g groupDelay) measure(ctx context.Context, tester *trials.Tester, step plan.Step, sum v1alpha1.GroupDelaySummary) (trials.Outcome, error) {
	ppm, loads, message, err := tester.Loads(step)
	if err != nil || message != "" {
		return trials.Outcome{Message: message}, err
	}
	out := trials.Outcome{LoadPPM: ppm}
	all, ports := trials.Spread{}, map[int]*trials.Spread{}
	for range step.Trials {
		t, err := g.trial(ctx, tester, step, ppm, loads)
		if err != nil {
			return trials.Outcome{}, err
		}
		moments := t.Stamps[0].Ports
		longest, before := out.Trial == nil, all.Max
		for _, group := range g.measured {
			for _, s := range group.Streams {
				for _, port := range s.Rx {
					moment, reported := moments[tester.Plan.Ports[port].Name]
					// With method B a port can be a member of one group before, and join another.
					if !reported || !slices.Contains(group.Ports, port) {
						continue
					}
					ns, seen, invalid := g.read(t.Counters.Measurement.Tx[s.ID], t.Counters.At(s, port), moment)
					switch {
					case invalid != "":
						if out.Invalid == "" {
							out.Invalid = fmt.Sprintf("group %s at port %s: %s", group.Address, tester.Plan.Ports[port].Name, invalid)
						}
					case !seen:
						sum.Unseen++
						t.Figure("unseen", 1)
					default:
						all.Add(ns)
						t.Figure("delayNs", ns)
						if len(tester.Plan.Ports) <= record.MaxParts {
							t.Figure("delayNs "+tester.Plan.Ports[port].Name, ns)
						}
						if ports[port] == nil {
							ports[port] = &trials.Spread{}
						}
						ports[port].Add(ns)
					}
				}
			}
		}
		if longest || all.Max > before {
			out.Trial = t
		}
		if t.TesterLimited() {
			out.Limit = t
		}
		out.Doubt = cmp.Or(out.Doubt, t.Paused(time.Duration(all.Min), time.Duration(interval(loads))))
	}
	unseen := fmt.Sprintf("%d of %d memberships %s", sum.Unseen, sum.Unseen+all.Count, g.unseen)
	switch {
	case out.Trial.Received == 0:
		out.Message = tester.Silence(out.Trial)
	case out.Invalid != "":
	case all.Count == 0:
		out.Invalid = unseen
	case sum.Unseen > 0:
		out.Message = unseen + ", and are not in the figures"
	}
	if out.Invalid != "" || all.Count == 0 {
		return out, nil
	}
	sum.Repetitions = int32(step.Trials)
	sum.Protocol, sum.Groups, sum.Receivers = trials.Reports(g.measured), int32(len(g.measured)), int32(len(trials.Receivers(g.measured)))
	sum.AvgNs, sum.MinNs, sum.MaxNs = all.Average(), all.Min, all.Max
	sum.ResolutionNs = interval(loads)
	for _, port := range trials.Receivers(g.measured) {
		if s := ports[port]; s != nil && len(sum.Ports) < trials.MaxPortDelays {
			sum.Ports = append(sum.Ports, v1alpha1.PortDelay{Port: tester.Plan.Ports[port].Name, AvgNs: s.Average(), MinNs: s.Min, MaxNs: s.Max})
		}
	}
	out.Fill = func(row *v1alpha1.ResultRow) { row.GroupDelay = &sum }
	return out, nil
}

// trial runs one repetition. Frames sent while a port was no member are not lost. Their
// number is unknown, so no frame counts as lost.
func (g groupDelay) trial(ctx context.Context, tester *trials.Tester, step plan.Step, ppm int64, loads map[uint16]traffic.Load) (*trials.Trial, error) {
	act := trials.Timed(g.kind, g.lead, g.report).After(func(ctx context.Context, again bool) error {
		if again {
			if _, err := tester.Groups.Leave(ctx, trials.GroupsOf(tester.Plan.Streams)); err != nil {
				return err
			}
			if err := tester.Generator.Sleep(ctx, tester.Plan.Rest); err != nil {
				return err
			}
		}
		return g.before(ctx)
	})
	d := g.lead + g.wait
	event := trials.Event{Step: step, LoadPPM: ppm, Duration: d}
	t, err := tester.Twice(ctx, event, traffic.Trial{Loads: loads, Duration: d}, trials.LateTolerance(d), act)
	if err != nil {
		return nil, err
	}
	t.Expected, t.Lost = t.Received, 0
	t.Recount()
	_, err = tester.Groups.Leave(ctx, trials.GroupsOf(tester.Plan.Streams))
	return t, err
}

// interval returns the time between two frames of the slowest stream, in nanoseconds.
func interval(loads map[uint16]traffic.Load) int64 {
	longest := int64(0)
	for _, l := range loads {
		longest = max(longest, frame.Round(big.NewRat(l.Rate.PerNanos, l.Rate.Frames)))
	}
	return longest
}

// delayed reads a number of the summary of group delays.
var delayed = trials.Summary[v1alpha1.GroupDelaySummary](func(row *v1alpha1.ResultRow) *v1alpha1.GroupDelaySummary { return row.GroupDelay })

// delayColumns are the columns of a group delay in the report's table.
func delayColumns(heading string) []trials.Column {
	return []trials.Column{
		{Heading: "multicast", Name: "groups", Value: delayed.Number(func(s *v1alpha1.GroupDelaySummary) int64 { return int64(s.Groups) })},
		{Heading: "multicast", Name: "ports", Value: delayed.Number(func(s *v1alpha1.GroupDelaySummary) int64 { return int64(s.Receivers) })},
		{Heading: heading, Name: "min", Unit: trials.Nanoseconds, Value: delayed.Number(func(s *v1alpha1.GroupDelaySummary) int64 { return s.MinNs })},
		{Heading: heading, Name: "avg", Unit: trials.Nanoseconds, Value: delayed.Number(func(s *v1alpha1.GroupDelaySummary) int64 { return s.AvgNs })},
		{Heading: heading, Name: "max", Unit: trials.Nanoseconds, Value: delayed.Number(func(s *v1alpha1.GroupDelaySummary) int64 { return s.MaxNs })},
		{Heading: heading, Name: "known to", Unit: trials.Nanoseconds, Value: delayed.Number(func(s *v1alpha1.GroupDelaySummary) int64 { return s.ResolutionNs })},
	}
}

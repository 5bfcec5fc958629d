package controlplane

import (
	"context"
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/human"
	"nodrop.dev/nodrop/internal/method/trials"
	"nodrop.dev/nodrop/internal/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

// DescribeConvergence returns the definition of convergence.
func DescribeConvergence() trials.Definition {
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodConvergence, Member: "convergence",
			WholeDevice: "times the control plane of the device",
			Given:       func(t v1alpha1.Test) bool { return t.Convergence != nil },
			Loads:       func(t v1alpha1.Test) []v1alpha1.Load { return []v1alpha1.Load{t.Convergence.Load} },
			Validate: func(test v1alpha1.Test, path *field.Path) field.ErrorList {
				t := test.Convergence
				return validateSampling(t.SamplingInterval.Duration, convergenceTime(t), path, t.LeadTime.Duration, t.AnnouncedTime.Duration, t.WithdrawnTime.Duration)
			},
			Fits: func(test v1alpha1.Test, in plan.Setting, path *field.Path) field.ErrorList {
				return fitsRoutes(test.Convergence.Routes, in, path)
			},
			Steps: func(test v1alpha1.Test, _ plan.Scale) []plan.Step {
				step := plan.AtLoad(test.Convergence.Load, convergenceTime(test.Convergence))
				return []plan.Step{step.Repeated(int(test.Convergence.Cycles))}
			},
		},
		Run:       convergence,
		OwnRoutes: true,
		Purpose:   "time until frames to announced routes are forwarded, and until those to withdrawn ones are not (terms of RFC 7747)",
		Headline: trials.HeadlineOf(func(row *v1alpha1.ResultRow) *v1alpha1.ConvergenceSummary { return row.Convergence },
			func(s *v1alpha1.ConvergenceSummary) trials.Figure { return trials.TimeFigure(s.Announce.AvgNs) }),
		Columns: append(eventColumns("announce", cycles, func(row *v1alpha1.ResultRow) *v1alpha1.EventTimes {
			if row.Convergence == nil {
				return nil
			}
			return &row.Convergence.Announce
		}), eventColumns("withdraw", cycles, func(row *v1alpha1.ResultRow) *v1alpha1.EventTimes {
			if row.Convergence == nil {
				return nil
			}
			return &row.Convergence.Withdraw
		})...),
		Events: cycles,
		Moments: func(test v1alpha1.Test) []trials.Moment {
			t := test.Convergence
			return []trials.Moment{{Kind: trials.EventAnnounce, At: t.LeadTime.Duration}, {Kind: trials.EventWithdraw, At: t.LeadTime.Duration + t.AnnouncedTime.Duration}}
		},
		Trials: func(test v1alpha1.Test) string {
			t := test.Convergence
			return fmt.Sprintf("routes announced %s after the beginning and withdrawn %s later, trials of %s, %s; rates read every %s",
				human.Duration(t.LeadTime.Duration), human.Duration(t.AnnouncedTime.Duration), human.Duration(convergenceTime(t)), trials.HowOften(t.Cycles), human.Duration(t.SamplingInterval.Duration))
		},
	}
}

// cycles returns the number of times that routes were announced and withdrawn for a row, and
// whether the row has it.
func cycles(row *v1alpha1.ResultRow) (int64, bool) {
	if row.Convergence == nil {
		return 0, false
	}
	return int64(row.Convergence.Cycles), true
}

func convergenceTime(t *v1alpha1.ConvergenceTest) time.Duration {
	return t.LeadTime.Duration + t.AnnouncedTime.Duration + t.WithdrawnTime.Duration
}

// eventColumns are the times of one kind of event, which happened so often in a row.
func eventColumns(event string, happened func(*v1alpha1.ResultRow) (int64, bool), of func(*v1alpha1.ResultRow) *v1alpha1.EventTimes) []trials.Column {
	times := trials.NumberOf(of)
	seen := func(value func(*v1alpha1.EventTimes) int64) func(*v1alpha1.ResultRow) (int64, bool) {
		all := times(value)
		return func(row *v1alpha1.ResultRow) (int64, bool) {
			n, ok := all(row)
			if !ok {
				return 0, false
			}
			often, _ := happened(row)
			return n, often > int64(of(row).Unseen)
		}
	}
	heading := event + ", ms"
	return []trials.Column{
		{Event: event, Heading: heading, Name: "min", Unit: trials.LongNanoseconds, Value: seen(func(t *v1alpha1.EventTimes) int64 { return t.MinNs })},
		{Event: event, Heading: heading, Name: "avg", Unit: trials.LongNanoseconds, Value: seen(func(t *v1alpha1.EventTimes) int64 { return t.AvgNs })},
		{Event: event, Heading: heading, Name: "max", Unit: trials.LongNanoseconds, Value: seen(func(t *v1alpha1.EventTimes) int64 { return t.MaxNs })},
		{Event: event, Heading: heading, Name: "loss-derived", Unit: trials.LongNanoseconds, Value: seen(func(t *v1alpha1.EventTimes) int64 { return t.LossDerivedAvgNs })},
		{Event: event, Heading: "unseen", Name: event, Value: times(func(t *v1alpha1.EventTimes) int64 { return int64(t.Unseen) })},
	}
}

// validateSampling refuses intervals that do not fit the parts of a trial.
func validateSampling(interval, whole time.Duration, path *field.Path, parts ...time.Duration) field.ErrorList {
	at := path.Child("samplingInterval")
	for _, part := range parts {
		if interval > part {
			return field.ErrorList{field.Invalid(at, interval.String(), fmt.Sprintf("a part of the trial takes %s: lower samplingInterval", human.Duration(part)))}
		}
	}
	if whole/interval > trials.MaxSamples {
		return field.ErrorList{field.Invalid(at, interval.String(), fmt.Sprintf("a trial of %s would have more than %d intervals: raise samplingInterval", human.Duration(whole), trials.MaxSamples))}
	}
	return nil
}

// fitsRoutes refuses profiles without the routes, routes to which no frames go, and
// engines that cannot sample.
func fitsRoutes(name string, in plan.Setting, path *field.Path) field.ErrorList {
	set, err := setOf(in.Announcements, name, in.Profile, path)
	if err != nil {
		return field.ErrorList{err}
	}
	if !in.Engine.Sampling {
		return field.ErrorList{field.Invalid(path.Child("samplingInterval"), in.Bed.Spec.Engine.Kind, fmt.Sprintf(
			"the engine %s of test bed %s cannot read counters while a trial runs: choose a bed with another engine", in.Bed.Spec.Engine.Kind, in.Bed.Name))}
	}
	if len(toSet(in.Streams, announcing(in.Announcements, set))) == 0 {
		return field.ErrorList{field.Invalid(path.Child("routes"), set, fmt.Sprintf(
			"no frames go to these routes, as the pattern of traffic profile %s sends nothing to the ports that announce them, the set has traffic: false, or another path is preferred: name another set", in.Profile))}
	}
	return nil
}

// toSet are the streams to the networks of some announcements, numbered anew.
func toSet(streams []plan.Stream, which []int) []plan.Stream {
	wanted := map[int]bool{}
	for _, i := range which {
		wanted[i] = true
	}
	var out []plan.Stream
	for _, s := range streams {
		if s.Networks != nil && wanted[s.Networks.Announcement] {
			s.ID = uint16(len(out))
			out = append(out, s)
		}
	}
	return out
}

// convergence announces and withdraws the routes of a set while frames are sent to them.
// Before and after nothing is announced. The trial with the longest time makes the row.
func convergence(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	load, message, err := tester.Results.Load(step)
	if err != nil || message != "" {
		return trials.Outcome{Message: message}, err
	}
	test := step.Test.Convergence
	which := announcing(tester.Plan.Announcements, test.Routes)
	sum := v1alpha1.ConvergenceSummary{Cycles: test.Cycles}
	for _, i := range which {
		sum.Routes += int64(tester.Plan.Announcements[i].Count)
	}
	out := trials.Outcome{LoadPPM: tester.Plan.At(step.Size).PPM(load), ByTime: true}
	gaps, err := tester.Generator.ReportsGaps(ctx)
	if err != nil {
		return trials.Outcome{}, err
	}
	var announce, withdraw eventTimes
	var series *v1alpha1.RateSeries
	lead, up, whole := test.LeadTime.Duration, test.AnnouncedTime.Duration, convergenceTime(test)
	err = tester.WithStreams(ctx, step, toSet(tester.Plan.Streams, which), func(l *trials.Tester) error {
		out.FramesPerSecond = l.Plan.At(step.Size).FramesPerSecond(load)
		if out.Coarse, err = coarse(l, step, load, "", test.SamplingInterval.Duration); err != nil {
			return err
		}
		turn, err := turnOf(l, step, load, "")
		if err != nil {
			return err
		}
		loads, err := l.Plan.At(step.Size).Loads(load)
		if err != nil {
			return err
		}
		for range step.Trials {
			s := trials.Sampler{Interval: test.SamplingInterval.Duration, Ports: true}
			sampling, err := s.Action(l.Generator, whole)
			if err != nil {
				return err
			}
			var seen intervals
			t, err := l.At(ctx, step, load, whole, noBracket, sampling,
				trials.Finished(func(t *trials.Trial) {
					announced, withdrawn := stampOf(t, trials.EventAnnounce, 0).Began, stampOf(t, trials.EventWithdraw, 0).Began
					seen = rated(readings(s.Samples, gaps), flightOf(t))
					t.Unreachable = seen.unreachable(0, announced, withdrawn) + seen.unreachable(withdrawn, math.MaxInt64, math.MaxInt64)
				}),
				trials.Timed(trials.EventAnnounce, lead, changes(l, which, true)).After(func(ctx context.Context, again bool) error {
					if !again {
						return nil
					}
					return l.Routes.WithdrawAll(ctx)
				}),
				trials.Timed(trials.EventWithdraw, lead+up, changes(l, which, false)))
			if err != nil {
				return err
			}
			announced, withdrawn := stampOf(t, trials.EventAnnounce, 0), stampOf(t, trials.EventWithdraw, 0)
			longest := announce.longest()
			one := event{turn: turn, networks: sum.Routes, gradual: true}
			one.kind, one.ending, one.derived = trials.EventAnnounce, seen.until(announced.Began, withdrawn.Began, whollyForwarded), seen.stillMissing(announced.Began, withdrawn.Began)
			announce.add(one)
			one.kind, one.ending, one.derived = trials.EventWithdraw, seen.until(withdrawn.Began, whole, notForwarded), seen.stillForwarded(withdrawn.Began, whole)
			if last := lastForwarded(t, loads); gaps && last > withdrawn.Began {
				one.ending = one.notBefore(last-withdrawn.Began, last+turn+one.within >= whole)
			}
			withdraw.add(one)
			if out.Trial == nil || announce.longest() > longest {
				out.Trial, series = t, s.Series(trials.MaxPoints)
			}
			if missing := s.Missing(whole); missing != "" {
				out.Message = missing
			}
			if t.TesterLimited() {
				out.Limit = t
			}
			if t.Received == 0 {
				out.Message = l.Silence(t)
			}
		}
		return nil
	})
	if err != nil {
		return trials.Outcome{}, err
	}
	sum.Announce, sum.Withdraw = announce.summary(), withdraw.summary()
	sum.ResolutionNs = int64(max(test.SamplingInterval.Duration, announce.within, withdraw.within))
	out.Invalid = contradictions(announce, withdraw)
	if out.Message == "" {
		out.Message = unsampledEvents(announce, withdraw)
	}
	if n := sum.Announce.Unseen + sum.Withdraw.Unseen; n > 0 && out.Message == "" {
		out.Message = fmt.Sprintf("%d of %d times did not end within announcedTime or withdrawnTime: raise them", n, 2*test.Cycles)
	}
	out.Fill = func(row *v1alpha1.ResultRow) { row.Convergence, row.Series = &sum, series }
	return out, nil
}

// changes announces or withdraws some announcements of the plan.
func changes(l *trials.Tester, which []int, announce bool) func(context.Context) (traffic.Moments, error) {
	return func(ctx context.Context) (traffic.Moments, error) {
		if announce {
			return nil, l.Routes.Announce(ctx, which)
		}
		return nil, l.Routes.Withdraw(ctx, which)
	}
}

// lastForwarded returns when, from the beginning of the trial, the last frame was sent that
// was received; 0 when none was, and where frames are sent as fast as the engine can.
func lastForwarded(t *trials.Trial, loads map[uint16]traffic.Load) time.Duration {
	last := time.Duration(0)
	for _, s := range t.Counters.Streams {
		load := loads[s.ID]
		if load.Max || load.Rate.Frames <= 0 {
			continue
		}
		for _, port := range s.Rx {
			if next := t.Counters.At(s, port).Next; next > 0 {
				last = max(last, load.Delay+trials.SentAt(next-1, load.Rate))
			}
		}
	}
	return last
}

// notBefore returns the ending where frames show that the event was not over before a time,
// or not at all.
func (e ending) notBefore(took time.Duration, never bool) ending {
	if e.sampled && e.seen && took > e.took {
		e.took, e.seen = took, !never
	}
	return e
}

package method

import (
	"context"
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/human"
	"nodrop.dev/nodrop/internal/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

func describeConvergence() Definition {
	return Definition{
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
		Headline: headline(func(row *v1alpha1.ResultRow) *v1alpha1.ConvergenceSummary { return row.Convergence },
			func(s *v1alpha1.ConvergenceSummary) Figure { return timeFigure(s.Announce.AvgNs) }),
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
		Moments: func(test v1alpha1.Test) []Moment {
			t := test.Convergence
			return []Moment{{EventAnnounce, t.LeadTime.Duration}, {EventWithdraw, t.LeadTime.Duration + t.AnnouncedTime.Duration}}
		},
		Trials: func(test v1alpha1.Test) string {
			t := test.Convergence
			return fmt.Sprintf("routes announced %s after the beginning and withdrawn %s later, trials of %s, %s; rates read every %s",
				human.Duration(t.LeadTime.Duration), human.Duration(t.AnnouncedTime.Duration), human.Duration(convergenceTime(t)), often(t.Cycles), human.Duration(t.SamplingInterval.Duration))
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
func eventColumns(event string, happened func(*v1alpha1.ResultRow) (int64, bool), of func(*v1alpha1.ResultRow) *v1alpha1.EventTimes) []Column {
	times := number(of)
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
	return []Column{
		{Event: event, Heading: heading, Name: "min", Unit: LongNanoseconds, Value: seen(func(t *v1alpha1.EventTimes) int64 { return t.MinNs })},
		{Event: event, Heading: heading, Name: "avg", Unit: LongNanoseconds, Value: seen(func(t *v1alpha1.EventTimes) int64 { return t.AvgNs })},
		{Event: event, Heading: heading, Name: "max", Unit: LongNanoseconds, Value: seen(func(t *v1alpha1.EventTimes) int64 { return t.MaxNs })},
		{Event: event, Heading: heading, Name: "loss-derived", Unit: LongNanoseconds, Value: seen(func(t *v1alpha1.EventTimes) int64 { return t.LossDerivedAvgNs })},
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
	if whole/interval > maxSamples {
		return field.ErrorList{field.Invalid(at, interval.String(), fmt.Sprintf("a trial of %s would have more than %d intervals: raise samplingInterval", human.Duration(whole), maxSamples))}
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
func convergence(ctx context.Context, lab *Lab, step plan.Step) (Outcome, error) {
	load, message, err := lab.load(step)
	if err != nil || message != "" {
		return Outcome{Message: message}, err
	}
	test := step.Test.Convergence
	which := announcing(lab.plan.Announcements, test.Routes)
	sum := v1alpha1.ConvergenceSummary{Cycles: test.Cycles}
	for _, i := range which {
		sum.Routes += int64(lab.plan.Announcements[i].Count)
	}
	out := Outcome{LoadPPM: lab.plan.PPM(step.Size, load), ByTime: true}
	gaps, err := lab.reportsGaps(ctx)
	if err != nil {
		return Outcome{}, err
	}
	var announce, withdraw eventTimes
	var series *v1alpha1.RateSeries
	lead, up, whole := test.LeadTime.Duration, test.AnnouncedTime.Duration, convergenceTime(test)
	err = lab.withStreams(ctx, step, toSet(lab.plan.Streams, which), func(l *Lab) error {
		out.FramesPerSecond = l.plan.FramesPerSecond(step.Size, load)
		if out.Coarse, err = coarse(l, step, load, "", test.SamplingInterval.Duration); err != nil {
			return err
		}
		turn, err := turnOf(l, step, load, "")
		if err != nil {
			return err
		}
		loads, err := l.plan.Loads(step.Size, load)
		if err != nil {
			return err
		}
		for range step.Trials {
			s := sampler{interval: test.SamplingInterval.Duration, ports: true}
			sampling, err := s.action(l, whole)
			if err != nil {
				return err
			}
			var seen intervals
			t, err := l.at(ctx, step, load, whole, noBracket, sampling,
				finished(func(t *Trial) {
					announced, withdrawn := stampOf(t, EventAnnounce, 0).Began, stampOf(t, EventWithdraw, 0).Began
					seen = rated(readings(s.samples, gaps), flightOf(t))
					t.Unreachable = seen.unreachable(0, announced, withdrawn) + seen.unreachable(withdrawn, math.MaxInt64, math.MaxInt64)
				}),
				timed(EventAnnounce, lead, changes(l, which, true)).after(func(ctx context.Context, again bool) error {
					if !again {
						return nil
					}
					return l.withdrawAll(ctx)
				}),
				timed(EventWithdraw, lead+up, changes(l, which, false)))
			if err != nil {
				return err
			}
			announced, withdrawn := stampOf(t, EventAnnounce, 0), stampOf(t, EventWithdraw, 0)
			longest := announce.longest()
			one := event{turn: turn, networks: sum.Routes, gradual: true}
			one.kind, one.ending, one.derived = EventAnnounce, seen.until(announced.Began, withdrawn.Began, whollyForwarded), seen.stillMissing(announced.Began, withdrawn.Began)
			announce.add(one)
			one.kind, one.ending, one.derived = EventWithdraw, seen.until(withdrawn.Began, whole, notForwarded), seen.stillForwarded(withdrawn.Began, whole)
			if last := lastForwarded(t, loads); gaps && last > withdrawn.Began {
				one.ending = one.notBefore(last-withdrawn.Began, last+turn+one.within >= whole)
			}
			withdraw.add(one)
			if out.Trial == nil || announce.longest() > longest {
				out.Trial, series = t, s.series(maxPoints)
			}
			if missing := s.missing(whole); missing != "" {
				out.Message = missing
			}
			if t.testerLimited() {
				out.Limit = t
			}
			if t.Received == 0 {
				out.Message = l.silence(t)
			}
		}
		return nil
	})
	if err != nil {
		return Outcome{}, err
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
func changes(l *Lab, which []int, announce bool) func(context.Context) (traffic.Moments, error) {
	return func(ctx context.Context) (traffic.Moments, error) {
		if announce {
			return nil, l.announce(ctx, which)
		}
		return nil, l.withdraw(ctx, which)
	}
}

// lastForwarded returns when, from the beginning of the trial, the last frame was sent that
// was received; 0 when none was, and where frames are sent as fast as the engine can.
func lastForwarded(t *Trial, loads map[uint16]traffic.Load) time.Duration {
	last := time.Duration(0)
	for _, s := range t.streams {
		load := loads[s.ID]
		if load.Max || load.Rate.Frames <= 0 {
			continue
		}
		for _, port := range s.Rx {
			if next := t.at(s, port).Next; next > 0 {
				last = max(last, load.Delay+sentAt(next-1, load.Rate))
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

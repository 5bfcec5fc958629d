package controlplane

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

// DescribeConvergence returns the definition of convergence.
func DescribeConvergence() trials.Definition {
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodConvergence, Member: "convergence", BGP: true,
			WholeDevice: "times the control plane of the device",
			Given:       func(t v1alpha1.Test) bool { return t.Convergence != nil },
			Load:        func(t v1alpha1.Test) v1alpha1.Load { return t.Convergence.Load },
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
		Headline:  converged.Headline(func(s *v1alpha1.ConvergenceSummary) trials.Figure { return trials.TimeFigure(s.Announce.AvgNs) }),
		Columns: slices.Concat([]trials.Column{
			{Heading: "routes", Name: "never forwarded", Value: converged.Optional(func(s *v1alpha1.ConvergenceSummary) *int64 { return s.NeverForwarded })},
		}, eventColumns("announce", cycles, func(row *v1alpha1.ResultRow) *v1alpha1.EventTimes {
			if row.Convergence == nil {
				return nil
			}
			return &row.Convergence.Announce
		}), eventColumns("withdraw", cycles, func(row *v1alpha1.ResultRow) *v1alpha1.EventTimes {
			if row.Convergence == nil {
				return nil
			}
			return &row.Convergence.Withdraw
		})),
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

var converged = trials.Summary[v1alpha1.ConvergenceSummary](func(row *v1alpha1.ResultRow) *v1alpha1.ConvergenceSummary { return row.Convergence })

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
	times := trials.Summary[v1alpha1.EventTimes](of)
	seen := func(value func(*v1alpha1.EventTimes) int64) func(*v1alpha1.ResultRow) (int64, bool) {
		all := times.Number(value)
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
	interval := func(row *v1alpha1.ResultRow) int64 {
		switch {
		case row.Convergence != nil:
			return row.Convergence.ResolutionNs
		case row.RouteFlap != nil:
			return row.RouteFlap.ResolutionNs
		}
		return 0
	}
	return []trials.Column{
		{Event: event, Heading: heading, Name: "min", Unit: trials.LongNanoseconds, Value: seen(func(t *v1alpha1.EventTimes) int64 { return t.MinNs }), Resolution: interval},
		{Event: event, Heading: heading, Name: "avg", Unit: trials.LongNanoseconds, Value: seen(func(t *v1alpha1.EventTimes) int64 { return t.AvgNs }), Resolution: interval},
		{Event: event, Heading: heading, Name: "max", Unit: trials.LongNanoseconds, Value: seen(func(t *v1alpha1.EventTimes) int64 { return t.MaxNs }), Resolution: interval},
		{Event: event, Heading: heading, Name: "loss-derived", Unit: trials.LongNanoseconds, Value: seen(func(t *v1alpha1.EventTimes) int64 { return t.LossDerivedAvgNs })},
		{Event: event, Heading: "unseen", Name: event, Value: times.Number(func(t *v1alpha1.EventTimes) int64 { return int64(t.Unseen) })},
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
		return field.ErrorList{noFramesTo(set, in, path)}
	}
	return nil
}

// noFramesTo refuses a set to which no frames of the profile go.
func noFramesTo(set string, in plan.Setting, path *field.Path) *field.Error {
	return field.Invalid(path.Child("routes"), set, fmt.Sprintf(
		"no frames go to these routes, as the pattern of traffic profile %s sends nothing to the ports that announce them, the set has traffic: false, or another path is preferred: name another set", in.Profile))
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
	m := &convergenceTrials{
		step: step, load: load, test: step.Test.Convergence,
		which: announcing(tester.Plan.Announcements, step.Test.Convergence.Routes),
		out:   trials.Outcome{LoadPPM: tester.Plan.At(step.Size).PPM(load), ByTime: true},
	}
	m.sum.Cycles = m.test.Cycles
	for _, i := range m.which {
		m.sum.Routes += int64(tester.Plan.Announcements[i].Count)
	}
	if m.gaps, err = tester.Generator.ReportsGaps(ctx); err != nil {
		return trials.Outcome{}, err
	}
	var streams []plan.Stream
	streams, m.never = trackRoutes(tester, toSet(tester.Plan.Streams, m.which))
	err = tester.WithStreams(ctx, step, streams, func(tester *trials.Tester) error {
		return m.run(ctx, tester)
	})
	if err != nil {
		return trials.Outcome{}, err
	}
	return m.outcome(), nil
}

// convergenceTrials are the trials of a convergence test, one for each cycle.
type convergenceTrials struct {
	step plan.Step
	load plan.Amount
	test *v1alpha1.ConvergenceTest
	// which announcements of the plan are made and withdrawn.
	which []int
	// never finds the routes that were never forwarded; nil if that is not known.
	never *neverForwarded
	// gaps reports whether the engine knows where in a stream frames were lost.
	gaps bool
	// loads of the streams, and the time after which each network gets the next frame.
	loads map[uint16]traffic.Load
	turn  time.Duration

	out                trials.Outcome
	sum                v1alpha1.ConvergenceSummary
	announce, withdraw eventTimes
	// series of the trial that makes the row.
	series *v1alpha1.RateSeries
}

// run runs all trials with a tester that sends to the routes of the set alone.
func (m *convergenceTrials) run(ctx context.Context, tester *trials.Tester) (err error) {
	m.out.FramesPerSecond = tester.Plan.At(m.step.Size).FramesPerSecond(m.load)
	if m.out.Coarse, err = coarse(tester, m.step, m.load, "", m.test.SamplingInterval.Duration); err != nil {
		return err
	}
	if m.turn, err = turnOf(tester, m.step, m.load, ""); err != nil {
		return err
	}
	if 2*m.turn > m.test.AnnouncedTime.Duration {
		m.never = nil // Frames do not come to each route often enough.
	}
	if m.loads, err = tester.Plan.At(m.step.Size).Loads(m.load); err != nil {
		return err
	}
	for range m.step.Trials {
		if err := m.cycle(ctx, tester); err != nil {
			return err
		}
	}
	return nil
}

// cycle runs one trial, in which the routes are announced and withdrawn.
func (m *convergenceTrials) cycle(ctx context.Context, tester *trials.Tester) error {
	lead, up, whole := m.test.LeadTime.Duration, m.test.AnnouncedTime.Duration, convergenceTime(m.test)
	s := trials.Sampler{Interval: m.test.SamplingInterval.Duration, Ports: true}
	sampling, err := s.Action(tester.Generator, whole)
	if err != nil {
		return err
	}
	var seen intervals
	t, err := tester.At(ctx, m.step, m.load, whole, noBracket, sampling,
		trials.Finished(func(t *trials.Trial) {
			announced, withdrawn := momentOf(t, trials.EventAnnounce, 0), momentOf(t, trials.EventWithdraw, 0)
			seen = rated(readings(s.Samples, m.gaps), flightOf(t))
			t.Explained, t.ByEvent = seen.unreachable(0, announced, withdrawn)+seen.unreachable(withdrawn, math.MaxInt64, math.MaxInt64), true
		}),
		trials.Timed(trials.EventAnnounce, lead, changes(tester, m.which, true)).After(func(ctx context.Context, again bool) error {
			if !again {
				return nil
			}
			return tester.Routes.WithdrawAll(ctx)
		}),
		trials.Timed(trials.EventWithdraw, lead+up, changes(tester, m.which, false)))
	if err != nil {
		return err
	}
	longest := m.announce.longest()
	m.add(t, seen)
	if m.out.Trial == nil || m.announce.longest() > longest {
		m.out.Trial, m.series = t, s.Series(trials.MaxPoints)
	}
	if missing := s.Missing(whole); missing != "" {
		m.out.Message = missing
	}
	if t.TesterLimited() {
		m.out.Limit = t
	}
	m.out.Doubt = cmp.Or(m.out.Doubt, doubtsTimes(t, s.Interval))
	if t.Received == 0 {
		m.out.Message = tester.Silence(t)
	}
	if m.never == nil {
		return nil
	}
	return m.never.look(ctx, tester)
}

// add adds the times of a trial, whose counters were seen so.
func (m *convergenceTrials) add(t *trials.Trial, seen intervals) {
	whole := convergenceTime(m.test)
	announced, withdrawn := momentOf(t, trials.EventAnnounce, 0), momentOf(t, trials.EventWithdraw, 0)
	one := event{turn: m.turn, networks: m.sum.Routes, gradual: true}
	one.kind, one.ending, one.derived = trials.EventAnnounce, seen.until(announced, withdrawn, m.test.SamplingInterval.Duration, whollyForwarded), seen.stillMissing(announced, withdrawn)
	m.announce.add(t, one)
	one.kind, one.ending, one.derived = trials.EventWithdraw, seen.until(withdrawn, whole, m.test.SamplingInterval.Duration, notForwarded), seen.stillForwarded(withdrawn, whole)
	if last := lastForwarded(t, m.loads); m.gaps && last > withdrawn {
		one.ending = one.notBefore(last-withdrawn, last+m.turn+one.within >= whole)
	}
	m.withdraw.add(t, one)
}

// outcome sums up all trials.
func (m *convergenceTrials) outcome() trials.Outcome {
	out, sum := m.out, m.sum
	sum.Announce, sum.Withdraw = m.announce.summary(), m.withdraw.summary()
	sum.ResolutionNs = int64(max(m.test.SamplingInterval.Duration, m.announce.within, m.withdraw.within))
	out.Invalid = contradictions(m.announce, m.withdraw)
	never := ""
	if m.never != nil {
		m.never.fill(&sum)
		never = neverInWords(&sum)
	}
	if out.Message == "" {
		out.Message = human.Join("; ", unsampledEvents(m.announce, m.withdraw), never)
	}
	if n := sum.Announce.Unseen + sum.Withdraw.Unseen; n > 0 && out.Message == "" {
		out.Message = fmt.Sprintf("%d of %d times did not end within announcedTime or withdrawnTime: raise them", n, 2*m.test.Cycles)
	}
	out.Fill = func(row *v1alpha1.ResultRow) { row.Convergence, row.Series = &sum, m.series }
	return out
}

// changes announces or withdraws some announcements of the plan.
func changes(tester *trials.Tester, which []int, announce bool) func(context.Context) (traffic.Moments, error) {
	return func(ctx context.Context) (traffic.Moments, error) {
		if announce {
			return tester.Routes.Announce(ctx, which)
		}
		return tester.Routes.Withdraw(ctx, which)
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

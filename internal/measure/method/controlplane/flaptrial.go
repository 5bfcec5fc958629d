package controlplane

import (
	"context"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
)

// routeFlap withdraws and announces routes in one trial, in which frames are sent to all
// routes of the set.
func routeFlap(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	load, message, err := tester.Results.Load(step)
	if err != nil || message != "" {
		return trials.Outcome{Message: message}, err
	}
	test := step.Test.RouteFlap
	m := &flapTrial{
		flapping: flappingOf(tester.Plan, announcing(tester.Plan.Announcements, test.Routes), uint32(test.Flapped)),
		step:     step, load: load, test: test,
		sampler: trials.Sampler{Interval: test.SamplingInterval.Duration, Ports: true},
	}
	if m.gaps, err = tester.Generator.ReportsGaps(ctx); err != nil {
		return trials.Outcome{}, err
	}
	out := trials.Outcome{LoadPPM: tester.Plan.At(step.Size).PPM(load), ByTime: true}
	err = tester.WithStreams(ctx, step, m.streams, func(tester *trials.Tester) error {
		return m.run(ctx, tester, &out)
	})
	if err != nil {
		return trials.Outcome{}, err
	}
	if out.Trial.TesterLimited() {
		out.Limit = out.Trial
	}
	out.Doubt = doubtsTimes(out.Trial, m.sampler.Interval)
	if out.Trial.Received == 0 {
		out.Message = tester.Silence(out.Trial)
	}
	if missing := m.sampler.Missing(flapTime(test)); missing != "" {
		out.Message = missing
	}
	m.judge(&out)
	return out, nil
}

// flapTrial is the trial of a route flap test.
type flapTrial struct {
	flapping
	step    plan.Step
	load    plan.Amount
	test    *v1alpha1.RouteFlapTest
	sampler trials.Sampler
	// gaps reports whether the engine knows where in a stream frames were lost.
	gaps bool
	// turn is the time after which each flapping network gets the next frame.
	turn time.Duration
	// home are the intervals of the flapping networks at the ports that announce the set.
	home intervals
}

// run runs the trial with a tester that sends to the routes of the set alone.
func (m *flapTrial) run(ctx context.Context, tester *trials.Tester, out *trials.Outcome) (err error) {
	out.FramesPerSecond = tester.Plan.At(m.step.Size).FramesPerSecond(m.load)
	if out.Coarse, err = coarse(tester, m.step, m.load, classFlapped, m.sampler.Interval); err != nil {
		return err
	}
	if m.turn, err = turnOf(tester, m.step, m.load, classFlapped); err != nil {
		return err
	}
	sampling, err := m.sampler.Action(tester.Generator, flapTime(m.test))
	if err != nil {
		return err
	}
	acts := []trials.Action{sampling, trials.Prepared(func(ctx context.Context, again bool) error {
		if !again {
			return nil
		}
		if _, err := m.change(tester, true)(ctx); err != nil {
			return err
		}
		return tester.Routes.Installed(ctx)
	}), trials.Finished(func(t *trials.Trial) {
		m.home = rated(m.readings(m.sampler.Samples, classFlapped, true, m.gaps), flightOf(t))
		t.Explained, t.ByEvent = m.unreachable(t, m.home), true
	})}
	for _, moment := range flapMoments(m.test) {
		acts = append(acts, trials.Timed(moment.Kind, moment.At, m.change(tester, moment.Kind == trials.EventAnnounce)))
	}
	out.Trial, err = tester.At(ctx, m.step, m.load, flapTime(m.test), noBracket, acts...)
	return err
}

// judge fills in the summary of the trial.
func (m *flapTrial) judge(out *trials.Outcome) {
	t := out.Trial
	sum := v1alpha1.RouteFlapSummary{Flaps: m.test.Flaps, Routes: m.total, Flapped: int64(m.test.Flapped), Elsewhere: int64(t.Elsewhere)}
	anywhere, flight := m.readings(m.sampler.Samples, classFlapped, false, m.gaps), flightOf(t)
	flapped := rated(anywhere, flight)
	withdraw, announce := m.times(t, flapped)
	out.Invalid = contradictions(withdraw, announce)
	sum.Withdraw, sum.Announce = withdraw.summary(), announce.summary()
	sum.ResolutionNs = int64(max(m.sampler.Interval, withdraw.within, announce.within))
	if out.Message == "" {
		out.Message = unsampledEvents(withdraw, announce)
	}
	sum.LowestFlappedPPM = flapped.lowest()
	sum.FlappedLost, sum.StableLost = m.lost(t)
	t.Figure("flappedLost", sum.FlappedLost)
	t.Figure("stableLost", sum.StableLost)
	t.Figure("lowestFlappedPPM", sum.LowestFlappedPPM)
	if stable := m.readings(m.sampler.Samples, classStable, false, m.gaps); m.total > sum.Flapped {
		sum.LowestStablePPM = new(rated(stable, flight).lowest())
		t.Figure("lowestStablePPM", *sum.LowestStablePPM)
		sum.Stable = m.series(stable)
	}
	series := m.series(anywhere)
	out.Fill = func(row *v1alpha1.ResultRow) {
		row.RouteFlap, row.Series = &sum, series
	}
}

// times returns the times of the withdrawals and announcements of a trial, by the intervals
// of the flapping networks at any port.
func (m *flapTrial) times(t *trials.Trial, flapped intervals) (withdraw, announce eventTimes) {
	for i := range int(m.test.Flaps) {
		gone, back, end := momentOf(t, trials.EventWithdraw, i), momentOf(t, trials.EventAnnounce, i), flapTime(m.test)
		if i+1 < int(m.test.Flaps) {
			end = momentOf(t, trials.EventWithdraw, i+1)
		}
		one := event{turn: m.turn, networks: int64(m.test.Flapped)}
		one.kind, one.ending, one.derived = trials.EventWithdraw, flapped.until(gone, back, m.test.SamplingInterval.Duration, whollyForwarded), flapped.missing(gone, back)
		withdraw.add(t, one)
		one.kind, one.ending, one.derived = trials.EventAnnounce, m.home.until(back, end, m.test.SamplingInterval.Duration, whollyForwarded), flapped.missing(back, end)
		announce.add(t, one)
	}
	return withdraw, announce
}

// lost returns the lost frames to flapping networks and to stable ones.
func (f flapping) lost(t *trials.Trial) (flapped, stable int64) {
	for _, stream := range f.streams {
		sent := t.Counters.Measurement.Tx[stream.ID].Sent
		lost := int64(sent - min(sent, t.Counters.Arrived(stream, stream.Rx[0])))
		if stream.InClass == classStable {
			stable += lost
		} else {
			flapped += lost
		}
	}
	return flapped, stable
}

// series returns readings as a row stores them.
func (m *flapTrial) series(all []reading) *v1alpha1.RateSeries {
	return (&trials.Sampler{Interval: m.sampler.Interval, Samples: samplesOf(all)}).Series(trials.MaxPoints)
}

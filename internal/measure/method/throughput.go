package method

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/search"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

func describeThroughput() trials.Definition {
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodThroughput, Further: []v1alpha1.Method{v1alpha1.MethodPartialDropRate}, Member: "throughput",
			Mixes: true, FindsThroughput: true,
			Given:    func(t v1alpha1.Test) bool { return t.Throughput != nil },
			Validate: validateThroughput,
			Bounds: func(test v1alpha1.Test) []plan.Bound {
				t := test.Throughput
				return []plan.Bound{{Field: "resolution", Load: t.Resolution}, {Field: "minLoad", Load: t.MinLoad}, {Field: "maxLoad", Load: t.MaxLoad}}
			},
			Together: throughputLoads,
			Steps:    throughputSteps,
		},
		Run: func(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
			if step.Method == v1alpha1.MethodPartialDropRate {
				return partialDropRate(ctx, tester, step)
			}
			return throughput(ctx, tester, step)
		},
		Purpose:    "highest load without loss (RFC 2544 section 26.1)",
		Caveat:     exceedRatioCaveat,
		Headline:   trials.LoadFigure,
		Trials:     throughputTrials,
		Resolution: func(t v1alpha1.Test) v1alpha1.LoadAmount { return t.Throughput.Resolution },
	}
}

// searches by their name in the API; the empty name is its default.
var searches = map[v1alpha1.SearchMethod]func(context.Context, *trials.Tester, plan.Step, search.Measurer) (search.Result, error){
	"":                    binarySearch,
	v1alpha1.SearchBinary: binarySearch,
	v1alpha1.SearchMLRsearch: func(ctx context.Context, _ *trials.Tester, step plan.Step, m search.Measurer) (search.Result, error) {
		return search.MLRsearch(ctx, step.Search, step.Goals, m)
	},
	v1alpha1.SearchInformed: func(ctx context.Context, tester *trials.Tester, step plan.Step, m search.Measurer) (search.Result, error) {
		start, source := predict(tester, step)
		return search.Informed(ctx, step.Search, start, source, m)
	},
}

func binarySearch(ctx context.Context, _ *trials.Tester, step plan.Step, m search.Measurer) (search.Result, error) {
	return search.Binary(ctx, step.Search, m)
}

// throughput finds the highest load at which no frame is lost (RFC 2544 section
// 26.1), and next to it the partial drop rates that the test asks for.
func throughput(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	find, ok := searches[step.Test.Throughput.Search]
	if !ok {
		return trials.Outcome{}, fmt.Errorf("search %q is not known", step.Test.Throughput.Search)
	}
	m := newSearchTrials(tester, step)
	result, err := find(ctx, tester, step, m)
	if err != nil {
		return trials.Outcome{}, err
	}
	if len(result.Goals) == 0 {
		found := search.GoalResult{
			LowerPPM: result.PassedPPM, UpperPPM: result.FailedPPM,
			Deciding: result.Deciding, GeneratorBound: result.GeneratorBound,
		}
		return m.outcome(result, found, nil), nil
	}
	for i, goal := range result.Goals[1:] {
		tester.Results.Partial[trials.PartialOf(step, step.Goals[i+1].LossRatioPPM)] = m.outcome(result, goal, rowGoal(tester, step, goal))
	}
	return m.outcome(result, result.Goals[0], rowGoal(tester, step, result.Goals[0])), nil
}

// partialDropRate is the highest load at which the loss ratio is not above the one
// asked for (RFC 9971). The search of the throughput found it already, unless that
// row was finished by an earlier run: then it is searched alone.
func partialDropRate(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	if out, ok := tester.Results.Partial[trials.PartialOf(step, step.LossRatioPPM)]; ok {
		return out, nil
	}
	return throughput(ctx, tester, step)
}

// searchTrials runs the trials of a search. It keeps those that can decide it:
// those of full length, those at the lowest load, and those in which the tester
// was the limit.
type searchTrials struct {
	tester  *trials.Tester
	step    plan.Step
	bracket search.Bracket
	n       int
	kept    map[int]*trials.Trial
	short   *trials.Trial
	// failed are the trials that did not pass, by load.
	failed map[int64][]*trials.Trial
	// wrong reports whether a trial was ended for frames that came back after all.
	wrong bool
}

func newSearchTrials(tester *trials.Tester, step plan.Step) *searchTrials {
	return &searchTrials{tester: tester, step: step, kept: map[int]*trials.Trial{}, failed: map[int64][]*trials.Trial{}}
}

// Measure runs one trial and judges it.
func (s *searchTrials) Measure(ctx context.Context, ppm int64, d time.Duration) (search.Verdict, error) {
	trials, sending := s.tester.Trials, s.tester.Sent
	t, err := s.trial(ctx, ppm, d)
	if err != nil {
		return search.Verdict{}, err
	}
	if s.n == 0 && s.step.Search.WarmUp > 0 {
		t.Note(func(r *v1alpha1.TrialRecord) { r.Role = "warmUp" })
	}
	v := search.Verdict{
		Passed: t.Passed(), GeneratorBound: t.GeneratorBound(), TesterLoss: t.TesterLost() && t.Excess == 0 || t.Stalled(), NothingReceived: t.Sent > 0 && t.Received == 0,
		Intended: t.Intended, Sent: t.Sent, Lost: t.Lost, Expected: t.Expected, Repeated: max(s.tester.Trials-trials-1, 0),
		Sending: s.tester.Sent - sending, SaturatedPPM: ppm * t.Saturated / v1alpha1.PPM,
	}
	if d >= s.step.TrialDuration || ppm == s.step.Search.MinPPM {
		t.Counters.Condense()
		s.kept[s.n] = t
	}
	s.n++
	if v.GeneratorBound && (s.short == nil || ppm <= s.short.LoadPPM) {
		t.Counters.Condense()
		s.short = t
	}
	if v.Passed {
		s.bracket.PassedPPM = ppm
		if ppm >= s.bracket.FailedPPM {
			s.bracket.FailedPPM = 0
		}
		return v, nil
	}
	t.Counters.Forget()
	s.failed[ppm] = append(s.failed[ppm], t)
	s.bracket.FailedPPM = ppm
	if ppm <= s.bracket.PassedPPM {
		s.bracket.PassedPPM = 0
	}
	return v, nil
}

// trial runs one trial. It is ended early once it cannot pass any more, but for one at
// the lowest load, which alone makes the row when it does not pass.
func (s *searchTrials) trial(ctx context.Context, ppm int64, d time.Duration) (*trials.Trial, error) {
	var watch *trials.LossWatch
	if !s.wrong && ppm > s.step.Search.MinPPM {
		watch = s.tester.WatchLoss(s.step, ppm, d)
	}
	if watch == nil {
		return s.tester.Trial(ctx, s.step, ppm, d, s.bracket)
	}
	t, err := s.tester.Trial(ctx, s.step, ppm, d, s.bracket, watch.Action(d))
	if err != nil || watch.Ended == 0 {
		return t, err
	}
	if t.Stalled() {
		// So few frames can be due to the tester; how many the device loses in the whole
		// trial tells.
		t.Void()
		return s.tester.Trial(ctx, s.step, ppm, d, s.bracket)
	}
	if t.Lost > watch.Allowed || t.TesterLost() || t.Disturbed() {
		return t, nil
	}
	// Frames came back that were taken for lost: such a device is given its time.
	s.wrong = true
	t.Void()
	return s.tester.Trial(ctx, s.step, ppm, d, s.bracket)
}

// failedGoal returns a trial at the upper bound of a goal that lost more than the goal
// allows, one without a doubt where there is one; nil where there is none.
func (s *searchTrials) failedGoal(found search.GoalResult) (failed *trials.Trial) {
	for _, t := range s.failed[found.UpperPPM] {
		allowed := found.Goal.LossRatioPPM
		if allowed > 0 && !t.Doubtful() && !search.Exceeds(t.Lost, t.Expected, allowed) {
			continue
		}
		if failed == nil || failed.Doubtful() && !t.Doubtful() {
			failed = t
		}
	}
	return failed
}

// outcome returns the outcome of a search for one loss ratio.
func (s *searchTrials) outcome(r search.Result, found search.GoalResult, goal *v1alpha1.GoalResult) trials.Outcome {
	method := v1alpha1.SearchBinary
	if t := s.step.Test.Throughput; t != nil && t.Search != "" {
		method = t.Search
	}
	out := trials.Outcome{
		LoadPPM: found.LowerPPM, Bracket: search.Bracket{PassedPPM: found.LowerPPM, FailedPPM: found.UpperPPM},
		Trial: s.kept[found.Deciding],
		Search: &v1alpha1.SearchSummary{
			Method: method, Start: r.Start, UpperBoundPPM: found.UpperPPM,
			TrialMilliseconds: r.Sending().Milliseconds(), Capped: r.Capped, Forgiven: int32(r.Forgiven), Goal: goal,
		},
	}
	if found.GeneratorBound {
		out.Limit = s.short
	} else if failed := s.failedGoal(found); failed != nil {
		out.Failed = failed
		if failed.Disturbed() || failed.Notes.Contended() {
			out.Limit = failed
		}
		if failed.Unsent() && failed.Notes.HeldBack() {
			out.Message = fmt.Sprintf("the search ended at %s, where %s", trials.Percent(failed.LoadPPM), failed.Notes.HeldBackText())
		}
	}
	if r.Capped {
		out.Message = fmt.Sprintf("the time limit of %s ended the search: the upper bound may be further away than the resolution", s.step.Search.TimeCap)
	}
	if r.Forgiven > 0 && out.Message == "" {
		out.Message = fmt.Sprintf("failures that were taken back, since a trial that was not shorter passed there or above: %d; the bed was disturbed, or the device loses frames at random", r.Forgiven)
	}
	if out.LoadPPM > 0 {
		return out
	}
	switch t := out.Trial; {
	case r.Capped:
		out.Trial = nil
		out.Message = fmt.Sprintf("the time limit of %s ended the search before a trial of full length passed: raise timeLimit", s.step.Search.TimeCap)
	case t == nil:
	case t.Sent > 0 && t.Received == 0:
		out.Message = s.tester.Silence(t)
	case t.GeneratorBound():
		out.Limit = t
		out.Message = fmt.Sprintf("the lowest load, %s, could not be measured: the tester was the limit", trials.Percent(t.LoadPPM))
	default:
		out.Message = fmt.Sprintf("%s of %s frames were lost at the lowest load, %s: lower minLoad to search below it", traffic.Grouped(t.Lost), traffic.Grouped(t.Expected), trials.Percent(t.LoadPPM))
	}
	return out
}

// rowGoal is a goal result as the API has it.
func rowGoal(tester *trials.Tester, step plan.Step, g search.GoalResult) *v1alpha1.GoalResult {
	rate := tester.Plan.At(step.Size).FramesPerSecond(plan.Share(v1alpha1.PPM))
	rate.Mul(rate, g.Conditional).Quo(rate, big.NewRat(v1alpha1.PPM, 1))
	return &v1alpha1.GoalResult{
		Name: g.Goal.Name, Regular: g.Regular, ConditionalFramesPerSecond: frame.Round(rate),
		LowerBoundMilliseconds: g.LowerSum.Milliseconds(), UpperBoundMilliseconds: g.UpperSum.Milliseconds(),
	}
}

// predict is the load at which a search begins by what is known of the device:
// the throughput found at the frame sizes before, and the hints that the tester was
// given. Other repetitions of the test are left out, so that each is independent.
func predict(tester *trials.Tester, step plan.Step) (ppm int64, source string) {
	if len(tester.Plan.Streams) == 0 {
		return 0, ""
	}
	speed := tester.Plan.Ports[tester.Plan.Streams[0].Tx].BitsPerSecond
	hints := slices.Clone(tester.Results.Hints)
	before := slices.SortedFunc(maps.Keys(tester.Results.Found), func(a, b trials.Found) int {
		return cmp.Or(cmp.Compare(a.Size.Average(), b.Size.Average()), cmp.Compare(a.Size.Name(), b.Size.Name()), cmp.Compare(a.Test, b.Test), cmp.Compare(a.Repetition, b.Repetition))
	})
	for _, f := range before {
		if f.Test == step.Test.Name && f.Repetition != step.Repetition {
			continue
		}
		if h, ok := search.Found(speed, f.Size.Average(), tester.Results.Found[f], step.Search.MaxPPM, f.Test+" "+f.Size.Name()); ok {
			hints = append(hints, h)
		}
	}
	return search.Predict(hints, speed, step.Size.Average())
}

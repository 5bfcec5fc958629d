package method

import (
	"context"
	"fmt"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/plan"
	"nodrop.dev/nodrop/internal/search"
)

func init() { register(v1alpha1.MethodThroughput, throughput) }

// searches by their name in the API; the empty name is its default.
var searches = map[v1alpha1.SearchMethod]search.Func{
	"":                    search.Binary,
	v1alpha1.SearchBinary: search.Binary,
}

// throughput finds the highest load at which no frame is lost (RFC 2544 section
// 26.1).
func throughput(ctx context.Context, lab *Lab, step plan.Step) (Outcome, error) {
	find, ok := searches[step.Test.Throughput.Search]
	if !ok {
		return Outcome{}, fmt.Errorf("search %q is not known", step.Test.Throughput.Search)
	}
	m := &searchTrials{lab: lab, step: step}
	result, err := find(ctx, step.Search, m)
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{LoadPPM: result.ThroughputPPM(), Bracket: result.Bracket, Trial: m.passed}
	if result.GeneratorBound {
		out.Limit = m.failed
	}
	if out.LoadPPM > 0 {
		return out, nil
	}
	out.Trial = m.failed
	switch t := m.failed; {
	case t.Sent > 0 && t.Received == 0:
		out.Message = lab.silence(t)
	case t.GeneratorBound():
		out.Message = fmt.Sprintf("the lowest load, %s, could not be measured: the tester was the limit", percent(t.LoadPPM))
	default:
		out.Message = fmt.Sprintf("%d of %d frames were lost at the lowest load, %s: lower minLoad to search below it", t.Lost, t.Sent, percent(t.LoadPPM))
	}
	return out, nil
}

// searchTrials runs the trials of a search. It keeps those that can decide it:
// the last that passed and the last that did not.
type searchTrials struct {
	lab            *Lab
	step           plan.Step
	bracket        search.Bracket
	passed, failed *Trial
}

// Measure runs one trial and judges it.
func (s *searchTrials) Measure(ctx context.Context, ppm int64, d time.Duration) (search.Verdict, error) {
	t, err := s.lab.Trial(ctx, s.step, ppm, d, s.bracket)
	if err != nil {
		return search.Verdict{}, err
	}
	v := search.Verdict{Passed: t.Passed(), GeneratorBound: t.GeneratorBound(), NothingReceived: t.Sent > 0 && t.Received == 0}
	if v.Passed {
		s.passed, s.bracket.PassedPPM = t, ppm
		return v, nil
	}
	s.failed, s.bracket.FailedPPM = t, ppm
	if ppm <= s.bracket.PassedPPM {
		s.bracket.PassedPPM = 0
	}
	return v, nil
}

package method

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/search"
	"nodrop.dev/nodrop/internal/traffic"
)

// withoutList is the role of the trial without the list.
const withoutList = "without"

// errTesterLimits ends a search at a trial that may have failed because of the tester.
var errTesterLimits = errors.New("the tester was the limit")

// configurationScale searches the largest number of entries of a list without an effect. The row has the counts and the latency of the
// trial with that number.
func configurationScale(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	test := step.Test.ConfigurationScale
	load, message, err := tester.Results.Load(step)
	if err == nil && message == "" {
		load, err = shareOfLoad(test, load)
	}
	if err != nil || message != "" {
		return trials.Outcome{Message: message}, err
	}
	if tester.Device.Scaler == nil {
		return trials.Outcome{}, errors.New("the lab has no device that it can give lists")
	}
	s := &scaleSearch{tester: tester, step: step, load: load, name: test.Name, passed: map[int64]scaleTrial{}, failed: map[int64]scaleTrial{}}
	within, problem := scaleNamed(test.Name, tester.Device.Scales)
	if problem != "" {
		return trials.Outcome{}, errors.New(problem)
	}
	if len(tester.Device.Scales) == 1 {
		s.name = tester.Device.Scales[0].Name
	}
	out, usable, err := s.begin(ctx)
	if err != nil || !usable {
		return out, err
	}
	counts := countsOf(test, within, int(test.MaxTrials))
	found, err := search.Count(ctx, counts, s.try)
	if err != nil && !errors.Is(err, errTesterLimits) {
		return trials.Outcome{}, err
	}
	// The tests after this one get the device as the run has it.
	if _, err := tester.Device.Scaler.Scale(ctx, s.name, 0); err != nil {
		return trials.Outcome{}, fmt.Errorf("giving the device its configuration without the list again: %w", err)
	}
	return s.outcome(out, counts, found), nil
}

// scaleSearch is a search in hand.
type scaleSearch struct {
	tester *trials.Tester
	step   plan.Step
	load   plan.Amount
	// name of the list in the bed.
	name string
	// without is the mean latency without the list; nil if it was not measured.
	without *int64
	// passed and failed have the last trials of each number by their answer.
	passed, failed map[int64]scaleTrial
	// limit is the trial in which the tester was the limit, and limitedAt its number of entries.
	limit     *trials.Trial
	limitedAt int64
}

// scaleTrial is the answer of the device with a number of entries.
type scaleTrial struct {
	// trial is nil if the device rejected the list, and message is its reason then.
	trial   *trials.Trial
	effect  v1alpha1.ScaleEffect
	message string
	// added latency; nil if it was not measured.
	added *int64
}

// begin measures the device without the list, and reports whether lists can be compared with it.
func (s *scaleSearch) begin(ctx context.Context) (out trials.Outcome, usable bool, err error) {
	if _, err := s.tester.Device.Scaler.Scale(ctx, s.name, 0); err != nil {
		return out, false, fmt.Errorf("reading the configuration of the device without the list: %w", err)
	}
	if out, err = s.tester.Fixed(ctx, s.step, s.load); err != nil {
		return out, false, err
	}
	t := out.Trial
	t.Note(func(r *v1alpha1.TrialRecord) { r.Role = withoutList })
	s.without = meanOf(t)
	switch {
	case out.Message != "" || out.Limit != nil:
		return out, false, nil
	case !t.Passed() && t.Doubtful():
		out.Limit = t
		return out, false, nil
	case !t.Passed():
		out.Invalid = fmt.Sprintf("%s of %s frames were lost at this load without the list, so that no effect of it can be seen: lower load or throughputShare",
			traffic.Grouped(t.Lost), traffic.Grouped(t.Expected))
		return out, false, nil
	case s.step.Test.ConfigurationScale.MaxAddedLatency != nil && s.without == nil:
		out.Invalid = "no frame was timed without the list, so that added latency is not known: leave maxAddedLatency out, or choose a bed with another engine"
		return out, false, nil
	}
	return out, true, nil
}

// meanOf returns the mean latency of a trial; nil if no frame was timed.
func meanOf(t *trials.Trial) *int64 {
	l := t.Counters.Latency()
	if l.Count == 0 {
		return nil
	}
	return new(l.Average())
}

// try gives the device the list with n entries, and reports whether it has no effect.
func (s *scaleSearch) try(ctx context.Context, n int64) (passed bool, err error) {
	rejected, err := s.tester.Device.Scaler.Scale(ctx, s.name, n)
	if err != nil {
		return false, fmt.Errorf("giving the device a list of %d entries: %w", n, err)
	}
	if rejected != "" {
		s.failed[n] = scaleTrial{effect: v1alpha1.ScaleRejected, message: rejected}
		return false, nil
	}
	if err := s.tester.Generator.Sleep(ctx, scaleWait(s.step.Test.ConfigurationScale)); err != nil {
		return false, err
	}
	out, err := s.tester.Fixed(ctx, s.step, s.load)
	if err != nil {
		return false, err
	}
	t := out.Trial
	t.Note(func(r *v1alpha1.TrialRecord) { r.Tried = n })
	// A loss while others used the tester's processors counts: the row is Contended then.
	if out.Limit != nil || !t.Passed() && t.Disturbed() {
		s.limit, s.limitedAt = t, n
		return false, errTesterLimits
	}
	one := scaleTrial{trial: t, effect: s.effect(t)}
	if mean := meanOf(t); mean != nil && s.without != nil {
		one.added = new(*mean - *s.without)
	}
	t.Counters.Condense()
	if one.effect == "" {
		s.passed[n] = one
		return true, nil
	}
	s.failed[n] = one
	return false, nil
}

// effect returns the effect of the list in a trial; empty if there is none.
func (s *scaleSearch) effect(t *trials.Trial) v1alpha1.ScaleEffect {
	if !t.Passed() || t.Received == 0 {
		return v1alpha1.ScaleLosesFrames
	}
	most := s.step.Test.ConfigurationScale.MaxAddedLatency
	if mean := meanOf(t); most != nil && mean != nil && *mean-*s.without > int64(most.Duration) {
		return v1alpha1.ScaleAddsLatency
	}
	return ""
}

// outcome makes the result of a search. Without is the outcome of the trial without the list.
func (s *scaleSearch) outcome(without trials.Outcome, counts search.CountConfig, found search.Counted) trials.Outcome {
	passed, failed := s.passed[found.Passed], s.failed[found.Failed]
	out := trials.Outcome{LoadPPM: without.LoadPPM, Limit: s.limit, Trial: without.Trial}
	for _, t := range []*trials.Trial{passed.trial, failed.trial} {
		if t != nil {
			out.Trial = t
			break
		}
	}
	for _, t := range []*trials.Trial{failed.trial, without.Trial} {
		if out.Limit == nil && t != nil && t.Notes.Contended() {
			out.Limit = t // Not the reason why the search ended, but one to doubt the boundary.
		}
	}
	sum := v1alpha1.ConfigurationScaleSummary{
		Name: s.name, Entries: found.Passed, FailedEntries: found.Failed, MinimumEntries: counts.Min, MaximumEntries: counts.Max,
		Configurations: int32(found.Tries), Effect: failed.effect, DeviceMessage: shorten(failed.message),
		LatencyWithoutNs: s.without, AddedLatencyNs: passed.added, FailedAddedLatencyNs: failed.added,
		Unsteady: !found.Steady(), Capped: found.Capped || s.limit != nil,
	}
	if failed.trial != nil {
		sum.FailedLost = int64(failed.trial.Lost)
	}
	out.Message = strings.Join(s.messages(counts, found, failed), "; ")
	out.Fill = func(row *v1alpha1.ResultRow) { row.ConfigurationScale = &sum }
	return out
}

// messages explain a result for a person.
func (s *scaleSearch) messages(counts search.CountConfig, found search.Counted, failed scaleTrial) (texts []string) {
	add := func(format string, args ...any) { texts = append(texts, fmt.Sprintf(format, args...)) }
	entries := listEntries([]int64{found.Failed})
	if found.Failed > 0 && found.Passed == 0 {
		entries += ", the lowest number,"
	}
	switch {
	case found.Failed == 0 && found.Passed == counts.Max:
		add("%s, the highest number, had no effect: the device may hold more", listEntries([]int64{counts.Max}))
	case failed.effect == v1alpha1.ScaleRejected:
		add("the device rejected %s: %s", strings.TrimSuffix(entries, ","), shorten(failed.message))
	case failed.effect == v1alpha1.ScaleLosesFrames && failed.trial.Notes.HeldBack():
		add("with %s the device held the tester back: %s", entries, failed.trial.Notes.HeldBackText())
	case failed.effect == v1alpha1.ScaleLosesFrames:
		add("with %s %s of %s frames were lost", entries, traffic.Grouped(failed.trial.Lost), traffic.Grouped(failed.trial.Expected))
	case failed.effect == v1alpha1.ScaleAddsLatency:
		add("with %s the mean latency is %s higher than without the list", entries, trials.TimeText(*failed.added))
	}
	if len(found.Unsteady) > 0 {
		add("the boundary is not sharp: the effect of %s differed between trials", listEntries(found.Unsteady))
	}
	if len(found.Above) > 0 {
		add("%s had no effect, although fewer had", listEntries(found.Above))
	}
	switch {
	case s.limit != nil:
		add("the search ended at %s, with which the tester may be the reason of the loss", listEntries([]int64{s.limitedAt}))
	case found.Capped:
		add("the search ended after %d configurations: raise maxTrials or resolution", found.Tries)
	}
	return texts
}

// listEntries names some numbers of entries.
func listEntries(numbers []int64) string {
	const most = 4
	if len(numbers) == 1 && numbers[0] == 1 {
		return "1 entry"
	}
	var texts []string
	for _, n := range numbers[:min(len(numbers), most)] {
		texts = append(texts, traffic.Grouped(n))
	}
	text := strings.Join(texts, ", ")
	if more := len(numbers) - most; more > 0 {
		text += fmt.Sprintf(" and %d other numbers of", more)
	}
	return text + " entries"
}

// shorten returns the beginning of a message of a device.
func shorten(message string) string {
	const most = 300
	message = strings.ToValidUTF8(strings.TrimSpace(message), "?")
	if len(message) > most {
		message = strings.ToValidUTF8(message[:most], "") + " …"
	}
	return message
}

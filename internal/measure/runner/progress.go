package runner

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/search"
)

// State contains the progress of a run.
type State struct {
	// Done reports whether the run has ended and Outcome is set.
	Done bool `json:"done"`
	// Outcome is one of the last phases of a benchmark once Done.
	Outcome v1alpha1.BenchmarkPhase `json:"outcome,omitempty"`
	// Reason is a condition reason of the API, for Outcome.
	Reason string `json:"reason,omitempty"`
	// Message explains the outcome in one sentence.
	Message string `json:"message,omitempty"`
	// Progress is the trial in hand.
	Progress v1alpha1.Progress `json:"progress"`
	// Rows are the finished rows, also the rows of earlier runners. They are for readers in the
	// same process; others read the log of an Answer. A row does not change once it is in a
	// state.
	Rows []v1alpha1.ResultRow `json:"-"`
	// Environment describes the environment in which the rows were made.
	Environment *v1alpha1.ResultEnvironment `json:"environment,omitempty"`
}

// Answer is the reply of a runner to a query of its progress: its state, and the rows of its
// log of finished rows that the client does not have.
type Answer struct {
	State
	// Log identifies the log. A runner that was started again has another one, which
	// begins with the rows that it found in its checkpoint.
	Log string `json:"log"`
	// Begun reports whether the runner was asked to begin. Before that it measures nothing.
	Begun bool `json:"begun"`
	// LogRows follow the first After ones of the log. Rows that the runner was given
	// are not in the log.
	After   int                  `json:"after"`
	LogRows []v1alpha1.ResultRow `json:"rows,omitempty"`
	// More reports whether there are more rows than fit into one answer.
	More bool `json:"more,omitempty"`
}

// DeepCopy returns a state that can be kept while the run goes on. The rows are
// shared.
func (s State) DeepCopy() State {
	s.Rows = slices.Clip(s.Rows)
	s.Environment = s.Environment.DeepCopy()
	return s
}

// progress counts rows and trials, and estimates what is left.
type progress struct {
	plan plan.Plan
	// left contains true for each step that still has to be made.
	left []bool
	// trials that were run, in all and in the step in hand.
	trials, inStep int
	step           string
	trial          trialInHand
	// offered maps the intended load to the offered load, for the trials of the current step
	// in which the tester fell short; both in parts per million.
	offered map[int64]int64
	// spent is the time of the trials run so far, by the estimate of the plan.
	spent time.Duration
	// rowTrials are the last finished trials of the current step, and rates the last known ones.
	rowTrials []v1alpha1.ProgressTrial
	rates     *v1alpha1.ProgressRates
}

// trialInHand is the trial that runs now.
type trialInHand struct {
	text  string
	begun time.Time
	// takes is the time of the trial with settling and rest, 0 while no trial runs.
	takes time.Duration
}

// newProgress begins with the rows that are there. Variants before the one in
// hand are over, also where a step made no row, and their trials count.
func newProgress(p plan.Plan, done map[int]v1alpha1.ResultRow, variant v1alpha1.VariantName) progress {
	pr := progress{plan: p, left: make([]bool, len(p.Steps))}
	before := true
	for i, step := range p.Steps {
		before = before && step.Variant != variant
		row, ok := done[i]
		pr.left[i] = !ok && !before
		if before {
			pr.trials += int(row.Trials)
			pr.spent += step.Duration
		}
	}
	return pr
}

// event takes in what the lab tells.
func (p *progress) event(e trials.Event, now time.Time) {
	if name := e.Step.Name(); name != p.step {
		p.step, p.inStep, p.offered, p.rowTrials = name, 0, nil, nil
	}
	if t := e.Finished; t != nil {
		p.finished(e)
		if short := t.Intended - min(t.Intended, t.Sent); short*shortShare > t.Intended {
			if p.offered == nil {
				p.offered = map[int64]int64{}
			}
			p.offered[e.LoadPPM] = int64(float64(e.LoadPPM) * float64(t.Sent) / float64(t.Intended))
		}
		p.trials++
		p.inStep++
		p.spent += p.takes(e.Duration)
		p.trial.takes = 0
		return
	}
	if e.Ask != "" { // The trial goes on.
		p.trial.text = p.describe(e)
		return
	}
	p.trial = trialInHand{text: p.describe(e), begun: now}
	if e.Duration > 0 {
		p.trial.takes = p.takes(e.Duration)
	}
}

// finished takes in the load, the verdict and the rates of a trial that ended.
func (p *progress) finished(e trials.Event) {
	t := e.Finished
	if e.LoadPPM > 0 {
		verdict := v1alpha1.TrialFailed
		if t.Passed() {
			verdict = v1alpha1.TrialPassed
		}
		// States share the list, so that it is not changed in place.
		kept := p.rowTrials[max(len(p.rowTrials)+1-v1alpha1.MaxRowTrials, 0):]
		p.rowTrials = append(slices.Clone(kept), v1alpha1.ProgressTrial{LoadPPM: e.LoadPPM, Verdict: verdict})
	}
	if length := cmp.Or(t.TxTime, e.Duration); length > 0 {
		p.rates = &v1alpha1.ProgressRates{SentFramesPerSecond: perSecond(t.Sent, length), ReceivedFramesPerSecond: perSecond(t.Received, length)}
	}
}

// interval takes in the rates of the trial that runs.
func (p *progress) interval(i trials.Interval) {
	if i.Length <= 0 {
		return
	}
	var sent, received uint64
	for _, port := range i.Ports {
		sent, received = sent+port.Tx.Sent, received+port.Rx.Received
	}
	p.rates = &v1alpha1.ProgressRates{SentFramesPerSecond: perSecond(sent, i.Length), ReceivedFramesPerSecond: perSecond(received, i.Length), InHand: true}
}

func perSecond(frames uint64, length time.Duration) int64 {
	return int64(float64(frames) / length.Seconds())
}

// shortShare is the shortfall that is shown: more than one frame in so many.
const shortShare = 1000

// takes returns the time of a trial of d with settling and rest.
func (p *progress) takes(d time.Duration) time.Duration { return d + p.plan.Settle + p.plan.Rest }

// describe describes the current trial in one line: "throughput 512 B: 62.5% for 10s (50%
// passed, 75% did not)".
func (p *progress) describe(e trials.Event) string {
	text := e.Step.Name()
	if e.Duration > 0 {
		text = fmt.Sprintf("%s %s: %s for %s", e.Step.TestName(), e.Step.Size.Name(), v1alpha1.FormatPPM(e.LoadPPM), e.Duration)
	}
	if e.Ask != "" {
		text += ": " + e.Ask
	}
	if e.Bracket != (search.Bracket{}) {
		text += " (" + p.bounds(e.Bracket) + ")"
	}
	if e.Repeats != "" {
		text += ", repeated: " + e.Repeats
	}
	if e.Failure != nil {
		text += fmt.Sprintf(", again after: %v", e.Failure)
	}
	return text
}

// bounds are the loads between which a search is.
func (p *progress) bounds(b search.Bracket) string {
	switch {
	case b.PassedPPM == 0:
		return p.load(b.FailedPPM) + " did not pass"
	case b.FailedPPM == 0:
		return p.load(b.PassedPPM) + " passed"
	}
	return p.load(b.PassedPPM) + " passed, " + p.load(b.FailedPPM) + " did not"
}

// load is the load of a finished trial, with what was offered where that is less.
func (p *progress) load(ppm int64) string {
	text := string(v1alpha1.FormatPPM(ppm))
	if offered, short := p.offered[ppm]; short {
		text += fmt.Sprintf(" (%s offered)", v1alpha1.FormatPPM(offered))
	}
	return text
}

func (p *progress) rowDone(i int) {
	p.left[i] = false
	p.step, p.inStep, p.trial, p.rowTrials = "", 0, trialInHand{}, nil
}

// report is the progress as the API has it.
func (p *progress) report(now time.Time) v1alpha1.Progress {
	trialsLeft, rowsLeft, timeLeft := 0, 0, time.Duration(0)
	for i, step := range p.plan.Steps {
		if !p.left[i] {
			continue
		}
		trials := step.Trials
		if rowsLeft == 0 { // Steps are made in their order: the first that is left is in hand.
			trials = max(trials-p.inStep, 1)
		}
		rowsLeft++
		trialsLeft += trials
		timeLeft += step.Duration * time.Duration(trials) / time.Duration(max(step.Trials, 1))
	}
	gone := min(max(now.Sub(p.trial.begun), 0), p.trial.takes)
	timeLeft = max(timeLeft-gone, 0)
	out := v1alpha1.Progress{
		Trial: p.trial.text, RowsDone: int32(len(p.plan.Steps) - rowsLeft), RowsTotal: int32(len(p.plan.Steps)),
		TrialsDone: int32(p.trials), TrialsEstimated: int32(p.trials + trialsLeft),
		SecondsLeft: int64((timeLeft + time.Second - 1) / time.Second),
		RowTrials:   p.rowTrials, Rates: p.rates,
	}
	out.Summary = summary(out, p.spent+gone)
	return out
}

// summary is the progress in a few words; spent is the time it took so far.
func summary(p v1alpha1.Progress, spent time.Duration) string {
	if p.RowsTotal == 0 {
		return ""
	}
	if p.RowsDone == p.RowsTotal {
		return fmt.Sprintf("%d/%d rows, 100%%", p.RowsDone, p.RowsTotal)
	}
	left := time.Duration(p.SecondsLeft) * time.Second
	share := 0
	if total := spent + left; total > 0 {
		share = int(spent * 100 / total)
	}
	return fmt.Sprintf("%d/%d rows, %d%%, %s left", p.RowsDone, p.RowsTotal, share, left)
}

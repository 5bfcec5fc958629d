package gate

import (
	"fmt"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Judgement is the verdict of all gates of a benchmark.
type Judgement struct {
	// verdict is Failed when a gate failed, and otherwise Inconclusive when one is.
	Verdict v1alpha1.GateVerdict `json:"verdict"`
	// gates in the order of the specification.
	Gates []JudgedGate `json:"gates"`
}

// JudgedGate is the verdict of one gate.
type JudgedGate struct {
	// name of the gate.
	Name string `json:"name"`
	// test is the name of the test whose rows were judged.
	Test string `json:"test"`
	// metric is the figure of the rows.
	Metric string `json:"metric"`
	// unit of value, min, max and baseline of the rows: frames/s, ppm, ppb, ns or yes/no,
	// where 1 is yes; absent when the metric says what is counted.
	Unit string `json:"unit,omitempty"`
	// verdict is Failed when a row failed, and otherwise Inconclusive when one is, or when
	// there is none.
	Verdict v1alpha1.GateVerdict `json:"verdict"`
	// reason of a gate that is inconclusive whatever its rows are: Unfinished, NoRow or
	// Invalid.
	Reason Reason `json:"reason,omitempty"`
	// message explains the reason.
	Message string `json:"message,omitempty"`
	// baseline identifies the baseline that was compared with; absent for bounds of the
	// gate's own, and if there is no baseline.
	Baseline *BaselineIdentity `json:"baseline,omitempty"`
	// rows that the gate chooses; never null.
	Rows []JudgedRow `json:"rows"`
}

// JudgedRow is the verdict on one row.
type JudgedRow struct {
	// RowID of the row.
	v1alpha1.RowID `json:",inline"`
	// verdict on the row.
	Verdict v1alpha1.GateVerdict `json:"verdict"`
	// reason why it did not pass.
	Reason Reason `json:"reason,omitempty"`
	// message explains the reason.
	Message string `json:"message,omitempty"`
	// value of the metric; absent when the row has none. Of a repeated row it is the median.
	Value *int64 `json:"value,omitempty"`
	// low is the lower bound of the interval of a repeated row.
	Low *int64 `json:"low,omitempty"`
	// high is the upper bound of the interval of a repeated row.
	High *int64 `json:"high,omitempty"`
	// min is the lowest value that passes; absent without such a bound, and where the
	// verdict does not depend on it.
	Min *int64 `json:"min,omitempty"`
	// max is the highest value that passes.
	Max *int64 `json:"max,omitempty"`
	// baseline is the value of the same row of the baseline.
	Baseline *int64 `json:"baseline,omitempty"`
}

// Reason is the reason, in a word, why a row or a gate did not pass.
//
// +kubebuilder:validation:Enum=OutOfBounds;NotConclusive;NotSignificant;NotMeasured;NoBaseline;BaselineDiffers;Unfinished;NoRow;Invalid
type Reason string

const (
	// OutOfBounds means that the value is below min or above max. It is the only reason of
	// a verdict Failed.
	OutOfBounds Reason = "OutOfBounds"
	// NotConclusive means that the row has a validity by which nothing can be judged.
	NotConclusive Reason = "NotConclusive"
	// NotSignificant means that the interval of a repeated row contains a bound, so that more
	// repetitions are needed.
	NotSignificant Reason = "NotSignificant"
	// NotMeasured means that the row has no such figure.
	NotMeasured Reason = "NotMeasured"
	// NoBaseline means that there is no baseline, or that it has no such row or figure.
	NoBaseline Reason = "NoBaseline"
	// BaselineDiffers means that the row of the baseline has another validity, such as
	// Simulated, so that the two cannot be compared.
	BaselineDiffers Reason = "BaselineDiffers"
	// Unfinished means that the benchmark ended before every row was measured.
	Unfinished Reason = "Unfinished"
	// NoRow means that no row is what the gate chooses.
	NoRow Reason = "NoRow"
	// Invalid means that the gate cannot be judged as it is written.
	Invalid Reason = "Invalid"
)

// Count returns the number of rows of a gate that have a verdict.
func (r *JudgedGate) Count(v v1alpha1.GateVerdict) (n int) {
	for i := range r.Rows {
		if r.Rows[i].Verdict == v {
			n++
		}
	}
	return n
}

// Explanation returns the reason why a gate did not pass, from the first row that has its
// verdict; empty for one that passed.
func (r *JudgedGate) Explanation() string {
	if r.Message != "" {
		return r.Message
	}
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Verdict == r.Verdict && r.Verdict != v1alpha1.GatePassed {
			return fmt.Sprintf("%s: %s", row.Name(), row.Message) + andMore(r.Count(r.Verdict)-1, "row")
		}
	}
	return ""
}

// maxStatusMessage is the maximum number of bytes of an explanation in a status.
const maxStatusMessage = 160

// Status is the judgement in a few words, as the status of a benchmark has it.
func (j *Judgement) Status() []v1alpha1.GateStatus {
	if j == nil {
		return nil
	}
	var all []v1alpha1.GateStatus
	for i := range j.Gates {
		r := &j.Gates[i]
		s := v1alpha1.GateStatus{
			Name: r.Name, Verdict: r.Verdict,
			Passed: int32(r.Count(v1alpha1.GatePassed)), Failed: int32(r.Count(v1alpha1.GateFailed)), Inconclusive: int32(r.Count(v1alpha1.GateInconclusive)),
			Message: cut(r.Explanation()),
		}
		if r.Baseline != nil {
			s.Accepted = r.Baseline.Accepted
		}
		all = append(all, s)
	}
	return all
}

func cut(text string) string {
	const end = " ..."
	if len(text) <= maxStatusMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxStatusMessage-len(end)], "") + end
}

// Summary returns the verdict in one sentence.
func (j *Judgement) Summary() string {
	if j.Verdict == v1alpha1.GatePassed {
		if len(j.Gates) == 1 {
			return "gate " + j.Gates[0].Name + " passed"
		}
		return fmt.Sprintf("all %d gates passed", len(j.Gates))
	}
	what := map[v1alpha1.GateVerdict]string{v1alpha1.GateFailed: "failed", v1alpha1.GateInconclusive: "is inconclusive"}[j.Verdict]
	var first *JudgedGate
	more := -1
	for i := range j.Gates {
		if j.Gates[i].Verdict == j.Verdict {
			if first == nil {
				first = &j.Gates[i]
			}
			more++
		}
	}
	text := fmt.Sprintf("gate %s %s: %s", first.Name, what, first.Explanation())
	return text + andMore(more, "gate")
}

// andMore returns the text for n more items than were named.
func andMore(n int, what string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return ", and 1 more " + what
	}
	return fmt.Sprintf(", and %d more %ss", n, what)
}

// Outcome returns the outcome of a benchmark whose measurement ended so, and the sentence
// that explains it. Gates decide only if rows were measured: an outcome that is worse stays.
func (j *Judgement) Outcome(measured v1alpha1.BenchmarkPhase, message string) (v1alpha1.BenchmarkPhase, string) {
	if j == nil || !measured.Measured() {
		return measured, message
	}
	if message != "" {
		message = "; " + message
	}
	switch j.Verdict {
	case v1alpha1.GatePassed:
		if measured.Succeeded() {
			measured = v1alpha1.PhasePassed
		}
	case v1alpha1.GateFailed:
		measured = v1alpha1.PhaseFailed
	case v1alpha1.GateInconclusive:
		measured = v1alpha1.PhaseInconclusive
	}
	return measured, j.Summary() + message
}

// Condition is the condition that says so.
func (j *Judgement) Condition() (status, reason, message string) {
	switch j.Verdict {
	case v1alpha1.GatePassed:
		return "True", v1alpha1.ReasonGatesPassed, j.Summary()
	case v1alpha1.GateFailed:
		return "False", v1alpha1.ReasonGateFailed, j.Summary()
	}
	return "Unknown", v1alpha1.ReasonGateInconclusive, j.Summary()
}

package kit

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Explanation is the text in the status of a waiting benchmark.
type Explanation struct {
	Accepted bool
	// Reason of the condition Accepted when it is false, and of BedLeased otherwise.
	Reason  string
	Message string
}

// BedsFor returns the given beds that a benchmark may get. One that resumes from
// finished rows gets only the bed on which they were measured.
func BedsFor(b *v1alpha1.Benchmark, beds []string) []string {
	from := b.Status.Resumption
	switch {
	case from == nil:
		return beds
	case slices.Contains(beds, from.TestBedName):
		return []string{from.TestBedName}
	}
	return nil
}

// CannotResume describes that the bed to resume on no longer fits a benchmark.
func CannotResume(b *v1alpha1.Benchmark) string {
	return fmt.Sprintf("bed %s does not fit the benchmark any more, or is gone, and %s: make the bed fit again, or set spec.abort, which keeps the rows",
		b.Status.Resumption.TestBedName, preemptedBy(b))
}

// ExplainResumption adds to the explanation of a benchmark that waits that it was preempted.
func ExplainResumption(b *v1alpha1.Benchmark, e Explanation) Explanation {
	if b.Status.Preemptions == 0 || !e.Accepted {
		return e
	}
	if e.Reason == v1alpha1.ReasonQueued {
		e.Reason = v1alpha1.ReasonPreempted
	}
	e.Message = Bounded(preemptedBy(b) + "; " + e.Message)
	return e
}

// PreemptedBy describes in whose favor the benchmark was last preempted, how many rows are
// kept, and where it resumes.
func (s *Scope) PreemptedBy() string { return preemptedBy(s.Benchmark) }

func preemptedBy(b *v1alpha1.Benchmark) string {
	text := "the benchmark was preempted"
	if n := len(b.Status.EarlierRuns); n > 0 {
		text += " in favor of " + b.Status.EarlierRuns[n-1].By
	}
	from := b.Status.Resumption
	switch {
	case from == nil:
		return text + " before a row was finished, and begins anew on any bed that it can use"
	case from.Rows == 1:
		return fmt.Sprintf("%s; 1 finished row is kept, and it resumes on bed %s", text, from.TestBedName)
	}
	return fmt.Sprintf("%s; %d finished rows are kept, and it resumes on bed %s", text, from.Rows, from.TestBedName)
}

func (e Explanation) phase() v1alpha1.BenchmarkPhase {
	if e.Accepted {
		return v1alpha1.PhaseQueued
	}
	return v1alpha1.PhasePending
}

// IsShownBy reports whether the status of a benchmark has the explanation already.
func (e Explanation) IsShownBy(b *v1alpha1.Benchmark) bool {
	kind := v1alpha1.ConditionBedLeased
	if !e.Accepted {
		kind = v1alpha1.ConditionAccepted
	}
	c := meta.FindStatusCondition(b.Status.Conditions, kind)
	return c != nil && c.Reason == e.Reason && c.Message == e.Message && b.Status.Phase == e.phase() && b.Status.ObservedGeneration == b.Generation
}

func (e Explanation) Write(s *Scope) {
	s.Status.Phase = e.phase()
	if !e.Accepted {
		meta.RemoveStatusCondition(&s.Status.Conditions, v1alpha1.ConditionBedLeased)
		s.Set(v1alpha1.ConditionAccepted, metav1.ConditionFalse, e.Reason, e.Message)
		return
	}
	s.Set(v1alpha1.ConditionAccepted, metav1.ConditionTrue, v1alpha1.ReasonAccepted, AcceptedMessage)
	s.Set(v1alpha1.ConditionBedLeased, metav1.ConditionFalse, e.Reason, e.Message)
}

package runner

import "nodrop.dev/nodrop/api/v1alpha1"

// State is how far a run is. It is a snapshot: whoever reads it gets everything
// measured so far, so that a reader that was away misses nothing.
type State struct {
	// Done says that the run has ended and Outcome is set.
	Done bool `json:"done"`
	// Outcome is Passed, Failed, Invalid or Error once Done.
	Outcome v1alpha1.BenchmarkPhase `json:"outcome,omitempty"`
	// Reason is a condition reason of the API, for Outcome.
	Reason string `json:"reason,omitempty"`
	// Message explains the outcome in one sentence.
	Message string `json:"message,omitempty"`
	// Progress is the trial in hand.
	Progress v1alpha1.Progress `json:"progress"`
	// Rows are the finished rows.
	Rows []v1alpha1.ResultRow `json:"rows,omitempty"`
	// Environment says with what the rows were made.
	Environment *v1alpha1.ResultEnvironment `json:"environment,omitempty"`
}

// DeepCopy returns a state that shares nothing with s.
func (s State) DeepCopy() State {
	rows := s.Rows
	s.Rows = make([]v1alpha1.ResultRow, len(rows))
	for i := range rows {
		rows[i].DeepCopyInto(&s.Rows[i])
	}
	s.Environment = s.Environment.DeepCopy()
	return s
}

package runner

import (
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
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

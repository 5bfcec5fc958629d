package apart

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"k8s.io/apimachinery/pkg/types"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/archive"
	"nodrop.dev/nodrop/internal/reporting/history"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// Task is one thing to do with large results. Exactly one of Put, Show, Compare, Document and Figures is
// given.
type Task struct {
	// Archive is the URL of the archive; empty if the task needs none.
	Archive string `json:"archive,omitempty"`
	// Put archives the result of a benchmark. The output is its reference as JSON.
	Put *Benchmark `json:"put,omitempty"`
	// Show writes the result of a benchmark in the format.
	Show *Benchmark `json:"show,omitempty"`
	// Compare writes the comparison of results in the format. The first one is the baseline.
	Compare []Benchmark `json:"compare,omitempty"`
	// Document writes a document of the archive in the format.
	Document *Document `json:"document,omitempty"`
	// Figures writes the figures of the document with this key, not compressed.
	Figures string `json:"figures,omitempty"`
	// Format of the output.
	Format report.Format `json:"format,omitempty"`
	// Links lead from a report in HTML to other pages.
	Links []report.Link `json:"links,omitempty"`
}

// NeedsAPI reports whether the task reads from the API server.
func (t *Task) NeedsAPI() bool { return t.Put != nil || t.Show != nil || len(t.Compare) > 0 }

// Benchmark identifies a benchmark in the API.
type Benchmark struct {
	types.NamespacedName
	UID types.UID
}

// Of identifies a benchmark.
func Of(b *v1alpha1.Benchmark) Benchmark {
	return Benchmark{types.NamespacedName{Namespace: b.Namespace, Name: b.Name}, b.UID}
}

// Document identifies a document of the archive.
type Document struct {
	History history.Key
	// UID of the benchmark.
	UID string
}

// Worker does tasks.
type Worker interface {
	// Do does a task, and writes its output. Its error is a Failure, or that of the context.
	Do(ctx context.Context, t Task, out io.Writer) error
}

// Cause is the kind of a failure.
type Cause string

// The causes.
const (
	// CauseEnded means that the process ended, such as for want of memory.
	CauseEnded Cause = "ended"
	// CauseMissing means that there is no such benchmark or document.
	CauseMissing Cause = "missing"
	// CauseUnreadable means that a result cannot be read.
	CauseUnreadable Cause = "unreadable"
	// CauseDifferent means that the archive has another document.
	CauseDifferent Cause = "different"
	// CauseIncomparable means that results cannot be compared with each other.
	CauseIncomparable Cause = "incomparable"
	// CauseUnavailable means that the archive cannot be written.
	CauseUnavailable Cause = "unavailable"
)

// Failure is the reason why a task was not done.
type Failure struct {
	Cause   Cause  `json:"cause"`
	Message string `json:"message"`
}

func (f *Failure) Error() string { return f.Message }

// Is lets a missing document be fs.ErrNotExist.
func (f *Failure) Is(target error) bool {
	return target == fs.ErrNotExist && f.Cause == CauseMissing
}

// CauseOf returns the cause of an error; empty if it is no Failure.
func CauseOf(err error) Cause {
	var f *Failure
	if errors.As(err, &f) {
		return f.Cause
	}
	return ""
}

// failed is an error as a Failure with a cause. Where the error has a cause of its own, that counts.
func failed(cause Cause, err error) error {
	var f *Failure
	var different *archive.DifferentError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f):
		return f
	case cause == CauseUnreadable && errors.Is(err, fs.ErrNotExist):
		cause = CauseMissing
	case errors.As(err, &different):
		cause = CauseDifferent
	}
	return &Failure{cause, err.Error()}
}

// missing is the failure of a benchmark that was replaced.
func missing(b Benchmark) error {
	return &Failure{CauseMissing, fmt.Sprintf("there is no benchmark %s with the UID %s any more", b.NamespacedName, b.UID)}
}

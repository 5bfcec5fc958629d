package history

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/compare"
)

// Schema names the schema of a History. Fields are added under this name, but none is
// removed, renamed or given another meaning.
const Schema = "nodrop.dev/history/v1alpha1"

// History contains the results of one benchmark.
type History struct {
	// schema is nodrop.dev/history/v1alpha1.
	Schema string `json:"schema"`
	// namespace of the benchmark.
	Namespace string `json:"namespace,omitempty"`
	// benchmark is the name of the benchmark.
	Benchmark string `json:"benchmark"`
	// testBed that it ran on.
	TestBed string `json:"testBed,omitempty"`
	// digest is the SHA-256 of what all runs have in common: tests, traffic, bed.
	Digest string `json:"digest"`
	// runs in the order in which they began; never null.
	Runs []RunInfo `json:"runs"`
	// others is the number of results that measured something else, and are left out.
	Others int32 `json:"others,omitempty"`
	// unreadable are the results that could not be read, and are left out.
	Unreadable []Unreadable `json:"unreadable,omitempty"`
	// lines are the figures of the rows, in the order of the newest run; never null.
	Lines []Line `json:"lines"`
}

// Key names a history in an archive.
type Key struct {
	// Namespace of the benchmarks, and its UID: a namespace that is created again has another one, and
	// no results of its predecessor.
	Namespace, NamespaceUID string
	// Name is the name of the benchmarks, unless they give another one.
	Name string
}

// Unreadable names a result that could not be read, in two attempts.
type Unreadable struct {
	// name of the document or file.
	Name string `json:"name"`
	// reason why it could not be read.
	Reason string `json:"reason"`
}

// String returns the name with the reason.
func (u Unreadable) String() string { return u.Name + ": " + u.Reason }

// RunInfo names a run.
type RunInfo struct {
	// time at which the run began.
	Time metav1.Time `json:"time"`
	// namespaceUID is the UID of the benchmark's namespace; absent when it ran without a cluster.
	NamespaceUID string `json:"namespaceUID,omitempty"`
	// uid of the benchmark; absent when it ran without a cluster.
	UID string `json:"uid,omitempty"`
	// device describes the device under test, with its version where that is known.
	Device string `json:"device,omitempty"`
	// Report is the address of the report of the run; empty if there is none. It is no part of the
	// document.
	Report string `json:"-"`
}

// Line is one figure over all runs.
type Line struct {
	// RowID of the rows.
	v1alpha1.RowID `json:",inline"`
	// metric that the values are of.
	Metric compare.Metric `json:"metric"`
	// points are the values of the runs that have such a row, and one that can be compared
	// with others.
	Points []Point `json:"points"`
	// level is the median of the values since the last change.
	Level int64 `json:"level"`
	// changes of the level, in their order.
	Changes []Change `json:"changes,omitempty"`
}

// Point is the figure of one run.
type Point struct {
	// run is the number of the run, counted from 0.
	Run int32 `json:"run"`
	// value in the unit of the metric: frames/s, ns, or parts per billion of frames.
	Value int64 `json:"value"`
}

// Change is a place where the level of a figure changed.
type Change struct {
	// run is the number of the first one at the new level, counted from 0.
	Run int32 `json:"run"`
	// from is the median of the values before, since the change before that.
	From int64 `json:"from"`
	// to is the median of the values from here up to the next change.
	To int64 `json:"to"`
	// shiftPPM is the median difference between the values of the two levels, in parts
	// per million of from; absent when from is 0.
	ShiftPPM *int64 `json:"shiftPPM,omitempty"`
	// lowestPPM is the lower bound of the shift with a confidence of 95 %.
	LowestPPM *int64 `json:"lowestPPM,omitempty"`
	// highestPPM is the upper bound of the shift with a confidence of 95 %.
	HighestPPM *int64 `json:"highestPPM,omitempty"`
	// regression is true when the new level is worse.
	Regression bool `json:"regression"`
}

// Regressed reports whether the last change of a figure was for the worse.
func (l *Line) Regressed() bool {
	return len(l.Changes) > 0 && l.Changes[len(l.Changes)-1].Regression
}

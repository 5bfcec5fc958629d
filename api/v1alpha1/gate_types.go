package v1alpha1

import (
	"fmt"
	"regexp"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Gate is a condition that a figure of rows must meet. It is judged on every row of the test
// that it chooses, once the benchmark is measured.
//
// +kubebuilder:validation:XValidation:rule="has(self.relative) != (has(self.min) || has(self.max))",message="a gate has bounds of its own, or those relative to a baseline: give min, max or both, or give relative"
type Gate struct {
	// name of the gate, unique in the benchmark.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",messageExpression="'\"' + self + '\" is not a gate name: use lower-case letters, digits and dashes'"
	Name string `json:"name"`
	// test is the name of the test whose rows are judged.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Test string `json:"test"`
	// variants of the device whose rows are judged. By default all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Variants []VariantName `json:"variants,omitempty"`
	// frameSizes whose rows are judged, in bytes. By default all, and all mixes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	FrameSizes []int32 `json:"frameSizes,omitempty"`
	// frameMixes are the names of the mixes whose rows are judged. By default all, unless
	// frameSizes are given.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	FrameMixes []string `json:"frameMixes,omitempty"`
	// loads whose rows are judged, as the test has them. By default all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=17
	Loads []string `json:"loads,omitempty"`
	// lossRatio chooses the rows of this loss ratio of a throughput test. The default is the rows
	// of 0%, the throughput itself.
	// +optional
	LossRatio LossRatio `json:"lossRatio,omitempty"`
	// metric is the figure of the rows, such as Throughput, LineRate, LatencyAvg or
	// FrameLoss. Which ones a test has depends on its method.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Metric string `json:"metric"`
	// min is the lowest figure that passes, in the unit of the metric: 14.88M or 100k for a
	// number, 99.5% for a share, 50us for a time, yes or no for what happens or not.
	// +optional
	Min GateBound `json:"min,omitempty"`
	// max is the highest figure that passes, in the form of min.
	// +optional
	Max GateBound `json:"max,omitempty"`
	// relative bounds the difference from the same row of a baseline.
	// +optional
	Relative *RelativeBound `json:"relative,omitempty"`
}

// GateBound is a figure with its unit, such as 14.88M, 99.5%, 50us or yes.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=32
type GateBound string

// RelativeBound bounds the difference from a baseline.
//
// +kubebuilder:validation:XValidation:rule="has(self.maxDecrease) || has(self.maxIncrease)",message="nothing is bounded: give maxDecrease, maxIncrease or both"
type RelativeBound struct {
	// baseline is the result with which the figure is compared.
	// +required
	Baseline GateBaseline `json:"baseline"`
	// maxDecrease is the maximum amount by which the figure may be below the figure of the
	// baseline, as a share of the latter.
	// +optional
	MaxDecrease *Tolerance `json:"maxDecrease,omitempty"`
	// maxIncrease is the maximum amount by which the figure may be above the figure of the
	// baseline, as a share of the latter.
	// +optional
	MaxIncrease *Tolerance `json:"maxIncrease,omitempty"`
}

// GateBaseline is a result, or many of them. It is read once the benchmark is measured.
//
// +kubebuilder:validation:ExactlyOneOf=benchmarkName;benchmarkSelector;trend
type GateBaseline struct {
	// benchmarkName is a finished Benchmark in the same namespace. When it is no longer
	// there, the newest one of that name in the archive is taken; or of that historyName,
	// such as the one of a schedule.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	BenchmarkName string `json:"benchmarkName,omitempty"`
	// benchmarkSelector chooses the newest finished Benchmark with these labels in the same
	// namespace, such as the last release.
	// +optional
	// +kubebuilder:validation:XValidation:rule="(!has(self.matchLabels) || self.matchLabels.size() <= 16) && (!has(self.matchExpressions) || self.matchExpressions.size() <= 16)",message="the selector has more than 16 matchLabels or 16 matchExpressions: give objects that belong together a label of their own, and select that"
	BenchmarkSelector *metav1.LabelSelector `json:"benchmarkSelector,omitempty"`
	// trend is the level in the history of this benchmark: the median of each figure in its
	// first runs. It stays until another level is accepted. It needs an archive.
	// +optional
	Trend *TrendBaseline `json:"trend,omitempty"`
}

// TrendBaseline is the level of a figure in the history of the benchmark.
type TrendBaseline struct {
	// minRuns is the number of runs that make up the baseline: the first ones, or the last
	// ones before the level was accepted.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=250
	MinRuns int32 `json:"minRuns,omitempty"`
	// accepted makes the last minRuns runs before its time the baseline, whatever gates said
	// of them. The latest acceptance in the history is in force, also in runs that do not
	// repeat it.
	// +optional
	Accepted *BaselineAcceptance `json:"accepted,omitempty"`
}

// BaselineAcceptance records who accepted a level as the baseline of a trend, when and why.
type BaselineAcceptance struct {
	// user who accepts, as the API server names it: see kubectl auth whoami. Admission
	// refuses another name than the one of the request.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	User string `json:"user"`
	// time of the acceptance. Admission refuses one that is more than 10 minutes from the
	// request.
	// +required
	Time metav1.Time `json:"time"`
	// reason why the level is accepted.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason"`
}

// Same reports whether two acceptances are one; without any they are.
func (a *BaselineAcceptance) Same(b *BaselineAcceptance) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.User == b.User && a.Reason == b.Reason && a.Time.Equal(&b.Time)
}

// Acceptance returns the acceptance of a gate of a trend; nil without any.
func (g *Gate) Acceptance() *BaselineAcceptance {
	if g.Relative == nil || g.Relative.Baseline.Trend == nil {
		return nil
	}
	return g.Relative.Baseline.Trend.Accepted
}

// Tolerance is a share of a baseline's figure in human form, such as "2.5%": 0% to 999%, with
// up to four decimals.
//
// +kubebuilder:validation:MinLength=2
// +kubebuilder:validation:MaxLength=9
// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{1,3}([.][0-9]{1,4})?%$')",messageExpression="'\"' + self + '\" is not a tolerance: give a percentage of the baseline up to 999% with at most four decimals, such as 2.5%'"
type Tolerance string

var tolerancePattern = regexp.MustCompile(`^([0-9]{1,3})(?:\.([0-9]{1,4}))?%$`)

// PPM returns the tolerance in parts per million. It fails when the text is not a tolerance.
func (t Tolerance) PPM() (int64, error) {
	m := tolerancePattern.FindStringSubmatch(string(t))
	if m == nil {
		return 0, fmt.Errorf("%q is not a tolerance: give a percentage of the baseline up to 999%% with at most four decimals, such as 2.5%%", string(t))
	}
	return strconv.ParseInt(m[1]+(m[2] + "0000")[:4], 10, 64)
}

// GateVerdict is the verdict of a gate.
//
// +kubebuilder:validation:Enum=Passed;Failed;Inconclusive
type GateVerdict string

const (
	// GatePassed means that the figure is conclusive and within the bounds; of a gate, that
	// of every row.
	GatePassed GateVerdict = "Passed"
	// GateFailed means that the figure is conclusive and beyond a bound; of a gate, that of
	// some row.
	GateFailed GateVerdict = "Failed"
	// GateInconclusive means that nothing can be said: the row is not conclusive, has no such
	// figure, or has no baseline. Of a gate, that this is so of some row and none failed, or
	// that there is no row.
	GateInconclusive GateVerdict = "Inconclusive"
)

// GateStatus is the verdict of one gate.
type GateStatus struct {
	// name of the gate.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// verdict over all rows of the gate.
	// +required
	Verdict GateVerdict `json:"verdict"`
	// passed is the number of rows that passed.
	// +required
	Passed int32 `json:"passed"`
	// failed is the number of rows that failed.
	// +required
	Failed int32 `json:"failed"`
	// inconclusive is the number of rows that were inconclusive.
	// +required
	Inconclusive int32 `json:"inconclusive"`
	// message names the first row that did not pass, and why.
	// +optional
	// +kubebuilder:validation:MaxLength=160
	Message string `json:"message,omitempty"`
	// accepted records who accepted the level with which the gate compared; absent if no
	// acceptance was needed.
	// +optional
	Accepted *BaselineAcceptance `json:"accepted,omitempty"`
}

// Condition type and reasons of a Benchmark with gates.
const (
	// ConditionGatesPassed is true when every gate passed, false when one failed, and unknown
	// before they are judged, and when none failed and some are inconclusive.
	ConditionGatesPassed = "GatesPassed"
	// ReasonGatesPassed means that every gate passed.
	ReasonGatesPassed = "GatesPassed"
	// ReasonGateFailed means that a gate failed; the message names it.
	ReasonGateFailed = "GateFailed"
	// ReasonGateInconclusive means that no gate failed, and some are inconclusive.
	ReasonGateInconclusive = "GateInconclusive"
	// ReasonBaselineUnreadable means that a baseline could not be read yet. It is tried again
	// for some minutes.
	ReasonBaselineUnreadable = "BaselineUnreadable"
)

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BenchmarkResult is a part of what a Benchmark measured: rows of one test in one
// variant, or the environment in which all were measured. It is in the namespace
// of its Benchmark, which owns it, and has the labels LabelBenchmark,
// LabelBenchmarkUID, LabelTest and LabelVariant. The operator writes a row when it
// is finished, and never changes a part that is complete.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=bmr,categories=nodrop
// +kubebuilder:printcolumn:name="Benchmark",type=string,JSONPath=`.spec.benchmarkName`
// +kubebuilder:printcolumn:name="Test",type=string,JSONPath=`.spec.test`
// +kubebuilder:printcolumn:name="Variant",type=string,JSONPath=`.spec.variant`
// +kubebuilder:printcolumn:name="Part",type=integer,JSONPath=`.spec.part`
// +kubebuilder:printcolumn:name="Complete",type=boolean,JSONPath=`.spec.complete`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type BenchmarkResult struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec holds what was measured.
	// +required
	Spec BenchmarkResultSpec `json:"spec"`
}

// BenchmarkResultList is a list of parts of results.
//
// +kubebuilder:object:root=true
type BenchmarkResultList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BenchmarkResult `json:"items"`
}

// BenchmarkResultSpec holds rows, or the environment.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.complete) || !oldSelf.complete || self == oldSelf",message="a complete part of a result cannot be changed"
type BenchmarkResultSpec struct {
	// benchmarkName is the Benchmark that measured, in the same namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	BenchmarkName string `json:"benchmarkName"`
	// benchmarkUID is the UID of that Benchmark.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	BenchmarkUID string `json:"benchmarkUID"`
	// part counts the parts of one benchmark from 1, in the order in which they were
	// begun.
	// +required
	// +kubebuilder:validation:Minimum=1
	Part int32 `json:"part"`
	// test is the name of the test that made the rows; absent in the part with the
	// environment.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Test string `json:"test,omitempty"`
	// variant of the device that the rows are of; absent when the benchmark names none.
	// +optional
	Variant VariantName `json:"variant,omitempty"`
	// complete reports whether the part has all its rows and will not be changed.
	// +optional
	Complete bool `json:"complete,omitempty"`
	// digest is the SHA-256 of the content in lower-case hexadecimal, once complete.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Digest string `json:"digest,omitempty"`
	// rows in the order in which they were finished.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=512
	Rows []ResultRow `json:"rows,omitempty"`
	// environment describes the hardware, software and settings with which the result was
	// made. Only a separate part contains it.
	// +optional
	Environment *ResultEnvironment `json:"environment,omitempty"`
	// ending is how the measurement ended. Only the part that was completed last contains it.
	// The digest does not cover it.
	// +optional
	Ending *ResultEnding `json:"ending,omitempty"`
}

// ResultEnding describes how the measurement of a result ended. The operator stores it with the
// last part, before anything is removed from the lab, and takes it over to the status of the
// Benchmark. An operator that starts in between reads it here. The status is authoritative.
type ResultEnding struct {
	// attempt is status.attempt of the Benchmark that ended.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Attempt int32 `json:"attempt,omitempty"`
	// outcome is status.outcome of the Benchmark.
	// +required
	Outcome BenchmarkPhase `json:"outcome"`
	// condition is the type of the condition that contains reason and message.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Condition string `json:"condition"`
	// reason of that condition.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Reason string `json:"reason"`
	// message of that condition.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

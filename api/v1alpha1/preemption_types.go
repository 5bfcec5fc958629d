package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Preemption names the benchmark in whose favor a bed is taken away from the benchmark that
// has it.
type Preemption struct {
	// by is the benchmark that gets the bed, as namespace/name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	By string `json:"by"`
	// time at which the lab decided it.
	// +required
	Time metav1.Time `json:"time"`
}

// Resumption is the point from which a preempted benchmark resumes.
type Resumption struct {
	// testBedName is the only bed on which it resumes: rows of two beds never make one
	// result.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	TestBedName string `json:"testBedName"`
	// variant of the device that is measured next; absent when the benchmark names none.
	// +optional
	Variant VariantName `json:"variant,omitempty"`
	// rows is the number of finished rows. None of them is measured again.
	// +required
	// +kubebuilder:validation:Minimum=1
	Rows int32 `json:"rows"`
}

// EarlierRun is a time in which a benchmark had a bed until it was preempted.
type EarlierRun struct {
	// testBedName is the bed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	TestBedName string `json:"testBedName"`
	// from is the time at which the bed was leased.
	// +required
	From metav1.Time `json:"from"`
	// until is the time at which the measurement was stopped.
	// +required
	Until metav1.Time `json:"until"`
	// rows is the number of rows that were finished in this time.
	// +required
	// +kubebuilder:validation:Minimum=0
	Rows int32 `json:"rows"`
	// by is the benchmark in whose favor the bed was taken away, as namespace/name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	By string `json:"by"`
	// discarded is the reason why the rows do not count; absent if they count. The rows stay
	// in the objects of kind BenchmarkResult.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Discarded string `json:"discarded,omitempty"`
}

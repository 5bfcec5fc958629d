package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AccessGrant lets the benchmarks of some namespaces use a bed, within bounds. A
// grant that gives no bounds allows what a Benchmark is by default: priority 0, and
// the bed for one day.
//
// +kubebuilder:validation:XValidation:rule="has(self.names) || has(self.selector)",message="a grant selects namespaces by names, by selector, or by both: give one of them; selector: {} selects every namespace"
type AccessGrant struct {
	// names lists namespaces.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:MinLength=1
	Names []string `json:"names,omitempty"`
	// selector selects namespaces by their labels, in addition to names; an empty
	// selector selects every namespace.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// maxPriority is the highest priority of a benchmark, -1000 to 1000. A higher one is
	// refused.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=-1000
	// +kubebuilder:validation:Maximum=1000
	MaxPriority int32 `json:"maxPriority,omitempty"`
	// maxDuration is the longest time for which a benchmark may hold the bed, 10s to
	// 720h: its activeDeadlineSeconds must not be above it.
	// +optional
	// +kubebuilder:default="24h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('10s') && duration(self) <= duration('720h')",messageExpression="'maxDuration is ' + self + ': give 10s to 720h, a number with one of the units ns, us, ms, s, m and h'"
	MaxDuration metav1.Duration `json:"maxDuration,omitzero"`
	// maxRunning is the maximum number of benchmarks of one namespace that may run at once, 1
	// to 1000, counted over all beds whose grant for that namespace has maxRunning. A
	// benchmark beyond it waits in the queue. Each namespace that the grant selects is counted
	// separately. Without maxRunning there is no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxRunning int32 `json:"maxRunning,omitempty"`
	// variants are the configurations of the device that a benchmark may choose; one that
	// chooses another is refused. Without variants it may choose all that the bed has.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Variants []VariantName `json:"variants,omitempty"`
	// deviceParameters bound the values of parameters that a benchmark may choose; one that is not listed keeps its
	// default. Without deviceParameters it may choose all values that the bed has.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	DeviceParameters []ParameterGrant `json:"deviceParameters,omitempty"`
	// scales are the lists of the device that a benchmark may choose in configurationScale; one that chooses another is
	// refused. Without scales it may choose all lists that the bed describes.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Scales []ScaleGrant `json:"scales,omitempty"`
}

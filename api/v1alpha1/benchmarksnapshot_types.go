package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BenchmarkSnapshot keeps an input of a Benchmark as it was: its traffic profile
// when the benchmark was accepted, its bed and the files of the device when the
// bed was leased, and the baselines of its gates when they were judged. It is in the
// namespace of its Benchmark, which owns it. Runs and
// reports read the snapshot, so that a profile that is deleted and made again under
// the same name changes neither.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=bms,categories=nodrop
// +kubebuilder:printcolumn:name="Benchmark",type=string,JSONPath=`.spec.benchmarkName`
// +kubebuilder:printcolumn:name="Of",type=string,JSONPath=`.spec.source.kind`
// +kubebuilder:printcolumn:name="Name",type=string,JSONPath=`.spec.source.name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type BenchmarkSnapshot struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec holds the input. It cannot be changed.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a snapshot cannot be changed"
	Spec BenchmarkSnapshotSpec `json:"spec"`
}

// BenchmarkSnapshotList is a list of snapshots.
//
// +kubebuilder:object:root=true
type BenchmarkSnapshotList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BenchmarkSnapshot `json:"items"`
}

// BenchmarkSnapshotSpec is one input, or a part of a large one.
type BenchmarkSnapshotSpec struct {
	// benchmarkName is the Benchmark, in the same namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	BenchmarkName string `json:"benchmarkName"`
	// benchmarkUID is the UID of that Benchmark.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	BenchmarkUID string `json:"benchmarkUID"`
	// source is the object that was kept.
	// +required
	Source SnapshotSource `json:"source"`
	// part counts the parts of a large input from 1.
	// +required
	// +kubebuilder:validation:Minimum=1
	Part int32 `json:"part"`
	// parts is the number of parts of the input.
	// +required
	// +kubebuilder:validation:Minimum=1
	Parts int32 `json:"parts"`

	// The schema leaves the format byte out: the API server cannot compare a text of
	// that format with its former value, and would refuse every update of metadata.

	// data is this part of the input as JSON, compressed with zstd, in base64.
	// +required
	// +kubebuilder:validation:Format=""
	// +kubebuilder:validation:MaxLength=262144
	Data []byte `json:"data"`
}

// SnapshotKind is the kind of input that a snapshot contains.
//
// +kubebuilder:validation:Enum=TrafficProfile;TestBed;ConfigMap;Baselines
type SnapshotKind string

const (
	// SnapshotTrafficProfile is the profile of the benchmark.
	SnapshotTrafficProfile SnapshotKind = "TrafficProfile"
	// SnapshotTestBed is the bed that was leased.
	SnapshotTestBed SnapshotKind = "TestBed"
	// SnapshotConfigMap is a ConfigMap that the bed refers to: a topology with its
	// device configurations, or a table of a modeled device.
	SnapshotConfigMap SnapshotKind = "ConfigMap"
	// SnapshotBaselines are the figures of other results that gates compare with.
	SnapshotBaselines SnapshotKind = "Baselines"
)

// SnapshotSource names the object that was kept.
type SnapshotSource struct {
	// kind of the object.
	// +required
	Kind SnapshotKind `json:"kind"`
	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// uid of the object.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	UID string `json:"uid,omitempty"`
	// generation of the object.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// sha256 of the input as JSON, in lower-case hexadecimal.
	// +required
	// +kubebuilder:validation:MinLength=64
	// +kubebuilder:validation:MaxLength=64
	SHA256 string `json:"sha256"`
}

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Labels of the parts of a result and of snapshots.
const (
	// LabelBenchmark is the name of the benchmark; of a name longer than a label may
	// be, its beginning and a digest.
	LabelBenchmark = "nodrop.dev/benchmark"
	// LabelBenchmarkUID is the UID of the benchmark.
	LabelBenchmarkUID = "nodrop.dev/benchmark-uid"
	// LabelTest is the name of the test.
	LabelTest = "nodrop.dev/test"
	// LabelVariant is the name of the variant.
	LabelVariant = "nodrop.dev/variant"
)

// ResultSummary is the summary of the result in a Benchmark's status. The rows are in objects
// of kind BenchmarkResult.
type ResultSummary struct {
	// rows is the number of finished rows.
	// +optional
	Rows int32 `json:"rows"`
	// parts is the number of objects of kind BenchmarkResult that hold rows and environment.
	// +optional
	Parts int32 `json:"parts"`
	// discardedParts is the number of first parts that do not count. They belong to runs from
	// which a preempted benchmark could not resume; see status.earlierRuns.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DiscardedParts int32 `json:"discardedParts,omitempty"`
	// digest is the SHA-256, in lower-case hexadecimal, over the digests of all parts
	// in their order; once all are complete.
	// +optional
	Digest string `json:"digest,omitempty"`
	// validity counts the rows by their validity.
	// +optional
	// +listType=map
	// +listMapKey=validity
	Validity []ValidityCount `json:"validity,omitempty"`
	// headlines are one per test: its most telling result in a few words.
	// +optional
	// +listType=map
	// +listMapKey=test
	// +kubebuilder:validation:MaxItems=32
	Headlines []Headline `json:"headlines,omitempty"`
	// inputs are the snapshots of what was measured with.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Inputs []SnapshotSource `json:"inputs,omitempty"`
	// archive is the location to which the whole result was written; absent until it was.
	// +optional
	Archive *ArchiveReference `json:"archive,omitempty"`
}

// ValidityCount is the number of rows with one validity.
type ValidityCount struct {
	// validity of the rows.
	// +required
	Validity Validity `json:"validity"`
	// rows is the number of rows.
	// +required
	Rows int32 `json:"rows"`
}

// Headline is a test's most telling result.
type Headline struct {
	// test is the name of the test.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Test string `json:"test"`
	// text is the result in a few words: "64 B 58%, 512 B 100%, 1518 B 100%".
	// +required
	// +kubebuilder:validation:MaxLength=256
	Text string `json:"text"`
}

// ArchiveReference is a document in the archive.
type ArchiveReference struct {
	// url of the document, without credentials.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	URL string `json:"url"`
	// sha256 of the document as it is stored, in lower-case hexadecimal.
	// +required
	// +kubebuilder:validation:MaxLength=64
	SHA256 string `json:"sha256"`
	// bytes is the size of the document as it is stored.
	// +required
	Bytes int64 `json:"bytes"`
	// time at which it was written.
	// +required
	Time metav1.Time `json:"time"`
}

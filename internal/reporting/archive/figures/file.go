package figures

import (
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/jsonstream"
	"nodrop.dev/nodrop/internal/reporting/gate"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// Schema names the schema of a file of figures. A file of another one is not used, and the
// document is read in its place.
const Schema = "nodrop.dev/figures/v1alpha1"

// Suffix is appended to the name of a document for the name of its file of figures, which is
// JSON, compressed with zstd.
const Suffix = ".figures"

// File contains the figures of one result.
type File struct {
	// Schema of the file.
	Schema string `json:"schema"`
	// Document is the SHA-256 of the stored document that the figures are of.
	Document string `json:"document"`
	// The other members are the same as in the document. Rows have no lists but the figures of
	// repetitions, gates have what later runs compare with, and the environment has device and engine.
	Benchmark      report.Identity              `json:"benchmark"`
	Phase          v1alpha1.BenchmarkPhase      `json:"phase"`
	TestBed        string                       `json:"testBed,omitempty"`
	StartTime      *metav1.Time                 `json:"startTime,omitempty"`
	CompletionTime *metav1.Time                 `json:"completionTime,omitempty"`
	Spec           v1alpha1.BenchmarkSpec       `json:"spec"`
	Profile        *v1alpha1.TrafficProfileSpec `json:"profile,omitempty"`
	Bed            *v1alpha1.TestBedSpec        `json:"bed,omitempty"`
	Rows           []v1alpha1.ResultRow         `json:"rows"`
	Gates          *gate.Judgement              `json:"gates,omitempty"`
	Environment    *v1alpha1.ResultEnvironment  `json:"environment,omitempty"`
}

// Of returns the figures of a result, whose document has a digest as it is stored.
func Of(d *report.Document, digest string) *File {
	d = reduced(d)
	rows := make([]v1alpha1.ResultRow, 0, len(d.Rows))
	for i := range d.Rows {
		rows = append(rows, reducedRow(&d.Rows[i]))
	}
	return &File{
		Schema: Schema, Document: digest, Benchmark: d.Benchmark, Phase: d.Phase, TestBed: d.TestBed, StartTime: d.StartTime, CompletionTime: d.CompletionTime,
		Spec: d.Spec, Profile: d.Profile, Bed: d.Bed, Rows: rows, Gates: d.Gates, Environment: d.Environment,
	}
}

// result is the result as far as its figures go.
func (f *File) result() *report.Document {
	return &report.Document{
		Schema: report.Schema, Benchmark: f.Benchmark, Phase: f.Phase, TestBed: f.TestBed, StartTime: f.StartTime, CompletionTime: f.CompletionTime,
		Spec: f.Spec, Profile: f.Profile, Bed: f.Bed, Rows: f.Rows, Gates: f.Gates, Environment: f.Environment,
	}
}

// Write writes the file, not compressed.
func (f *File) Write(w io.Writer) error {
	if err := jsonstream.WriteIndented(w, f); err != nil {
		return fmt.Errorf("encoding the figures: %w", err)
	}
	return nil
}

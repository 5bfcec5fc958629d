package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/jsonstream"
	"nodrop.dev/nodrop/internal/reporting/compare"
	"nodrop.dev/nodrop/internal/reporting/gate"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// Schema names the schema of a Document. Fields are added under this name, but
// none is removed, renamed or given another meaning.
const Schema = "nodrop.dev/result/v1alpha2"

// Document is the result of one benchmark, with all that it was measured with. It
// is what -o json prints, and what is archived.
type Document struct {
	// schema is nodrop.dev/result/v1alpha2.
	Schema string `json:"schema"`
	// benchmark identifies the benchmark of this result.
	Benchmark Identity `json:"benchmark"`
	// phase is Passed, Measured, Inconclusive, Failed, Invalid, Aborted or Error; before the end,
	// the phase that the benchmark is in.
	Phase v1alpha1.BenchmarkPhase `json:"phase"`
	// message explains the phase in one sentence.
	Message string `json:"message,omitempty"`
	// testBed is the name of the bed that was used.
	TestBed string `json:"testBed,omitempty"`
	// startTime is the time at which the bed was leased. For a benchmark that was preempted
	// with finished rows, it is the time of the first lease.
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime is the time at which the bed was released.
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// earlierRuns are the times in which the benchmark had the bed before it was preempted,
	// the last 8 of them; absent unless it was.
	EarlierRuns []v1alpha1.EarlierRun `json:"earlierRuns,omitempty"`
	// notes contain the information that a reader needs before comparing the numbers with
	// others.
	Notes []string `json:"notes,omitempty"`
	// spec is the requested benchmark with all defaults filled in, without
	// ttlSecondsAfterFinished.
	Spec v1alpha1.BenchmarkSpec `json:"spec"`
	// inputs are the objects that the result was measured with, as they were: the
	// profile when the benchmark was accepted, bed and ConfigMaps when the bed was
	// leased, baselines of gates when they were judged. Absent when it ran without a
	// cluster.
	Inputs []v1alpha1.SnapshotSource `json:"inputs,omitempty"`
	// profile is the traffic profile; absent when it could not be read.
	Profile *v1alpha1.TrafficProfileSpec `json:"profile,omitempty"`
	// bed is device, engine and ports as they were when the bed was leased: the spec
	// of the TestBed as kubectl explain testbed.spec describes it, without access and
	// connection, which say nothing about the measurement. Absent when it could not be read.
	Bed *v1alpha1.TestBedSpec `json:"bed,omitempty"`
	// files of the device, as they were when the bed was leased: a topology with its
	// device configurations, or the tables of a modelled device. In the order of their
	// names.
	Files []DeviceFiles `json:"files,omitempty"`
	// rows are the results, in the order of the tests; never null. All repetitions of a row are
	// one row here.
	Rows []v1alpha1.ResultRow `json:"rows"`
	// repetitions are the rows of tests that were measured repeatedly, each repetition by
	// itself in the order of the measurement; absent without any.
	Repetitions []v1alpha1.ResultRow `json:"repetitions,omitempty"`
	// gates are the verdicts of the gates of spec; absent without any.
	Gates *gate.Judgement `json:"gates,omitempty"`
	// differences are the differences of every later variant of the device from the first, in
	// the order of variants and tests; absent unless the benchmark names two or more variants.
	Differences []compare.Difference `json:"differences,omitempty"`
	// environment is the environment in which the result was measured.
	Environment *v1alpha1.ResultEnvironment `json:"environment,omitempty"`

	// contentDigest is the SHA-256, in lower-case hexadecimal, over all other members as
	// canonical JSON: keys in order, without white space. nodrop verify checks it. Absent in
	// documents of earlier versions.
	ContentDigest string `json:"contentDigest,omitempty"`

	// Manifest is the file of the benchmark, which SARIF points at where it is a relative
	// path; empty where it is not known. It is not a part of the document.
	Manifest string `json:"-"`

	// Cover is shown by the report in HTML, and is no part of the document.
	Cover Cover `json:"-"`
	// Report is the address of the report of this result, for the history; empty if there is none.
	Report string `json:"-"`
}

// Identity names a benchmark.
type Identity struct {
	// namespace of the benchmark.
	Namespace string `json:"namespace"`
	// namespaceUID is the UID of the namespace, by which a namespace that is created again differs
	// from its predecessor; absent when the benchmark ran without a cluster, and when it could not
	// be read.
	NamespaceUID string `json:"namespaceUID,omitempty"`
	// name of the benchmark.
	Name string `json:"name"`
	// uid of the benchmark; absent when it ran without a cluster.
	UID string `json:"uid,omitempty"`
	// labels of the benchmark, without those of NoDrop.
	Labels map[string]string `json:"labels,omitempty"`
	// annotations of the benchmark, without those of NoDrop and of kubectl.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Format is an output format of a result.
type Format string

// The formats.
const (
	// FormatTable is a table for people.
	FormatTable Format = "table"
	// FormatJSON is the Document as JSON.
	FormatJSON Format = "json"
	// FormatYAML is the Document as YAML.
	FormatYAML Format = "yaml"
	// FormatHTML is a report in one file, for people and for paper.
	FormatHTML Format = "html"
	// FormatMarkdown is the report for wikis and pull requests.
	FormatMarkdown Format = "markdown"
	// FormatCSV has one line per result row (RFC 4180).
	FormatCSV Format = "csv"
	// FormatJUnit has one test case per result row, and one per gate and row, for CI systems.
	FormatJUnit Format = "junit"
	// FormatGitHub has one annotation per gate and row that did not pass, for GitHub Actions.
	FormatGitHub Format = "github"
	// FormatSARIF has one result per gate and row that did not pass (OASIS SARIF 2.1.0).
	FormatSARIF Format = "sarif"
)

// Formats lists all formats of a Document.
func Formats() []Format {
	return []Format{FormatTable, FormatJSON, FormatYAML, FormatHTML, FormatMarkdown, FormatCSV, FormatJUnit, FormatGitHub, FormatSARIF}
}

// Write writes the document in a format. The same document gives the same bytes.
func (d *Document) Write(w io.Writer, format Format) error {
	var text []byte
	var err error
	switch format {
	case FormatJSON:
		if d, err = d.digested(); err == nil {
			err = jsonstream.WriteIndented(w, d)
		}
	case FormatYAML:
		if d, err = d.digested(); err == nil {
			text, err = yaml.Marshal(d)
		}
	case FormatHTML:
		text, err = d.html()
	case FormatMarkdown:
		text, err = d.markdown()
	case FormatCSV:
		text, err = d.csv()
	case FormatJUnit:
		text, err = d.junit()
	case FormatGitHub:
		text = []byte(d.github())
	case FormatSARIF:
		text, err = d.sarif()
	default:
		text = []byte(d.on(layout.PaperOf(w)))
	}
	if err != nil {
		return fmt.Errorf("encoding the result as %s: %w", format, err)
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}

// digested returns the document with the digest of its content.
func (d *Document) digested() (*Document, error) {
	out := *d
	out.ContentDigest = ""
	var err error
	out.ContentDigest, err = jsonstream.Digest(&out)
	return &out, err
}

// Digests returns the digest that a document, as JSON or YAML, contains, and the one that its
// content has. The first one is empty if it contains none.
func Digests(text []byte) (contained, computed string, err error) {
	if !isJSON(text) {
		if text, err = fromYAML(bytes.NewReader(text)); err != nil {
			return "", "", fmt.Errorf("decoding the result: %w", err)
		}
	}
	value, computed, err := jsonstream.DigestText(bytes.NewReader(text), "contentDigest")
	if err != nil {
		return "", "", fmt.Errorf("decoding the result: %w", err)
	}
	_ = json.Unmarshal(value, &contained) // Anything but a text is no digest.
	return contained, computed, nil
}

func indented(v any) ([]byte, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	return append(text, '\n'), err
}

// Read reads a Document that was written as JSON or YAML. See ReadFrom.
func Read(text []byte) (*Document, error) { return ReadFrom(bytes.NewReader(text)) }

// ReadFrom reads a Document that was written as JSON or YAML. JSON is read row by row, so that
// its text is never in memory as a whole. It fails on a document of another schema; fields that
// it does not know are of a newer version, and are left out.
func ReadFrom(r io.Reader) (*Document, error) {
	var d Document
	if err := d.read(r, jsonstream.Decoder{}); err != nil {
		return nil, err
	}
	return &d, nil
}

// ReadReduced reads a Document as ReadFrom does, without some of its members, and passes each row
// to a function that may remove a part of it. Neither is ever in memory as a whole.
func ReadReduced(r io.Reader, without []string, reduce func(row *v1alpha1.ResultRow)) (*Document, error) {
	var d Document
	decoder := jsonstream.Decoder{Skip: without, Element: func(_ string, object any) {
		if row, ok := object.(*v1alpha1.ResultRow); ok {
			reduce(row)
		}
	}}
	if err := d.read(r, decoder); err != nil {
		return nil, err
	}
	return &d, nil
}

// RemoveLogs removes the log of its trials, the series of rates and the captured frames from a row.
// They are most of a large row, and no figure is in them.
func RemoveLogs(row *v1alpha1.ResultRow) { row.TrialRecords, row.Series, row.Capture = nil, nil, nil }

// FormatError means that a text is no Document.
type FormatError struct{ err error }

func (e *FormatError) Error() string { return e.err.Error() }

func (e *FormatError) Unwrap() error { return e.err }

// read reads the members that a decoder does not skip.
func (d *Document) read(r io.Reader, decoder jsonstream.Decoder) error {
	text := bufio.NewReader(r)
	begin, err := text.Peek(1)
	for ; err == nil && isSpace(begin[0]); begin, err = text.Peek(1) {
		_, _ = text.Discard(1)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the result: %w", err)
	}
	r = text
	if !isJSON(begin) {
		plain, err := fromYAML(text)
		if err != nil {
			return &FormatError{fmt.Errorf("decoding the result: %w", err)}
		}
		r = bytes.NewReader(plain)
	}
	if err := decoder.Decode(r, d); err != nil {
		return &FormatError{fmt.Errorf("decoding the result: %w", err)}
	}
	if d.Schema != Schema {
		return &FormatError{fmt.Errorf("the schema is %q, not %q: give what -o json or -o yaml has written", d.Schema, Schema)}
	}
	d.ContentDigest = "" // Write computes it anew. Digests compares it.
	return nil
}

// isJSON reports whether a text is a JSON object, and not YAML.
func isJSON(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && text[0] == '{'
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// maxYAML is the maximum size of a result as YAML, in bytes. Its parser needs more than twenty
// times as much memory.
const maxYAML = 16 << 20

// fromYAML is a text of YAML as JSON.
func fromYAML(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxYAML+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxYAML {
		return nil, fmt.Errorf("the document is YAML of more than %d MiB, and at most that is read: write it with -o json, of which large ones are read, too", maxYAML>>20)
	}
	return yaml.YAMLToJSON(text)
}

package figures

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/canonical"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/result"
	"nodrop.dev/nodrop/internal/reporting/archive/document"
	"nodrop.dev/nodrop/internal/reporting/compare"
	"nodrop.dev/nodrop/internal/reporting/gate"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// fill sets every member to a value of its own, and makes lists of three.
func fill(v reflect.Value, next *int64) {
	*next++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), next)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), next)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 3, 3))
		for i := range 3 {
			fill(v.Index(i), next)
		}
	case reflect.String:
		v.SetString("text")
	case reflect.Int64, reflect.Int32:
		v.SetInt(*next)
	case reflect.Bool:
		v.SetBool(*next%2 == 0)
	}
}

// rows are one row of each method with everything that a row can have, and one without anything.
func rows() (all []v1alpha1.ResultRow) {
	next := int64(0)
	for _, d := range method.All() {
		var full v1alpha1.ResultRow
		fill(reflect.ValueOf(&full).Elem(), &next)
		full.Method, full.Validity, full.LossRatioPPM, full.Repetition = d.Name, v1alpha1.ValidityValid, 0, 0
		once := full
		once.Repeated = nil
		all = append(all, full, once, v1alpha1.ResultRow{RowID: v1alpha1.RowID{Test: "empty", Method: d.Name}, Validity: v1alpha1.ValidityInvalid, Message: "why"})
	}
	return all
}

// TestMetricsRemain finds every metric of every method in the figures of a row, and every figure
// by which rows are compared.
func TestMetricsRemain(t *testing.T) {
	for _, row := range rows() {
		small := reducedRow(&row)
		d, _ := method.Describe(row.Method)
		for _, m := range gate.Metrics(d) {
			value, why := m.Value(&row)
			if got, gotWhy := m.Value(&small); got != value || gotWhy != why {
				t.Errorf("%s %s: %d %q, in the document %d %q", row.Method, m.Name, got, gotWhy, value, why)
			}
			if diff := cmp.Diff(row.Repeated.Figure(m.Name), small.Repeated.Figure(m.Name)); diff != "" {
				t.Errorf("%s %s: %s", row.Method, m.Name, diff)
			}
		}
		figures, got := compare.FiguresOf(&row), compare.FiguresOf(&small)
		for i := range figures {
			if (figures[i].Unusable == "") != (got[i].Unusable == "") || figures[i].Value != got[i].Value {
				t.Errorf("%s: figure %+v, in the document %+v", row.Method, got[i], figures[i])
			}
		}
		if result.Conclusive(v1alpha1.Device{}, &row) != result.Conclusive(v1alpha1.Device{}, &small) {
			t.Errorf("%s: another validity", row.Method)
		}
		if row.TrialRecords == nil != (row.Test == "empty") {
			t.Error("the row of the document was changed")
		}
	}
}

// sample is a result with a gate that has a fixed baseline, of a time.
func sample() *report.Document {
	began, value := metav1.Unix(1_760_000_000, 0), int64(7)
	all := rows()
	return &report.Document{
		Schema: report.Schema, Benchmark: report.Identity{Namespace: "a", Name: "b", UID: "c", Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"big": "text"}},
		Phase: v1alpha1.PhasePassed, TestBed: "bed", StartTime: &began, CompletionTime: &began, Rows: all, Repetitions: all, Notes: []string{"note"},
		Spec: v1alpha1.BenchmarkSpec{TestBedName: "bed"}, Profile: &v1alpha1.TrafficProfileSpec{}, Bed: &v1alpha1.TestBedSpec{},
		Files:       []report.DeviceFiles{{ConfigMap: "m", Files: []report.DeviceFile{{Name: "f", Text: strings.Repeat("t", 1000)}}}},
		Environment: &v1alpha1.ResultEnvironment{Device: "router 1.2", Engine: v1alpha1.EngineSim, Hosts: make([]v1alpha1.HostEnvironment, 3)},
		Gates: &gate.Judgement{Verdict: v1alpha1.GatePassed, Gates: []gate.JudgedGate{
			{Name: "trend", Baseline: &gate.BaselineIdentity{From: &began}, Rows: []gate.JudgedRow{{RowID: all[0].RowID, Verdict: v1alpha1.GatePassed, Baseline: &value, Value: &value}}},
			{Name: "bound", Rows: []gate.JudgedRow{{RowID: all[0].RowID, Verdict: v1alpha1.GatePassed, Value: &value}}},
		}},
	}
}

// stored holds the content of an archive by its names.
type stored map[string][]byte

func (s stored) open(_ context.Context, name string) (io.ReadCloser, error) {
	if text, ok := s[name]; ok {
		return io.NopCloser(bytes.NewReader(text)), nil
	}
	return nil, fs.ErrNotExist
}

const name = "a/b/c.json"

func archived(t *testing.T, d *report.Document) stored {
	t.Helper()
	var text, figures bytes.Buffer
	if err := d.Write(&text, report.FormatJSON); err != nil {
		t.Fatal(err)
	}
	digest := canonical.Sum(text.Bytes())
	if err := Of(d, digest).Write(&figures); err != nil {
		t.Fatal(err)
	}
	return stored{name: text.Bytes(), name + document.DigestSuffix: []byte(digest + "  c.json\n"), name + Suffix: figures.Bytes()}
}

// TestRead reads the same figures from the file and from the document, and from the document if
// the file is absent, damaged, of another document or of another schema. With the file the
// document is not read.
func TestRead(t *testing.T) {
	all := archived(t, sample())
	if small, large := len(all[name+Suffix]), len(all[name]); small*2 > large {
		t.Errorf("the figures have %d bytes, the document %d", small, large)
	}
	want, err := Read(t.Context(), name, all.open)
	if err != nil {
		t.Fatal(err)
	}
	if len(want.Rows) != len(sample().Rows) || want.Environment.Device != "router 1.2" || want.Repetitions != nil || want.Files != nil {
		t.Errorf("the figures are %+v", want)
	}
	figures := all[name+Suffix]
	for of, change := range map[string]func(s stored){
		"absent":  func(s stored) { delete(s, name+Suffix) },
		"damaged": func(s stored) { s[name+Suffix] = figures[:len(figures)/2] },
		"another document": func(s stored) {
			s[name+Suffix] = bytes.Replace(figures, []byte(`"document": "`), []byte(`"document": "0`), 1)
		},
		"another schema":   func(s stored) { s[name+Suffix] = bytes.Replace(figures, []byte(Schema), []byte("x"), 1) },
		"without a digest": func(s stored) { delete(s, name+document.DigestSuffix) },
		"no document":      func(s stored) { s[name] = nil },
	} {
		t.Run(of, func(t *testing.T) {
			some := archived(t, sample())
			change(some)
			got, err := Read(t.Context(), name, some.open)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestHistoryAndBaselines makes the same history and the same baselines of figures as of documents.
func TestHistoryAndBaselines(t *testing.T) {
	whole := sample()
	whole.Spec.Tests = []v1alpha1.Test{{Name: "text", Throughput: &v1alpha1.ThroughputTest{}}}
	whole.Spec.Gates = []v1alpha1.Gate{
		{Name: "trend", Test: "text", Metric: string(compare.Throughput), Relative: &v1alpha1.RelativeBound{Baseline: v1alpha1.GateBaseline{Trend: &v1alpha1.TrendBaseline{MinRuns: 1}}}},
		{Name: "named", Test: "text", Metric: string(compare.LatencyAvg), Relative: &v1alpha1.RelativeBound{Baseline: v1alpha1.GateBaseline{BenchmarkName: "b"}}},
		{Name: "labels", Test: "text", Metric: string(compare.LatencyAvg), Relative: &v1alpha1.RelativeBound{Baseline: v1alpha1.GateBaseline{BenchmarkSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"l": "1"}}}}},
	}
	own := sample()
	own.Spec, own.Benchmark.UID = whole.Spec, "own"
	outcome := func(d *report.Document) (string, any) {
		var history report.HistoryBuilder
		baselines, err := report.NewBaselines(own)
		if err != nil {
			t.Fatal(err)
		}
		if err := history.Add(d); err != nil {
			t.Fatal(err)
		}
		if err := baselines.Add(d); err != nil {
			t.Fatal(err)
		}
		h, err := history.History()
		if err != nil {
			t.Fatal(err)
		}
		return h.Text(), baselines.Found()
	}
	text, found := outcome(whole)
	gotText, gotFound := outcome(Of(whole, "").result())
	if text != gotText {
		t.Errorf("%s\nwant\n%s", gotText, text)
	}
	if diff := cmp.Diff(found, gotFound); diff != "" || len(gotFound.(map[string]gate.Baseline)["trend"].Figures) == 0 {
		t.Errorf("%s, %+v", diff, gotFound)
	}
}

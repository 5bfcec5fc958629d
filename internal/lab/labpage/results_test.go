package labpage

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/allocation"
	"nodrop.dev/nodrop/internal/reporting/archive"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// result is one of a run of the history "nightly".
func result(namespace string, run int, framesPerSecond int64) report.Content {
	b := benchmark(namespace, fmt.Sprintf("nightly-%02d", run), v1alpha1.PhasePassed, func(b *v1alpha1.Benchmark) {
		began, ended := at(-1440*(30-run)), at(-1440*(30-run)+30)
		b.Status.TestBedName, b.Status.StartTime, b.Status.CompletionTime = "b1", &began, &ended
		b.Status.Results = &v1alpha1.ResultSummary{Rows: 1}
		b.Spec.HistoryName = "nightly"
	})
	return report.Content{Benchmark: b, NamespaceUID: "namespace-" + namespace, Rows: []v1alpha1.ResultRow{{
		RowID:    v1alpha1.RowID{Test: "throughput", Method: v1alpha1.MethodThroughput, FrameSize: 64},
		Frames:   &v1alpha1.FrameSection{Sent: 1000, Received: 1000, LineRatePPM: 580_000, FramesPerSecond: framesPerSecond, OfferedFramesPerSecond: framesPerSecond, BitsPerSecond: framesPerSecond * 512},
		Validity: v1alpha1.ValidityValid, Trials: 1,
	}}}
}

// TestHistory shows the runs of a real archive, with the run at which the level changed, and
// the report of each; of another team it shows nothing.
func TestHistory(t *testing.T) {
	t.Parallel()
	store, err := archive.Open("file://" + t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for run := range 24 {
		rate := int64(8_600_000 + run%3*1000)
		if run >= 12 {
			rate -= 900_000
		}
		for _, namespace := range []string{"a", "c"} {
			if _, err := store.Put(t.Context(), report.New(result(namespace, run, rate))); err != nil {
				t.Fatal(err)
			}
		}
	}
	predecessor := result("a", 29, 1)
	predecessor.NamespaceUID = "namespace-before-a"
	if _, err := store.Put(t.Context(), report.New(predecessor)); err != nil {
		t.Fatal(err)
	}
	done := result("a", 23, 1).Benchmark
	c := caches(t, done)
	p := New(Options{Reader: c, Results: c, Archive: store, Access: fakeAccess("a"), Now: func() time.Time { return noon }, Waiting: allocation.WaitingFrom(c, allocation.LineupInput{}, func() time.Time { return noon })})
	_, text, _ := get(t, p, "/benchmarks/a/nightly-23")
	if !strings.Contains(text, `href="/history/a/nightly"`) {
		t.Errorf("the benchmark does not lead to its history: %s", text)
	}
	status, text, _ := get(t, p, "/history/a/nightly")
	checkHTML(t, "/history/a/nightly", text)
	for _, want := range []string{"24 runs from", "regression", "/archive/a/nightly/anightly-05", "nightly-05"} {
		if status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("the history lacks %q: %s", want, text)
		}
	}
	if status, text, header := get(t, p, "/archive/a/nightly/anightly-05"); status != http.StatusOK || !strings.Contains(text, "nightly-05") || header.Get("Content-Security-Policy") != reportPolicy {
		t.Errorf("the report of a run: status %d, %v", status, header)
	}
	// The run at which the level changed is marked, and the charts lead to the report of each run and back.
	if !strings.Contains(text, "<p>regression: throughput 64 B, throughput") || strings.Count(text, "<p>regression: throughput 64 B, throughput") != 1 {
		t.Errorf("the list of runs does not mark the regression: %s", text)
	}
	status, text, header := get(t, p, "/history/a/nightly?format=html")
	for _, want := range []string{`<a href="/archive/a/nightly/anightly-05">`, `<a href="/history/a/nightly">`, `class="band worse"`} {
		if status != http.StatusOK || header.Get("Content-Security-Policy") != reportPolicy || !strings.Contains(text, want) {
			t.Errorf("status %d: the charts lack %q: %s", status, want, text)
		}
	}
	if _, text, _ := get(t, p, "/archive/a/nightly/anightly-05"); !strings.Contains(text, `<a href="/history/a/nightly">History on the lab page</a>`) {
		t.Errorf("the report does not lead to the history: %s", text)
	}
	for _, path := range []string{"/history/c/nightly", "/archive/c/nightly/cnightly-05", "/archive/a/nightly/cnightly-05", "/archive/a/nightly/anightly-29", "/history/a/..%2f..%2fc%2fnightly", "/history/a/none", "/history/a/%2e%2e"} {
		if status, text, _ := get(t, p, path); status == http.StatusOK {
			t.Errorf("%s: %s", path, text)
		}
	}
}

// TestComparison compares two results, each of which is read once only.
func TestComparison(t *testing.T) {
	t.Parallel()
	before, after := result("a", 1, 8_600_000), result("a", 2, 7_700_000)
	c := caches(t, before.Benchmark, after.Benchmark, partOf(before), partOf(after))
	p := New(Options{Reader: c, Results: c, Access: fakeAccess("a"), Now: func() time.Time { return noon }, Waiting: allocation.WaitingFrom(c, allocation.LineupInput{}, func() time.Time { return noon })})
	_, text, _ := get(t, p, "/benchmarks/a/nightly-02")
	if !strings.Contains(text, `<option value="nightly-01">`) {
		t.Errorf("it cannot be compared: %s", text)
	}
	for range 2 {
		status, text, header := get(t, p, "/comparisons/a/nightly-02?with=nightly-01")
		if status != http.StatusOK || !strings.Contains(text, "Comparison") || !strings.Contains(text, "−10.47") || !strings.Contains(text, `<a href="/benchmarks/a/nightly-02">`) || header.Get("Content-Security-Policy") != reportPolicy {
			t.Fatalf("status %d: %s", status, text)
		}
	}
	if len(p.results.kept.of) != 2 || p.results.kept.bytes < 500 {
		t.Errorf("%d results with %d bytes are kept", len(p.results.kept.of), p.results.kept.bytes)
	}
}

// partOf is the only part of a result.
func partOf(c report.Content) *v1alpha1.BenchmarkResult {
	b := c.Benchmark
	return &v1alpha1.BenchmarkResult{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name + "-1", Labels: map[string]string{v1alpha1.LabelBenchmarkUID: string(b.UID), v1alpha1.LabelBenchmark: b.Name}},
		Spec:       v1alpha1.BenchmarkResultSpec{BenchmarkName: b.Name, BenchmarkUID: string(b.UID), Part: 1, Test: "throughput", Complete: true, Rows: c.Rows},
	}
}

// TestDocuments: as many results are kept as have a bounded size, whatever the number of their rows.
func TestDocuments(t *testing.T) {
	t.Parallel()
	of := func(bytes int) *report.Document {
		return &report.Document{Rows: []v1alpha1.ResultRow{{Message: strings.Repeat("m", bytes/2)}, {Message: strings.Repeat("m", bytes/2)}}}
	}
	var kept documents
	for i := range 30 {
		kept.put(fmt.Sprint(i), of(keptBytes/10))
	}
	kept.put("large", of(keptBytes+1))
	if kept.bytes > keptBytes || len(kept.of) != 9 || len(kept.uids) != 9 || kept.get("29") == nil || kept.get("9") != nil || kept.get("large") != nil {
		t.Errorf("%d results with %d bytes are kept", len(kept.of), kept.bytes)
	}
}

// TestUnreadable shows the results of a history that can be read, and names the one that cannot.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, err := archive.Open("file://" + dir)
	if err != nil {
		t.Fatal(err)
	}
	put := func(run int) {
		if _, err := store.Put(t.Context(), report.New(result("a", run, 8_600_000))); err != nil {
			t.Fatal(err)
		}
	}
	damaged := func(uid string) {
		if err := os.WriteFile(filepath.Join(dir, "a", "namespace-a", "nightly", uid+".json.zst"), []byte("{<b>"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(1)
	damaged("broken")
	c := caches(t)
	p := New(Options{Reader: c, Results: c, Archive: store, Access: fakeAccess("a"), Now: func() time.Time { return noon }, Waiting: allocation.WaitingFrom(c, allocation.LineupInput{}, func() time.Time { return noon })})
	check := func(wants ...string) {
		t.Helper()
		status, text, _ := get(t, p, "/history/a/nightly")
		checkHTML(t, "/history/a/nightly", text)
		for _, want := range wants {
			if status != http.StatusOK || !strings.Contains(text, want) {
				t.Errorf("status %d, the history lacks %q: %s", status, want, text)
			}
		}
	}
	check("1 run from", "nightly-01", "Results that cannot be read", "broken.json.zst: decoding the result")
	if status, _, _ := get(t, p, "/archive/a/nightly/anightly-01"); status != http.StatusOK {
		t.Errorf("the report of the run that can be read: status %d", status)
	}
	if err := os.RemoveAll(filepath.Join(dir, "a", "namespace-a", "nightly")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "a", "namespace-a", "nightly"), 0o755); err != nil {
		t.Fatal(err)
	}
	damaged("broken")
	check("broken.json.zst: decoding the result")
}

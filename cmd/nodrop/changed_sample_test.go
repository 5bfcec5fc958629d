package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/reporting/verify"
)

// changedSample returns the benchmark of a sample with changes, each an old and a new text.
func changedSample(t *testing.T, name string, changes ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(samplesDir, name, "benchmark.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(changes...).Replace(string(text))
}

// runText measures a benchmark, and returns its result, also one without a conclusion: a busy machine measures so.
func runText(t *testing.T, text string) *report.Document {
	t.Helper()
	file := filepath.Join(t.TempDir(), "benchmark.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, "run", "-f", file, "-o", "json")
	p.exit()
	var document report.Document
	if err := json.Unmarshal([]byte(p.stdout.String()), &document); err != nil {
		t.Fatalf("%v\n%s\n%s", err, &p.stdout, &p.stderr)
	}
	return &document
}

// recomputes expects that no figure of a result contradicts the records of its trials.
func recomputes(t *testing.T, document *report.Document) {
	t.Helper()
	if v := verify.Document(document); len(v.Mismatches) > 0 {
		t.Errorf("figures that do not follow from the records: %+v", v.Mismatches)
	}
}

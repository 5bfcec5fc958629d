package report

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// A result whose rows were deleted states that, and does not judge its gates anew.
func TestRowsThatAreGone(t *testing.T) {
	t.Parallel()
	whole := gated()
	b := objects.Benchmark("", "gated", objects.BenchmarkSpec(whole.Spec))
	b.Status.Phase, b.Status.Message = v1alpha1.PhaseFailed, "1 of 5 gates failed"
	b.Status.Results = &v1alpha1.ResultSummary{Rows: int32(len(whole.Rows))}
	none := New(Content{Benchmark: b, Environment: whole.Environment})
	page := written(t, none, FormatHTML)
	if !strings.Contains(page, "All 15 rows of this result are gone") || !strings.Contains(page, "The rows of this result are gone.") || strings.Contains(page, "Gates: Inconclusive") || strings.Contains(page, "No row was measured") {
		t.Errorf("the page does not say that the rows are gone:\n%s", page)
	}
	if text := none.Text(); !strings.Contains(text, "all 15 rows of this result are gone") {
		t.Errorf("the text does not say that the rows are gone:\n%s", text)
	}
	some := New(Content{Benchmark: b, Environment: whole.Environment, Rows: whole.Rows[:11]})
	if page := written(t, some, FormatHTML); !strings.Contains(page, "4 of 15 rows of this result are gone") || !strings.Contains(page, "Gates: ") {
		t.Errorf("the page does not say that some rows are gone:\n%s", page)
	}
	b.Status.Results = nil
	if page := written(t, New(Content{Benchmark: b}), FormatHTML); !strings.Contains(page, "The rows of this result are gone. The verdict") {
		t.Errorf("a verdict without rows is not explained:\n%s", page)
	}
	for name, d := range map[string]*Document{"whole": whole, "aborted": aborted()} {
		if page := written(t, d, FormatHTML); strings.Contains(page, "gone") {
			t.Errorf("%s: rows are called gone", name)
		}
	}
}

package compare

import (
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

func bulkRow(bits int64, validity v1alpha1.Validity) v1alpha1.ResultRow {
	row := v1alpha1.ResultRow{RowID: v1alpha1.RowID{Test: "bulk", Method: v1alpha1.MethodBulk}, Validity: validity}
	if bits > 0 {
		row.Bulk = &v1alpha1.BulkSummary{GoodputBitsPerSecond: bits}
	}
	return row
}

// TestGoodputOfBulk compares beds by the goodput of bulk data, of which a row has no other metric.
func TestGoodputOfBulk(t *testing.T) {
	results := []Result{
		named("old", bulkRow(100_000_000, v1alpha1.ValidityValid)), named("new", bulkRow(830_000_000, v1alpha1.ValidityValid)),
		named("busy", bulkRow(900_000_000, v1alpha1.ValidityGeneratorBound)), named("aborted", bulkRow(0, v1alpha1.ValidityValid)),
	}
	l := line(t, Goodput, results...)
	if got := ranks(l); got != "2 1 0 0 new" || *l.Cells[1].DifferencePPM != 7_300_000 || l.Cells[2].Status != NotValid || l.Cells[3].Reason != "no data was moved" {
		t.Errorf("%s: %+v", got, l)
	}
	c, err := Make(results)
	if err != nil || len(c.Lines) != 1 {
		t.Errorf("%d lines, %v", len(c.Lines), err)
	}
}

// TestGoodputOfDifferentSenders names the congestion control of each result that has a rank, if they are not the same.
func TestGoodputOfDifferentSenders(t *testing.T) {
	by := func(control string, bits int64, validity v1alpha1.Validity) v1alpha1.ResultRow {
		row := bulkRow(bits, validity)
		row.Bulk.CongestionControl = control
		return row
	}
	const valid = v1alpha1.ValidityValid
	same := line(t, Goodput, named("a", by("cubic", 1000, valid)), named("b", by("cubic", 2000, valid)), named("c", by("bbr", 3000, v1alpha1.ValidityGeneratorBound)))
	if same.Note != "" {
		t.Errorf("note %q", same.Note)
	}
	other := line(t, Goodput, named("a", by("cubic", 1000, valid)), named("b", by("bbr", 2000, valid)))
	if other.Note != "sent by different congestion control: a by cubic, b by bbr" {
		t.Errorf("note %q", other.Note)
	}
}

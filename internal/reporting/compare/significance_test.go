package compare

import (
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

func repeated(values ...int64) v1alpha1.ResultRow {
	middle := values[(len(values)-1)/2]
	return v1alpha1.ResultRow{
		RowID:    v1alpha1.RowID{Test: "throughput", Method: v1alpha1.MethodThroughput, FrameSize: 64},
		Validity: v1alpha1.ValidityValid,
		Frames:   &v1alpha1.FrameSection{LineRatePPM: 500_000, FramesPerSecond: middle, OfferedFramesPerSecond: middle, Sent: 1, Received: 1},
		Repeated: &v1alpha1.RepeatedSummary{Repetitions: int32(len(values)), Figures: []v1alpha1.FigureInterval{{Metric: "Throughput", Median: middle, Values: values}}},
	}
}

// Results tie where chance makes such a difference.
func TestDifferencesWithinChance(t *testing.T) {
	for name, c := range map[string]struct {
		a, b        v1alpha1.ResultRow
		significant bool
		tied        bool
	}{
		"apart":      {repeated(100, 101, 102, 103, 104, 105), repeated(110, 111, 112, 113, 114, 115), true, false},
		"overlap":    {repeated(100, 104, 108, 112, 116, 120), repeated(102, 106, 110, 114, 118, 122), false, true},
		"too few":    {repeated(100, 101), repeated(110, 111), false, true},
		"equal":      {repeated(100, 100, 100, 100), repeated(100, 100, 100, 100), false, true},
		"four apart": {repeated(100, 101, 102, 103), repeated(104, 105, 106, 107), true, false},
	} {
		t.Run(name, func(t *testing.T) {
			made, err := Make([]Result{{Subject: Subject{Name: "a"}, Rows: []v1alpha1.ResultRow{c.a}}, {Subject: Subject{Name: "b"}, Rows: []v1alpha1.ResultRow{c.b}}})
			if err != nil {
				t.Fatal(err)
			}
			cells := made.Lines[0].Cells
			s := cells[1].Significance
			if s == nil || s.Significant != c.significant || cells[0].Tied != c.tied || cells[1].Tied != c.tied {
				t.Fatalf("significance %+v, tied %v and %v", s, cells[0].Tied, cells[1].Tied)
			}
			if different := *cells[1].Difference != 0; (s.Repetitions > 0) != (different && !c.significant) {
				t.Errorf("%d repetitions for a difference of %d", s.Repetitions, *cells[1].Difference)
			}
		})
	}
	one := repeated(100)
	one.Repeated = nil
	made, err := Make([]Result{{Subject: Subject{Name: "a"}, Rows: []v1alpha1.ResultRow{one}}, {Subject: Subject{Name: "b"}, Rows: []v1alpha1.ResultRow{repeated(99, 98, 97)}}})
	if err != nil || made.Lines[0].Cells[1].Significance != nil {
		t.Errorf("a single measurement has a significance: %+v, %v", made, err)
	}
}

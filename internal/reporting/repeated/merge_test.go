package repeated

import (
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

func throughput(size, repetition int32, ppm, upper int64) v1alpha1.ResultRow {
	return v1alpha1.ResultRow{
		RowID:    v1alpha1.RowID{Test: "throughput", Method: v1alpha1.MethodThroughput, FrameSize: size, Repetition: repetition},
		Validity: v1alpha1.ValidityValid, Trials: 3, ElapsedMilliseconds: 100,
		Frames: &v1alpha1.FrameSection{LineRatePPM: ppm, FramesPerSecond: 10 * ppm, OfferedFramesPerSecond: 10 * ppm, Sent: 10, Received: 10},
		Search: &v1alpha1.SearchSummary{UpperBoundPPM: upper},
	}
}

func TestMerge(t *testing.T) {
	once := throughput(64, 0, 1, 2)
	once.Test = "other"
	second := throughput(64, 2, 300_000, 310_000)
	second.Validity, second.ValidityReasons = v1alpha1.ValidityContended, []string{"others used the processors"}
	rows := []v1alpha1.ResultRow{
		throughput(64, 1, 500_000, 510_000), throughput(128, 1, 700_000, 710_000),
		second, throughput(128, 2, 700_000, 710_000), throughput(64, 3, 400_000, 410_000), once,
	}
	merged := Merge(rows)
	if len(merged) != 3 || merged[0].FrameSize != 64 || merged[1].FrameSize != 128 || merged[2].Test != "other" || merged[2].Repeated != nil {
		t.Fatalf("rows %+v", merged)
	}
	row := merged[0]
	if row.Repetition != 0 || row.Frames.LineRatePPM != 400_000 || row.Repeated.Median != 3 || row.Repeated.Repetitions != 3 || row.Trials != 9 || row.ElapsedMilliseconds != 300 {
		t.Errorf("the row is not that of the median repetition: %+v, %+v", row, row.Repeated)
	}
	if row.Validity != v1alpha1.ValidityContended || len(row.ValidityReasons) != 1 || row.ValidityReasons[0] != "repetition 2: others used the processors" {
		t.Errorf("validity %s, %q", row.Validity, row.ValidityReasons)
	}
	f := row.Repeated.Figure("Throughput")
	if f == nil || f.Median != 4_000_000 || f.Low != 3_000_000 || f.High != 5_100_000 || f.ConfidencePPM != 750_000 || f.Unit != "frames/s" {
		t.Errorf("throughput %+v", f)
	}
	if len(Single(rows)) != 5 || len(Single(merged)) != 0 {
		t.Errorf("%d rows of repetitions", len(Single(rows)))
	}
	if again := Merge(merged); len(again) != 3 || again[0].Repeated == nil {
		t.Error("rows that are merged changed")
	}
}

// A single repetition so far has no interval.
func TestMergeOfOne(t *testing.T) {
	row := Merge([]v1alpha1.ResultRow{throughput(64, 1, 500_000, 510_000)})[0]
	if row.Repeated != nil || row.Repetition != 0 || row.Frames.LineRatePPM != 500_000 {
		t.Errorf("got %+v", row)
	}
}

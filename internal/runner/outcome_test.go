package runner

import (
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// The last message of a run does not claim figures that are not there.
func TestAllMeasured(t *testing.T) {
	measured := v1alpha1.ResultRow{RowID: v1alpha1.RowID{Method: v1alpha1.MethodBackToBack}, Frames: &v1alpha1.FrameSection{Sent: 100}}
	without := v1alpha1.ResultRow{RowID: v1alpha1.RowID{Method: v1alpha1.MethodBackToBack}, Frames: &v1alpha1.FrameSection{}, Message: "not measured"}
	zero := v1alpha1.ResultRow{RowID: v1alpha1.RowID{Method: v1alpha1.MethodThroughput}, Frames: &v1alpha1.FrameSection{}, Message: "nothing came back"}
	for want, rows := range map[string][]v1alpha1.ResultRow{
		"the only row was measured": {measured},
		"both rows were measured":   {measured, zero},
		"all 3 rows were measured":  {measured, measured, zero},
		"2 of 3 rows were measured; the others say why there was nothing to measure": {measured, without, zero},
	} {
		if got := allMeasured(rows); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

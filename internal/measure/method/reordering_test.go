package method

import (
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/traffic"
)

// The gaps of all streams count together. If an engine counts no gaps, the row has none
// instead of zeros.
func TestReorderingGaps(t *testing.T) {
	trial := &trials.Trial{Counts: trials.Counts{Received: 1000, Reordered: 10}}
	if s := reordering(trial); s == nil || s.Gaps != nil {
		t.Fatalf("%+v, want no gaps", s)
	}
	for _, stream := range []traffic.Order{{}, {Gaps: 2, GapSum: 17, GapMin: 7}, {Gaps: 2, GapSum: 20, GapMin: 8}, {}} {
		trial.Order.Add(stream)
	}
	if got, want := *reordering(trial).Gaps, (v1alpha1.ReorderingGaps{Count: 4, MinFrames: 7, AvgFrames: 9}); got != want {
		t.Errorf("gaps %+v, want %+v", got, want)
	}
}

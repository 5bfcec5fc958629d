package method

import (
	"math/big"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// reordering summarizes the reordered frames of a trial (RFC 4737 sections 4.2, 4.3, 4.5,
// 4.6 and 5); nil if there were none.
func reordering(t *trials.Trial) *v1alpha1.ReorderingSummary {
	if t.Reordered == 0 {
		return nil
	}
	s := &v1alpha1.ReorderingSummary{
		ExtentMaxFrames: int64(t.Order.ExtentMax), ExtentUnknown: int64(t.Order.Beyond),
		LateMaxNs: int64(t.Order.LateMaxNs), NMax: int64(t.Order.DegreeMax),
		FreeRunFrames: frame.Round(big.NewRat(int64(t.Received-min(t.Received, t.Reordered)), int64(t.Reordered))),
		Extents:       []v1alpha1.ReorderingExtent{},
	}
	if gaps := t.Order.Gaps; gaps > 0 {
		s.Gaps = &v1alpha1.ReorderingGaps{
			Count: int64(gaps), MinFrames: int64(t.Order.GapMin), AvgFrames: frame.Round(big.NewRat(int64(t.Order.GapSum), int64(gaps))),
		}
	}
	for i := range uint32(traffic.OrderBucketCount) {
		low, high := traffic.OrderBounds(i)
		if n := t.Order.Extents[i]; n > 0 {
			extent := v1alpha1.ReorderingExtent{From: int64(low), Frames: int64(n)}
			if i < traffic.OrderBucketCount-1 {
				extent.To = new(int64(high))
			}
			s.Extents = append(s.Extents, extent)
		}
		if n := t.Order.Reordered(low); i > 0 && n > 0 {
			s.NReordered = append(s.NReordered, v1alpha1.NReordering{N: int64(low), Frames: int64(n), PPM: trials.SharePPM(n, t.Received)})
		}
	}
	return s
}

package verify

import (
	"fmt"

	"nodrop.dev/nodrop/api/v1alpha1"
)

func (c *check) ordering() {
	c.fixed()
	c.load(c.full())
	o, r := c.row.Ordering, c.decides
	if o == nil || r == nil {
		return
	}
	c.is("ordering.reorderedPPM", sharePPM(r.Reordered, r.Received))
	c.is("ordering.outOfSequencePPM", sharePPM(r.OutOfSequence, r.Received))
	inOrder, onset := c.orderBounds()
	c.ifAny("ordering.inOrderPPM", inOrder)
	c.ifAny("ordering.onsetPPM", onset)
	if o.Reordering != nil && r.Reordering != nil {
		c.reordering(r)
	}
}

// orderBounds returns the lowest load at which frames were reordered, and the highest one below it
// at which none was, over the rows of the test up to this one.
func (c *check) orderBounds() (inOrder, onset int64) {
	var all []v1alpha1.TrialRecord
	rows := c.rows()
	for i := range rows {
		r := &rows[i]
		if r.Test == c.row.Test && r.Repetition == c.row.Repetition && r.Variant == c.row.Variant && r.SizeName() == c.row.SizeName() && r.TrialRecords != nil {
			all = append(all, r.TrialRecords.Trials...)
		}
		if r == c.row {
			break
		}
	}
	for _, r := range all {
		if r.Verdict != v1alpha1.TrialVoid && r.Reordered > 0 && (onset == 0 || r.LoadPPM < onset) {
			onset = r.LoadPPM
		}
	}
	for _, r := range all {
		if r.Verdict != v1alpha1.TrialVoid && r.Reordered == 0 && !because(&r, v1alpha1.TrialShortOfLoad) && (onset == 0 || r.LoadPPM < onset) {
			inOrder = max(inOrder, r.LoadPPM)
		}
	}
	return inOrder, onset
}

func (c *check) reordering(r *v1alpha1.TrialRecord) {
	const in = "ordering.reordering."
	o := r.Reordering
	c.is(in+"extentMaxFrames", o.ExtentMax)
	c.ifAny(in+"extentUnknown", o.ExtentUnknown)
	c.is(in+"lateMaxNs", o.LateMaxNs)
	c.is(in+"nMax", o.DegreeMax)
	c.is(in+"freeRunFrames", nearest(ratio(max(0, r.Received-r.Reordered), r.Reordered)))
	all := int64(0)
	for i := 0; i+1 < len(o.Extents); i += 2 {
		prefix := fmt.Sprintf("%sextents[%d].", in, i/2)
		c.is(prefix+"from", o.Extents[i])
		c.is(prefix+"frames", o.Extents[i+1])
		high := 2*o.Extents[i] - 1
		if o.Extents[i] < 8 {
			high = o.Extents[i]
		}
		c.ifAny(prefix+"to", high)
		all += o.Extents[i+1]
	}
	if all != r.Reordered {
		c.mismatch(in+"extents", fmt.Sprint(all)+" frames", fmt.Sprint(r.Reordered)+" reordered frames")
	}
	n := 0
	for _, from := range reorderingSteps {
		frames := int64(0)
		for i := 0; i+1 < len(o.Degrees); i += 2 {
			if o.Degrees[i] >= from {
				frames += o.Degrees[i+1]
			}
		}
		if frames == 0 {
			continue
		}
		prefix := fmt.Sprintf("%snReordered[%d].", in, n)
		c.is(prefix+"n", from)
		c.is(prefix+"frames", frames)
		c.is(prefix+"ppm", sharePPM(frames, r.Received))
		n++
	}
	if c.row.Ordering.Reordering.Gaps != nil {
		c.is(in+"gaps.count", o.Gaps)
		c.is(in+"gaps.minFrames", o.GapMin)
		c.is(in+"gaps.avgFrames", nearest(ratio(o.GapSum, o.Gaps)))
	}
}

// reorderingSteps are the n of n-reordering that a row lists: 1 to 8, and the powers of two above.
var reorderingSteps = func() (all []int64) {
	for n := int64(1); n < 8; n++ {
		all = append(all, n)
	}
	for n := int64(8); n < 1<<32; n *= 2 {
		all = append(all, n)
	}
	return all
}()

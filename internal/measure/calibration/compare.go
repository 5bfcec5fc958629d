package calibration

import (
	"fmt"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// ownShare is up to how many times the tester's own latency, or share of reordered frames,
// one is said to be mostly the tester's.
const ownShare = 2

// Ceiling explains that the tester alone did not pass a load, in parts per million of line
// rate, at one of the frame sizes: lost frames can be its own. Empty if the tester passed
// it, if its limit was not reached, or for the load 0.
func Ceiling(c *v1alpha1.CalibrationStatus, sizes []int32, ppm int64) string {
	for _, known := range ofSizes(c, sizes) {
		if known.UpperBoundPPM == 0 || ppm <= known.LineRatePPM {
			continue
		}
		return fmt.Sprintf("%s of line rate is above what the tester passes by itself, %s with frames of %d bytes by the calibration of test bed %s: the device may be better",
			v1alpha1.FormatPPM(ppm), v1alpha1.FormatPPM(known.LineRatePPM), known.FrameSize, c.TestBedName)
	}
	return ""
}

// Floor explains that most of an average latency is the tester's own, with frames of one
// size; empty if it is not, or not known.
func Floor(c *v1alpha1.CalibrationStatus, sizes []int32, avgNs int64) string {
	known := ofSizes(c, sizes)
	if len(known) != 1 || known[0].Latency == nil {
		return ""
	}
	floor := known[0].Latency.AvgNs
	if floor <= 0 || avgNs > ownShare*floor {
		return ""
	}
	return fmt.Sprintf("the latency is mostly the tester's own: without the device it is %d.%03d us on average, by the calibration of test bed %s",
		floor/1000, floor%1000, c.TestBedName)
}

// OrderFloor explains that the tester alone reorders as many frames of one size as a row
// has, reordered of received ones, or half of them; empty when it does not, or when that is
// not known.
func OrderFloor(c *v1alpha1.CalibrationStatus, sizes []int32, reordered, received int64) string {
	known := ofSizes(c, sizes)
	if len(known) != 1 || known[0].ReorderedPPM == nil || reordered <= 0 || received <= 0 {
		return ""
	}
	floor := *known[0].ReorderedPPM
	if ReorderedPPM(reordered, received) > ownShare*floor {
		return ""
	}
	return fmt.Sprintf("the reordering is mostly the tester's own: without the device up to %s of the frames are reordered, by the calibration of test bed %s",
		v1alpha1.FormatPPM(floor), c.TestBedName)
}

// ofSizes returns the calibrated figures of frame sizes.
func ofSizes(c *v1alpha1.CalibrationStatus, sizes []int32) []v1alpha1.CalibratedFrameSize {
	var known []v1alpha1.CalibratedFrameSize
	for _, size := range sizes {
		for _, f := range c.FrameSizes {
			if f.FrameSize == size {
				known = append(known, f)
			}
		}
	}
	return known
}

package search

import (
	"math/big"
)

// wireOverhead is the cost of a frame on the wire in addition to its size: preamble, start
// delimiter and inter-frame gap, in bytes.
const wireOverhead = 20

// Hint is a limit of the device that is already known, or believed: from another
// frame size, from the calibration of the bed, from an earlier run. It moves the
// begin of a search and nothing else: a wrong hint costs trials, never the result.
type Hint struct {
	// FramesPerSecond that one port passes at any frame size; nil when not known.
	FramesPerSecond *big.Rat
	// BitsPerSecond at layer 1 that one port passes at any frame size; nil when not
	// known.
	BitsPerSecond *big.Rat
	// Tester reports whether the limit is that of the tester: the device passes no more than
	// it, and may have other limits of its own.
	Tester bool
	// Source names the origin of the hint, for the result: "64 B", "calibration".
	Source string
}

// Found is the hint that a result gives to the other frame sizes of its device:
// the throughput of one port of the given speed. Nothing is known above line
// rate: a search that ended at its highest load gives no hint.
func Found(speed int64, size int, passedPPM, maxPPM int64, source string) (Hint, bool) {
	if passedPPM <= 0 || passedPPM >= maxPPM {
		return Hint{}, false
	}
	bitRate := new(big.Rat).Mul(big.NewRat(speed, million), big.NewRat(passedPPM, 1))
	frames := new(big.Rat).Quo(bitRate, big.NewRat(int64(8*(size+wireOverhead)), 1))
	return Hint{FramesPerSecond: frames, BitsPerSecond: bitRate, Source: source}, true
}

// Predict is the load in parts per million of line rate at which hints let a
// search for a port's speed and a frame size begin, and the source of the hint
// that it comes from; 0 when they say nothing.
//
// A device has a frames/s limit or a bits/s limit. Which of the two a result has
// met is seen from other results: where another size passed clearly more frames/s,
// it was the bits/s, and where another passed clearly more bits/s, the frames/s.
// When nothing tells, the limit that allows more is assumed, since a trial above
// the capacity shows the capacity, and one below does not. The lowest prediction
// of all hints is taken.
func Predict(hints []Hint, speed int64, size int) (ppm int64, source string) {
	if speed <= 0 {
		return 0, ""
	}
	var best *big.Rat
	for _, h := range hints {
		frames, bitRate := h.limits(hints)
		share := new(big.Rat)
		if frames {
			share.Mul(h.FramesPerSecond, big.NewRat(int64(8*(size+wireOverhead)), 1))
		}
		if bitRate && h.BitsPerSecond.Cmp(share) > 0 {
			share.Set(h.BitsPerSecond)
		}
		if share.Sign() > 0 && (best == nil || share.Cmp(best) < 0) {
			best, source = share, h.Source
		}
	}
	if best == nil {
		return 0, ""
	}
	best.Quo(best, big.NewRat(speed, million))
	whole := new(big.Int).Quo(best.Num(), best.Denom())
	if !whole.IsInt64() || whole.Int64() > million {
		return million, source
	}
	return max(whole.Int64(), 1), source
}

// clearly is the factor by which a rate must be higher to be no accident: a fiftieth more.
var clearly = big.NewRat(102, 100)

// limits reports which of its two rates may be the limit that a hint has met.
func (h Hint) limits(others []Hint) (frames, bitRate bool) {
	frames = h.FramesPerSecond != nil && h.FramesPerSecond.Sign() > 0
	bitRate = h.BitsPerSecond != nil && h.BitsPerSecond.Sign() > 0
	if !frames || !bitRate {
		return frames, bitRate
	}
	moreFrames, moreBits := false, false
	for _, o := range others {
		if o.Tester != h.Tester {
			continue // What the one passes says nothing of what has limited the other.
		}
		moreFrames = moreFrames || o.FramesPerSecond != nil && o.FramesPerSecond.Cmp(new(big.Rat).Mul(h.FramesPerSecond, clearly)) > 0
		moreBits = moreBits || o.BitsPerSecond != nil && o.BitsPerSecond.Cmp(new(big.Rat).Mul(h.BitsPerSecond, clearly)) > 0
	}
	if moreFrames == moreBits {
		return true, true
	}
	return moreBits, moreFrames
}

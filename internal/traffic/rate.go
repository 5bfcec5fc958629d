package traffic

import (
	"fmt"
	"math/big"
)

// nanosPerSecond is the number of nanoseconds in a second.
const nanosPerSecond = 1_000_000_000

// Rate is an exact frame rate: Frames in PerNanos.
type Rate struct {
	// Frames is the numerator, in frames.
	Frames int64
	// PerNanos is the denominator, in nanoseconds; above 0.
	PerNanos int64
}

// RateOf is a frame rate in frames/s, without rounding. It fails when the rate is not
// above 0, and when the reduced fraction does not fit 64 bits, which no port speed of
// the API brings about.
func RateOf(framesPerSecond *big.Rat) (Rate, error) {
	perNano := new(big.Rat).Quo(framesPerSecond, big.NewRat(nanosPerSecond, 1))
	if perNano.Sign() <= 0 {
		return Rate{}, fmt.Errorf("frame rate %s is not above 0", framesPerSecond.FloatString(3))
	}
	if !perNano.Num().IsInt64() || !perNano.Denom().IsInt64() {
		return Rate{}, fmt.Errorf("frame rate %s frames/s does not fit 64 bits", framesPerSecond.RatString())
	}
	return Rate{Frames: perNano.Num().Int64(), PerNanos: perNano.Denom().Int64()}, nil
}

// FramesPerSecond is the exact rate in frames/s.
func (r Rate) FramesPerSecond() *big.Rat {
	perSecond := big.NewRat(r.Frames, r.PerNanos)
	return perSecond.Mul(perSecond, big.NewRat(nanosPerSecond, 1))
}

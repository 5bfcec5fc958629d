package plan

import (
	"fmt"
	"math/big"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// Burst gives every sending port an exact number of frames at ppm parts per
// million of line rate, divided by the shares of its streams, and says how long the
// slowest port takes to send them. The frames are of one size: a mix fails.
func (a AtSize) Burst(ppm, frames int64) (map[uint16]traffic.Load, time.Duration, error) {
	if a.size.Mix != nil {
		return nil, 0, fmt.Errorf("a burst of %s: bursts are of frames of one size", a.size.Name())
	}
	loads := make(map[uint16]traffic.Load, len(a.streams))
	rates, before := a.rates(Share(ppm)), map[int]*big.Rat{}
	var longest time.Duration
	for _, s := range a.streams {
		rate, err := rates(s)
		if err != nil {
			return nil, 0, err
		}
		// What streams up to and with this one send, rounded up: the frames of a port add
		// up to exactly as many as it sends.
		upTo := before[s.Tx]
		if upTo == nil {
			upTo = new(big.Rat)
			before[s.Tx] = upTo
		}
		n := -roundedUp(upTo, frames)
		upTo.Add(upTo, s.share())
		if n += roundedUp(upTo, frames); n == 0 {
			continue
		}
		loads[s.ID] = traffic.Load{Rate: rate, Frames: uint64(n), Delay: s.Delay}
		took := new(big.Rat).SetFrac64(rate.PerNanos, rate.Frames)
		longest = max(longest, s.Delay+time.Duration(frame.Round(took.Mul(took, big.NewRat(n, 1)))))
	}
	return loads, longest, nil
}

// roundedUp is a share of a number, rounded up.
func roundedUp(share *big.Rat, of int64) int64 {
	n := new(big.Int).Mul(share.Num(), big.NewInt(of))
	n.Add(n, share.Denom()).Sub(n, big.NewInt(1))
	return n.Quo(n, share.Denom()).Int64()
}

// BurstFrames returns the number of frames of a size that the slowest sending port sends at
// line rate in d, and that rate in frames/s.
func (a AtSize) BurstFrames(d time.Duration) (int64, *big.Rat) {
	var slowest *big.Rat
	for _, s := range a.streams {
		if r := frame.Rate(a.ports[s.Tx].BitsPerSecond, a.size.Bytes, 1_000_000); slowest == nil || r.Cmp(slowest) < 0 {
			slowest = r
		}
	}
	if slowest == nil {
		return 0, new(big.Rat)
	}
	n := new(big.Rat).Mul(slowest, big.NewRat(int64(d), int64(time.Second)))
	return new(big.Int).Quo(n.Num(), n.Denom()).Int64(), slowest
}

package plan

import (
	"fmt"
	"math/big"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Scale converts loads to shares of line rate, for ports of one speed at one frame size. The
// zero Scale has no speed.
type Scale struct {
	size          Size
	bitsPerSecond int64
}

// Scale of the plan at a size: by the speed of the first port that sends.
func (p Plan) Scale(size Size) Scale { return p.scale(Method{}, size) }

// ScaleOf is the scale of a row of a profile, on ports of a speed.
func ScaleOf(profile *v1alpha1.TrafficProfile, id v1alpha1.RowID, speed v1alpha1.BitRate) Scale {
	n, err := speed.BitsPerSecond()
	if err != nil {
		return Scale{}
	}
	return Scale{Plan{Sizes: sizes(profile)}.SizeOf(v1alpha1.ResultRow{RowID: id}), n}
}

// scale of a method, whose senders may be those of its topology.
func (p Plan) scale(m Method, size Size) Scale {
	for port := range p.senders(m) {
		return Scale{size, port.BitsPerSecond}
	}
	return Scale{}
}

// Known reports whether there is a speed, without which a rate is no share of anything.
func (s Scale) Known() bool { return s.bitsPerSecond > 0 }

// Size that the shares are of.
func (s Scale) Size() Size { return s.size }

// PPM is a load in parts per million of line rate, rounded down, but never to 0. It is 0
// for what is no load, and for a rate where no speed is known.
func (s Scale) PPM(load v1alpha1.LoadAmount) int64 {
	amount, err := AmountOf(v1alpha1.Load(load))
	switch {
	case err != nil:
		return 0
	case amount.PPM > 0:
		return amount.PPM
	case !s.Known():
		return 0
	}
	share := ofLineRate(amount, s.size, s.bitsPerSecond)
	share.Mul(share, big.NewRat(v1alpha1.PPM, 1))
	return max(1, new(big.Int).Quo(share.Num(), share.Denom()).Int64())
}

// InWords is a load for a person: "50%", "5Mpps (33.6% of line rate with 64 bytes)".
func (s Scale) InWords(load v1alpha1.LoadAmount) string {
	if !load.IsRate() {
		return string(load)
	}
	return fmt.Sprintf("%s (%s of line rate with %s)", load, v1alpha1.FormatPPM(s.PPM(load)), s.size.InWords())
}

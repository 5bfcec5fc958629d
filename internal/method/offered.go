package method

import (
	"math/big"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/frame"
)

// Rate is a load in the three forms in which reports print it, summed over all sending
// ports: frames/s, bit/s at layer 2, and parts per million of the full
// load: line rate, or what the profile lets ports send of it (OfFullLoad).
type Rate struct{ FramesPerSecond, BitsPerSecond, LineRatePPM int64 }

// Intended is the load that a row was measured at, as it was asked for or searched (Iload,
// RFC 2285 section 3.5.1).
func Intended(row *v1alpha1.ResultRow) Rate {
	f := row.Frames.OrZero()
	return Rate{f.FramesPerSecond, f.BitsPerSecond, f.LineRatePPM}
}

// Offered returns the part of the intended load of a row that left the tester (Oload, RFC
// 2285 section 3.5.2). It is 0 if no load passed, which is a throughput of 0.
func Offered(row *v1alpha1.ResultRow) Rate {
	in, left := Intended(row), row.Frames.OrZero().OfferedFramesPerSecond
	if in.LineRatePPM == 0 || in.FramesPerSecond == 0 || left == 0 {
		return Rate{}
	}
	of := func(n int64) int64 {
		return frame.Round(new(big.Rat).Mul(big.NewRat(n, 1), big.NewRat(left, in.FramesPerSecond)))
	}
	return Rate{left, of(in.BitsPerSecond), of(in.LineRatePPM)}
}

// OfferedOther reports whether another load than the intended one left the tester: more or less
// by more than a thousandth.
func OfferedOther(row *v1alpha1.ResultRow) bool {
	intended, offered := Intended(row).FramesPerSecond, Offered(row).FramesPerSecond
	difference := intended - offered
	return max(difference, -difference) > intended/1000
}

// Offered returns the part of an intended rate that left the tester: less if it did not send
// all frames, or took longer than the trial. Frames with many receivers may count once in
// the rate or at each of them.
func (t *Trial) Offered(intended *big.Rat) *big.Rat {
	if t.Intended == 0 {
		return new(big.Rat)
	}
	share := new(big.Rat).SetFrac(new(big.Int).SetUint64(t.Sent), new(big.Int).SetUint64(t.Intended))
	return t.stretched(share.Mul(share, intended))
}

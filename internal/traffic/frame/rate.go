package frame

import (
	"math/big"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// WireBits returns the size of a frame of size bytes (with FCS) on the wire, in bits.
func WireBits(size int) int64 { return 8 * int64(size+WireOverhead) }

// Rate is the exact frame rate in frames/s of a port of bitsPerSecond that sends
// frames of size bytes (with FCS) at ppm parts per million of line rate.
func Rate(bitsPerSecond int64, size int, ppm int64) *big.Rat {
	num := new(big.Int).Mul(big.NewInt(bitsPerSecond), big.NewInt(ppm))
	den := new(big.Int).Mul(big.NewInt(WireBits(size)), big.NewInt(v1alpha1.PPM))
	return new(big.Rat).SetFrac(num, den)
}

// BitRate is the layer-2 bit rate in bit/s of a frame rate in frames/s: frames
// with FCS, without preamble and inter-frame gap.
func BitRate(framesPerSecond *big.Rat, size int) *big.Rat {
	return new(big.Rat).Mul(framesPerSecond, big.NewRat(8*int64(size), 1))
}

// Round gives the nearest whole number, halves away from zero. It is for what a
// person reads; arithmetic goes on with the rational.
func Round(r *big.Rat) int64 {
	// (2n + d) / 2d, truncated, of the absolute value.
	num := new(big.Int).Abs(r.Num())
	num.Lsh(num, 1).Add(num, r.Denom())
	num.Quo(num, new(big.Int).Lsh(r.Denom(), 1))
	if r.Sign() < 0 {
		num.Neg(num)
	}
	return num.Int64()
}

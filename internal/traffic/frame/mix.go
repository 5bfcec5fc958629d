package frame

import (
	"cmp"
	"math/big"
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Component is one size of a mix.
type Component struct {
	// Size in bytes with FCS.
	Size int
	// Weight is the number of frames of this size in each round of the mix.
	Weight int64
}

// Mix is frames of several sizes, whose numbers stand in the ratio of their
// weights. The sizes rise, and the weights have no common divisor.
type Mix []Component

// Genome are the frame sizes of the letters of RFC 6985 section 4. The letter z
// is the MTU, which has no size of its own; j, 16000 bytes, is above MaxSize.
var Genome = map[rune]int{'a': 64, 'b': 128, 'c': 256, 'd': 512, 'e': 1024, 'f': 1280, 'g': 1518, 'h': 2112, 'i': 9000}

// GenomeMTU is the letter of a genome that stands for the MTU.
const GenomeMTU = 'z'

// simple is the mix IMIXSimple.
var simple = Mix{{64, 7}, {570, 4}, {1518, 1}}

// PacketFrame is the size in bytes with FCS of the frame of an IP packet, which
// Ethernet pads to 64.
func PacketFrame(packetSize int) int {
	return max(EthernetMinSize, ethernetBytes+packetSize+fcsBytes)
}

// MixOf makes the mix that a valid profile describes.
func MixOf(m v1alpha1.FrameMix) Mix {
	if m.IMIX == v1alpha1.IMIXSimple {
		return simple
	}
	var parts Mix
	for _, w := range m.Weights {
		size := int(w.FrameSize)
		if w.PacketSize > 0 {
			size = PacketFrame(int(w.PacketSize))
		}
		parts = append(parts, Component{size, int64(w.Weight)})
	}
	for _, letter := range m.Genome {
		size := Genome[letter]
		if letter == GenomeMTU {
			size = PacketFrame(int(m.MTU))
		}
		parts = append(parts, Component{size, 1})
	}
	return parts.reduced()
}

// reduced adds up equal sizes, sorts them and divides the weights by what they
// have in common.
func (m Mix) reduced() Mix {
	slices.SortStableFunc(m, func(a, b Component) int { return cmp.Compare(a.Size, b.Size) })
	var out Mix
	var common int64
	for _, c := range m {
		if last := len(out) - 1; last >= 0 && out[last].Size == c.Size {
			out[last].Weight += c.Weight
		} else {
			out = append(out, c)
		}
	}
	for _, c := range out {
		common = CommonDivisor(common, c.Weight)
	}
	for i := range out {
		out[i].Weight /= max(common, 1)
	}
	return out
}

// CommonDivisor returns the greatest common divisor of two numbers that are not negative; of 0 and
// another number it is the other one.
func CommonDivisor[T int64 | uint64](a, b T) T {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Frames is the number of frames in one round of the mix.
func (m Mix) Frames() int64 {
	var n int64
	for _, c := range m {
		n += c.Weight
	}
	return n
}

// WireBits returns the size of one round of the mix on the wire, in bits.
func (m Mix) WireBits() int64 {
	var bits int64
	for _, c := range m {
		bits += c.Weight * WireBits(c.Size)
	}
	return bits
}

// Average is the mean frame size in bytes with FCS, over the frames.
func (m Mix) Average() *big.Rat {
	return big.NewRat(m.WireBits()-8*WireOverhead*m.Frames(), 8*m.Frames())
}

// Rate is the exact rate in frames/s of one component of the mix on a port of
// bitsPerSecond at ppm parts per million of line rate: the wire bits of all
// components together are that share of it.
func (m Mix) Rate(bitsPerSecond, weight, ppm int64) *big.Rat {
	num := new(big.Int).Mul(big.NewInt(bitsPerSecond), big.NewInt(ppm))
	num.Mul(num, big.NewInt(weight))
	den := new(big.Int).Mul(big.NewInt(m.WireBits()), big.NewInt(v1alpha1.PPM))
	return new(big.Rat).SetFrac(num, den)
}

package plan

import (
	"fmt"
	"math/big"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/frame"
)

// FirstMix is the number under which the first mix of a plan goes where others are
// frame sizes; the next one has the next number. No frame is as large, so that what
// is kept by size holds mixes as well.
const FirstMix = 1 << 20

// Mix is frames of several sizes that are measured as if they were one size.
type Mix struct {
	// Name of the mix in the profile.
	Name string
	frame.Mix
}

// mixes of a profile.
func mixes(profile *v1alpha1.TrafficProfile) []Mix {
	var out []Mix
	for _, m := range profile.Spec.FrameMixes {
		out = append(out, Mix{m.Name, frame.MixOf(m)})
	}
	return out
}

// sizes of a profile: its frame sizes, then the numbers of its mixes.
func sizes(profile *v1alpha1.TrafficProfile) []int32 {
	out := append([]int32(nil), profile.Spec.Sizes()...)
	for i := range profile.Spec.FrameMixes {
		out = append(out, int32(FirstMix+i))
	}
	return out
}

// mixAt is the mix of a number, if it is one.
func (p Plan) mixAt(size int) (Mix, bool) {
	if size < FirstMix || size-FirstMix >= len(p.Mixes) {
		return Mix{}, false
	}
	return p.Mixes[size-FirstMix], true
}

// SizesOf are the frame sizes in bytes of which frames are sent at a size: itself,
// or those of the mix that it is the number of.
func (p Plan) SizesOf(size int) []int {
	m, ok := p.mixAt(size)
	if !ok {
		return []int{size}
	}
	var all []int
	for _, c := range m.Mix {
		all = append(all, c.Size)
	}
	return all
}

// AverageSize is the mean size in bytes of the frames at a size, rounded.
func (p Plan) AverageSize(size int) int {
	m, ok := p.mixAt(size)
	if !ok {
		return size
	}
	return int(frame.Round(m.Average()))
}

// SizeName names a size for a person: "64 B", "mix imix-simple".
func (p Plan) SizeName(size int) string {
	m, _ := p.mixAt(size)
	return v1alpha1.SizeName(int32(size), m.Name)
}

// SizeOf is the size of a row: that of its frames, or the number of its mix.
func (p Plan) SizeOf(row v1alpha1.ResultRow) int {
	for i, m := range p.Mixes {
		if m.Name == row.FrameMix {
			return FirstMix + i
		}
	}
	return int(row.FrameSize)
}

// StreamsAt are the streams of a size. Of a mix every stream of the plan is one
// per component, with consecutive IDs.
func (p Plan) StreamsAt(size int) []Stream {
	m, ok := p.mixAt(size)
	if !ok {
		return p.Streams
	}
	out := make([]Stream, 0, len(p.Streams)*len(m.Mix))
	for _, s := range p.Streams {
		first := int(s.ID) * len(m.Mix)
		for i, c := range m.Mix {
			s.ID, s.Size, s.weight = uint16(first+i), c.Size, c.Weight
			out = append(out, s)
		}
	}
	return out
}

// flow is the ID in the plan of one of the streams at a size.
func (p Plan) flow(size int, id uint16) uint16 {
	if m, ok := p.mixAt(size); ok {
		return id / uint16(len(m.Mix))
	}
	return id
}

// Rate is the exact rate in frames/s of one of the streams at a size when the
// sending ports send at ppm parts per million of line rate.
func (p Plan) Rate(s Stream, size int, ppm int64) *big.Rat {
	speed := p.Ports[s.Tx].BitsPerSecond
	var r *big.Rat
	if m, ok := p.mixAt(size); ok {
		r = m.Rate(speed, s.weight, ppm)
	} else {
		r = frame.Rate(speed, size, ppm)
	}
	if s.Part > 1 {
		r.Quo(r, big.NewRat(s.Part, 1))
	}
	return r
}

// BitsPerSecond is the exact layer-2 bit rate in bit/s of all sending ports together
// at ppm parts per million of line rate.
func (p Plan) BitsPerSecond(size int, ppm int64) *big.Rat {
	rate := p.FramesPerSecond(size, ppm)
	if m, ok := p.mixAt(size); ok {
		return rate.Mul(rate, new(big.Rat).Mul(m.Average(), big.NewRat(8, 1)))
	}
	return frame.BitRate(rate, size)
}

// SizeName names the step's frame size or mix in a sentence: "64 bytes", "mix
// imix-simple".
func (s Step) SizeName() string {
	if s.Mix != "" {
		return v1alpha1.SizeName(0, s.Mix)
	}
	return fmt.Sprintf("%d bytes", s.FrameSize)
}

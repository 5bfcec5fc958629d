package plan

import (
	"fmt"
	"math/big"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// Size contains the frames that a step sends: frames of one size, or a mix of several that
// is measured as if it were one. Sizes of one plan can be compared and be keys of maps.
type Size struct {
	// Bytes of every frame, with FCS; 0 of a mix.
	Bytes int
	// Mix of several sizes; nil for frames of one size.
	Mix *Mix
	// mean size in bytes of the frames that are sent, where flows have sizes of their own;
	// nil where it follows from the others.
	mean *big.Rat
}

// Mix is frames of several sizes in a fixed ratio of their numbers.
type Mix struct {
	// Name of the mix in the profile.
	Name string
	frame.Mix
}

// Bytes is the size of frames of n bytes, with FCS.
func Bytes(n int) Size { return Size{Bytes: n} }

// Name names the size for a person: "64 B", "mix imix-simple".
func (s Size) Name() string { return v1alpha1.SizeName(int32(s.Bytes), s.mixName()) }

// InWords names the size in a sentence: "64 bytes", "mix imix-simple".
func (s Size) InWords() string {
	if s.mixName() == v1alpha1.FlowsSize {
		return "the sizes of the flows"
	}
	if s.Mix != nil {
		return s.Name()
	}
	return fmt.Sprintf("%d bytes", s.Bytes)
}

func (s Size) mixName() string {
	if s.Mix == nil {
		return ""
	}
	return s.Mix.Name
}

// All are the sizes in bytes, with FCS, of the frames that are sent; none of the zero
// Size, of steps that send none.
func (s Size) All() []int {
	switch {
	case s == Size{}:
		return nil
	case s.Mix == nil:
		return []int{s.Bytes}
	}
	var all []int
	for _, c := range s.Mix.Mix {
		all = append(all, c.Size)
	}
	return all
}

// Average is the mean size in bytes, with FCS, of the frames that are sent, rounded.
func (s Size) Average() int { return int(frame.Round(s.average())) }

func (s Size) average() *big.Rat {
	if s.mean != nil {
		return s.mean
	}
	if s.Mix == nil {
		return big.NewRat(int64(s.Bytes), 1)
	}
	return s.Mix.Average()
}

// components returns the number of sizes.
func (s Size) components() int {
	if s.Mix == nil {
		return 1
	}
	return len(s.Mix.Mix)
}

// mixes of a profile.
func mixes(profile *v1alpha1.TrafficProfile) []Mix {
	var out []Mix
	for _, m := range profile.Spec.FrameMixes {
		out = append(out, Mix{m.Name, frame.MixOf(m)})
	}
	return out
}

// sizes of a profile: its frame sizes, then its mixes.
func sizes(profile *v1alpha1.TrafficProfile) []Size {
	if profile.Spec.OwnSizes() {
		return []Size{flowsSize(profile)}
	}
	var out []Size
	for _, n := range profile.Spec.Sizes() {
		out = append(out, Bytes(int(n)))
	}
	for _, m := range mixes(profile) {
		out = append(out, Size{Mix: &m})
	}
	return out
}

// SizeOf is the size of a row.
func (p Plan) SizeOf(row v1alpha1.ResultRow) Size {
	for _, s := range p.Sizes {
		if s.mixName() == row.FrameMix && s.Bytes == int(row.FrameSize) {
			return s
		}
	}
	return Bytes(int(row.FrameSize))
}

// parts are the components of the size.
func (s Size) parts() []frame.Component {
	if s.Mix == nil {
		return []frame.Component{{Size: s.Bytes}}
	}
	return s.Mix.Mix
}

// BitRate is the layer-2 bit rate in bit/s of a frame rate in frames/s: frames
// with FCS, without preamble and inter-frame gap.
func (s Size) BitRate(framesPerSecond *big.Rat) *big.Rat {
	bits := new(big.Rat).Mul(framesPerSecond, s.average())
	return bits.Mul(bits, big.NewRat(8, 1))
}

package v1alpha1

import (
	"fmt"
	"slices"
)

// FrameMix is frames of several sizes at once, in a fixed ratio of their numbers,
// instead of one size (IMIX). Every port sends each of its streams in all sizes of
// the mix, and the load is the sum of all of them.
//
// +kubebuilder:validation:ExactlyOneOf=weights;genome;imix
// +kubebuilder:validation:XValidation:rule="!has(self.genome) || !self.genome.contains('z') || has(self.mtu)",messageExpression="'mix ' + self.name + ': the letter z of genome ' + self.genome + ' stands for the MTU (RFC 6985), which is not given: add mtu'"
// +kubebuilder:validation:XValidation:rule="!has(self.mtu) || (has(self.genome) && self.genome.contains('z'))",messageExpression="'mix ' + self.name + ': mtu is given, and only the letter z of a genome uses it: add a z to genome, or leave mtu out'"
type FrameMix struct {
	// name of the mix in results, unique in the profile.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",messageExpression="'\"' + self + '\" is not a name of a mix: use lower-case letters, digits and dashes'"
	Name string `json:"name"`
	// weights are the sizes with the ratio of their frame numbers. Sizes that are
	// equal on the wire are added up.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Weights []FrameWeight `json:"weights,omitempty"`
	// genome is one letter per frame (RFC 6985 section 4): a is 64 bytes with FCS, b
	// 128, c 256, d 512, e 1024, f 1280, g 1518, h 2112, i 9000, and z the frame of the
	// MTU; j, 16000 bytes, is larger than any frame that is sent.
	// Only the numbers of the letters count, not their order.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-iz]+$')",messageExpression="'genome has \"' + self.find('[^a-iz]') + '\", which is no size of RFC 6985 that can be sent: use a to i and z, or give other sizes as weights'"
	Genome string `json:"genome,omitempty"`
	// mtu is the size in bytes of the IP packet that the letter z of genome denotes. Its frame
	// without tags is 18 bytes longer.
	// +optional
	// +kubebuilder:validation:Minimum=46
	// +kubebuilder:validation:Maximum=9198
	MTU int32 `json:"mtu,omitempty"`
	// imix is a well-known mix: Simple is 7 frames of 64 bytes, 4 of 570 and 1 of
	// 1518, with FCS.
	// +optional
	IMIX IMIX `json:"imix,omitempty"`
}

// FrameWeight is one size of a mix: a frame or an IP packet.
//
// +kubebuilder:validation:ExactlyOneOf=frameSize;packetSize
type FrameWeight struct {
	// frameSize in bytes, with FCS.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 64 && self <= 9216",messageExpression="'a frame of %d bytes cannot be sent: give 64 to 9216'.format([self])"
	FrameSize int32 `json:"frameSize,omitempty"`
	// packetSize is the size in bytes of the IP packet, with its header: the frame
	// has 18 bytes more without tags, and at least 64, as Ethernet pads it. The packet
	// in such a frame then has 46 bytes.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 20 && self <= 9198",messageExpression="'an IP packet of %d bytes cannot be sent: give 20 to 9198'.format([self])"
	PacketSize int32 `json:"packetSize,omitempty"`
	// weight is the number of frames of this size for each round of the mix.
	// +required
	// +kubebuilder:validation:XValidation:rule="self >= 1 && self <= 1000",messageExpression="'a weight of %d is not possible: give 1 to 1000, or leave the size out'.format([self])"
	Weight int32 `json:"weight"`
}

// IMIX names a well-known mix.
//
// +kubebuilder:validation:Enum=Simple
type IMIX string

// IMIXSimple is 7:4:1 of frames of 64, 570 and 1518 bytes.
const IMIXSimple IMIX = "Simple"

// Sizes are the frame sizes that are tested: frameSizes, or without them and
// without frameMixes those of RFC 2544 section 9.1; none where every flow has a size of its
// own.
func (s *TrafficProfileSpec) Sizes() []int32 {
	if len(s.FrameSizes) > 0 || len(s.FrameMixes) > 0 || s.OwnSizes() {
		return s.FrameSizes
	}
	return []int32{64, 128, 256, 512, 1024, 1280, 1518}
}

// FrameSize is the size of a frame in bytes, with the 4-byte FCS.
//
// +kubebuilder:validation:XValidation:rule="self >= 64",messageExpression="'a frame of %d bytes is too small: an Ethernet frame with IPv4, UDP and its signature needs at least 64 bytes with FCS: raise it to 64'.format([self])"
// +kubebuilder:validation:XValidation:rule="self <= 9216",messageExpression="'a frame of %d bytes is too large: the largest is 9216, so lower it'.format([self])"
type FrameSize int32

// For is the profile as a benchmark sends it: with the frame sizes of the benchmark, where
// it gives some and not every flow has a size of its own. The profile itself stays as it is.
func (p *TrafficProfile) For(spec *BenchmarkSpec) *TrafficProfile {
	if len(spec.FrameSizes) == 0 || p.Spec.OwnSizes() {
		return p
	}
	out := p.DeepCopy()
	out.Spec.FrameSizes, out.Spec.FrameMixes = nil, nil
	for _, size := range spec.FrameSizes {
		out.Spec.FrameSizes = append(out.Spec.FrameSizes, int32(size))
	}
	return out
}

// OwnSizes reports whether there are flows, and that each has a size of its own.
func (s *TrafficProfileSpec) OwnSizes() bool {
	return len(s.Flows) > 0 && !slices.ContainsFunc(s.Flows, TrafficFlow.FollowsRow)
}

// SizeName names a frame size or a mix for a person: "64 B", "mix imix-simple".
func SizeName(frameSize int32, frameMix string) string {
	switch frameMix {
	case "":
	case FlowsSize:
		return "flows"
	default:
		return "mix " + frameMix
	}
	return fmt.Sprintf("%d B", frameSize)
}

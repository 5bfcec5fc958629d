package plan

import (
	"math/big"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// Section is the traffic of one pattern with one packet: that of a whole profile, or one of
// its flows.
type Section struct {
	// TrafficProfile is the profile as if it had this traffic alone, with its sizes.
	*v1alpha1.TrafficProfile
	// Path of what is the section's own, in errors.
	Path *field.Path
	// Flow that it is; nil for a whole profile.
	Flow *v1alpha1.TrafficFlow
}

// Sections of a profile: its flows, or the profile itself.
func Sections(profile *v1alpha1.TrafficProfile) []Section {
	if len(profile.Spec.Flows) == 0 {
		return []Section{{profile, profilePath(profile), nil}}
	}
	sections := make([]Section, len(profile.Spec.Flows))
	for i := range sections {
		f := &profile.Spec.Flows[i]
		view := *profile
		view.Spec.Flows, view.Spec.Routing = nil, nil
		view.Spec.Pattern, view.Spec.Packet = f.Pattern, f.Packet
		switch {
		case f.FrameSize != nil:
			view.Spec.FrameSizes, view.Spec.FrameMixes = []int32{*f.FrameSize}, nil
		case f.FrameMix != nil:
			view.Spec.FrameSizes, view.Spec.FrameMixes = nil, []v1alpha1.FrameMix{*f.FrameMix}
		}
		sections[i] = Section{&view, profilePath(profile).Child("flows").Index(i), f}
	}
	return sections
}

// own reports whether the section has a size of its own.
func (s Section) own() bool { return s.Flow != nil && !s.Flow.FollowsRow() }

// sizePath is the path of frame size i.
func (s Section) sizePath(i int) *field.Path {
	if s.own() {
		return s.Path.Child("frameSize")
	}
	return profilePath(s.TrafficProfile).Child("frameSizes").Index(i)
}

// mixPath is the path of mix i.
func (s Section) mixPath(i int) *field.Path {
	if s.own() {
		return s.Path.Child("frameMix")
	}
	return profilePath(s.TrafficProfile).Child("frameMixes").Index(i)
}

// Packets are the packets that a plan sends, each once.
func (p Plan) Packets() []v1alpha1.Packet {
	if p.profile == nil {
		return nil
	}
	var all []v1alpha1.Packet
	for _, s := range Sections(p.profile) {
		if !slices.ContainsFunc(all, func(known v1alpha1.Packet) bool { return equality.Semantic.DeepEqual(known, s.Spec.Packet) }) {
			all = append(all, s.Spec.Packet)
		}
	}
	return all
}

// streams of the section, without IDs.
func (s Section) streams(ports []Port) []Stream {
	flows, common := flows(s.TrafficProfile, ports), headers(s.Spec.Packet)
	out := make([]Stream, 0, len(flows))
	for _, f := range flows {
		one := stream(s.TrafficProfile, ports, common, f)
		if s.Flow != nil {
			one = one.in(*s.Flow)
		}
		if s.own() {
			one.own = &sizes(s.TrafficProfile)[0]
		}
		if behind := ports[f.rx[0]].networks; len(behind) > 0 && !f.group.IsValid() {
			out = append(out, one.toNetworks(behind)...)
			continue
		}
		out = append(out, one)
	}
	return out
}

// in is the stream as one of a flow, which has a share of the load.
func (s Stream) in(f v1alpha1.TrafficFlow) Stream {
	ppm, _ := f.Share.PPM() // validated before
	share := s.share()
	share.Mul(share, big.NewRat(ppm, v1alpha1.PPM))
	s.Flow, s.Part, s.Times = f.Name, share.Denom().Int64(), share.Num().Int64()
	return s
}

// allFlows are the senders and receivers of all sections.
func allFlows(profile *v1alpha1.TrafficProfile, ports []Port) []flow {
	var all []flow
	for _, s := range Sections(profile) {
		all = append(all, flows(s.TrafficProfile, ports)...)
	}
	return all
}

// ownSizes reports whether streams have sizes of their own.
func ownSizes(streams []Stream) bool {
	return slices.ContainsFunc(streams, func(s Stream) bool { return s.own != nil })
}

// flowsSize is the size of rows in which every flow has its own.
func flowsSize(profile *v1alpha1.TrafficProfile) Size {
	var all frame.Mix
	for _, s := range Sections(profile) {
		for _, bytes := range sizes(s.TrafficProfile)[0].All() {
			if !slices.ContainsFunc(all, func(c frame.Component) bool { return c.Size == bytes }) {
				all = append(all, frame.Component{Size: bytes, Weight: 1})
			}
		}
	}
	return Size{Mix: &Mix{v1alpha1.FlowsSize, all}}
}

// blended is a size with the mean size of the frames of all streams, where some have sizes
// of their own.
func (p Plan) blended(size Size) Size {
	if !ownSizes(p.Streams) {
		return size
	}
	frames, bytes := new(big.Rat), new(big.Rat)
	at := p.At(size)
	for _, s := range at.Streams() {
		r := at.Rate(s, Share(v1alpha1.PPM))
		r.Mul(r, big.NewRat(int64(len(s.Rx)), 1))
		frames.Add(frames, r)
		bytes.Add(bytes, new(big.Rat).Mul(r, big.NewRat(int64(s.Size), 1)))
	}
	if frames.Sign() > 0 {
		size.mean = bytes.Quo(bytes, frames)
	}
	return size
}

// Mixed reports whether the stream is a component of a mix of frame sizes.
func (s Stream) Mixed() bool { return s.mix != nil }

// FlowsHaveSizes reports whether flows of the profile have sizes of their own.
func (p Plan) FlowsHaveSizes() bool { return ownSizes(p.Streams) }

package objects

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// ProfileOption is an option of TrafficProfile: a Metadata or a ProfileFunc.
type ProfileOption interface {
	applyToProfile(*v1alpha1.TrafficProfile)
}

// ProfileFunc is an option that changes a traffic profile.
type ProfileFunc func(*v1alpha1.TrafficProfile)

func (f ProfileFunc) applyToProfile(p *v1alpha1.TrafficProfile) { f(p) }

// TrafficProfile builds a traffic profile.
func TrafficProfile(namespace, name string, options ...ProfileOption) *v1alpha1.TrafficProfile {
	p := &v1alpha1.TrafficProfile{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	for _, o := range options {
		o.applyToProfile(p)
	}
	return p
}

// ProfileSpec sets the whole spec.
func ProfileSpec(spec v1alpha1.TrafficProfileSpec) ProfileFunc {
	return func(p *v1alpha1.TrafficProfile) { p.Spec = spec }
}

// IPv4Pairs sends IPv4 packets of these frame sizes in bytes between pairs of ports.
func IPv4Pairs(sizes ...int32) ProfileFunc {
	return func(p *v1alpha1.TrafficProfile) {
		p.Spec.FrameSizes = sizes
		p.Spec.Pattern = v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}}
		p.Spec.Packet = v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}
	}
}

// HostsPerPort sets the number of addresses per port that IPv4 packets are sent between.
func HostsPerPort(n int32) ProfileFunc {
	return func(p *v1alpha1.TrafficProfile) {
		if p.Spec.Packet.IPv4 == nil {
			p.Spec.Packet.IPv4 = &v1alpha1.IPPacket{}
		}
		p.Spec.Packet.IPv4.HostsPerPort = n
	}
}

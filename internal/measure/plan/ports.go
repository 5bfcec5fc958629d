package plan

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// Port is one port of the tester.
type Port struct {
	// Name of the port in the bed.
	Name string
	// Node and Interface hold the port; empty when it is modelled.
	Node, Interface string
	// Speed as the bed gives it, and in bit/s.
	Speed         v1alpha1.BitRate
	BitsPerSecond int64
	// Addresses with prefix length, at most one of each family.
	Addresses []netip.Prefix
	// Gateways are the device's addresses on the port, at most one of each family.
	Gateways []netip.Addr
	// VLANs are the tags of frames on the port: those of the bed, and in a plan those of
	// the profile if it has any.
	VLANs frame.VLANs

	// networks behind the port that it announces, and to which frames go.
	networks []Networks
}

// Address is the port's address of a family.
func (p Port) Address(ipv6 bool) (netip.Prefix, bool) {
	i := slices.IndexFunc(p.Addresses, func(a netip.Prefix) bool { return a.Addr().Is6() == ipv6 })
	if i < 0 {
		return netip.Prefix{}, false
	}
	return p.Addresses[i], true
}

// Gateway is the device's address of a family on the port, invalid without one.
func (p Port) Gateway(ipv6 bool) netip.Addr {
	for _, g := range p.Gateways {
		if g.Is6() == ipv6 {
			return g
		}
	}
	return netip.Addr{}
}

// HostAddresses are all addresses that the port answers for under a profile: its
// own, and those of the further hosts of the profile's family.
func (p Port) HostAddresses(profile *v1alpha1.TrafficProfile) []netip.Prefix {
	addresses := slices.Clone(p.Addresses)
	own, further := p.FurtherHosts(profile)
	next := own.Addr()
	for range further {
		next = next.Next()
		addresses = append(addresses, netip.PrefixFrom(next, own.Bits()))
	}
	return addresses
}

// VLANsUnder are the tags of frames on the port under a profile: those of the profile,
// or of the port itself where the profile has none or its flows differ in them.
func (p Port) VLANsUnder(profile *v1alpha1.TrafficProfile) frame.VLANs {
	var tags frame.VLANs
	for i, s := range Sections(profile) {
		own := frame.TagsOf(s.Spec.Packet.VLAN)
		if len(own) == 0 || i > 0 && !slices.Equal(own, tags) {
			return p.VLANs
		}
		tags = own
	}
	return tags
}

// FurtherHosts returns the port's own address of the family of the profile, and the number
// of hosts after it: their addresses count up from it.
func (p Port) FurtherHosts(profile *v1alpha1.TrafficProfile) (own netip.Prefix, count int) {
	for _, s := range Sections(profile) {
		if a, ok := p.Address(s.Spec.Packet.IPv6 != nil); ok && (!own.IsValid() || int(hosts(s.TrafficProfile))-1 > count) {
			own, count = a, int(hosts(s.TrafficProfile))-1
		}
	}
	return own, count
}

// hosts is the number of hosts behind every port.
func hosts(profile *v1alpha1.TrafficProfile) uint32 {
	for _, p := range []*v1alpha1.IPPacket{profile.Spec.Packet.IPv4, profile.Spec.Packet.IPv6} {
		if p != nil && p.HostsPerPort > 0 {
			return uint32(p.HostsPerPort)
		}
	}
	return 1
}

// bedPath is the root of the paths in errors about a bed.
func bedPath(bed *v1alpha1.TestBed) *field.Path {
	return field.NewPath("TestBed/" + bed.Name).Child("spec")
}

// Ports are the ports of a bed: those it lists, or the number of equal simulated
// ones that it asks for.
func Ports(bed *v1alpha1.TestBed) ([]Port, field.ErrorList) {
	root := bedPath(bed)
	if sim := bed.Spec.Engine.Sim; len(bed.Spec.Ports) == 0 && sim != nil && sim.Ports != nil {
		return simPorts(*sim.Ports, root.Child("engine", "sim", "ports"))
	}
	ports := make([]Port, 0, len(bed.Spec.Ports))
	var errs field.ErrorList
	for i, spec := range bed.Spec.Ports {
		port, portErrs := listedPort(spec, root.Child("ports").Index(i))
		ports, errs = append(ports, port), append(errs, portErrs...)
	}
	return ports, errs
}

func listedPort(spec v1alpha1.Port, path *field.Path) (Port, field.ErrorList) {
	var errs field.ErrorList
	p := Port{Name: spec.Name, Node: spec.Node, Speed: spec.Speed, VLANs: frame.TagsOf(spec.VLAN)}
	errs = append(errs, validateTag(spec.VLAN, path.Child("vlan"))...)
	if spec.Attachment != nil && spec.Attachment.HostDevice != nil {
		p.Interface = spec.Attachment.HostDevice.Interface
	}
	var err error
	if p.BitsPerSecond, err = spec.Speed.BitsPerSecond(); err != nil {
		errs = append(errs, field.Invalid(path.Child("speed"), spec.Speed, "give a whole number with the suffix M or G, such as 10G"))
	}
	for i, text := range spec.Addresses {
		a, err := netip.ParsePrefix(text)
		if err != nil || a.Addr().Is4In6() {
			errs = append(errs, field.Invalid(path.Child("addresses").Index(i), text, "give an address with prefix length, such as 198.18.1.2/24"))
			continue
		}
		p.Addresses = append(p.Addresses, a)
	}
	for i, text := range spec.Gateways {
		g, err := netip.ParseAddr(text)
		if err != nil || g.Is4In6() || g.Zone() != "" {
			errs = append(errs, field.Invalid(path.Child("gateways").Index(i), text, "give the device's address on this port, such as 198.18.1.1"))
			continue
		}
		p.Gateways = append(p.Gateways, g)
	}
	return p, errs
}

// simPorts makes equal ports p1 up. Each has a subnet of its own, with the
// device's address as gateway: an equal part of 198.18.0.0/15 (RFC 2544 appendix
// C.2.2), and a /64 of 2001:2::/48 (RFC 5180).
func simPorts(spec v1alpha1.SimPorts, path *field.Path) ([]Port, field.ErrorList) {
	var errs field.ErrorList
	speed, err := spec.Speed.BitsPerSecond()
	if err != nil {
		errs = append(errs, field.Invalid(path.Child("speed"), spec.Speed, "give a whole number with the suffix M or G, such as 100G"))
	}
	const most = 1024
	if spec.Count < 2 || spec.Count > most {
		return nil, append(errs, field.Invalid(path.Child("count"), spec.Count, fmt.Sprintf("give 2 to %d ports", most)))
	}
	const rangeBits = 17 // host bits of a /15
	hostBits := rangeBits - bits.Len32(uint32(spec.Count-1))
	ports := make([]Port, spec.Count)
	for i := range ports {
		var v4 [4]byte
		binary.BigEndian.PutUint32(v4[:], 198<<24|18<<16|uint32(i)<<hostBits)
		v6 := [16]byte{0: 0x20, 1: 0x01, 3: 2, 6: byte(i >> 8), 7: byte(i)}
		net4, net6 := netip.AddrFrom4(v4), netip.AddrFrom16(v6)
		ports[i] = Port{
			Name: fmt.Sprintf("p%d", i+1), Speed: spec.Speed, BitsPerSecond: speed,
			Addresses: []netip.Prefix{netip.PrefixFrom(net4.Next().Next(), 32-hostBits), netip.PrefixFrom(net6.Next().Next(), 64)},
			Gateways:  []netip.Addr{net4.Next(), net6.Next()},
		}
	}
	return ports, errs
}

// PortGroup refuses tests that act on the whole device, or measure what it has once, on a bed
// that is a port group of it: benchmarks on other groups run at the same time. Instead
// is the remedy; if it is empty, the remedy is to leave the test out.
func PortGroup(b *v1alpha1.Benchmark, bed *v1alpha1.TestBed, instead string) field.ErrorList {
	if bed.Spec.PortGroup == nil {
		return nil
	}
	if instead == "" {
		instead = "leave the test out, or run it on a bed with all ports of the device"
	}
	var errs field.ErrorList
	for i, test := range b.Spec.Tests {
		if m, ok := methodOf(test); ok && m.WholeDevice != "" {
			errs = append(errs, field.Forbidden(field.NewPath("spec", "tests").Index(i).Child(m.Member), fmt.Sprintf(
				"test %s %s, and TestBed %s is a port group of device %s, whose other ports are in use at the same time: %s",
				test.Name, m.WholeDevice, bed.Name, bed.Spec.PortGroup.Device, instead)))
		}
	}
	return errs
}

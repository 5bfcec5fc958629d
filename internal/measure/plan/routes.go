package plan

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// Announcement contains the routes that one session announces.
type Announcement struct {
	// Session as an index of the sessions.
	Session int
	// Set is the place of the set in the profile.
	Set int
	routing.Routes
}

// Networks are networks that a port announces, and to which frames go.
type Networks struct {
	// Announcement of the preferred path to them, as an index of the announcements.
	Announcement int
	// First network; Count of them are Stride networks of its length apart.
	First         netip.Prefix
	Count, Stride uint32
	// Others are the announcements of further paths to the same networks, the preferred
	// one first.
	Others []int
}

// Address is one address in the network number n: the second one, where the first is that
// of the network itself.
func (n Networks) Address(number uint32) netip.Addr {
	a := nth(n.First, n.Stride, number).Addr()
	if n.First.Bits() < a.BitLen()-1 {
		a = a.Next()
	}
	return a
}

// Last is the last prefix of the announcement; invalid when that goes beyond the last
// address.
func (a Announcement) Last() netip.Prefix { return a.Prefix(a.Count - 1) }

// Label of the first prefix, 0 for none.
func (a Announcement) Label() uint32 { return a.Attributes.Label }

// nth is the prefix number n of a range; invalid beyond the last.
func nth(first netip.Prefix, stride, n uint32) netip.Prefix {
	return routing.Routes{First: first, Stride: stride}.Prefix(n)
}

// familyOf is the family of the routes of a set with this first prefix.
func familyOf(set v1alpha1.RouteSet, first netip.Prefix) routing.Family {
	return routing.Routes{First: first, Attributes: routing.Attributes{Label: uint32(set.Label)}}.Family()
}

// named reports whether a set names a session, by itself or by its entry.
func named(set v1alpha1.RouteSet, s Session) bool {
	return len(set.Sessions) == 0 || slices.Contains(set.Sessions, s.Name) || slices.Contains(set.Sessions, s.Entry)
}

// Announcements returns the sessions of a bed, and their announcements under a profile that
// fits it, in the order in which they are made.
func Announcements(profile *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed) ([]Session, []Announcement) {
	sessions, _ := Sessions(bed)
	ports, _ := Ports(bed)
	return sessions, announcements(profile, sessions, ports)
}

// announcements of a profile on the sessions of a bed, in the order of sets and sessions.
// Both are valid.
func announcements(profile *v1alpha1.TrafficProfile, sessions []Session, ports []Port) []Announcement {
	if profile.Spec.Routing == nil {
		return nil
	}
	var all []Announcement
	for k, set := range profile.Spec.Routing.Routes {
		if set.MRT != nil {
			all = append(all, dumped(set, k, sessions, ports)...)
			continue
		}
		first, err := netip.ParsePrefix(string(set.First))
		if err != nil {
			continue
		}
		r := routing.Routes{
			Name: set.Name, Count: uint32(max(set.Count, 1)), Stride: uint32(max(set.Stride, 1)), Attributes: attributes(set),
		}
		for i, before := 0, uint32(0); i < len(sessions); i++ {
			s := sessions[i]
			if !named(set, s) || !s.Carries(familyOf(set, first)) {
				continue
			}
			r.First = first
			if set.Shared == nil || !*set.Shared {
				r.First = nth(first, r.Stride, before)
				before += r.Count
			}
			r.Attributes.NextHop = nextHop(s, first, ports)
			r.Attributes.PathID = pathID(s, k)
			all = append(all, Announcement{Session: i, Set: k, Routes: r})
		}
	}
	return all
}

// pathID is the path identifier of the routes of the set number k; 0 without add-path.
func pathID(s Session, k int) uint32 {
	if s.AddPath {
		return uint32(k + 1)
	}
	return 0
}

// dumped are the announcements of the set number k, whose routes are read from a dump; none
// before they are.
func dumped(set v1alpha1.RouteSet, k int, sessions []Session, ports []Port) (all []Announcement) {
	routes := dumpOf(set)
	for i, s := range sessions {
		if !named(set, s) {
			continue
		}
		for _, r := range routes {
			if s.Carries(r.Family()) {
				r.Attributes.NextHop, r.Attributes.PathID = nextHop(s, r.First, ports), pathID(s, k)
				all = append(all, Announcement{Session: i, Set: k, Routes: r})
			}
		}
	}
	return all
}

// dumpOf are the routes of a set that were read from a dump; nil before they are.
func dumpOf(set v1alpha1.RouteSet) []routing.Routes {
	if set.MRT.Routes == nil {
		return nil
	}
	routes, _ := set.MRT.Routes.Sets.([]routing.Routes)
	return routes
}

// nextHop returns the next hop of routes of another family than the session's own; the zero
// Addr for routes of its own family.
func nextHop(s Session, first netip.Prefix, ports []Port) netip.Addr {
	if s.Local.Is6() == first.Addr().Is6() {
		return netip.Addr{}
	}
	i := slices.IndexFunc(ports, func(p Port) bool { return p.Name == s.Port })
	own, _ := ports[i].Address(first.Addr().Is6())
	return own.Addr()
}

func attributes(set v1alpha1.RouteSet) routing.Attributes {
	a := routing.Attributes{Label: uint32(set.Label)}
	for _, n := range set.ASPath {
		a.ASPath = append(a.ASPath, uint32(n))
	}
	if set.MED != nil {
		a.MED = new(uint32(*set.MED))
	}
	for _, text := range set.Communities {
		high, low, _ := strings.Cut(text, ":")
		h, _ := strconv.ParseUint(high, 10, 16)
		l, _ := strconv.ParseUint(low, 10, 16)
		a.Communities = append(a.Communities, uint32(h)<<16|uint32(l))
	}
	return a
}

// pathLength is the length of the AS_PATH that the device sees.
func pathLength(a Announcement, sessions []Session) int {
	if s := sessions[a.Session]; s.Internal() {
		return len(a.Attributes.ASPath)
	}
	return len(a.Attributes.ASPath) + 1
}

// sameNetworks contains the common properties of announcements of paths to the same
// networks.
type sameNetworks struct {
	first         netip.Prefix
	count, stride uint32
}

func (a Announcement) networks() sameNetworks { return sameNetworks{a.First, a.Count, a.Stride} }

// paths are the announcements by their networks, the preferred one of each first: that of
// the shortest AS_PATH (RFC 4271 section 9.1.2.2).
func paths(all []Announcement, sessions []Session) map[sameNetworks][]int {
	by := map[sameNetworks][]int{}
	for i, a := range all {
		by[a.networks()] = append(by[a.networks()], i)
	}
	for _, list := range by {
		slices.SortStableFunc(list, func(a, b int) int { return pathLength(all[a], sessions) - pathLength(all[b], sessions) })
	}
	return by
}

// networksOf are the networks behind every port, by its index, to which frames of the
// profile go.
func networksOf(profile *v1alpha1.TrafficProfile, all []Announcement, sessions []Session, ports []Port) map[int][]Networks {
	behind, by := map[int][]Networks{}, paths(all, sessions)
	ipv6 := profile.Spec.Packet.IPv6 != nil
	for i, a := range all {
		list := by[a.networks()]
		set := profile.Spec.Routing.Routes[a.Set]
		if list[0] != i || a.First.Addr().Is6() != ipv6 || set.Traffic != nil && !*set.Traffic {
			continue
		}
		port := slices.IndexFunc(ports, func(p Port) bool { return p.Name == sessions[a.Session].Port })
		n := Networks{Announcement: i, First: a.First, Count: a.Count, Stride: a.Stride, Others: list[1:]}
		behind[port] = append(behind[port], n)
	}
	return behind
}

// toNetworks are the streams to networks behind the receiver in place of the one to its
// own address. Each network gets an equal part of the load.
func (s Stream) toNetworks(behind []Networks) []Stream {
	total := int64(0)
	for _, n := range behind {
		total += int64(n.Count)
	}
	out := make([]Stream, len(behind))
	for i, n := range behind {
		out[i] = s.aimedAt(n, int64(n.Count), total)
	}
	return out
}

// aimedAt is the part of a stream that goes to some networks.
func (s Stream) aimedAt(n Networks, part, total int64) Stream {
	common := max(frame.CommonDivisor(part, total), 1)
	s.Part, s.Times = max(s.Part, 1)*(total/common), max(s.Times, 1)*(part/common)
	s.Headers.DstIP, s.Headers.DstIPCount = n.Address(0), n.Count
	s.Headers.DstIPBits, s.Headers.DstIPStride = uint8(n.First.Bits()), n.Stride
	if s.Headers.DstIPStride <= 1 || n.Count == 1 {
		s.Headers.DstIPStride = 0
	}
	s.Networks = &n
	return s
}

// Split is a stream to networks in two: to the first of them, and to the rest. Both keep
// their part of the load.
func (s Stream) Split(first uint32) (head, tail Stream) {
	n := *s.Networks
	rest := n
	rest.First, rest.Count = nth(n.First, n.Stride, first), n.Count-first
	n.Count = first
	total := int64(s.Networks.Count)
	return s.aimedAt(n, int64(n.Count), total), s.aimedAt(rest, int64(rest.Count), total)
}

// underRouting are the ports with the networks that frames of a profile go to behind
// them, for an engine: where its destinations do not count up by networks, each network
// is one for itself.
func underRouting(profile *v1alpha1.TrafficProfile, all []Announcement, sessions []Session, ports []Port, engine traffic.Capabilities) []Port {
	if len(all) == 0 {
		return ports
	}
	ports = slices.Clone(ports)
	for i, behind := range networksOf(profile, all, sessions, ports) {
		for _, n := range behind {
			if engine.Strides || n.Count == 1 || n.First.IsSingleIP() && n.Stride <= 1 {
				ports[i].networks = append(ports[i].networks, n)
				continue
			}
			// More are refused, as each is a stream.
			for k := range min(n.Count, uint32(engine.MaxStreams)+1) {
				one := n
				one.First, one.Count, one.Stride = nth(n.First, n.Stride, k), 1, 1
				ports[i].networks = append(ports[i].networks, one)
			}
		}
	}
	return ports
}

// routed is underRouting for objects that fit each other.
func routed(profile *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed, ports []Port, engine traffic.Capabilities) []Port {
	sessions, _ := Sessions(bed)
	return underRouting(profile, announcements(profile, sessions, ports), sessions, ports, engine)
}

// Advertised returns the routes that the device should advertise on a session if the
// announcements are made for which made returns true: the preferred paths, and with add-path
// all, except the routes of the session itself.
func (p Plan) Advertised(session int, made func(announcement int) bool) routing.Table {
	var t routing.Table
	to := p.Sessions[session]
	for _, list := range paths(p.Announcements, p.Sessions) {
		list = slices.DeleteFunc(list, func(i int) bool { return !made(i) })
		if !to.AddPath {
			list = list[:min(1, len(list))]
		}
		for _, i := range list {
			a := p.Announcements[i]
			from := p.Sessions[a.Session]
			if a.Session == session || !to.Carries(a.Family()) || from.Internal() && to.Internal() {
				continue
			}
			t = t.Add(from.Readvertised([]routing.Routes{a.Routes}))
		}
	}
	return t
}

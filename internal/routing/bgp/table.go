package bgp

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"nodrop.dev/nodrop/internal/routing"
)

// table contains what a session has learned: the digest of each route, which is subtracted
// when the route is replaced or withdrawn. Nearly all routes of large tables are IPv4 without
// path identifiers; their keys are half as large.
type table struct {
	routing.Learnt
	asn   uint32
	small map[uint64]uint64
	large map[key]uint64
	// again are the routes that came since they were asked for once more; nil while they
	// are not.
	again *again
}

// key identifies a route of a session. It has no pointers, which the garbage collector would
// follow.
type key struct {
	address [16]byte
	path    uint32
	bits    uint8
	family  uint16
}

func largeKey(family bgp.Family, p netip.Prefix, path uint32) key {
	return key{p.Addr().As16(), path, uint8(p.Bits()), family.Afi()<<8 | uint16(family.Safi())}
}

func newTable(asn uint32) *table {
	return &table{asn: asn, small: map[uint64]uint64{}, large: map[key]uint64{}}
}

// update takes an UPDATE message in.
func (t *table) update(m *bgp.BGPUpdate) {
	for i := range m.WithdrawnRoutes {
		t.withdraw(bgp.RF_IPv4_UC, &m.WithdrawnRoutes[i])
	}
	var path []uint32
	var med *uint32
	var communities []uint32
	var reached *bgp.PathAttributeMpReachNLRI
	for _, a := range m.PathAttributes {
		switch a := a.(type) {
		case *bgp.PathAttributeAsPath:
			path = flat(a)
		case *bgp.PathAttributeMultiExitDisc:
			med = &a.Value
		case *bgp.PathAttributeCommunities:
			communities = a.Value
		case *bgp.PathAttributeMpReachNLRI:
			reached = a
		case *bgp.PathAttributeMpUnreachNLRI:
			family := bgp.NewFamily(a.AFI, a.SAFI)
			for i := range a.Value {
				t.withdraw(family, &a.Value[i])
			}
		}
	}
	if len(m.NLRI) == 0 && reached == nil {
		return
	}
	looped := slices.Contains(path, t.asn)
	digest := routing.PathDigest(path, med, communities)
	for i := range m.NLRI {
		t.learn(bgp.RF_IPv4_UC, &m.NLRI[i], digest, looped)
	}
	if reached != nil {
		family := bgp.NewFamily(reached.AFI, reached.SAFI)
		for i := range reached.Value {
			t.learn(family, &reached.Value[i], digest, looped)
		}
	}
}

// learn takes a route in; one that looped makes the one before it unreachable.
func (t *table) learn(family bgp.Family, n *bgp.PathNLRI, path uint64, looped bool) {
	name, prefix, ok := route(family, n.NLRI)
	if !ok {
		return
	}
	t.remove(family, prefix, n.ID)
	if looped {
		t.Looped++
		return
	}
	t.Updates++
	digest := routing.RouteDigest(name, prefix, path)
	if k, ok := smallKey(family, prefix, n.ID); ok {
		t.small[k] = digest
	} else {
		t.large[largeKey(family, prefix, n.ID)] = digest
	}
	t.Routes++
	t.Digest += digest
	if t.again != nil {
		t.again.add(digest)
	}
}

func (t *table) withdraw(family bgp.Family, n *bgp.PathNLRI) {
	if _, prefix, ok := route(family, n.NLRI); ok {
		t.Withdrawn++
		t.remove(family, prefix, n.ID)
	}
}

func (t *table) remove(family bgp.Family, prefix netip.Prefix, path uint32) {
	var digest uint64
	var had bool
	if k, ok := smallKey(family, prefix, path); ok {
		if digest, had = t.small[k]; had {
			delete(t.small, k)
		}
	} else {
		k := largeKey(family, prefix, path)
		if digest, had = t.large[k]; had {
			delete(t.large, k)
		}
	}
	if had {
		t.Routes--
		t.Digest -= digest
	}
}

// route is the prefix of an NLRI of the families that sessions carry.
func route(family bgp.Family, n bgp.NLRI) (routing.Family, netip.Prefix, bool) {
	switch n := n.(type) {
	case *bgp.IPAddrPrefix:
		if family == bgp.RF_IPv6_UC {
			return routing.IPv6Unicast, n.Prefix, true
		}
		return routing.IPv4Unicast, n.Prefix, family == bgp.RF_IPv4_UC
	case *bgp.LabeledIPAddrPrefix:
		if family == bgp.RF_IPv6_MPLS {
			return routing.IPv6LabeledUnicast, n.Prefix, true
		}
		return routing.IPv4LabeledUnicast, n.Prefix, family == bgp.RF_IPv4_MPLS
	}
	return "", netip.Prefix{}, false
}

// smallKey is the key of an IPv4 route without path identifier.
func smallKey(family bgp.Family, p netip.Prefix, path uint32) (uint64, bool) {
	if family != bgp.RF_IPv4_UC || path != 0 || !p.Addr().Is4() {
		return 0, false
	}
	a := p.Addr().As4()
	return uint64(binary.BigEndian.Uint32(a[:]))<<8 | uint64(p.Bits()), true
}

// flat is an AS path as routing.PathDigest takes it.
func flat(a *bgp.PathAttributeAsPath) (path []uint32) {
	for _, s := range a.Value {
		if s.GetType() == bgp.BGP_ASPATH_ATTR_TYPE_SET {
			path = append(path, 0)
		}
		path = append(path, s.GetAS()...)
	}
	return path
}

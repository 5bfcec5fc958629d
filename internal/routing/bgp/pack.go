package bgp

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"nodrop.dev/nodrop/internal/routing"
)

const (
	// chunkLength is the number of bytes that are handed to the connection at a time.
	chunkLength = 64 << 10
	// withdrawnLabel is the label of a route that is withdrawn (RFC 8277, 2.4).
	withdrawnLabel = 0x800000
)

// chunk is a number of whole UPDATE messages.
type chunk struct {
	bytes            []byte
	routes, messages int
}

// packer makes UPDATE messages of sets of routes on a session.
type packer struct {
	session *routing.Session
	addPath map[bgp.Family]bgp.BGPAddPathMode
	buffer  []byte
}

// template is a message without its routes.
type template struct {
	family  bgp.Family
	addPath bool
	// head are the bytes from the header to the first route.
	head []byte
	// lengths are the places of lengths in head, which count the bytes from the given
	// place to the end of the routes.
	lengths []length
	// tail follows the routes.
	tail []byte
}

// length is a field of two bytes at a place, which counts what follows from another.
type length struct{ at, from int }

// pack makes the messages that announce a set, or withdraw it, without the prefixes that
// skip has, and passes them on in chunks that are valid during the call.
func (p *packer) pack(set routing.Routes, withdraw bool, skip func(netip.Prefix) bool, yield func(chunk) error) error {
	t, err := p.template(set, withdraw)
	if err != nil {
		return err
	}
	c := chunk{bytes: p.buffer[:0]}
	defer func() { p.buffer = c.bytes[:0] }()
	start := -1 // of the message that routes are added to
	finish := func() {
		if start < 0 {
			return
		}
		m := c.bytes[start:]
		for _, l := range t.lengths {
			binary.BigEndian.PutUint16(m[l.at:], uint16(len(m)-l.from))
		}
		c.bytes = append(c.bytes, t.tail...)
		binary.BigEndian.PutUint16(c.bytes[start+16:], uint16(len(c.bytes)-start))
		c.messages++
		start = -1
	}
	room := maxLength - len(t.tail) - routeLength(set, t.addPath)
	for i := range set.Count {
		prefix := set.Prefix(i)
		if skip != nil && skip(prefix) {
			continue
		}
		if start >= 0 && len(c.bytes)-start > room {
			finish()
			if len(c.bytes) > chunkLength-maxLength {
				if err := yield(c); err != nil {
					return err
				}
				c = chunk{bytes: c.bytes[:0]}
			}
		}
		if start < 0 {
			start = len(c.bytes)
			c.bytes = append(c.bytes, t.head...)
		}
		c.bytes = appendRoute(c.bytes, set, i, prefix, t.addPath, withdraw)
		c.routes++
	}
	finish()
	if c.messages == 0 {
		return nil
	}
	return yield(c)
}

// template is the message around the routes of a set.
func (p *packer) template(set routing.Routes, withdraw bool) (*template, error) {
	if err := set.Check(); err != nil {
		return nil, err
	}
	family := set.Family()
	if !slices.Contains(p.session.Families, family) {
		return nil, fmt.Errorf("routes %s: the session %s does not carry the family %s", set.Name, p.session.Name, family)
	}
	t := &template{family: families[family]}
	t.addPath = p.addPath[t.family]&bgp.BGP_ADD_PATH_SEND > 0
	t.head = slices.Concat(slices.Repeat([]byte{0xff}, 16), []byte{0, 0, bgp.BGP_MSG_UPDATE, 0, 0})
	if withdraw && family == routing.IPv4Unicast {
		t.lengths = []length{{headerLength, headerLength + 2}}
		t.tail = []byte{0, 0}
		return t, nil
	}
	t.head = append(t.head, 0, 0)
	attributesAt := len(t.head) - 2
	var nextHop netip.Addr
	if !withdraw {
		var err error
		if nextHop, err = p.nextHop(set); err != nil {
			return nil, err
		}
		attributes, err := p.attributes(set, family, nextHop)
		if err != nil {
			return nil, err
		}
		t.head = append(t.head, attributes...)
	}
	if family == routing.IPv4Unicast {
		binary.BigEndian.PutUint16(t.head[attributesAt:], uint16(len(t.head)-attributesAt-2))
	} else {
		kind, value := bgp.BGP_ATTR_TYPE_MP_UNREACH_NLRI, []byte{}
		if !withdraw {
			kind = bgp.BGP_ATTR_TYPE_MP_REACH_NLRI
			value = append(append([]byte{byte(nextHop.BitLen() / 8)}, nextHop.AsSlice()...), 0)
		}
		t.head = append(t.head, byte(bgp.BGP_ATTR_FLAG_OPTIONAL|bgp.BGP_ATTR_FLAG_EXTENDED_LENGTH), byte(kind), 0, 0)
		t.lengths = []length{{attributesAt, attributesAt + 2}, {len(t.head) - 2, len(t.head)}}
		t.head = binary.BigEndian.AppendUint16(t.head, t.family.Afi())
		t.head = append(append(t.head, t.family.Safi()), value...)
	}
	if len(t.head)+routeLength(set, t.addPath) > maxLength {
		return nil, fmt.Errorf("routes %s: the path attributes have %d bytes; with a route they must fit into a message of %d", set.Name, len(t.head)-headerLength, maxLength)
	}
	return t, nil
}

// nextHop of a set: its own, or the tester's address.
func (p *packer) nextHop(set routing.Routes) (netip.Addr, error) {
	hop := set.Attributes.NextHop
	if zeroAddress(hop) {
		hop = p.session.Local
	}
	if hop.Is4() != set.First.Addr().Is4() {
		return hop, fmt.Errorf("routes %s: nextHop: must be given, of the IP version of %v, as the session %s runs from %v", set.Name, set.First, p.session.Name, p.session.Local)
	}
	return hop, nil
}

// attributes are the path attributes but MP_REACH_NLRI, in the order of their types.
func (p *packer) attributes(set routing.Routes, family routing.Family, nextHop netip.Addr) ([]byte, error) {
	a := set.Attributes
	internal := p.session.LocalASN == p.session.RemoteASN
	path := slices.Clone(a.ASPath)
	if !internal {
		path = slices.Concat([]uint32{p.session.LocalASN}, a.ASPath)
	}
	var segments []bgp.AsPathParamInterface
	for s := range slices.Chunk(path, 255) {
		segments = append(segments, bgp.NewAs4PathParam(bgp.BGP_ASPATH_ATTR_TYPE_SEQ, s))
	}
	all := []bgp.PathAttributeInterface{bgp.NewPathAttributeOrigin(bgp.BGP_ORIGIN_ATTR_TYPE_IGP), bgp.NewPathAttributeAsPath(segments)}
	if family == routing.IPv4Unicast {
		hop, err := bgp.NewPathAttributeNextHop(nextHop)
		if err != nil {
			return nil, fmt.Errorf("routes %s: nextHop: %w", set.Name, err)
		}
		all = append(all, hop)
	}
	if a.MED != nil {
		all = append(all, bgp.NewPathAttributeMultiExitDisc(*a.MED))
	}
	if internal {
		all = append(all, bgp.NewPathAttributeLocalPref(100))
	}
	if len(a.Communities) > 0 {
		all = append(all, bgp.NewPathAttributeCommunities(a.Communities))
	}
	var b []byte
	for _, attribute := range all {
		one, err := attribute.Serialize()
		if err != nil {
			return nil, fmt.Errorf("routes %s: %w", set.Name, err)
		}
		b = append(b, one...)
	}
	return b, nil
}

// routeLength returns the number of bytes that a route of a set takes.
func routeLength(set routing.Routes, addPath bool) int {
	n := 1 + (set.First.Bits()+7)/8
	if set.Attributes.Label > 0 {
		n += 3
	}
	if addPath {
		n += 4
	}
	return n
}

// appendRoute appends the i-th route of a set (RFC 4271, 4.3; RFC 7911; RFC 8277).
func appendRoute(b []byte, set routing.Routes, i uint32, prefix netip.Prefix, addPath, withdraw bool) []byte {
	if addPath {
		b = binary.BigEndian.AppendUint32(b, set.Attributes.PathID)
	}
	length := prefix.Bits()
	if label := set.Attributes.Label; label > 0 {
		entry := (label+i)<<4 | 1 // the bottom of the stack
		if withdraw {
			entry = withdrawnLabel
		}
		b = append(b, byte(length+24), byte(entry>>16), byte(entry>>8), byte(entry))
	} else {
		b = append(b, byte(length))
	}
	if prefix.Addr().Is4() {
		a := prefix.Addr().As4()
		return append(b, a[:(length+7)/8]...)
	}
	a := prefix.Addr().As16()
	return append(b, a[:(length+7)/8]...)
}

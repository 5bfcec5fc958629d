package ldp

import (
	"encoding/binary"
	"net/netip"

	"nodrop.dev/nodrop/internal/routing"
)

// firstLabel is the first label that is not reserved (RFC 3032 section 2.1).
const firstLabel = 16

// table contains the labels that a session has learned, and the labels that the tester
// announces on it. Both are by prefix.
type table struct {
	routing.Learnt
	labels map[uint64]uint32
	own    map[uint64]uint32
}

func newTable(own map[uint64]uint32) *table { return &table{labels: map[uint64]uint32{}, own: own} }

// key is an IPv4 prefix without pointers, which the garbage collector would follow.
func key(p netip.Prefix) uint64 {
	a := p.Addr().As4()
	return uint64(binary.BigEndian.Uint32(a[:]))<<8 | uint64(p.Bits())
}

// prefixOf is the prefix of a key.
func prefixOf(k uint64) netip.Prefix {
	var a [4]byte
	binary.BigEndian.PutUint32(a[:], uint32(k>>8))
	return netip.PrefixFrom(netip.AddrFrom4(a), int(k&0xff))
}

// add counts a prefix, and remove takes it out of the count.
func (t *table) add(k uint64) {
	t.Routes++
	t.Digest += routing.LabelDigest(prefixOf(k))
}

func (t *table) remove(k uint64) {
	t.Routes--
	t.Digest -= routing.LabelDigest(prefixOf(k))
}

// mapped takes a Label Mapping in. The label of a prefix that the tester announces on the
// session comes back, and is not learned.
func (t *table) mapped(b binding) {
	for _, p := range b.prefixes {
		k := key(p)
		_, had := t.labels[k]
		_, own := t.own[k]
		switch {
		case b.label < firstLabel: // the device is the end of the path
			t.forget(k)
			continue
		case own:
			t.Looped++
		default:
			t.Updates++
			if !had {
				t.add(k)
			}
		}
		t.labels[k] = b.label
	}
}

// withdrawn takes a Label Withdraw in.
func (t *table) withdrawn(b binding) {
	if b.wildcard {
		for k, label := range t.labels {
			if !b.labeled || b.label == label {
				t.Withdrawn++
				t.forget(k)
			}
		}
	}
	for _, p := range b.prefixes {
		t.Withdrawn++
		t.forget(key(p))
	}
}

// forget removes the label of a prefix, if there is one.
func (t *table) forget(k uint64) {
	if _, had := t.labels[k]; !had {
		return
	}
	delete(t.labels, k)
	if _, own := t.own[k]; !own {
		t.remove(k)
	}
}

// announce has the label of a prefix announced by the tester.
func (t *table) announce(p netip.Prefix, label uint32) {
	k := key(p)
	_, before := t.own[k]
	_, learned := t.labels[k]
	if t.own[k] = label; learned && !before {
		t.remove(k)
	}
}

// withdraw has it no longer announced.
func (t *table) withdraw(p netip.Prefix) {
	k := key(p)
	_, before := t.own[k]
	delete(t.own, k)
	if _, learned := t.labels[k]; learned && before {
		t.add(k)
	}
}

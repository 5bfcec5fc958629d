package bgp

import (
	"net/netip"
	"slices"

	"nodrop.dev/nodrop/internal/routing"
)

// book is what is announced on a session: sets, in the order in which they were
// announced, without the prefixes that were withdrawn or replaced since.
type book []entry

type entry struct {
	set   routing.Routes
	holes []routing.Routes
}

// announce adds a set, which replaces the paths of the same prefixes.
func (b *book) announce(set routing.Routes) {
	b.withdraw(set)
	*b = append(*b, entry{set: set})
}

// withdraw takes the prefixes of a set out.
func (b *book) withdraw(set routing.Routes) {
	*b = slices.DeleteFunc(*b, func(e entry) bool { return covers(set, e.set) })
	for i := range *b {
		e := &(*b)[i]
		if !overlap(e.set, set) || slices.ContainsFunc(e.holes, func(h routing.Routes) bool { return covers(h, set) }) {
			continue
		}
		e.holes = append(slices.DeleteFunc(e.holes, func(h routing.Routes) bool { return covers(set, h) }), set)
	}
}

// missing says whether a prefix of the set is no longer announced by the entry.
func (e *entry) missing() func(netip.Prefix) bool {
	if len(e.holes) == 0 {
		return nil
	}
	return func(p netip.Prefix) bool {
		return slices.ContainsFunc(e.holes, func(h routing.Routes) bool {
			_, in := h.Index(p)
			return in
		})
	}
}

// replaceable says whether routes of both can replace each other.
func replaceable(a, b routing.Routes) bool {
	return a.Family() == b.Family() && a.First.Bits() == b.First.Bits() && a.Attributes.PathID == b.Attributes.PathID
}

// covers says whether all prefixes of b are in a; it may miss that they are where strides
// differ.
func covers(a, b routing.Routes) bool {
	if !replaceable(a, b) || max(1, b.Stride)%max(1, a.Stride) != 0 && b.Count > 1 {
		return false
	}
	_, first := a.Index(b.First)
	_, last := a.Index(b.Prefix(b.Count - 1))
	return first && last
}

// overlap says whether the ranges of a and b meet.
func overlap(a, b routing.Routes) bool {
	return replaceable(a, b) &&
		a.First.Addr().Compare(b.Prefix(b.Count-1).Addr()) <= 0 && b.First.Addr().Compare(a.Prefix(a.Count-1).Addr()) <= 0
}

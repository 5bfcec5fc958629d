package bgp

import (
	"cmp"
	"math/bits"
	"net/netip"
	"slices"
	"sort"

	"github.com/google/btree"

	"nodrop.dev/nodrop/internal/routing"
)

// book contains the sets that are announced on a session, in the order of announcement,
// without the prefixes that were withdrawn or replaced since. Taking a set in or out takes a
// time in proportion to the logarithm of the number of sets, and to the number of sets that it
// replaces.
type book struct {
	// shelves have the entries by what makes them replaceable and by their span, so that
	// those which meet a range are next to its first prefix.
	shelves map[shelf]*btree.BTreeG[*entry]
	count   int
	// last is the number of the last announcement.
	last uint64
}

// shelf is a kind of routes that can replace each other, whose range of prefixes from
// first to last is shorter than 2^span.
type shelf struct {
	family routing.Family
	bits   int
	path   uint32
	span   int
}

// entry is a set, or what is left of one.
type entry struct {
	set routing.Routes
	// number of the announcement.
	number uint64
	// last is the last address, and end the first one at which no range of the shelf that
	// begins with this entry has prefixes; end is invalid beyond all addresses.
	last, end netip.Addr
	// holes are prefixes that were taken out between others that stay.
	holes []routing.Routes
}

// announce adds a set, which replaces the paths of the same prefixes.
func (b *book) announce(set routing.Routes) {
	b.withdraw(set)
	b.last++
	b.add(set, b.last, nil)
}

// withdraw takes the prefixes of a set out.
func (b *book) withdraw(set routing.Routes) {
	for _, e := range b.meeting(set) {
		lo, hi := e.within(set)
		if lo == hi {
			continue
		}
		whole := step(set) == 1 || set.Count == 1 || hi-lo == 1 || step(e.set)%step(set) == 0
		if _, in := set.Index(e.set.Prefix(lo)); whole && !in {
			continue
		}
		b.remove(e)
		if !whole {
			if !slices.ContainsFunc(e.holes, func(h routing.Routes) bool { return same(h, set) }) {
				e.holes = append(slices.Clone(e.holes), set)
			}
			b.add(e.set, e.number, e.holes)
			continue
		}
		if lo > 0 {
			b.add(e.set.Part(0, lo), e.number, e.holes)
		}
		if hi < e.set.Count {
			b.add(e.set.Part(hi, e.set.Count-hi), e.number, e.holes)
		}
	}
}

// inOrder are all entries in the order of their announcements.
func (b *book) inOrder() []*entry {
	all := make([]*entry, 0, b.count)
	for _, tree := range b.shelves {
		tree.Ascend(func(e *entry) bool { all = append(all, e); return true })
	}
	slices.SortFunc(all, func(x, y *entry) int {
		return cmp.Or(cmp.Compare(x.number, y.number), x.set.First.Addr().Compare(y.set.First.Addr()))
	})
	return all
}

func (b *book) add(set routing.Routes, number uint64, holes []routing.Routes) {
	s := shelfOf(set)
	if b.shelves == nil {
		b.shelves = map[shelf]*btree.BTreeG[*entry]{}
	}
	if b.shelves[s] == nil {
		b.shelves[s] = btree.NewG(16, func(x, y *entry) bool {
			c := x.set.First.Addr().Compare(y.set.First.Addr())
			return c < 0 || c == 0 && x.number < y.number
		})
	}
	beyond := routing.Routes{First: set.First, Stride: 1 << (s.span / 2)}.Prefix(1 << (s.span - s.span/2))
	e := &entry{set: set, number: number, last: set.Prefix(set.Count - 1).Addr(), holes: holes}
	if beyond.IsValid() {
		e.end = beyond.Addr()
	}
	b.shelves[s].ReplaceOrInsert(e)
	b.count++
}

func (b *book) remove(e *entry) {
	s := shelfOf(e.set)
	b.shelves[s].Delete(e)
	b.count--
	if b.shelves[s].Len() == 0 {
		delete(b.shelves, s)
	}
}

// meeting are the entries whose range meets that of a set.
func (b *book) meeting(set routing.Routes) (found []*entry) {
	first, last := set.First.Addr(), set.Prefix(set.Count-1).Addr()
	s := shelfOf(set)
	for s.span = range 64 {
		tree := b.shelves[s]
		if tree == nil {
			continue
		}
		tree.DescendLessOrEqual(&entry{set: set, number: 1<<64 - 1}, func(e *entry) bool {
			if !e.last.Less(first) {
				found = append(found, e)
			}
			return !e.end.IsValid() || first.Less(e.end)
		})
		tree.AscendGreaterOrEqual(&entry{set: set}, func(e *entry) bool {
			at := e.set.First.Addr()
			if first.Less(at) && !last.Less(at) {
				found = append(found, e)
			}
			return !last.Less(at)
		})
	}
	return found
}

func shelfOf(set routing.Routes) shelf {
	return shelf{set.Family(), set.First.Bits(), set.Attributes.PathID, bits.Len64(uint64(set.Count-1) * step(set))}
}

func step(set routing.Routes) uint64 { return uint64(max(1, set.Stride)) }

// same reports whether two sets have the same prefixes, written alike.
func same(a, b routing.Routes) bool {
	return a.First == b.First && a.Count == b.Count && step(a) == step(b)
}

// within returns which prefixes of the entry, from lo up to hi, are in the range of a set.
func (e *entry) within(set routing.Routes) (lo, hi uint32) {
	first, last := set.First.Addr(), set.Prefix(set.Count-1).Addr()
	n := int(e.set.Count)
	at := func(i int) netip.Addr { return e.set.Prefix(uint32(i)).Addr() }
	return uint32(sort.Search(n, func(i int) bool { return !at(i).Less(first) })),
		uint32(sort.Search(n, func(i int) bool { return last.Less(at(i)) }))
}

// missing reports whether a prefix of the set is no longer announced by the entry.
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

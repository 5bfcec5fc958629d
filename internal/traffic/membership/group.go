package membership

import (
	"net/netip"
	"slices"
)

// Groups are the groups of which a host is a member. The zero value is ready to use.
type Groups struct {
	of map[netip.Addr]*interest
}

// interest in one group.
type interest struct {
	any     bool
	sources []netip.Addr
}

// Len is the number of groups.
func (g *Groups) Len() int { return len(g.of) }

// Join adds a group, from one source or, when that is invalid, from all. It
// returns the record that reports the change.
func (g *Groups) Join(group, source netip.Addr) Record {
	if g.of == nil {
		g.of = map[netip.Addr]*interest{}
	}
	i := g.of[group]
	if i == nil {
		i = &interest{}
		g.of[group] = i
	}
	if !source.IsValid() {
		i.any = true
	} else if !slices.Contains(i.sources, source) {
		i.sources = append(i.sources, source)
	}
	if i.any {
		return Record{Kind: ToExclude, Group: group}
	}
	return Record{Kind: Allow, Group: group, Sources: []netip.Addr{source}}
}

// Leave removes a group, or one of its sources. It returns the record that reports
// the change, also where the host was no member: leaving twice does no harm.
func (g *Groups) Leave(group, source netip.Addr) Record {
	i := g.of[group]
	if i == nil {
		i = &interest{}
	}
	if !source.IsValid() {
		i.any = false
	} else {
		i.sources = slices.DeleteFunc(i.sources, func(s netip.Addr) bool { return s == source })
	}
	if !i.any && len(i.sources) == 0 {
		delete(g.of, group)
	}
	switch {
	case i.any:
		return Record{Kind: ToExclude, Group: group}
	case source.IsValid():
		return Record{Kind: Block, Group: group, Sources: []netip.Addr{source}}
	}
	return Record{Kind: ToInclude, Group: group, Sources: slices.Clone(i.sources)}
}

// LeaveAll removes all groups, and returns the records that report the change.
func (g *Groups) LeaveAll() []Record {
	var records []Record
	for group := range g.of {
		records = append(records, Record{Kind: ToInclude, Group: group})
	}
	g.of = nil
	return records
}

// Answer returns the records that answer a query; none when the host is no
// member of what it asks for (RFC 3376 section 5.2).
func (g *Groups) Answer(q Query) []Record {
	if q.Group.IsValid() {
		i := g.of[q.Group]
		if i == nil {
			return nil
		}
		return i.answer(q.Group, q.Sources)
	}
	var records []Record
	for group, i := range g.of {
		if group.Is6() == q.IPv6 {
			records = append(records, i.answer(group, nil)...)
		}
	}
	return records
}

// answer is the record of the interest in a group, or, where the query has sources, of
// those that are wanted.
func (i *interest) answer(group netip.Addr, asked []netip.Addr) []Record {
	switch {
	case len(asked) == 0 && i.any:
		return []Record{{Kind: IsExclude, Group: group}}
	case len(asked) == 0:
		return []Record{{Kind: IsInclude, Group: group, Sources: i.sources}}
	}
	var wanted []netip.Addr
	for _, s := range asked {
		if i.any || slices.Contains(i.sources, s) {
			wanted = append(wanted, s)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	return []Record{{Kind: IsInclude, Group: group, Sources: wanted}}
}

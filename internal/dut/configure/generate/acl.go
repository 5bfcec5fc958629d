package generate

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// Match is the place of the entries that the traffic of a test matches within an access list.
type Match string

// The places of the matching entries.
const (
	MatchFirst  Match = "first"
	MatchMiddle Match = "middle"
	MatchLast   Match = "last"
	// MatchNever has the traffic match no entry: the list denies what it names, and permits the rest. Devices
	// whose lists end with an implicit deny have no such list.
	MatchNever Match = "never"
)

// Matches are all places.
var Matches = []Match{MatchFirst, MatchMiddle, MatchLast, MatchNever}

// MaxEntries is the largest number of entries: one for each address of Denied.
const MaxEntries = 1 << 16

// Denied is the half of the benchmark addresses (RFC 2544 C.2.2, 198.18.0.0/15) that entries deny. Traffic has the
// other half.
var Denied = netip.MustParsePrefix("198.19.0.0/16")

// ACL describes an access list on the way into every port of a device: entries that deny one address each, which
// no frame has as its source, and in between the entries that permit the traffic.
type ACL struct {
	// Name of the list on the device.
	Name string
	// Ports are the interfaces of the device.
	Ports []string
	// Entries is the number of entries in all, 1 to MaxEntries.
	Entries int
	// Permit are the networks that traffic comes from, an entry for each; not with MatchNever.
	Permit []netip.Prefix
	Match  Match
}

// Check fails with the field that is wrong, and the remedy.
func (a *ACL) Check() error {
	switch {
	case !slices.Contains(Matches, a.Match):
		return fmt.Errorf("match: Unsupported value: %q: want %s", a.Match, joined(Matches))
	case a.Entries < 1 || a.Entries > MaxEntries:
		return fmt.Errorf("entries: Invalid value: %d: want 1 to %d", a.Entries, MaxEntries)
	case a.Match == MatchNever && len(a.Permit) > 0:
		return errors.New("permit: Forbidden: with match never no entry permits the traffic: leave it out")
	case a.Match != MatchNever && len(a.Permit) == 0:
		return errors.New("permit: Required value: give the networks that traffic comes from, such as 198.18.1.0/24,198.18.2.0/24")
	case len(a.Permit) > a.Entries:
		return fmt.Errorf("entries: Invalid value: %d: want at least %d, one for each network of permit", a.Entries, len(a.Permit))
	}
	for i, p := range a.Permit {
		if err := network(fmt.Sprintf("permit[%d]", i), p); err != nil {
			return err
		}
		switch {
		case p.Overlaps(Denied):
			return fmt.Errorf("permit[%d]: Invalid value: %q: it overlaps %s, whose addresses the list denies: give networks of 198.18.0.0/16", i, p, Denied)
		case slices.Contains(a.Permit[:i], p):
			return fmt.Errorf("permit[%d]: Duplicate value: %q", i, p)
		}
	}
	return errors.Join(name("name", a.Name), interfaces("ports", a.Ports))
}

// Write returns the list in the words of a dialect.
func (a *ACL) Write(d Dialect) (string, error) {
	if err := a.Check(); err != nil {
		return "", err
	}
	if a.Match == MatchNever && d != DialectNFTables {
		return "", fmt.Errorf("match: Invalid value: %q: lists of %s end with an implicit deny, so that traffic without a matching entry is dropped: want first, middle or last", a.Match, d)
	}
	return write("acl", d, a)
}

// Entry is an entry of a list, by the source of a frame.
type Entry struct {
	// Number of the entry, from 1.
	Number int
	Permit bool
	Source netip.Prefix
}

// Host reports whether the entry is for one address.
func (e Entry) Host() bool { return e.Source.IsSingleIP() }

// List returns the entries in their order.
func (a *ACL) List() []Entry {
	denied := a.Entries - len(a.Permit)
	var before int
	switch a.Match {
	case MatchMiddle:
		before = denied / 2
	case MatchLast:
		before = denied
	}
	list := make([]Entry, 0, a.Entries)
	add := func(permit bool, source netip.Prefix) {
		list = append(list, Entry{Number: len(list) + 1, Permit: permit, Source: source})
	}
	address := Denied.Addr()
	for i := range denied + 1 {
		if i == before {
			for _, p := range a.Permit {
				add(true, p)
			}
		}
		if i < denied {
			add(false, netip.PrefixFrom(address, 32))
			address = address.Next()
		}
	}
	return list
}

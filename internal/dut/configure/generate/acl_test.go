package generate

import (
	"net/netip"
	"strings"
	"testing"
)

func small() *ACL {
	return &ACL{
		Name: "lab", Ports: []string{"Ethernet1/1", "Ethernet1/2"}, Entries: 6, Match: MatchMiddle,
		Permit: []netip.Prefix{netip.MustParsePrefix("198.18.1.0/24"), netip.MustParsePrefix("198.18.2.0/24")},
	}
}

// TestList finds the entries that permit the traffic where they shall be.
func TestList(t *testing.T) {
	t.Parallel()
	for match, first := range map[Match]int{MatchFirst: 1, MatchMiddle: 100, MatchLast: 200} {
		a := small()
		a.Entries, a.Match = 201, match
		list := a.List()
		for i, e := range list {
			if permit := e.Number == first || e.Number == first+1; e.Permit != permit || e.Number != i+1 || e.Permit == Denied.Overlaps(e.Source) {
				t.Errorf("%s: entry %+v", match, e)
			}
		}
		if len(list) != 201 {
			t.Errorf("%s: %d entries", match, len(list))
		}
	}
	never := &ACL{Name: "lab", Ports: []string{"e1"}, Entries: MaxEntries, Match: MatchNever}
	list := never.List()
	if last := list[len(list)-1]; len(list) != MaxEntries || last.Permit || last.Source.String() != "198.19.255.255/32" {
		t.Errorf("%d entries, and the last is %+v", len(list), last)
	}
}

// TestRefused names the field of a list that cannot be.
func TestRefused(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*ACL){
		"match: Unsupported value":           func(a *ACL) { a.Match = "second" },
		"ports: Invalid value: 0 ":           func(a *ACL) { a.Ports = nil },
		`ports[0]: Invalid value: "e1`:       func(a *ACL) { a.Ports = []string{"e1\nreload"} },
		"entries: Invalid value: 0":          func(a *ACL) { a.Entries = 0 },
		"entries: Invalid value: 65537":      func(a *ACL) { a.Entries = MaxEntries + 1 },
		"entries: Invalid value: 1":          func(a *ACL) { a.Entries = 1 },
		"permit: Required value":             func(a *ACL) { a.Permit = nil },
		"permit: Forbidden":                  func(a *ACL) { a.Match = MatchNever },
		"permit[0]: Invalid value: \"198.19": func(a *ACL) { a.Permit[0] = netip.MustParsePrefix("198.19.3.0/24") },
		"permit[0]: Invalid value: \"198.18": func(a *ACL) { a.Permit[0] = netip.MustParsePrefix("198.18.3.1/24") },
		"permit[0]: Invalid value: \"2001:2": func(a *ACL) { a.Permit[0] = netip.MustParsePrefix("2001:2::/48") },
		"permit[1]: Duplicate value":         func(a *ACL) { a.Permit[1] = a.Permit[0] },
		"match: Invalid value: \"never\"":    func(a *ACL) { a.Match, a.Permit = MatchNever, nil },
	} {
		a := small()
		change(a)
		if _, err := a.Write(DialectEOS); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := small().Write("ios"); err == nil || !strings.HasPrefix(err.Error(), "dialect: Unsupported value") {
		t.Errorf("%v", err)
	}
}

package router

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nodrop.dev/nodrop/internal/routing"
)

// The kinds that can be started.
const (
	FRR  = "frr"
	BIRD = "bird"
)

// The kinds without a router that can be started.
const (
	NXOS    = "nxos"
	EOS     = "eos"
	Junos   = "junos"
	SRLinux = "srlinux"
)

// limits are the limits of a kind of device, from its vendor's command reference.
type limits struct {
	// name of the system in messages.
	name string
	// hold is the longest hold time; 0 for that of BGP.
	hold time.Duration
	// interval and multiplier of BFD, lowest and highest; without limits where 0.
	interval   [2]time.Duration
	multiplier [2]uint8
	// labeled are the families with labels.
	labeled []routing.Family
	// doubleTags reports whether the configuration knows two tags on an interface.
	doubleTags bool
	// noPIM reports whether the router has no PIM.
	noPIM bool
	// ldp reports whether the configuration has LDP.
	ldp bool
	// interfaceName is the maximum length of an interface name; 0 for any length.
	interfaceName int
}

// linuxName is the maximum length of a Linux interface name.
const linuxName = 15

var kinds = map[string]limits{
	FRR: {
		name: "FRR", interval: [2]time.Duration{10 * time.Millisecond, time.Minute}, multiplier: [2]uint8{2, 255},
		labeled: []routing.Family{routing.IPv4LabeledUnicast, routing.IPv6LabeledUnicast}, doubleTags: true, ldp: true, interfaceName: linuxName,
	},
	BIRD: {name: "BIRD", noPIM: true, doubleTags: true, interfaceName: linuxName},
	NXOS: {
		name: "NX-OS", hold: time.Hour, interval: [2]time.Duration{50 * time.Millisecond, 999 * time.Millisecond}, multiplier: [2]uint8{1, 50},
		labeled: []routing.Family{routing.IPv4LabeledUnicast},
	},
	EOS: {
		name: "EOS", hold: 2 * time.Hour, interval: [2]time.Duration{50 * time.Millisecond, time.Minute}, multiplier: [2]uint8{3, 50},
		labeled: []routing.Family{routing.IPv4LabeledUnicast, routing.IPv6LabeledUnicast},
	},
	Junos: {
		name: "Junos", labeled: []routing.Family{routing.IPv4LabeledUnicast, routing.IPv6LabeledUnicast}, doubleTags: true,
	},
	SRLinux: {name: "SR Linux", interval: [2]time.Duration{10 * time.Millisecond, 100 * time.Second}, multiplier: [2]uint8{3, 20}},
}

// possible returns an error if a kind of device cannot do something that a session needs.
func possible(kind string, s routing.Session) error {
	l := kinds[kind]
	fail := func(format string, args ...any) error {
		return fmt.Errorf("session %s: %s", s.Name, fmt.Sprintf(format, args...))
	}
	if strings.ContainsFunc(string(s.Password), unwritable) {
		return fail("the password has a character that configurations do not hold: only visible ASCII without quotation mark and backslash is possible")
	}
	if kind == FRR {
		if both := together(s.Families); both != "" {
			return fail("families: FRR has either unicast or labeled unicast of an IP version on a session, and not both of %s; make two sessions of it", both)
		}
	}
	if s.Protocol == routing.LDP {
		return nil
	}
	for _, f := range s.Families {
		switch {
		case f.Labeled() && len(l.labeled) == 0:
			return fail("families: the configuration for %s has no labeled unicast", l.name)
		case f.Labeled() && !slices.Contains(l.labeled, f):
			return fail("families: the configuration for %s has no %s; it has %s", l.name, f, l.labeled[0])
		}
	}
	if l.hold > 0 && s.HoldTime > l.hold {
		return fail("holdTime: %v; %s takes at most %v", s.HoldTime, l.name, l.hold)
	}
	if b := s.BFD; b != nil && l.interval[1] > 0 {
		if b.Interval < l.interval[0] || b.Interval > l.interval[1] {
			return fail("bfd.interval: %v; %s takes %v to %v", b.Interval, l.name, l.interval[0], l.interval[1])
		}
		if b.Multiplier < l.multiplier[0] || b.Multiplier > l.multiplier[1] {
			return fail("bfd.multiplier: %d; %s takes %d to %d", b.Multiplier, l.name, l.multiplier[0], l.multiplier[1])
		}
	}
	return nil
}

// together names the IP version of which a session carries both unicast and labeled
// unicast, which FRR refuses; empty where there is none.
func together(families []routing.Family) string {
	has := func(f routing.Family) bool { return slices.Contains(families, f) }
	switch {
	case has(routing.IPv4Unicast) && has(routing.IPv4LabeledUnicast):
		return "IPv4"
	case has(routing.IPv6Unicast) && has(routing.IPv6LabeledUnicast):
		return "IPv6"
	}
	return ""
}

// possibleInterface returns an error if a kind of device cannot do something that an interface
// needs.
func possibleInterface(kind string, i Interface) error {
	l := kinds[kind]
	fail := func(format string, args ...any) error {
		return fmt.Errorf("interface of port %s: %s", i.Port, fmt.Sprintf(format, args...))
	}
	switch {
	case i.Name == "" || strings.ContainsFunc(i.Name, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == ';' }):
		return fail("%q is no name of an interface: give one without spaces, such as %s", i.Name, InterfaceName(kind, 0, 0))
	case l.interfaceName > 0 && len(i.Tagged()) > l.interfaceName:
		return fail("%s has %d characters; interfaces of Linux have at most %d", i.Tagged(), len(i.Tagged()), l.interfaceName)
	case len(i.VLANs) > 1 && !l.doubleTags:
		return fail("vlan.service: the configuration for %s has interfaces with one tag at most", l.name)
	}
	return nil
}

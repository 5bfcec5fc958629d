package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic"
)

// Session is a BGP or LDP session of a bed, without its password.
type Session struct {
	routing.Session
	// Entry is the name of the entry of the bed that the session is one of, and Path its place.
	Entry string
	Path  *field.Path
	// Password refers to the secret with the password; nil for none.
	Password *v1alpha1.SecretKeyReference
}

// Carries reports whether the session carries a family.
func (s Session) Carries(f routing.Family) bool { return slices.Contains(s.Families, f) }

// routerIDs is the base of the router IDs of sessions whose port has no IPv4 address.
var routerIDs = netip.AddrFrom4([4]byte{198, 19, 0, 0})

// defaultHoldTime is the hold time of RFC 4271 section 10.
const defaultHoldTime = 90 * time.Second

// lastASN is the highest AS number.
const lastASN = 1<<32 - 1

// Sessions are the BGP or LDP sessions of a bed in their order, each with what the bed leaves to
// its defaults.
func Sessions(bed *v1alpha1.TestBed) ([]Session, field.ErrorList) {
	r := bed.Spec.Routing
	switch {
	case r == nil:
		return nil, nil
	case r.LDP != nil:
		return ldpSessions(bed)
	}
	return sessionsOf(bed, r.BGP.Sessions, r.BGP.DeviceASN, bedPath(bed).Child("routing", "bgp", "sessions"))
}

// sessionsOf are the sessions of entries whose list has a path.
func sessionsOf(bed *v1alpha1.TestBed, entries []v1alpha1.BGPSession, deviceASN int64, root *field.Path) ([]Session, field.ErrorList) {
	if len(entries) == 0 {
		return nil, nil
	}
	ports, errs := Ports(bed)
	if len(errs) > 0 {
		return nil, errs
	}
	var all []Session
	for i, entry := range entries {
		on := ports
		if entry.Port != "" {
			if err := knownPort(entry.Port, bed, ports, root.Index(i).Child("port")); err != nil {
				errs = append(errs, err)
				continue
			}
			at := slices.IndexFunc(ports, func(p Port) bool { return p.Name == entry.Port })
			on = ports[at : at+1]
		}
		found, entryErrs := entrySessions(entry, deviceASN, on, len(all), root.Index(i))
		all, errs = append(all, found...), append(errs, entryErrs...)
	}
	if len(errs) == 0 {
		errs = distinct(all, ports)
	}
	return all, errs
}

// entrySessions are the sessions of an entry on its ports. Before is how many sessions
// come before them.
func entrySessions(entry v1alpha1.BGPSession, device int64, on []Port, before int, path *field.Path) ([]Session, field.ErrorList) {
	count := int(max(entry.Count, 1))
	if last := entry.ASN + int64(len(on)*count-1); entry.ASN != device && last > lastASN {
		return nil, field.ErrorList{field.Invalid(path.Child("asn"), entry.ASN, fmt.Sprintf("the AS numbers of %d sessions count up to %d, beyond %d: lower asn", len(on)*count, last, int64(lastASN)))}
	}
	var sessions []Session
	for _, port := range on {
		name := entry.Name
		if entry.Port == "" {
			name += "-" + port.Name
		}
		first, err := firstSession(entry, port, path)
		if err != nil {
			return nil, field.ErrorList{err}
		}
		network, _ := port.Address(first.Local.Is6())
		for i := range count {
			s := first
			s.Name, s.Entry, s.Path, s.Password = name, entry.Name, path, entry.PasswordSecretRef
			if i > 0 {
				s.Name = fmt.Sprintf("%s-%d", name, i+1)
			}
			s.RemoteASN, s.LocalASN = uint32(device), uint32(entry.ASN)
			if entry.ASN != device {
				s.LocalASN += uint32(len(sessions))
			}
			s.Local = traffic.Above(first.Local, uint32(i))
			if !network.Contains(s.Local) || isBroadcast(network, s.Local) {
				return nil, field.ErrorList{field.Invalid(path.Child("count"), entry.Count, fmt.Sprintf(
					"%d sessions from %s up do not fit into %s, the network of port %s: lower count, or give the port a larger network", count, first.Local, network.Masked(), port.Name))}
			}
			if s.RouterID = traffic.Above(first.RouterID, uint32(i)); !first.RouterID.IsValid() {
				s.RouterID = traffic.Above(routerIDs, uint32(before+len(sessions)+1))
			}
			sessions = append(sessions, s)
		}
	}
	return sessions, nil
}

// firstSession is the first session of an entry on a port, without AS numbers. Its router
// ID is invalid where neither the entry nor the port says one.
func firstSession(entry v1alpha1.BGPSession, port Port, path *field.Path) (Session, *field.Error) {
	var s Session
	s.Port, s.Families = port.Name, familiesOf(entry)
	ipv6 := !slices.ContainsFunc(s.Families, func(f routing.Family) bool { return !f.IPv6() })
	for _, given := range []string{entry.DeviceAddress, entry.Address} {
		if a, err := netip.ParseAddr(given); err == nil {
			ipv6 = a.Is6()
		}
	}
	family := "IPv4"
	if ipv6 {
		family = "IPv6"
	}
	own, has := port.Address(ipv6)
	if !has {
		return s, field.Required(path.Child("address"), fmt.Sprintf("port %s has no %s address that the session could be on: add one to the port", port.Name, family))
	}
	s.Local, s.Remote = own.Addr(), port.Gateway(ipv6)
	if a, err := netip.ParseAddr(entry.Address); err == nil {
		s.Local = a
	}
	if a, err := netip.ParseAddr(entry.DeviceAddress); err == nil {
		s.Remote = a
	}
	switch {
	case !s.Remote.IsValid():
		return s, field.Required(path.Child("deviceAddress"), fmt.Sprintf("port %s has no %s gateway: give the device's address in the session", port.Name, family))
	case !own.Contains(s.Local):
		return s, field.Invalid(path.Child("address"), s.Local.String(), fmt.Sprintf("the address is outside of %s, the network of port %s: give one of it", own.Masked(), port.Name))
	case !own.Contains(s.Remote) && !s.Remote.IsLinkLocalUnicast():
		return s, field.Invalid(path.Child("deviceAddress"), s.Remote.String(), fmt.Sprintf("the address is outside of %s, the network of port %s: give the device's address on this port", own.Masked(), port.Name))
	}
	for _, f := range s.Families {
		if _, has := port.Address(f.IPv6()); !has {
			return s, field.Invalid(path.Child("families"), string(f), fmt.Sprintf("port %s has no address of this family, which routes would have as next hop: add one to the port, or leave the family out", port.Name))
		}
	}
	if id, err := netip.ParseAddr(entry.RouterID); err == nil {
		s.RouterID = id
	} else if v4, has := port.Address(false); has {
		s.RouterID = v4.Addr()
		if s.Local.Is4() {
			s.RouterID = s.Local
		}
	}
	if s.HoldTime = defaultHoldTime; entry.HoldTime != nil {
		s.HoldTime = entry.HoldTime.Duration
	}
	s.AddPath = entry.AddPath != nil && *entry.AddPath
	if b := entry.BFD; b != nil {
		s.BFD = &routing.BFD{Interval: b.Interval.Duration, Multiplier: uint8(b.Multiplier)}
	}
	return s, nil
}

func familiesOf(entry v1alpha1.BGPSession) []routing.Family {
	if len(entry.Families) == 0 {
		return []routing.Family{routing.IPv4Unicast}
	}
	var out []routing.Family
	for _, f := range entry.Families {
		out = append(out, routing.Family(f))
	}
	return out
}

// distinct refuses sessions that share a name, or an address with another session, a port
// or a gateway.
func distinct(all []Session, ports []Port) field.ErrorList {
	names, addresses := map[string]bool{}, map[netip.Addr]string{}
	for _, p := range ports {
		for _, g := range p.Gateways {
			addresses[g] = "the gateway of port " + p.Name
		}
		for _, a := range p.Addresses {
			addresses[a.Addr()] = "port " + p.Name
		}
	}
	for _, s := range all {
		if names[s.Name] {
			return field.ErrorList{field.Invalid(s.Path.Child("name"), s.Entry, fmt.Sprintf("another session is called %s already: give the entry another name", s.Name))}
		}
		names[s.Name] = true
		if owner, taken := addresses[s.Local]; taken && owner != "port "+s.Port {
			return field.ErrorList{field.Invalid(s.Path.Child("address"), s.Local.String(), fmt.Sprintf("session %s would have the address of %s: give address, or lower count", s.Name, owner))}
		}
		addresses[s.Local] = "session " + s.Name
	}
	return nil
}

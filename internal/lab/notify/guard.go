package notify

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
)

// Guard selects the receivers that may be reached. The owner of the lab configures it.
type Guard struct {
	// Hosts are names, or names with a port; "*.example.com" is every name below
	// example.com, and an IPv6 address is in brackets. Without a port, port 443 is meant. Empty
	// allows none.
	Hosts []string
	// Networks may be reached although they are refused by default: loopback, link-local and
	// the like.
	Networks []netip.Prefix
	// Refused are addresses that may not be reached unless a network of the above has them,
	// such as those of the API server.
	Refused []netip.Addr
}

// Host returns the reason why a URL may not be reached, or nil. Its address is checked when
// the connection is made.
func (g Guard) Host(raw string) error {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return errors.New("url is not an https:// URL with a host and without a user")
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	name := canonical(strings.TrimSuffix(strings.ToLower(u.Hostname()), "."))
	if slices.ContainsFunc(g.Hosts, func(allowed string) bool { return matches(strings.ToLower(allowed), name, port) }) {
		return nil
	}
	return &HostError{Host: net.JoinHostPort(name, port)}
}

// HostError is a host that the owner of the lab does not allow.
type HostError struct{ Host string }

// Error names the host and the settings that allow it.
func (e *HostError) Error() string {
	host, ordinary := strings.CutSuffix(e.Host, ":443")
	text := fmt.Sprintf("the lab does not allow notifications to %s: ask its owner to add it to notifications.allowedHosts of the chart", host)
	if !ordinary {
		text += ", and port " + e.Host[strings.LastIndex(e.Host, ":")+1:] + " to networkPolicy.operatorEgress"
	}
	return text
}

func matches(allowed, name, port string) bool {
	host, allowedPort, err := net.SplitHostPort(allowed)
	if err != nil {
		host, allowedPort = strings.Trim(allowed, "[]"), "443"
	}
	if allowedPort != port {
		return false
	}
	if below, wild := strings.CutPrefix(host, "*."); wild {
		return strings.HasSuffix(name, "."+below)
	}
	return canonical(host) == name
}

// canonical returns the canonical text of an IP address, and every other host as it is.
func canonical(host string) string {
	if address, err := netip.ParseAddr(host); err == nil {
		return address.String()
	}
	return host
}

// errAddress is an address that may not be reached. It does not say which.
var errAddress = errors.New("the name of the host leads to an address that the lab does not allow: ask its owner to add the address with its prefix length, as 192.0.2.1/32, to notifications.allowedNetworks of the chart")

// metadata are addresses of clouds that are not link-local, and that hand out credentials.
var metadata = []netip.Addr{netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("168.63.129.16")}

// nat64 are IPv6 networks that hold IPv4 addresses in their last four bytes (RFC 6052, RFC 8215).
var nat64 = []netip.Prefix{netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/96")}

// control refuses a connection by its resolved address, so that a name that changes between
// two look-ups gains nothing.
func (g Guard) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return errAddress
	}
	if !g.address(at.Addr()) {
		return errAddress
	}
	return nil
}

// address reports whether an address may be reached.
func (g Guard) address(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if slices.ContainsFunc(g.Networks, func(n netip.Prefix) bool { return n.Contains(a) }) {
		return true
	}
	for _, n := range nat64 {
		if n.Contains(a) {
			b := a.As16()
			return g.address(netip.AddrFrom4([4]byte(b[12:])))
		}
	}
	switch {
	case !a.IsGlobalUnicast(), a.IsLinkLocalUnicast(), a.IsLoopback(), a.IsUnspecified(), a.IsMulticast():
		return false
	case a.Is4() && a.As4()[0] == 0, slices.Contains(metadata, a), slices.Contains(g.Refused, a):
		return false
	}
	return true
}

package agent

import (
	"fmt"
	"net/netip"
)

// Hosts are addresses that count up from one that the port has.
type Hosts struct {
	// After is the port's own address with prefix length; the first host has the next.
	After string `json:"after"`
	// Count is the number of hosts.
	Count int `json:"count"`
}

// Prefixes are all addresses of the port, those of its further hosts last.
func (c PortConfig) Prefixes() ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	for _, text := range c.Addresses {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("port %s: address %q: %w", c.Name, text, err)
		}
		prefixes = append(prefixes, prefix)
	}
	if c.Hosts == nil {
		return prefixes, nil
	}
	own, err := netip.ParsePrefix(c.Hosts.After)
	if err != nil {
		return nil, fmt.Errorf("port %s: hosts after %q: %w", c.Name, c.Hosts.After, err)
	}
	next := own.Addr()
	for range c.Hosts.Count {
		next = next.Next()
		prefixes = append(prefixes, netip.PrefixFrom(next, own.Bits()))
	}
	return prefixes, nil
}

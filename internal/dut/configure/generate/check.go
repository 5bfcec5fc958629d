package generate

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// MaxPorts is the largest number of ports of a configuration.
const MaxPorts = 512

// plain reports whether a name has no character that a device might read as something else.
func plain(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._/:-", r)
	}) < 0
}

func joined[T ~string](values []T) string {
	var names []string
	for _, v := range values {
		names = append(names, string(v))
	}
	return strings.Join(names, ", ")
}

// name fails for a name that has other characters than the devices allow.
func name(field, value string) error {
	if !plain(value) {
		return fmt.Errorf("%s: Invalid value: %q: want letters, digits and . _ / : -", field, value)
	}
	return nil
}

// interfaces fails for a list of interfaces of a device that cannot be.
func interfaces(field string, list []string) error {
	if len(list) == 0 || len(list) > MaxPorts {
		return fmt.Errorf("%s: Invalid value: %d interfaces: want 1 to %d of the device, such as Ethernet1/1,Ethernet1/2", field, len(list), MaxPorts)
	}
	for i, port := range list {
		if err := name(fmt.Sprintf("%s[%d]", field, i), port); err != nil {
			return err
		}
		if slices.Contains(list[:i], port) {
			return fmt.Errorf("%s[%d]: Duplicate value: %q", field, i, port)
		}
	}
	return nil
}

// network fails for what is no IPv4 network.
func network(field string, p netip.Prefix) error {
	switch {
	case !p.IsValid() || !p.Addr().Is4():
		return fmt.Errorf("%s: Invalid value: %q: want an IPv4 network, such as 198.18.1.0/24", field, p)
	case p != p.Masked():
		return fmt.Errorf("%s: Invalid value: %q: it has bits behind the length of the prefix: want %s", field, p, p.Masked())
	}
	return nil
}

// address fails for what is no IPv4 address.
func address(field string, a netip.Addr) error {
	if !a.Is4() {
		return fmt.Errorf("%s: Invalid value: %q: want an IPv4 address, such as 198.18.1.2", field, a)
	}
	return nil
}

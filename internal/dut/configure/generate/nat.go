package generate

import (
	"errors"
	"fmt"
	"net/netip"
)

// NAT describes address translation of the frames of one inside network: static, one address for each inside address, on
// half of the outside ports, and of ports and addresses (PAT), all behind one address, on the other half. Frames that
// are not translated are dropped, so that a missing translation is seen.
type NAT struct {
	// Name of the translation on the device.
	Name string
	// Inside is the network whose addresses are translated.
	Inside netip.Prefix
	// Static are the translations of one address to another.
	Static []StaticNAT
	// PAT are the ports behind one address each.
	PAT []PAT
}

// StaticNAT is the translation of an inside address on an outside port.
type StaticNAT struct {
	Port            string
	Inside, Outside netip.Addr
}

// PAT is the translation of all inside addresses on an outside port.
type PAT struct {
	Port    string
	Outside netip.Addr
}

// Outside are the outside ports.
func (n *NAT) Outside() (ports []string) {
	for _, s := range n.Static {
		ports = append(ports, s.Port)
	}
	for _, p := range n.PAT {
		ports = append(ports, p.Port)
	}
	return ports
}

// Check fails with the field that is wrong, and the remedy.
func (n *NAT) Check() error {
	if err := network("inside", n.Inside); err != nil {
		return err
	}
	if len(n.Static)+len(n.PAT) == 0 {
		return errors.New("static and pat: Required value: give a translation, such as --static e2=198.18.1.2=198.18.2.200 or --pat e3=198.18.3.200")
	}
	for i, s := range n.Static {
		field := fmt.Sprintf("static[%d]", i)
		if err := errors.Join(name(field, s.Port), address(field, s.Inside), address(field, s.Outside)); err != nil {
			return err
		}
		if !n.Inside.Contains(s.Inside) {
			return fmt.Errorf("%s: Invalid value: %q: want an address of the inside network %s", field, s.Inside, n.Inside)
		}
	}
	for i, p := range n.PAT {
		field := fmt.Sprintf("pat[%d]", i)
		if err := errors.Join(name(field, p.Port), address(field, p.Outside)); err != nil {
			return err
		}
	}
	return errors.Join(name("name", n.Name), interfaces("static and pat", unique(n.Outside())))
}

// unique returns a list without what is there before.
func unique(list []string) (out []string) {
	seen := map[string]bool{}
	for _, s := range list {
		if !seen[s] {
			out = append(out, s)
		}
		seen[s] = true
	}
	return out
}

// Write returns the translation in the words of a dialect.
func (n *NAT) Write(d Dialect) (string, error) { return write("nat", d, n) }

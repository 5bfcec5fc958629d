package xdp

import (
	"fmt"

	"nodrop.dev/nodrop/internal/frame"
)

// vlanFilters are features of a NIC that drop frames of VLANs which the kernel has not
// registered.
var vlanFilters = []string{"rx-vlan-filter", "rx-vlan-stag-filter"}

// filtersAlways are drivers whose NIC filters VLANs also while it is promiscuous.
var filtersAlways = map[string]string{
	"igbvf": "leave vlan out of the port and of the profile, and let the physical function tag (ip link set dev PF vf N vlan ID)",
}

// vlanRefusal returns the reason why a port cannot be in VLANs while its NIC filters them,
// or nil.
func vlanRefusal(driver string, vlans frame.VLANs) error {
	remedy, refuses := filtersAlways[driver]
	if !refuses {
		return nil
	}
	return fmt.Errorf("the port is in %v, and a NIC with the driver %s drops frames of VLANs that the kernel has not registered, also in promiscuous mode: %s", vlans, driver, remedy)
}

// passVLANFilter finds out whether the NIC has a filter of VLANs that cannot be turned off.
// Drivers turn such a filter off while the interface is promiscuous.
func (p *port) passVLANFilter() error {
	on, err := p.card.On(vlanFilters...)
	if err != nil || len(on) == 0 {
		return err
	}
	p.filtersVLANs = true
	return vlanRefusal(p.driver, p.VLANs)
}

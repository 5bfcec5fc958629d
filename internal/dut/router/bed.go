package router

import (
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/routing"
)

// DefaultRouterID is the router ID of a device without an IPv4 address of its own.
var DefaultRouterID = netip.MustParseAddr("198.19.255.254")

// ForBed is the configuration of a bed's device, of some kind: that of all interfaces, of
// sessions, without passwords, and of multicast routing. Interfaces without a name in
// names, by port, get the one that InterfaceName counts up to.
func ForBed(bed *v1alpha1.TestBed, kind string, names map[string]string) (Config, field.ErrorList) {
	ports, errs := plan.Ports(bed)
	if len(errs) > 0 {
		return Config{}, errs
	}
	sessions, errs := plan.Sessions(bed)
	if len(errs) > 0 {
		return Config{}, errs
	}
	root := field.NewPath("TestBed/"+bed.Name).Child("spec", "routing")
	if bed.Spec.Routing == nil {
		return Config{}, field.ErrorList{field.Required(root, fmt.Sprintf("test bed %s has neither sessions nor multicast routing, which the configuration is about: add bgp, ldp or pim", bed.Name))}
	}
	c := Config{ASN: uint32(bed.Spec.Routing.BGP.DeviceASN), FIBFirst: true}
	if plan.RoutesMulticast(bed) {
		point, errs := plan.RendezvousPoint(bed)
		if len(errs) > 0 {
			return Config{}, errs
		}
		c.PIM = &PIM{RendezvousPoint: point}
	}
	for i, port := range ports {
		in := Interface{Name: names[port.Name], Port: port.Name, VLANs: port.VLANs}
		if in.Name == "" {
			in.Name = InterfaceName(kind, i, port.BitsPerSecond)
		}
		remotes := slices.Clone(port.Gateways)
		for _, s := range sessions {
			if s.Port == port.Name && !slices.Contains(remotes, s.Remote) {
				remotes = append(remotes, s.Remote)
			}
		}
		for _, a := range remotes {
			if own, ok := port.Address(a.Is6()); ok {
				in.Addresses = append(in.Addresses, netip.PrefixFrom(a, own.Bits()))
			}
			if a.Is4() && !c.RouterID.IsValid() {
				c.RouterID = a
			}
		}
		c.Interfaces = append(c.Interfaces, in)
	}
	if !c.RouterID.IsValid() {
		c.RouterID = DefaultRouterID
	}
	if bed.Spec.Routing.LDP != nil {
		c.LDP = &LDP{Transport: c.RouterID}
	}
	for _, s := range sessions {
		if s.Remote.IsLinkLocalUnicast() {
			return Config{}, field.ErrorList{field.Invalid(s.Path.Child("deviceAddress"), s.Remote.String(),
				"a device is configured for sessions with addresses that are not link-local: give deviceAddress")}
		}
		one := s.Session
		if s.Password != nil {
			one.Password = routing.Secret("unknown") // is not written
		}
		c.Sessions = append(c.Sessions, one)
	}
	return c, nil
}

// InterfaceName is the name of the interface number i, counted from 0, as a kind of device
// calls the first ones that it has of a speed in bit/s.
func InterfaceName(kind string, i int, speed int64) string {
	switch kind {
	case NXOS:
		return fmt.Sprintf("Ethernet1/%d", i+1)
	case EOS:
		return fmt.Sprintf("Ethernet%d", i+1)
	case Junos:
		form := "ge"
		switch {
		case speed >= 40e9:
			form = "et"
		case speed >= 10e9:
			form = "xe"
		}
		return fmt.Sprintf("%s-0/0/%d", form, i)
	case SRLinux:
		return fmt.Sprintf("ethernet-1/%d", i+1)
	}
	return fmt.Sprintf("eth%d", i+1)
}

package plan

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
)

// ValidateBed reports errors in a bed by itself that its schema does not find: malformed
// numbers, addresses that two ports share, and gateways that a port cannot reach.
func ValidateBed(bed *v1alpha1.TestBed) field.ErrorList {
	ports, errs := Ports(bed)
	if len(errs) > 0 {
		return errs
	}
	root := bedPath(bed).Child("ports")
	if len(ports) == 0 {
		return field.ErrorList{field.Required(root, "give the bed at least two ports")}
	}
	names := map[string]bool{}
	owners := map[netip.Addr]string{}
	for i, p := range ports {
		path := root.Index(i)
		if names[p.Name] {
			errs = append(errs, field.Duplicate(path.Child("name"), p.Name))
		}
		names[p.Name] = true
		for j, a := range p.Addresses {
			if owner, taken := owners[a.Addr()]; taken {
				errs = append(errs, field.Invalid(path.Child("addresses").Index(j), a.String(), fmt.Sprintf("port %s has this address already: give every port its own", owner)))
			}
			owners[a.Addr()] = p.Name
		}
		if bed.Spec.Ports != nil && bed.Spec.Ports[i].DeviceQueue != nil && !device.Of(bed.Spec.Device).OnNode {
			errs = append(errs, field.Forbidden(path.Child("deviceQueue"), "nodrop run makes the queue of a device that it makes in place of a containerlab node, and this bed has another device: leave deviceQueue out, and configure the device itself"))
		}
		for j, g := range p.Gateways {
			if err := checkGateway(p, g, path.Child("gateways").Index(j)); err != nil {
				errs = append(errs, err)
			}
		}
	}
	if len(errs) == 0 {
		_, errs = Sessions(bed)
	}
	if len(errs) == 0 && RoutesMulticast(bed) {
		_, errs = RendezvousPoint(bed)
	}
	return errs
}

func checkGateway(p Port, g netip.Addr, path *field.Path) *field.Error {
	own, ok := p.Address(g.Is6())
	switch {
	case !ok:
		return field.Invalid(path, g.String(), fmt.Sprintf("port %s has no address of this family to reach its gateway from: add one to addresses", p.Name))
	case own.Addr() == g:
		return field.Invalid(path, g.String(), fmt.Sprintf("this is the address of port %s itself: give the device's address", p.Name))
	case !own.Contains(g) && !g.IsLinkLocalUnicast():
		return field.Invalid(path, g.String(), fmt.Sprintf("the gateway is outside of %s, the network of port %s: give the device's address on this port", own.Masked(), p.Name))
	}
	return nil
}

// validateAddresses refuses ports that lack an address of the profile's family,
// hosts that do not fit into a port's network, and layer-2 peers in different
// networks.
func validateAddresses(profile Section, bed *v1alpha1.TestBed, ports []Port) field.ErrorList {
	if profile.Spec.Packet.Ethernet != nil {
		return validateOneNetwork(profile, bed, ports)
	}
	if profile.Spec.Packet.Custom != nil {
		return nil // Where they go is in the bytes.
	}
	ipv6 := profile.Spec.Packet.IPv6 != nil
	family := "IPv4"
	if ipv6 {
		family = "IPv6"
	}
	var errs field.ErrorList
	used := map[int]bool{}
	fl := flows(profile.TrafficProfile, ports)
	for _, f := range fl {
		used[f.tx] = true
		for _, rx := range f.rx {
			used[rx] = true
		}
	}
	root := bedPath(bed).Child("ports")
	for i, p := range ports {
		if !used[i] {
			continue
		}
		own, ok := p.Address(ipv6)
		if !ok {
			errs = append(errs, field.Required(root.Index(i).Child("addresses"),
				fmt.Sprintf("port %s has no %s address, which profile %s needs: add one, or use a profile of the other family", p.Name, family, profile.Name)))
			continue
		}
		if err := checkHosts(profile, p, own, ports); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return errs
	}
	told := map[int]bool{}
	for _, f := range fl {
		if f.group.IsValid() || told[f.tx] {
			continue
		}
		tx, rx := ports[f.tx], ports[f.rx[0]]
		own, _ := tx.Address(ipv6)
		peer, _ := rx.Address(ipv6)
		if !tx.Gateway(ipv6).IsValid() && !own.Contains(peer.Addr()) {
			told[f.tx] = true
			errs = append(errs, field.Required(root.Index(f.tx).Child("gateways"),
				fmt.Sprintf("port %s sends from %s to %s on port %s, which is another network: give port %s its %s gateway, or put both ports into one network", tx.Name, own, peer.Addr(), rx.Name, tx.Name, family)))
		}
	}
	return errs
}

// validateOneNetwork refuses frames without a network layer between ports whose addresses
// require a router between them. Modeled ports have networks of their own, and a model that
// takes every frame.
func validateOneNetwork(profile Section, bed *v1alpha1.TestBed, ports []Port) field.ErrorList {
	if bed.Spec.Engine.Kind == v1alpha1.EngineSim {
		return nil
	}
	for _, f := range flows(profile.TrafficProfile, ports) {
		tx, rx := ports[f.tx], ports[f.rx[0]]
		if own, peer, apart := otherNetworks(tx, rx); apart {
			return field.ErrorList{field.Invalid(profile.Path.Child("packet", "ethernet"), rx.Name,
				fmt.Sprintf("port %s with %s and port %s with %s of test bed %s are in different networks, and frames without a network layer are not routed: use a bed whose ports are in one network, or give ipv4 or ipv6",
					tx.Name, own, rx.Name, peer, bed.Name))}
		}
	}
	return nil
}

// otherNetworks reports whether the addresses of two ports are in different networks, and
// returns such a pair.
func otherNetworks(tx, rx Port) (own, peer netip.Prefix, apart bool) {
	for _, own := range tx.Addresses {
		if peer, ok := rx.Address(own.Addr().Is6()); ok && !own.Contains(peer.Addr()) {
			return own, peer, true
		}
	}
	return own, peer, false
}

// checkHosts refuses a range of hosts that leaves the port's network or contains an address
// of another port or gateway.
func checkHosts(profile Section, p Port, own netip.Prefix, ports []Port) *field.Error {
	n := hosts(profile.TrafficProfile)
	if n == 1 {
		return nil
	}
	path := profile.Path.Child("packet", "ipv4", "hostsPerPort")
	if own.Addr().Is6() {
		path = profile.Path.Child("packet", "ipv6", "hostsPerPort")
	}
	taken := map[netip.Addr]string{}
	for _, other := range ports {
		if a, ok := other.Address(own.Addr().Is6()); ok && other.Name != p.Name {
			taken[a.Addr()] = "port " + other.Name
		}
		if g := other.Gateway(own.Addr().Is6()); g.IsValid() {
			taken[g] = "the gateway of port " + other.Name
		}
	}
	host := own.Addr()
	for range n - 1 {
		host = host.Next()
		if !own.Contains(host) || isBroadcast(own, host) {
			return field.Invalid(path, n, fmt.Sprintf("%d hosts from %s up do not fit into the network of port %s: lower hostsPerPort, or give the port a larger network or a lower address", n, own, p.Name))
		}
		if owner, ok := taken[host]; ok {
			return field.Invalid(path, n, fmt.Sprintf("%d hosts from %s up on port %s run into %s, the address of %s: lower hostsPerPort, or move that address", n, own, p.Name, host, owner))
		}
	}
	return nil
}

// isBroadcast reports whether an address is the last one of an IPv4 network.
func isBroadcast(network netip.Prefix, a netip.Addr) bool {
	return a.Is4() && network.Bits() < 31 && !network.Contains(a.Next())
}

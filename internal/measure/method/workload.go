package method

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

// maxInterruptions is the number of times that a workload begins again.
const maxInterruptions = 2

// uninterrupted runs a workload, and runs it again if the agent that has the hosts restarted or was not reached: its counts
// are gone.
func uninterrupted[Answer any](ctx context.Context, run func() (Answer, error)) (found Answer, err error) {
	for range 1 + maxInterruptions {
		found, err = run()
		if ctx.Err() != nil || !errors.Is(err, traffic.ErrInterrupted) {
			break
		}
	}
	return found, err
}

// portNames returns the names of ports.
func portNames(ports []plan.Port) (names []string) {
	for _, p := range ports {
		names = append(names, p.Name)
	}
	return names
}

// clientAndServer returns the ports that a test names, or the first port for the client and the first other one for the
// server. A port is empty if the bed does not have it.
func clientAndServer(askedClient, askedServer string, ports []plan.Port) (client, server string) {
	for i, p := range ports {
		if p.Name == askedClient || askedClient == "" && i == 0 {
			client = p.Name
		}
	}
	for _, p := range ports {
		if p.Name == askedServer || askedServer == "" && p.Name != client && server == "" {
			server = p.Name
		}
	}
	return client, server
}

// networkOfHosts returns the address of a port, from whose network hosts get theirs.
func networkOfHosts(test v1alpha1.Test, in plan.Setting, p plan.Port, path *field.Path) (netip.Prefix, *field.Error) {
	address, has := p.Address(false)
	if !has {
		return address, field.Invalid(path, test.Name, fmt.Sprintf("port %s of test bed %s has no IPv4 address, from whose network its hosts would get theirs: give the port one", p.Name, in.Bed.Name))
	}
	return address, nil
}

// outsideVLAN refuses a port in a VLAN.
func outsideVLAN(test v1alpha1.Test, in plan.Setting, p plan.Port, path *field.Path) field.ErrorList {
	if len(p.VLANs) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, test.Name, fmt.Sprintf("port %s of test bed %s is in a VLAN, and hosts send without tags yet: choose a bed without VLANs", p.Name, in.Bed.Name))}
}

// freeAddresses returns the number of addresses of a network that hosts can have: without the address of the network, the
// broadcast address, and the ones of ports and gateways.
func freeAddresses(address netip.Prefix, ports []plan.Port) int {
	n := 1<<min(32-address.Bits(), 20) - 2
	for _, p := range ports {
		own, _ := p.Address(false)
		for _, a := range []netip.Addr{own.Addr(), p.Gateway(false)} {
			if a.IsValid() && address.Masked().Contains(a) {
				n--
			}
		}
	}
	return n
}

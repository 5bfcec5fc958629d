package method

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/search"
	"nodrop.dev/nodrop/internal/traffic"
)

const (
	// maxInterruptions is the number of times that a workload begins again.
	maxInterruptions = 2
	// longestMessage is the number of bytes of a message of a row.
	longestMessage = 1000
)

// joined returns the messages of a row as one, which is not too long.
func joined(messages []string) string {
	text := strings.Join(messages, "; ")
	if len(text) > longestMessage {
		text = strings.ToValidUTF8(text[:longestMessage], "") + " …"
	}
	return text
}

// ratesWithin returns the bounds of a search for a rate.
func ratesWithin(minimum, maximum, resolution int32) search.CountConfig {
	return search.CountConfig{Min: int64(minimum), Max: int64(maximum), Resolution: int64(max(1, resolution))}
}

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

// seats are the hosts that a test asks for on a port.
type seats struct {
	// hosts is their number; the port is not used if there are none.
	hosts int
	// path is the field that decides how many there are, with its value, and fewer names what can be asked for in place.
	path  *field.Path
	value any
	fewer string
}

// hostsFit reports which ports of a bed cannot have the hosts of a test. wanted returns the hosts of the i-th port.
func hostsFit(test v1alpha1.Test, in plan.Setting, path *field.Path, wanted func(i int, p plan.Port) seats) (errs field.ErrorList) {
	for i, p := range in.Ports {
		w := wanted(i, p)
		if w.hosts < 1 {
			continue
		}
		address, problem := networkOfHosts(test, in, p, path)
		if problem != nil {
			errs = append(errs, problem)
			continue
		}
		if free := freeAddresses(address, in.Ports); free < w.hosts {
			errs = append(errs, field.Invalid(w.path, w.value, fmt.Sprintf("the network %s of port %s of test bed %s has %d free addresses, and %d hosts need one each: ask for %s, or give the port a larger network",
				address.Masked(), p.Name, in.Bed.Name, max(0, free), w.hosts, w.fewer)))
		}
		errs = append(errs, outsideVLAN(test, in, p, path)...)
	}
	return errs
}

// end is the role of a host at one end of a connection, which is the name of the field with its port, and the port that the field
// names.
type end struct{ role, asked string }

// pairFits reports why a bed has no host for each end of a connection.
func pairFits(test v1alpha1.Test, in plan.Setting, path *field.Path, near, far end) (errs field.ErrorList) {
	first, second := clientAndServer(near.asked, far.asked, in.Ports)
	names := portNames(in.Ports)
	switch {
	case first == "":
		return field.ErrorList{field.NotSupported(path.Child(near.role), near.asked, names)}
	case second == "" && far.asked != "":
		return field.ErrorList{field.NotSupported(path.Child(far.role), far.asked, names)}
	case second == "" || second == first:
		return field.ErrorList{field.Invalid(path.Child(far.role), far.asked, fmt.Sprintf("%s and %s need two ports: choose another port than %s, on a bed with two or more", near.role, far.role, first))}
	}
	if in.Bed.Spec.Engine.Kind == v1alpha1.EngineSim {
		return nil
	}
	for _, p := range in.Ports {
		if p.Name != first && p.Name != second {
			continue
		}
		address, problem := networkOfHosts(test, in, p, path)
		switch {
		case problem != nil:
			errs = append(errs, problem)
		case freeAddresses(address, in.Ports) < 2: // both hosts are in one network if the device is a switch
			errs = append(errs, field.Invalid(path, test.Name, fmt.Sprintf("the network %s of port %s of test bed %s has fewer than 2 free addresses for hosts: give the port a larger network", address.Masked(), p.Name, in.Bed.Name)))
		}
		errs = append(errs, outsideVLAN(test, in, p, path)...)
	}
	return errs
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

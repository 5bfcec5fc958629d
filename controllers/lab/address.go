package lab

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// hostAddresses returns every address with the hosts that follow it, each with
// the prefix length of its network.
func hostAddresses(addresses []string, hosts int32) ([]string, error) {
	var all []string
	for _, a := range addresses {
		prefix, err := netip.ParsePrefix(a)
		if err != nil {
			return nil, fmt.Errorf("address %q: %w: write it with its prefix length, such as 198.18.1.2/24", a, err)
		}
		ip := prefix.Addr()
		for i := range max(hosts, 1) {
			if i > 0 {
				ip = ip.Next()
			}
			if !prefix.Contains(ip) {
				return nil, fmt.Errorf("%d hosts from %s do not fit into its network: lower hostsPerPort of the TrafficProfile, or shorten the prefix", hosts, a)
			}
			all = append(all, netip.PrefixFrom(ip, prefix.Bits()).String())
		}
	}
	return all, nil
}

func hostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// RunnerAddress is where the runner of a pod with that address listens.
func RunnerAddress(podIP string) string { return hostPort(podIP, RunnerPort) }

package main

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif/netiftest"
)

// A minimal system does not load the modules tcp_diag, udp_diag, xfrm_user and nfnetlink. A
// run needs none of them, on interfaces of the machine and with a device of its own.
func TestRunNeedsNoFurtherNetlinkProtocol(t *testing.T) {
	t.Parallel() // It compares no rates.
	ownRouter := strings.NewReplacer("{name: frr}", "{name: switch}", "nd-p1", "nd-r1", "nd-p2", "nd-r2", "[128, 9216]", "[128]").Replace(xdpManifests)
	for name, bed := range map[string]string{"interfaces of the machine": physicalBed, "a router of its own": ownRouter} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			before := m.interfaces()
			m.must(netiftest.OnlyNetlink(unix.NETLINK_ROUTE, unix.NETLINK_GENERIC))
			p := m.run(shortBenchmark, bed)
			p.measures("")
			m.backAsBefore(before)
		})
	}
}

package trials

import (
	"net/netip"
	"slices"
	"testing"

	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

func TestMembershipsAreRanges(t *testing.T) {
	ports := []plan.Port{{Name: "p1"}, {Name: "p2"}, {Name: "p3"}, {Name: "p4"}}
	streams := []plan.Stream{{Rx: []int{1, 2, 3}}, {Rx: []int{1}}, {Rx: []int{1, 2, 3}}}
	for i, group := range []string{"225.1.1.1", "225.1.1.2", "225.1.2.1"} {
		streams[i].Headers.DstIP = netip.MustParseAddr(group)
	}
	want := []traffic.Membership{
		{Port: "p2", Group: netip.MustParseAddr("225.1.1.1"), Count: 2}, {Port: "p2", Group: netip.MustParseAddr("225.1.2.1"), Count: 1},
		{Port: "p3", Group: netip.MustParseAddr("225.1.1.1"), Count: 1}, {Port: "p3", Group: netip.MustParseAddr("225.1.2.1"), Count: 1},
		{Port: "p4", Group: netip.MustParseAddr("225.1.1.1"), Count: 1}, {Port: "p4", Group: netip.MustParseAddr("225.1.2.1"), Count: 1},
	}
	if got := memberships(ports, GroupsOf(streams)); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	for m, want := range map[traffic.Membership]string{
		{Group: netip.MustParseAddr("225.1.1.255"), Count: 1}: "225.1.2.0", {Group: netip.MustParseAddr("225.1.1.1"), Count: 65536}: "225.2.1.1",
		{Group: netip.MustParseAddr("ff1e::1"), Count: 65535}: "ff1e::1:0",
	} {
		if got := m.End().String(); got != want {
			t.Errorf("after %+v comes %s, want %s", m, got, want)
		}
	}
}

func TestHostsOfHardwareAddresses(t *testing.T) {
	if n := hostsOf(plan.Stream{Headers: traffic.Headers{SrcMACCount: 7, DstMACCount: 9}}); n != 9 {
		t.Errorf("%d frames show all addresses, want 9", n)
	}
}

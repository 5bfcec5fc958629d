package dut

import (
	"bytes"
	"net"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// A group reaches the port that joined it, and no other, in both families.
func TestBridgeForwardsGroupsToMembers(t *testing.T) {
	for family, group := range map[string]string{"IPv4": "225.1.1.1", "IPv6": "ff1e::1:1"} {
		t.Run(family, func(t *testing.T) {
			x := newTester(t)
			ports := []v1alpha1.Port{
				{Name: "p1", Addresses: []string{"198.18.1.2/24", "2001:2:0:1::2/64"}},
				{Name: "p2", Addresses: []string{"198.18.1.3/24", "2001:2:0:1::3/64"}},
				{Name: "p3"},
			}
			n := NewNetns(ports)
			x.must(n.Prepare(t.Context()))
			defer n.Restore(t.Context())
			x.plug(ports)

			to := &net.UDPAddr{IP: net.ParseIP(group), Port: 9}
			x.must(netns.Set(x.other))
			p2, err := net.InterfaceByName("p2")
			x.must(err)
			member, err := net.ListenMulticastUDP("udp", p2, to)
			x.must(err)
			defer member.Close()
			x.must(netns.Set(x.own))
			bystander := sniff(t, "p3")
			sender := x.sender(family, "p1")
			defer sender.Close()

			heard := func(text string) bool {
				x.must(member.SetReadDeadline(time.Now().Add(20 * time.Millisecond)))
				buffer := make([]byte, 100)
				got, _, err := member.ReadFrom(buffer)
				return err == nil && string(buffer[:got]) == text
			}
			// Until the bridge trusts its table it floods: only what is sent once the
			// bystander hears no more counts.
			send := func(text string) {
				_, err := sender.WriteTo([]byte(text), to)
				x.must(err)
			}
			for end := time.Now().Add(30 * time.Second); ; {
				send("begin")
				if heard("begin") && !bystander.hears(t, "begin") {
					break
				}
				if time.Now().After(end) {
					t.Fatal("the bridge never forwarded to the member alone")
				}
			}
			for range 100 {
				send("group")
				for end := time.Now().Add(30 * time.Second); !heard("group"); {
					if time.Now().After(end) {
						t.Fatal("the member did not get the group")
					}
				}
			}
			// A frame to all comes after whatever was on its way.
			if bystander.hears(t, "group") {
				t.Error("the group reached a port that did not join")
			}
		})
	}
}

// TestBridgeAsksFromTheFirst makes a bridge whose port has no carrier yet. It has the address that it asks from already:
// the kernel asks a port once when it gets its carrier, and then waits for 31 s.
func TestBridgeAsksFromTheFirst(t *testing.T) {
	x := newTester(t)
	x.must(forward())
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	x.must(err)
	defer h.Close()
	x.must(h.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "p1"}, PeerName: "far"}))
	br, err := bridge(h, []v1alpha1.Port{{Name: "p1"}})
	x.must(err)
	addresses, err := h.AddrList(br, netlink.FAMILY_V6)
	x.must(err)
	if len(addresses) != 1 || !addresses[0].IP.IsLinkLocalUnicast() || addresses[0].Flags&unix.IFA_F_TENTATIVE != 0 {
		t.Errorf("the bridge has the addresses %v", addresses)
	}
}

// sender is a socket whose multicast leaves by an interface.
func (x *tester) sender(family, name string) net.PacketConn {
	x.t.Helper()
	link, err := netlink.LinkByName(name)
	x.must(err)
	index := link.Attrs().Index
	network := map[string]string{"IPv4": "udp4", "IPv6": "udp6"}[family]
	c, err := net.ListenUDP(network, nil)
	x.must(err)
	raw, err := c.SyscallConn()
	x.must(err)
	var set error
	x.must(raw.Control(func(fd uintptr) {
		if family == "IPv6" {
			set = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_IF, index)
			return
		}
		set = unix.SetsockoptIPMreqn(int(fd), unix.IPPROTO_IP, unix.IP_MULTICAST_IF, &unix.IPMreqn{Ifindex: int32(index)})
	}))
	x.must(set)
	return c
}

// ear is a packet socket on an interface, and one that calls to it through the
// bridge.
type ear struct{ fd, caller, callerIndex int }

func sniff(t *testing.T, name string) *ear {
	t.Helper()
	open := func(name string) (int, int) {
		link, err := netlink.LinkByName(name)
		if err != nil {
			t.Fatal(err)
		}
		// ETH_P_ALL in network order.
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0x0300)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: 0x0300, Ifindex: link.Attrs().Index}); err != nil {
			t.Fatal(err)
		}
		return fd, link.Attrs().Index
	}
	e := &ear{}
	e.fd, _ = open(name)
	e.caller, e.callerIndex = open("p1")
	return e
}

// hears reports whether a frame with the text arrived before a broadcast that is
// sent now.
func (e *ear) hears(t *testing.T, text string) bool {
	t.Helper()
	call := append(bytes.Repeat([]byte{0xff}, 6), 2, 0, 0, 0, 0, 1, 0x88, 0xb5)
	call = append(call, []byte("no more to come, says the caller, in sixty bytes or more than")...)
	if err := unix.Sendto(e.caller, call, 0, &unix.SockaddrLinklayer{Ifindex: e.callerIndex}); err != nil {
		t.Fatal(err)
	}
	heard := false
	buffer := make([]byte, 2048)
	for {
		n, _, err := unix.Recvfrom(e.fd, buffer, 0)
		if err != nil {
			t.Fatal(err)
		}
		heard = heard || bytes.Contains(buffer[:n], []byte(text))
		if bytes.Contains(buffer[:n], []byte("no more to come")) {
			return heard
		}
	}
}

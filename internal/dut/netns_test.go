package dut

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/netif"
)

// TestMain lets the test's own binary act as a program that isolates itself.
func TestMain(m *testing.M) {
	if os.Getenv("NODROP_TEST_ISOLATE") == "" {
		os.Exit(m.Run())
	}
	pid := os.Getpid()
	if _, err := Isolate(); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	links, err := netlink.LinkList()
	var names []string
	for _, l := range links {
		names = append(names, l.Attrs().Name)
	}
	fmt.Printf("pid %d, arguments %q, interfaces %v, error %v, main %s\n", pid, os.Args[1:], names, err, strings.TrimSpace(idOfEveryThread()))
	os.Exit(0)
}

// idOfEveryThread is one line when all threads are in the same namespace.
func idOfEveryThread() string {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err.Error()
	}
	seen := map[string]bool{}
	for _, task := range tasks {
		link, err := os.Readlink("/proc/self/task/" + task.Name() + "/ns/net")
		if err != nil {
			return err.Error()
		}
		seen[link] = true
	}
	var all string
	for link := range seen {
		all += link + "\n"
	}
	return all
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making network namespaces needs root")
	}
}

func TestIsolate(t *testing.T) {
	needRoot(t)
	command := exec.Command("/proc/self/exe", "run", "-f", "x.yaml")
	command.Args[0] = os.Args[0]
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	here, err := os.Readlink("/proc/thread-self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	// That it was called from here does not mean that it has moved.
	from := isolatedEnv + "=" + strings.Trim(here, "net:[]")
	command.Env = append(os.Environ(), "NODROP_TEST_ISOLATE=1", from)
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := fmt.Sprintf(`pid %d, arguments ["run" "-f" "x.yaml"], interfaces [lo], error <nil>, main net:`, command.Process.Pid)
	if got := string(out); !strings.HasPrefix(got, want) || strings.Contains(got, here) || strings.Count(got, "net:[") != 1 {
		t.Errorf("got %q, want %q and one namespace other than %s", got, want, here)
	}
}

// tester is a thread in a network namespace of its own, with a second namespace
// for the other port, since Linux answers itself when both are in one.
type tester struct {
	t     *testing.T
	own   netns.NsHandle
	other netns.NsHandle
}

func newTester(t *testing.T) *tester {
	needRoot(t)
	runtime.LockOSThread()
	old, err := netns.Get()
	if err != nil {
		t.Fatal(err)
	}
	fresh := func() netns.NsHandle {
		ns, err := netns.New()
		if err != nil {
			t.Fatal(err)
		}
		return ns
	}
	x := &tester{t: t, other: fresh(), own: fresh()}
	t.Cleanup(func() {
		x.other.Close()
		x.own.Close()
		if err := netns.Set(old); err != nil {
			t.Fatal(err)
		}
		old.Close()
		runtime.UnlockOSThread()
	})
	return x
}

// plug gives the first port to the own namespace and the second to the other,
// with addresses and routes.
func (x *tester) plug(ports []v1alpha1.Port) {
	x.t.Helper()
	for i, ns := range []netns.NsHandle{x.own, x.other} {
		h, err := netlink.NewHandleAt(x.own, unix.NETLINK_ROUTE)
		x.must(err)
		link, err := h.LinkByName(ports[i].Name)
		x.must(err)
		x.must(h.LinkSetNsFd(link, int(ns)))
		h.Close()
		h, err = netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
		x.must(err)
		link, err = h.LinkByName(ports[i].Name)
		x.must(err)
		for _, text := range ports[i].Addresses {
			address, err := netlink.ParseAddr(text)
			x.must(err)
			if address.IP.To4() == nil {
				address.Flags = 0x02 // IFA_F_NODAD
			}
			x.must(h.AddrAdd(link, address))
		}
		x.must(h.LinkSetUp(link))
		for _, text := range ports[i].Gateways {
			any4, any6 := "198.18.0.0/15", "2001:2::/32"
			destination := any4
			if strings.Contains(text, ":") {
				destination = any6
			}
			_, network, err := net.ParseCIDR(destination)
			x.must(err)
			x.must(h.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Dst: network, Gw: net.ParseIP(text)}))
		}
		h.Close()
	}
}

func (x *tester) must(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

// send proves that a datagram of the size gets from the first port to the second
// and back.
func (x *tester) send(from, to netip.Addr, size int) {
	x.t.Helper()
	x.must(netns.Set(x.other))
	server, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, 7)))
	x.must(err)
	defer server.Close()
	x.must(netns.Set(x.own))
	client, err := net.DialUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(from, 0)), net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, 7)))
	x.must(err)
	defer client.Close()
	deadline := time.Now().Add(30 * time.Second)
	x.must(server.SetDeadline(deadline))
	x.must(client.SetDeadline(deadline))
	buffer := make([]byte, linkMTU)
	// Like any first packet, it may meet a neighbor that is not resolved yet, but
	// the kernel keeps it.
	_, err = client.Write(make([]byte, size))
	x.must(err)
	n, peer, err := server.ReadFromUDPAddrPort(buffer)
	if err != nil || n != size {
		x.t.Fatalf("from %s to %s: got %d bytes, %v; want %d", from, to, n, err, size)
	}
	_, err = server.WriteToUDPAddrPort(buffer[:n], peer)
	x.must(err)
	if n, err = client.Read(buffer); err != nil || n != size {
		x.t.Fatalf("from %s back to %s: got %d bytes, %v; want %d", to, from, n, err, size)
	}
}

func routed() []v1alpha1.Port {
	return []v1alpha1.Port{
		{Name: "p1", Addresses: []string{"198.18.1.2/24", "2001:2:0:1::2/64"}, Gateways: []string{"198.18.1.1", "2001:2:0:1::1"}},
		{Name: "p2", Addresses: []string{"198.18.2.2/24", "2001:2:0:2::2/64"}, Gateways: []string{"198.18.2.1", "2001:2:0:2::1"}},
	}
}

func TestRouterForwards(t *testing.T) {
	x := newTester(t)
	n := NewNetns(routed())
	x.must(n.Prepare(t.Context()))
	defer n.Restore(t.Context())
	if d := n.Describe(); !strings.HasPrefix(d, "Linux router in a network namespace, kernel ") {
		t.Errorf("it calls itself %q", d)
	}
	x.plug(routed())
	x.send(netip.MustParseAddr("198.18.1.2"), netip.MustParseAddr("198.18.2.2"), 1472)
	x.send(netip.MustParseAddr("2001:2:0:1::2"), netip.MustParseAddr("2001:2:0:2::2"), 1452)
	x.send(netip.MustParseAddr("198.18.1.2"), netip.MustParseAddr("198.18.2.2"), linkMTU-28)
}

func TestBridgeForwards(t *testing.T) {
	x := newTester(t)
	ports := []v1alpha1.Port{
		{Name: "p1", Addresses: []string{"198.18.1.2/24"}},
		{Name: "p2", Addresses: []string{"198.18.1.3/24"}},
	}
	n := NewNetns(ports)
	x.must(n.Prepare(t.Context()))
	defer n.Restore(t.Context())
	if d := n.Describe(); !strings.HasPrefix(d, "Linux bridge in a network namespace, kernel ") {
		t.Errorf("it calls itself %q", d)
	}
	x.plug(ports)
	x.send(netip.MustParseAddr("198.18.1.2"), netip.MustParseAddr("198.18.1.3"), 1472)
}

func TestDeviceEndsPoll(t *testing.T) {
	x := newTester(t)
	n := NewNetns(routed())
	x.must(n.Prepare(t.Context()))
	defer n.Restore(t.Context())
	x.must(netif.In(n.device, func() error {
		tool, err := ethtool.NewEthtool()
		if err != nil {
			return err
		}
		defer tool.Close()
		for _, p := range []string{"p1", "p2"} {
			features, err := tool.Features(p)
			if err != nil {
				return err
			}
			if !features["rx-gro"] {
				return fmt.Errorf("GRO on %s is off", p)
			}
		}
		return nil
	}))
}

func TestNothingIsLeft(t *testing.T) {
	x := newTester(t)
	for range 3 {
		n := NewNetns(routed())
		x.must(n.Prepare(t.Context()))
		x.must(n.Restore(t.Context()))
		x.must(n.Restore(t.Context()))
		links, err := netlink.LinkList()
		x.must(err)
		for _, l := range links {
			if name := l.Attrs().Name; name != "lo" {
				t.Fatalf("%s is left", name)
			}
		}
	}
}

func TestForeignInterfacesAreLeftAlone(t *testing.T) {
	x := newTester(t)
	x.must(netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "p2"}, PeerName: "theirs"}))
	if err := NewNetns(routed()).Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "p2") {
		t.Fatalf("a name that is taken: %v", err)
	}
	if _, err := netlink.LinkByName("p2"); err != nil {
		t.Errorf("the other's interface: %v", err)
	}
	if _, err := netlink.LinkByName("p1"); err == nil {
		t.Error("p1 is left")
	}
}

func TestGatewaysMustFit(t *testing.T) {
	for name, c := range map[string]struct {
		port v1alpha1.Port
		want string
	}{
		"outside":   {v1alpha1.Port{Name: "p1", Addresses: []string{"198.18.1.2/24"}, Gateways: []string{"198.18.2.1"}}, "198.18.2.1 is in none"},
		"same":      {v1alpha1.Port{Name: "p1", Addresses: []string{"198.18.1.2/24"}, Gateways: []string{"198.18.1.2"}}, "the port's own address"},
		"no family": {v1alpha1.Port{Name: "p1", Addresses: []string{"198.18.1.2/24"}, Gateways: []string{"2001:2::1"}}, "2001:2::1 is in none"},
		"garbage":   {v1alpha1.Port{Name: "p1", Addresses: []string{"198.18.1.2/24"}, Gateways: []string{"x"}}, "gateway"},
	} {
		if err := NewNetns([]v1alpha1.Port{c.port}).Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

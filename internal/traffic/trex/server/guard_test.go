package server

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"runtime"
	"strconv"
	"testing"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

const guardedPort = 4501

// TestGuard connects to a listener at every address of its namespace from another
// namespace: without the guard it gets through, with it it does not, and over the
// loopback interface it always does.
func TestGuard(t *testing.T) {
	if !alone(t) {
		return
	}
	near := map[string]string{"IPv4": "198.18.0.1", "IPv6": "2001:2::1"}
	far := peer(t, []string{"198.18.0.1/24", "2001:2::1/64"}, []string{"198.18.0.2/24", "2001:2::2/64"})
	for _, port := range []int{guardedPort, guardedPort - 1, guardedPort + 1} {
		listen(t, port)
	}
	for family, address := range near {
		if err := far.dial(t.Context(), address, guardedPort); err != nil {
			t.Fatalf("%s: without the guard: %v, so that this test would show nothing", family, err)
		}
	}

	for range 2 { // rules that were left are replaced
		if err := guard(guardedPort); err != nil {
			t.Fatal(err)
		}
	}
	for family, address := range near {
		for _, port := range []int{guardedPort, guardedPort - 1} {
			far.blocked(t, family, address, port)
		}
		if err := far.dial(t.Context(), address, guardedPort+1); err != nil {
			t.Errorf("%s: another port is cut off too: %v", family, err)
		}
	}
	for _, address := range []string{"127.0.0.1", "::1"} {
		for _, port := range []int{guardedPort, guardedPort - 1} {
			if err := dial(t.Context(), address, port); err != nil {
				t.Errorf("over the loopback interface: %v", err)
			}
		}
	}

	for range 2 { // removing what is not there is no error
		if err := unguard(guardedPort); err != nil {
			t.Fatal(err)
		}
	}
	for family, address := range near {
		if err := far.dial(t.Context(), address, guardedPort); err != nil {
			t.Errorf("%s: after the guard was removed: %v", family, err)
		}
	}
}

// listen accepts at every address, IPv4 and IPv6.
func listen(t *testing.T, port int) {
	t.Helper()
	l, err := net.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
}

// other is a namespace at the other end of a cable.
type other struct{ ns netns.NsHandle }

// peer makes a cable between this namespace and another one.
func peer(t *testing.T, here, there []string) other {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := netns.Get()
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	ns, err := netns.New() // and enters it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ns.Close() })
	if err := netns.Set(home); err != nil {
		t.Fatal(err)
	}
	cable(t, "near", "far", 1500)
	l, err := netlink.LinkByName("far")
	if err != nil {
		t.Fatal(err)
	}
	if err := netlink.LinkSetNsFd(l, int(ns)); err != nil {
		t.Fatal(err)
	}
	handle, err := netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
	if err != nil {
		t.Fatal(err)
	}
	defer handle.Close()
	address(t, &netlink.Handle{}, "near", here)
	address(t, handle, "far", there)
	return other{ns}
}

// address assigns addresses to an interface and brings it up. IPv6 addresses are
// valid at once.
func address(t *testing.T, nl *netlink.Handle, name string, prefixes []string) {
	t.Helper()
	l, err := nl.LinkByName(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range prefixes {
		a, err := netlink.ParseAddr(text)
		if err != nil {
			t.Fatal(err)
		}
		if a.IP.To4() == nil {
			a.Flags = 0x02 // IFA_F_NODAD
		}
		if err := nl.AddrAdd(l, a); err != nil {
			t.Fatal(err)
		}
	}
	if err := nl.LinkSetUp(l); err != nil {
		t.Fatal(err)
	}
}

// dial connects from the other namespace.
func (o other) dial(ctx context.Context, address string, port int) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		if err := netns.Set(o.ns); err != nil {
			result <- err
			return
		}
		result <- dial(ctx, address, port)
	}()
	return <-result
}

// blocked wants an attempt to connect to be dropped by the guard, which counts what
// it drops.
func (o other) blocked(t *testing.T, family, address string, port int) {
	t.Helper()
	before := dropped(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	result := make(chan error, 1)
	go func() { result <- o.dial(ctx, address, port) }()
	for dropped(t) == before && ctx.Err() == nil {
		select {
		case err := <-result:
			t.Fatalf("%s: connecting to port %d ended with %v, and the guard dropped nothing", family, port, err)
		default:
			runtime.Gosched()
		}
	}
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("%s: connecting to port %d: %v, want nothing to come back", family, port, err)
	}
}

// dropped returns the number of packets that the guard has dropped.
func dropped(t *testing.T) uint64 {
	t.Helper()
	conn, err := nftables.New()
	if err != nil {
		t.Fatal(err)
	}
	table := guardTable(guardedPort)
	rules, err := conn.GetRules(table, &nftables.Chain{Name: "input", Table: table})
	if err != nil || len(rules) != 1 {
		t.Fatalf("%d rules, %v", len(rules), err)
	}
	for _, e := range rules[0].Exprs {
		if c, ok := e.(*expr.Counter); ok {
			return c.Packets
		}
	}
	t.Fatal("the rule has no counter")
	return 0
}

// dial connects and hangs up.
func dial(ctx context.Context, address string, port int) error {
	d := net.Dialer{}
	c, err := d.DialContext(ctx, "tcp", netip.AddrPortFrom(netip.MustParseAddr(address), uint16(port)).String())
	if err != nil {
		return err
	}
	return c.Close()
}

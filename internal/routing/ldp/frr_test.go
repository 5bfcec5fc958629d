package ldp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/dut/router"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/routing/endpoint"
	"nodrop.dev/nodrop/internal/routing/speakertest"
)

// bed is FRR with ldpd in a namespace of its own, with two ports of the tester, each in its own.
type bed struct {
	t        *testing.T
	device   netns.NsHandle
	ports    map[string]endpoint.Port
	sessions []routing.Session
	daemons  *router.Daemons
	folder   string
}

// newBed starts FRR with routes of the kernel to networks behind the first port. change changes its
// configuration before.
func newBed(t *testing.T, networks routing.Routes, change func(*router.Config)) *bed {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	if _, err := os.Stat("/usr/lib/frr/ldpd"); err != nil {
		t.Skipf("starts ldpd: %v; install the package frr", err)
	}
	b := &bed{t: t, device: newNamespace(t), ports: map[string]endpoint.Port{}}
	transport := netip.MustParseAddr("198.18.1.1")
	config := router.Config{RouterID: transport, Passwords: true, LDP: &router.LDP{Transport: transport}}
	for i := range 2 {
		port, inside, outside := newNamespace(t), fmt.Sprint("t", i), fmt.Sprint("d", i)
		must(t, netif.In(b.device, func() error {
			link := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: outside}, PeerName: inside, PeerNamespace: netlink.NsFd(port)}
			return netlink.LinkAdd(link)
		}))
		must(t, netif.In(b.device, func() error { return addressed(outside, fmt.Sprintf("198.18.%d.1/24", i+1)) }))
		must(t, netif.In(port, func() error { return addressed(inside, fmt.Sprintf("198.18.%d.2/24", i+1)) }))
		name := fmt.Sprint("p", i+1)
		local := netip.AddrFrom4([4]byte{198, 18, byte(i + 1), 2})
		b.ports[name] = endpoint.Port{Namespace: port, Interface: inside}
		b.sessions = append(b.sessions, routing.Session{
			Name: name, Protocol: routing.LDP, Port: name, Local: local, Remote: netip.AddrFrom4([4]byte{198, 18, byte(i + 1), 1}), RouterID: local,
			Families: []routing.Family{routing.IPv4LabeledUnicast}, HoldTime: 30 * time.Second,
		})
		config.Interfaces = append(config.Interfaces, router.Interface{Name: outside, Port: name})
	}
	must(t, router.AddKernelRoutes(b.device, networks, netip.MustParseAddr("198.18.1.2")))
	if change != nil {
		change(&config)
	}
	config.Sessions = b.sessions
	var text strings.Builder
	must(t, router.Render(&text, router.FRR, config))
	d, err := router.Start(t.Context(), b.device, router.FRR, text.String())
	must(t, err)
	b.daemons = d
	t.Cleanup(func() { must(t, d.Stop()) })
	b.folder = consoleFolder(t, d.PID())
	return b
}

// consoleFolder is the folder of the sockets for vtysh of a process of FRR.
func consoleFolder(t *testing.T, pid int) string {
	t.Helper()
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	must(t, err)
	arguments := strings.Split(string(command), "\x00")
	i := slices.Index(arguments, "--vty_socket")
	if i < 0 {
		t.Fatalf("process %d of FRR is %q", pid, arguments)
	}
	return arguments[i+1]
}

func newNamespace(t *testing.T) netns.NsHandle {
	t.Helper()
	var made netns.NsHandle
	must(t, netif.In(netns.None(), func() (err error) {
		made, err = netns.New()
		return err
	}))
	must(t, netif.In(made, func() error { return addressed("lo", "") }))
	t.Cleanup(func() { made.Close() })
	return made
}

// addressed gives an interface of this namespace an address, unless that is empty, and sets it
// up.
func addressed(name, address string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	if address != "" {
		a, err := netlink.ParseAddr(address)
		if err != nil {
			return err
		}
		if err := netlink.AddrAdd(link, a); err != nil {
			return err
		}
	}
	return netlink.LinkSetUp(link)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open opens the sessions of the bed.
func (b *bed) open() *Speaker {
	b.t.Helper()
	s := New(Options{Ports: b.ports, Retry: 100 * time.Millisecond})
	b.t.Cleanup(func() { must(b.t, s.Close()) })
	if err := s.Open(within(b.t), b.sessions); err != nil {
		b.t.Fatal(err, b.daemons.Err())
	}
	return s
}

func within(t *testing.T) context.Context { t.Helper(); return speakertest.Within(t) }

// ask returns the answer of FRR to a command.
func (b *bed) ask(command string) string {
	b.t.Helper()
	out, err := exec.CommandContext(b.t.Context(), "vtysh", "--vty_socket", b.folder, "-c", command).CombinedOutput()
	if err != nil {
		b.t.Fatalf("vtysh %s: %v\n%s", command, err, out)
	}
	return string(out)
}

// frrBinding is a label of ldpd by vtysh.
type frrBinding struct {
	Prefix, NeighborID, LocalLabel, RemoteLabel string
	InUse                                       any
}

// remote are the labels that ldpd has from a peer, by prefix.
func (b *bed) remote(peer netip.Addr) map[string]string {
	b.t.Helper()
	var answer struct{ Bindings []frrBinding }
	if text := b.ask("show mpls ldp binding json"); json.Unmarshal([]byte(text), &answer) != nil {
		b.t.Fatalf("show mpls ldp binding json: %s", text)
	}
	all := map[string]string{}
	for _, one := range answer.Bindings {
		if one.NeighborID == peer.String() && one.RemoteLabel != "-" {
			all[one.Prefix] = one.RemoteLabel
		}
	}
	return all
}

// awaitRemote waits until ldpd has so many labels of a peer.
func (b *bed) awaitRemote(peer netip.Addr, n int) map[string]string {
	b.t.Helper()
	for ctx := within(b.t); ; {
		all := b.remote(peer)
		if len(all) == n {
			return all
		}
		select {
		case <-ctx.Done():
			b.t.Fatalf("ldpd has %d labels of %v, want %d", len(all), peer, n)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// set are labels from 1000 up.
func set(first string, count uint32) routing.Routes {
	return routing.Routes{Name: first, First: netip.MustParsePrefix(first), Count: count, Attributes: routing.Attributes{Label: 1000}}
}

func announce(t *testing.T, s *Speaker, session string, sets ...routing.Routes) routing.Sent {
	t.Helper()
	sent, err := s.Announce(within(t), session, sets)
	must(t, err)
	return sent
}

func awaitTable(t *testing.T, s *Speaker, session string, want routing.Table) routing.Learnt {
	t.Helper()
	learnt, err := s.Await(within(t), session, want)
	must(t, err)
	return learnt
}

// FRR has the labels that were announced to it, advertises labels of its own for them to another
// peer, and forgets those that were withdrawn.
func TestFRRPassesLabelsOn(t *testing.T) {
	t.Parallel()
	networks := set("198.18.128.0/32", 3000)
	b := newBed(t, networks, nil)
	s := b.open()
	p1, p2 := b.sessions[0], b.sessions[1]
	began := time.Now()
	sent := announce(t, s, "p1", networks)
	learnt := awaitTable(t, s, "p2", p1.Readvertised([]routing.Routes{networks}))
	t.Logf("%d labels in %d PDUs: passed on after %v", sent.Routes, sent.Messages, time.Since(began))
	if sent.Routes != 3000 || learnt.Updates != 3000 {
		t.Errorf("sent %+v, learnt %+v", sent, learnt)
	}
	held := b.awaitRemote(p1.RouterID, 3000)
	for i := range networks.Count {
		if got, want := held[networks.Prefix(i).String()], fmt.Sprint(1000+i); got != want {
			t.Fatalf("ldpd has label %s for %v, want %s", got, networks.Prefix(i), want)
		}
	}
	if got := b.remote(p2.RouterID); len(got) > 0 {
		t.Errorf("ldpd has labels of p2, which announced none: %v", got)
	}
	if back, err := s.Learnt(t.Context(), "p1"); err != nil || back.Routes != 0 {
		t.Errorf("p1 has learnt its own labels: %+v, %v", back, err)
	}
	tail := networks.Part(2000, 1000)
	if _, err := s.Withdraw(within(t), "p1", []routing.Routes{tail}); err != nil {
		t.Fatal(err)
	}
	b.awaitRemote(p1.RouterID, 2000)
	// FRR 8.4 passes the withdrawal on to none of its peers. A new session has only what is left.
	must(t, s.Open(within(t), b.sessions))
	announce(t, s, "p1", networks.Part(0, 2000))
	awaitTable(t, s, "p2", p1.Readvertised([]routing.Routes{networks.Part(0, 2000)}))
	states, err := s.States(t.Context())
	must(t, err)
	for _, state := range states {
		if !state.Established || state.Flaps > 0 {
			t.Errorf("%+v", state)
		}
	}
	t.Log(b.ask("show mpls ldp neighbor"))
}

// FRR with a filter passes on exactly the labels that it accepts, and the tester reports how many
// are missing.
func TestFRRAcceptsSome(t *testing.T) {
	t.Parallel()
	networks := set("198.18.128.0/32", 3000)
	b := newBed(t, networks, func(c *router.Config) { c.Accept = []netip.Prefix{netip.MustParsePrefix("198.18.128.0/21")} })
	s := b.open()
	announce(t, s, "p1", networks)
	p1 := b.sessions[0]
	held := awaitTable(t, s, "p2", p1.Readvertised([]routing.Routes{networks.Part(0, 2048)}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	want := p1.Readvertised([]routing.Routes{networks})
	_, err := s.Await(ctx, "p2", want)
	var unlearned *routing.UnlearnedError
	if !errors.As(err, &unlearned) || unlearned.Got != held.Table || err.Error() != "LDP session p2 has learnt 2048 of 3000 routes" {
		t.Errorf("got %v", err)
	}
}

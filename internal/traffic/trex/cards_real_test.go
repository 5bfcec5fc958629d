package trex_test

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic/trex"
	"nodrop.dev/nodrop/internal/traffic/trex/server"
)

const (
	// cableVariable names two further cards, like trex.CardsVariable does: these are joined
	// by a cable.
	cableVariable = "NODROP_TREX_CABLE"
	// peersVariable names the two interfaces of the kernel to which the cards of
	// trex.CardsVariable are cabled, in their order.
	peersVariable = "NODROP_TREX_PEERS"
	// cardsMiB is the memory in huge pages that the server gets, in MiB.
	cardsMiB = 512
)

// pairOf returns the two entries of a variable.
func pairOf(name string) ([]string, error) {
	pair := strings.Split(os.Getenv(name), ",")
	if len(pair) != 2 {
		return nil, fmt.Errorf("%s is %q: it must have two entries, as hack/vm/trex sets it", name, os.Getenv(name))
	}
	return pair, nil
}

// takePeers moves the interfaces at the other ends of the cards' cables into this network
// namespace. They return to the machine's when it ends.
func takePeers() ([]string, error) {
	peers, err := pairOf(peersVariable)
	if err != nil {
		return nil, err
	}
	outside, err := netns.GetFromPid(os.Getppid())
	if err != nil {
		return nil, fmt.Errorf("looking at the namespace of the process that started this one: %w", err)
	}
	defer outside.Close()
	h, err := netlink.NewHandleAt(outside, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("looking at the namespace of the process that started this one: %w", err)
	}
	defer h.Close()
	for _, name := range peers {
		link, err := h.LinkByName(name)
		if err == nil {
			err = h.LinkSetNsPid(link, os.Getpid())
		}
		if err != nil {
			return nil, fmt.Errorf("taking the interface %s: %w", name, err)
		}
	}
	return peers, nil
}

// linked waits until interfaces have their links.
func linked(names []string) error {
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		down := ""
		for _, name := range names {
			link, err := netlink.LinkByName(name)
			if err != nil {
				return fmt.Errorf("looking at the interface %s: %w", name, err)
			}
			if link.Attrs().OperState != netlink.OperUp {
				down = name
			}
		}
		switch {
		case down == "":
			return nil
		case time.Now().After(end):
			return fmt.Errorf("interface %s had no link for %s", down, patience)
		}
	}
}

// cards gives the server cards.
func (r *real) cards(t *testing.T, c *server.Config) {
	t.Helper()
	variable := cableVariable
	if r.lossy {
		variable = trex.CardsVariable
	}
	giveCards(t, variable, c)
}

// giveCards gives a server the cards of a variable.
func giveCards(t *testing.T, variable string, c *server.Config) {
	t.Helper()
	cards, err := pairOf(variable)
	if err != nil {
		t.Fatal(err)
	}
	c.Shared, c.HugePagesMiB = true, cardsMiB
	for i, name := range []string{"left", "right"} {
		resource := "lab.example/" + name
		t.Setenv(server.Variable(resource), cards[i])
		c.Ports = append(c.Ports, server.Port{Name: name, Resource: resource})
	}
}

// routed makes this network namespace a router between the interfaces to which the cards are
// cabled, until the test ends. They have the gateways' addresses of these ports.
func routed(t *testing.T, device []v1alpha1.Port) {
	t.Helper()
	peers, err := pairOf(peersVariable)
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	set := func(name, value, after string) {
		t.Helper()
		must(os.WriteFile("/proc/sys/net/"+name, []byte(value), 0))
		t.Cleanup(func() { must(os.WriteFile("/proc/sys/net/"+name, []byte(after), 0)) })
	}
	bridge, err := netlink.LinkByName("device")
	must(err)
	// Forwarding first: it resets what interfaces have learnt of themselves.
	set("ipv4/ip_forward", "1", "0")
	set("ipv6/conf/all/forwarding", "1", "0")
	for i, name := range peers {
		link, err := netlink.LinkByName(name)
		must(err)
		must(netlink.LinkSetNoMaster(link))
		t.Cleanup(func() { must(netlink.LinkSetMaster(link, bridge)) })
		set("ipv6/conf/"+name+"/accept_dad", "0", "1")
		set("ipv6/conf/"+name+"/disable_ipv6", "0", "1")
		for k, gateway := range device[i].Gateways {
			network := netip.MustParsePrefix(device[i].Addresses[k])
			address, err := netlink.ParseAddr(netip.PrefixFrom(netip.MustParseAddr(gateway), network.Bits()).String())
			must(err)
			must(netlink.AddrAdd(link, address))
			if network.Addr().Is4() { // disable_ipv6 removes IPv6 addresses
				t.Cleanup(func() { must(netlink.AddrDel(link, address)) })
			}
		}
	}
	must(linked(peers))
}

package netiftest

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/testkit/namespacetest"
)

// veth makes a veth in a network namespace of the test, which its thread is in.
func veth(t *testing.T, polls bool) {
	t.Helper()
	namespacetest.Enter(t)
	link := netlink.NewVeth(netlink.LinkAttrs{Name: "d1"})
	link.PeerName = "p1"
	if err := netlink.LinkAdd(link); err != nil {
		t.Fatal(err)
	}
	tool, err := ethtool.NewEthtool()
	if err != nil {
		t.Fatal(err)
	}
	defer tool.Close()
	if err := errors.Join(netlink.LinkSetUp(link), tool.Change("d1", map[string]bool{"rx-gro": polls})); err != nil {
		t.Fatal(err)
	}
}

func TestThreadIsBoundToItsProcessor(t *testing.T) {
	veth(t, true)
	var usable unix.CPUSet
	if err := unix.SchedGetaffinity(0, &usable); err != nil {
		t.Fatal(err)
	}
	bound := 0
	for processor := range 1024 {
		if !usable.IsSet(processor) {
			continue
		}
		bound++
		if err := Thread("d1", processor); err != nil {
			t.Fatal(err)
		}
		instances, err := instancesOf("d1")
		if err != nil || len(instances) != 1 {
			t.Fatalf("%v, %v: want one instance", instances, err)
		}
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(int(instances[0].thread), &set); err != nil {
			t.Fatal(err)
		}
		if set.Count() != 1 || !set.IsSet(processor) {
			t.Errorf("the thread may use %v, want processor %d", set, processor)
		}
	}
	if bound == 0 {
		t.Fatal("no processor was tried")
	}
}

func TestThreadRefuses(t *testing.T) {
	veth(t, false)
	for iface, want := range map[string]string{
		"d1":  "interface d1 does not poll: turn GRO on",
		"moo": "asking for the polling of moo: ",
	} {
		if err := Thread(iface, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", iface, err, want)
		}
	}
}

// The kernel's number of a thread may be that of another process in a container.
func TestAnotherProcessOfThatNumberIsLeftAlone(t *testing.T) {
	for name, i := range map[string]instance{
		"another process": {id: 8193, thread: uint32(os.Getpid())},
		"none":            {id: 8193, thread: 1 << 30},
		"no thread":       {id: 8193},
	} {
		if err := i.check("d1"); !errors.Is(err, ErrUnseen) {
			t.Errorf("%s: %v, want ErrUnseen", name, err)
		}
	}
}

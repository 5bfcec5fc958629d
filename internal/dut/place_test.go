package dut

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/base/netif/netiftest"
	"nodrop.dev/nodrop/internal/base/processors"
	"nodrop.dev/nodrop/internal/dut/device"
)

// placed checks that a device has the processors that a split with two interfaces gives
// it, or none and a reason, and that its interfaces are steered to them.
func placed(t *testing.T, got device.Placement, preferred bool, ns netns.NsHandle, interfaces ...string) {
	t.Helper()
	usable, err := processors.Usable()
	if err != nil {
		t.Fatal(err)
	}
	want := device.Place(usable, 2)
	want.Preferred = preferred && len(want.Device) > 0
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v, want %+v", got, want)
	}
	for i, name := range interfaces {
		var to []int
		if len(want.Device) > 0 {
			to = []int{want.Device[i%len(want.Device)]}
		}
		_ = netif.In(ns, func() error {
			if is := netiftest.Steered(t, name); !slices.Equal(is, to) {
				t.Errorf("%s is steered to %v, want %v", name, is, to)
			}
			return nil
		})
	}
}

func TestNetnsHasProcessorsOfItsOwn(t *testing.T) {
	newTester(t)
	n := NewNetns([]v1alpha1.Port{{Name: "p1"}, {Name: "p2"}})
	if err := n.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer n.Restore(t.Context())
	usable, err := processors.Usable()
	if err != nil {
		t.Fatal(err)
	}
	got := n.Place()
	// Where the kernel's threads can be seen.
	undo, err := processors.PreferSoftInterrupts(processors.NotesDir, usable[0])
	switch {
	case err == nil:
		defer undo()
	case !errors.Is(err, processors.ErrUnseen):
		t.Fatal(err)
	}
	placed(t, got, err == nil, n.device, "p1", "p2")
}

// The interfaces in the container have other names than in the topology, as with the
// devices of some vendors.
func TestContainerlabHasProcessorsOfItsOwn(t *testing.T) {
	x := newTester(t)
	c, _ := fake(t, "")
	c.namespaces = t.TempDir()
	if err := os.Symlink(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), x.other), filepath.Join(c.namespaces, "clab-frr-dut")); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"1", "2"} {
		if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "nd-p" + end}, PeerName: "e1-" + end, PeerNamespace: netlink.NsFd(x.other)}); err != nil {
			t.Fatal(err)
		}
	}
	placed(t, c.Place(), false, x.other, "e1-1", "e1-2")
}

func TestPlaceSaysWhyItCannot(t *testing.T) {
	usable, err := processors.Usable()
	if err != nil {
		t.Fatal(err)
	}
	if len(usable) < 2 {
		t.Skip("skipped: one processor is not split")
	}
	together := func(got device.Placement, why string) {
		t.Helper()
		if got.Device != nil || !slices.Equal(got.Tester, usable) || !strings.Contains(got.Together, why) {
			t.Errorf("%+v, want %q", got, why)
		}
	}
	together(place(2, func(i, _ int) error { return []error{nil, errors.New("moo")}[i] }), "moo")

	x := newTester(t)
	c, _ := fake(t, "")
	together(c.Place(), "looking for interface nd-p1")
	if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "nd-p1"}, PeerName: "q1"}); err != nil {
		t.Fatal(err)
	}
	c.namespaces = t.TempDir()
	together(c.Place(), "opening the network namespace of container clab-frr-dut")
	if err := os.Symlink(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), x.other), filepath.Join(c.namespaces, "clab-frr-dut")); err != nil {
		t.Fatal(err)
	}
	together(c.Place(), "in container clab-frr-dut")
}

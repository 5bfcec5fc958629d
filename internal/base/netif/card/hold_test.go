package card

import (
	"slices"
	"testing"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"

	"nodrop.dev/nodrop/internal/testkit/namespacetest"
)

const feature = "tx-generic-segmentation"

// newVeth makes a veth with an alias in a network namespace of the test's thread.
func newVeth(t *testing.T) {
	t.Helper()
	namespacetest.Enter(t)
	veth := netlink.NewVeth(netlink.LinkAttrs{Name: "v1"})
	veth.PeerName = "v2"
	if err := netlink.LinkAdd(veth); err != nil {
		t.Fatal(err)
	}
	if err := netlink.LinkSetAlias(veth, "uplink"); err != nil {
		t.Fatal(err)
	}
}

// state returns whether the feature of the veth is on, and its alias.
func state(t *testing.T) (on bool, alias string) {
	t.Helper()
	err := withTool(func(tool *ethtool.Ethtool) error {
		have, err := tool.Features("v1")
		on = have[feature]
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := netlink.LinkByName("v1")
	if err != nil {
		t.Fatal(err)
	}
	return on, l.Attrs().Alias
}

func hold(t *testing.T) *Held {
	t.Helper()
	h, err := Hold("v1")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.TurnOff(feature); err != nil {
		t.Fatal(err)
	}
	if on, alias := state(t); on || alias != mark+" "+feature+"=on alias=uplink" {
		t.Fatalf("held, the feature is on: %t, and the alias is %q", on, alias)
	}
	return h
}

func restored(t *testing.T, how string) {
	t.Helper()
	if on, alias := state(t); !on || alias != "uplink" {
		t.Errorf("%s: the feature is on: %t, and the alias is %q", how, on, alias)
	}
}

// TestSettingsAreRestored checks that a setting is as before after each end of a process: one
// that restores it, one that was killed and had a successor, and one that had none.
func TestSettingsAreRestored(t *testing.T) {
	newVeth(t)
	if err := hold(t).Restore(); err != nil {
		t.Fatal(err)
	}
	restored(t, "restored")
	hold(t) // and is killed
	if err := hold(t).Restore(); err != nil {
		t.Fatal(err)
	}
	restored(t, "restored by the next process")
	hold(t) // and is killed
	all, err := RecoverAll()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(all["v1"], []string{feature}) || len(all) != 1 {
		t.Errorf("recovered %v", all)
	}
	restored(t, "recovered")
}

// TestNoRecordNoChange checks that a setting is left alone where its record does not fit
// into the alias.
func TestNoRecordNoChange(t *testing.T) {
	newVeth(t)
	l, err := netlink.LinkByName("v1")
	if err != nil {
		t.Fatal(err)
	}
	long := string(slices.Repeat([]byte("x"), maxAlias))
	if err := netlink.LinkSetAlias(l, long); err != nil {
		t.Fatal(err)
	}
	h, err := Hold("v1")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.TurnOff(feature); err == nil {
		t.Error("a setting was changed without a record")
	}
	if on, alias := state(t); !on || alias != long {
		t.Errorf("the feature is on: %t, and the alias is %q", on, alias)
	}
}

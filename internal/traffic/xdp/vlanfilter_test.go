package xdp

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// A driver that filters VLANs also in promiscuous mode is refused; others are not.
func TestVLANRefusal(t *testing.T) {
	vlans := frame.VLANs{{ID: 100}}
	for _, driver := range []string{"igb", "e1000e", "vmxnet3", "virtio_net"} {
		if err := vlanRefusal(driver, vlans); err != nil {
			t.Errorf("%s: %v", driver, err)
		}
	}
	err := vlanRefusal("igbvf", vlans)
	if err == nil || !strings.Contains(err.Error(), "the port is in VLAN 100") || !strings.Contains(err.Error(), "the driver igbvf") || !strings.Contains(err.Error(), "vf N vlan ID") {
		t.Errorf("igbvf: %v", err)
	}
}

// A port whose NIC filters VLANs is promiscuous from the beginning to the end, whatever
// its streams are.
func TestPromiscuousForItsVLAN(t *testing.T) {
	bed := newBed(t)
	e := bed.backToBack()
	p := e.ports.named("p2")
	mode := func() int {
		t.Helper()
		l, err := bed.nl.LinkByName("v2")
		if err != nil {
			t.Fatal(err)
		}
		return l.Attrs().Promisc
	}
	p.settings.hearing.filtersVLANs = true
	for _, streams := range [][]traffic.Stream{nil, {stream(1, e)}} {
		if err := p.settings.hearing.hear(streams); err != nil {
			t.Fatal(err)
		}
		if got := mode(); got != 1 {
			t.Errorf("%d streams: %d want v2 to be promiscuous, want 1", len(streams), got)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if got := mode(); got != 0 {
		t.Error("v2 is still promiscuous")
	}
}

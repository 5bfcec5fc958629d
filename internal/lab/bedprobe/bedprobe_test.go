package bedprobe

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"nodrop.dev/nodrop/internal/testkit/namespacetest"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func TestProbe(t *testing.T) {
	p1 := Port{Name: "p1", Interface: "eth1", Megabits: 10_000}
	for name, tc := range map[string]struct {
		link    Link
		options Options
		want    []Problem
	}{
		"works":                    {Link{Exists: true, Up: true, Carrier: true, Megabits: 10_000}, Options{}, nil},
		"faster":                   {Link{Exists: true, Up: true, Carrier: true, Megabits: 25_000}, Options{}, nil},
		"of unknown speed":         {Link{Exists: true, Up: true, Carrier: true}, Options{}, nil},
		"down, without a link":     {Link{Exists: true}, Options{}, nil},
		"missing":                  {Link{}, Options{}, []Problem{{Port: p1, Fault: Missing}}},
		"up without a link":        {Link{Exists: true, Up: true}, Options{}, []Problem{{Port: p1, Fault: NoLink}}},
		"slower":                   {Link{Exists: true, Up: true, Carrier: true, Megabits: 1000}, Options{}, []Problem{{Port: p1, Fault: Slow, Megabits: 1000}}},
		"missing back to back":     {Link{}, Options{IgnoreLinks: true}, []Problem{{Port: p1, Fault: Missing}}},
		"without a link, the same": {Link{Exists: true, Up: true}, Options{IgnoreLinks: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := Probe([]Port{p1}, tc.options, noon, func(string) (Link, error) { return tc.link, nil })
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(Answer{Time: noon, Problems: tc.want}, found); diff != "" {
				t.Error(diff)
			}
			text, err := found.Encode()
			if err != nil {
				t.Fatal(err)
			}
			again, err := Decode(string(text))
			if diff := cmp.Diff(found, again); err != nil || diff != "" {
				t.Errorf("decoded: %v %s", err, diff)
			}
		})
	}
}

// An answer fits a termination message, whatever the number of ports.
func TestAnswerIsBounded(t *testing.T) {
	const termination = 4096
	ports := make([]Port, 1024)
	for i := range ports {
		ports[i] = Port{Name: strings.Repeat("p", 15), Interface: strings.Repeat("e", 15), Megabits: 999_999_000}
	}
	slow := Link{Exists: true, Up: true, Carrier: true, Megabits: 999_998_000}
	found, err := Probe(ports, Options{}, noon, func(string) (Link, error) { return slow, nil })
	if err != nil {
		t.Fatal(err)
	}
	text, err := found.Encode()
	if err != nil || len(text) > termination || found.More+len(found.Problems) != len(ports) {
		t.Errorf("%d bytes for %d problems and %d more: %v", len(text), len(found.Problems), found.More, err)
	}
}

func TestUnreadableInterface(t *testing.T) {
	_, err := Probe([]Port{{Name: "p1", Interface: "eth1"}}, Options{}, noon, func(string) (Link, error) { return Link{}, errors.New("no buffer") })
	if err == nil || err.Error() != "reading interface eth1: no buffer" {
		t.Errorf("error %v", err)
	}
}

func TestPorts(t *testing.T) {
	port := Port{Name: "p1", Interface: "eth1.100:0", Megabits: 10_000}
	if got, err := ParsePort(port.String()); err != nil || got != port {
		t.Errorf("%q: %v, %v", port, got, err)
	}
	for _, text := range []string{"", "p1", "p1=eth1", "=eth1@1", "p1=@1", "p1=eth1@fast", "p1=eth1@-1"} {
		if got, err := ParsePort(text); err == nil || !strings.Contains(err.Error(), "such as p1=eth1@10000") {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestPCIAddresses(t *testing.T) {
	for address, want := range map[string]bool{"0000:3b:00.0": true, "10000:01:00.1": true, "": false, "tap": false, "usb-0000:00:14.0-3": false, "virtio0": false} {
		if onPCI(address) != want {
			t.Errorf("%q: %v", address, !want)
		}
	}
}

// TestReadLink reads a pair of interfaces of a namespace of its own, of which one end is up, and
// then both.
func TestReadLink(t *testing.T) {
	namespacetest.Enter(t)
	pair := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "p1"}, PeerName: "q1"}
	if err := netlink.LinkAdd(pair); err != nil {
		t.Fatal(err)
	}
	// The kernel updates the state of a link a moment after the event.
	reads := func(name string, want Link) {
		t.Helper()
		for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			got, err := ReadLink(name)
			if err == nil && got == want {
				return
			}
			if err != nil || time.Now().After(end) {
				t.Fatalf("%s: %+v, %v, want %+v", name, got, err, want)
			}
		}
	}
	up := func(name string) {
		t.Helper()
		link, err := netlink.LinkByName(name)
		if err == nil {
			err = netlink.LinkSetUp(link)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	reads("p2", Link{})
	reads("p1", Link{Exists: true})
	up("p1")
	reads("p1", Link{Exists: true, Up: true})
	up("q1")
	reads("p1", Link{Exists: true, Up: true, Carrier: true})
}

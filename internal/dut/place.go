package dut

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/base/processors"
	"nodrop.dev/nodrop/internal/dut/device"
)

// place gives a device with so many interfaces processors of its own, on which it takes in
// what they receive: steer binds an interface to a processor. If that fails, the device shares
// the tester's processors, and the placement contains the reason.
func place(interfaces int, steer func(i, processor int) error) device.Placement {
	usable, err := processors.Usable()
	if err != nil {
		return device.Placement{Together: err.Error()}
	}
	p := device.Place(usable, interfaces)
	for i := 0; i < interfaces && p.Together == ""; i++ {
		if err := steer(i, p.Device[i%len(p.Device)]); err != nil {
			return device.Placement{Tester: usable, Together: err.Error()}
		}
	}
	return p
}

// Place implements device.Placed: the nodes take in what comes from the host's ends of
// links on processors of their own. It is called by the process that called Prepare.
func (c *Containerlab) Place() device.Placement {
	t, err := readTopology(c.Topology)
	if err != nil {
		return device.Placement{Together: err.Error()}
	}
	links := t.hostLinks()
	return place(len(links), func(i, processor int) error { return c.steer(t, links[i], processor) })
}

// steer lets a processor take in what a node receives of a link to the host. The name of
// the interface in the node may be another one than that of the topology, which may use
// the names of a vendor.
func (c *Containerlab) steer(t *topology, l hostLink, processor int) error {
	end, err := netlink.LinkByName(l.end)
	if err != nil {
		return fmt.Errorf("looking for interface %s: %w", l.end, err)
	}
	container, err := t.container(l.node)
	if err != nil {
		return fmt.Errorf("looking for the other end of %s: %w", l.end, err)
	}
	ns, err := netns.GetFromPath(filepath.Join(cmp.Or(c.namespaces, "/run/netns"), container))
	if err != nil {
		return fmt.Errorf("opening the network namespace of container %s: %w", container, err)
	}
	defer ns.Close()
	return netif.In(ns, func() error {
		far, err := netlink.LinkByIndex(end.Attrs().ParentIndex)
		if err != nil {
			return fmt.Errorf("looking for the other end of %s in container %s: %w", l.end, container, err)
		}
		if far.Type() != "veth" || far.Attrs().ParentIndex != end.Attrs().Index {
			return fmt.Errorf("the other end of %s is not in container %s", l.end, container)
		}
		return netif.Steer(far.Attrs().Name, processor)
	})
}

package xdp

import (
	"errors"
	"maps"
	"net"
	"net/netip"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// device is a device under test in a namespace of its own: d1 and d2 are joined
// to the tester's interfaces v1 and v2.
type device struct {
	*bed
	ns      netns.NsHandle
	nl      *netlink.Handle
	d1, d2  netlink.Link
	objects *dutObjects
}

func (b *bed) device() *device {
	b.Helper()
	d := &device{bed: b, ns: b.namespace()}
	// Without this a device asks for no neighbor in its first two seconds.
	d.in(d.ns, func() { d.sysctl("net/ipv6/conf/default/accept_dad", "0") })
	d.nl = b.handle(d.ns)
	b.veth("v1", "d1", d.ns)
	b.veth("v2", "d2", d.ns)
	d.d1, d.d2 = d.up(d.nl, "d1"), d.up(d.nl, "d2")
	return d
}

// ports are the tester's ports, p1 and p2, with addresses if any.
func (d *device) ports(p1, p2 []netip.Prefix) []Port {
	return []Port{{Name: "p1", Interface: "v1", Addresses: p1}, {Name: "p2", Interface: "v2", Addresses: p2}}
}

// settings of the test programs, by the names of their variables.
type settings map[string]any

// load loads the test programs, which forward to d2.
func (d *device) load(settings settings) *dutObjects {
	d.Helper()
	spec, err := loadDut()
	if err != nil {
		d.Fatal(err)
	}
	var s unix.Stat_t
	if err := unix.Fstat(int(d.ns), &s); err != nil {
		d.Fatal(err)
	}
	all := map[string]any{"device_netns": uint32(s.Ino), "out_ifindex": uint32(d.d2.Attrs().Index), "copies": uint32(1)}
	maps.Copy(all, settings)
	for name, value := range all {
		if err := spec.Variables[name].Set(value); err != nil {
			d.Fatal(err)
		}
	}
	objects := &dutObjects{}
	if err := spec.LoadAndAssign(objects, nil); err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { objects.Close() })
	return objects
}

// dropper makes the device forward in XDP and drop every n-th frame.
func (d *device) dropper(n uint32) { d.inXDP(settings{"drop_every": n}) }

// inXDP makes the device forward in XDP, with faults.
func (d *device) inXDP(with settings) {
	d.Helper()
	d.objects = d.load(with)
	follow, err := link.AttachTracing(link.TracingOptions{Program: d.objects.DropperRefused})
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { follow.Close() })
	d.in(d.ns, func() {
		l, err := link.AttachXDP(link.XDPOptions{Program: d.objects.Dropper, Interface: d.d1.Attrs().Index, Flags: link.XDPDriverMode})
		if err != nil {
			d.Fatal(err)
		}
		d.Cleanup(func() { l.Close() })
	})
}

// disturb makes the device forward through the kernel's stack, with faults.
func (d *device) disturb(with settings) {
	d.Helper()
	d.objects = d.load(with)
	d.gro("d1", true)
	d.in(d.ns, func() {
		l, err := link.AttachTCX(link.TCXOptions{Program: d.objects.Disturb, Interface: d.d1.Attrs().Index, Attach: ebpf.AttachTCXIngress})
		if err != nil {
			d.Fatal(err)
		}
		d.Cleanup(func() { l.Close() })
	})
}

// answers makes the device forward what comes from p2 as it is, so that a lab does not wait
// for the frames of a receiver that answers before the trials.
func (d *device) answers() {
	d.Helper()
	back, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, Instructions: asm.Instructions{
		asm.Mov.Imm(asm.R1, int32(d.d1.Attrs().Index)), asm.Mov.Imm(asm.R2, 0), asm.FnRedirect.Call(), asm.Return(),
	}})
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { back.Close() })
	d.gro("d2", true)
	d.in(d.ns, func() {
		l, err := link.AttachTCX(link.TCXOptions{Program: back, Interface: d.d2.Attrs().Index, Attach: ebpf.AttachTCXIngress})
		if err != nil {
			d.Fatal(err)
		}
		d.Cleanup(func() { l.Close() })
	})
}

// passes attaches a program to an interface of the device that passes all frames on.
func (d *device) passes(l netlink.Link) {
	d.Helper()
	pass, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 2), asm.Return()}})
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { pass.Close() })
	d.in(d.ns, func() {
		l, err := link.AttachXDP(link.XDPOptions{Program: pass, Interface: l.Attrs().Index, Flags: link.XDPDriverMode})
		if err != nil {
			d.Fatal(err)
		}
		d.Cleanup(func() { l.Close() })
	})
}

// faults returns what the device did so far.
func (d *device) faults() dutFaults {
	d.Helper()
	var sum dutFaults
	if err := d.objects.Counts.Lookup(uint32(0), &sum); err != nil {
		d.Fatal(err)
	}
	return sum
}

// lost returns the number of frames that the device dropped, on purpose and for lack of room.
func (d *device) lost() uint64 {
	d.Helper()
	f := d.faults()
	return f.Dropped + f.Refused
}

// gro turns GRO of an interface on or off, and with it, for a veth, NAPI.
func (d *device) gro(name string, on bool) {
	d.Helper()
	d.feature(name, "rx-gro", on)
}

// feature turns a feature of an interface on or off.
func (d *device) feature(name, feature string, on bool) {
	d.Helper()
	d.in(d.ns, func() {
		e, err := ethtool.NewEthtool()
		if err != nil {
			d.Fatal(err)
		}
		defer e.Close()
		if err := e.Change(name, map[string]bool{feature: on}); err != nil {
			d.Fatal(err)
		}
	})
}

// bridge makes the device a plain bridge.
func (d *device) bridge() {
	d.Helper()
	br := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br"}}
	if err := d.nl.LinkAdd(br); err != nil {
		d.Fatal(err)
	}
	for _, l := range []netlink.Link{d.d1, d.d2} {
		if err := d.nl.LinkSetMaster(l, br); err != nil {
			d.Fatal(err)
		}
	}
	d.up(d.nl, "br")
}

// router makes the device a router with these addresses on d1 and d2.
func (d *device) router(d1, d2 []netip.Prefix) {
	d.Helper()
	for l, addresses := range map[netlink.Link][]netip.Prefix{d.d1: d1, d.d2: d2} {
		for _, a := range addresses {
			n := &net.IPNet{IP: a.Addr().AsSlice(), Mask: net.CIDRMask(a.Bits(), a.Addr().BitLen())}
			if err := d.nl.AddrAdd(l, &netlink.Addr{IPNet: n, Flags: unix.IFA_F_NODAD}); err != nil {
				d.Fatal(err)
			}
		}
		d.gro(l.Attrs().Name, true)
	}
	d.in(d.ns, func() {
		d.sysctl("net/ipv4/ip_forward", "1")
		d.sysctl("net/ipv6/conf/all/forwarding", "1")
	})
}

// inVLAN makes an interface of the device one of a VLAN.
func (d *device) inVLAN(l netlink.Link, vlans frame.VLANs) {
	d.Helper()
	if len(vlans) == 0 {
		return
	}
	with := settings{"vlan": vlans[len(vlans)-1].ID}
	if len(vlans) > 1 {
		with["service_vlan"] = vlans[0].ID
	}
	objects := d.load(with)
	d.insertTags(l.Attrs().Name)
	d.in(d.ns, func() {
		for attach, program := range map[ebpf.AttachType]*ebpf.Program{ebpf.AttachTCXIngress: objects.SubinterfaceIn, ebpf.AttachTCXEgress: objects.SubinterfaceOut} {
			attached, err := link.AttachTCX(link.TCXOptions{Program: program, Interface: l.Attrs().Index, Attach: attach})
			if errors.Is(err, ebpf.ErrNotSupported) { // before Linux 6.6
				if err := netif.AttachClsact(d.nl, l.Attrs().Index, objects.SubinterfaceIn.FD(), objects.SubinterfaceOut.FD()); err != nil {
					d.Fatal(err)
				}
				return
			}
			if err != nil {
				d.Fatal(err)
			}
			d.Cleanup(func() { attached.Close() })
		}
	})
}

func (d *device) sysctl(name, value string) {
	d.Helper()
	if err := os.WriteFile("/proc/sys/"+name, []byte(value), 0); err != nil {
		d.Fatal(err)
	}
}

package xdpbench

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// bed is a tester's network namespace with the interfaces v1 and v2, which the calling
// thread is in, and one for a device that they are cabled to, if any.
type bed struct {
	tester, device netns.NsHandle
	before         netns.NsHandle
}

// newBed makes a bed and enters the tester's namespace. Without a device, v1 and v2
// are the two ends of one cable with this number of queues.
func newBed(device string, queues int) (_ *bed, err error) {
	runtime.LockOSThread()
	b := &bed{tester: netns.None(), device: netns.None()}
	if b.before, err = netns.Get(); err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("finding the network namespace: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	if b.device, err = netns.New(); err != nil {
		return nil, fmt.Errorf("making a network namespace: %w", err)
	}
	if device == router {
		if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
			return nil, fmt.Errorf("making the device a router: %w", err)
		}
	}
	if b.tester, err = netns.New(); err != nil {
		return nil, fmt.Errorf("making a network namespace: %w", err)
	}
	if device == "" {
		if err := cable("v1", "v2", b.tester, queues); err != nil {
			return nil, err
		}
		return b, up("v2")
	}
	for _, n := range []string{"1", "2"} {
		if err := cable("v"+n, "d"+n, b.device, 1); err != nil {
			return nil, err
		}
	}
	return b, b.inDevice(func() error { return makeDevice(device) })
}

// inDevice runs f in the device's namespace.
func (b *bed) inDevice(f func() error) error {
	if err := netns.Set(b.device); err != nil {
		return fmt.Errorf("entering the device's namespace: %w", err)
	}
	err := f()
	if back := netns.Set(b.tester); back != nil {
		err = errors.Join(err, fmt.Errorf("leaving the device's namespace: %w", back))
	}
	return err
}

// close removes the namespaces, and with them all that is in them.
func (b *bed) close() error {
	err := netns.Set(b.before)
	for _, ns := range []netns.NsHandle{b.tester, b.device, b.before} {
		if ns.IsOpen() {
			err = errors.Join(err, ns.Close())
		}
	}
	if err == nil { // or the thread ends with its goroutine
		runtime.UnlockOSThread()
	}
	return err
}

// cable makes a veth pair, with this number of queues from the near end to the far end, which
// is in a namespace.
func cable(near, far string, at netns.NsHandle, queues int) error {
	v := netlink.NewVeth(netlink.LinkAttrs{Name: near, NumTxQueues: queues, NumRxQueues: 1})
	v.PeerNumTxQueues, v.PeerNumRxQueues = 1, uint32(queues)
	v.PeerName, v.PeerNamespace = far, netlink.NsFd(at)
	if err := netlink.LinkAdd(v); err != nil {
		return fmt.Errorf("making the cable %s to %s: %w", near, far, err)
	}
	return up(near)
}

func up(name string) error {
	l, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.LinkSetUp(l)
	}
	if err != nil {
		return fmt.Errorf("bringing %s up: %w", name, err)
	}
	return nil
}

// makeDevice makes a router or bridge of d1 and d2.
func makeDevice(device string) error {
	if device == bridge {
		if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br"}}); err != nil {
			return fmt.Errorf("making a bridge: %w", err)
		}
		if err := up("br"); err != nil {
			return err
		}
	}
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return fmt.Errorf("opening ethtool: %w", err)
	}
	defer tool.Close()
	for i, name := range []string{"d1", "d2"} {
		l, err := netlink.LinkByName(name)
		if err != nil {
			return fmt.Errorf("looking up %s: %w", name, err)
		}
		// In this order: a veth that is down does not say at its other end that it takes
		// XDP frames.
		if err := up(name); err != nil {
			return err
		}
		if err := tool.Change(name, map[string]bool{"rx-gro": true}); err != nil {
			return fmt.Errorf("turning on GRO of %s: %w", name, err)
		}
		if device == bridge {
			br, err := netlink.LinkByName("br")
			if err == nil {
				err = netlink.LinkSetMaster(l, br)
			}
			if err != nil {
				return fmt.Errorf("adding %s to the bridge: %w", name, err)
			}
		} else {
			address := &net.IPNet{IP: net.IPv4(198, 18, byte(i+1), 1), Mask: net.CIDRMask(24, 32)}
			if err := netlink.AddrAdd(l, &netlink.Addr{IPNet: address, Flags: unix.IFA_F_NODAD}); err != nil {
				return fmt.Errorf("adding %v to %s: %w", address, name, err)
			}
		}
	}
	return nil
}

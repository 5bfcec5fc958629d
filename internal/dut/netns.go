package dut

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/base/processors"
	"nodrop.dev/nodrop/internal/dut/device"
)

// linkMTU lets frames of 9216 bytes through, the largest of the API: 14 of them
// are the Ethernet header and 4 the FCS.
const linkMTU = 9198

// carrierTimeout bounds the wait for links whose ends are both up.
const carrierTimeout = 10 * time.Second

// bridgeName is the device's bridge.
const bridgeName = "br0"

// Netns is a device in a network namespace without a name: a router where ports
// have gateways, which become the router's addresses, and a bridge between those
// that have none. The namespace vanishes with the process, however that ends.
type Netns struct {
	device netns.NsHandle
	tester netns.NsHandle
	ports  []v1alpha1.Port
	// undo sets back what Place has changed outside of the namespace.
	undo []func() error
}

var (
	_ device.Driver = (*Netns)(nil)
	_ device.Placed = (*Netns)(nil)
)

// NewNetns is a device with these ports, which Prepare makes.
func NewNetns(ports []v1alpha1.Port) *Netns {
	return &Netns{device: netns.None(), tester: netns.None(), ports: ports}
}

// Prepare makes the device and a veth for every port. The tester's end has the
// port's name and appears, up and without an address, in the network namespace of
// the calling thread. It needs root.
func (n *Netns) Prepare(ctx context.Context) error {
	if err := n.start(ctx); err != nil {
		return errors.Join(fmt.Errorf("making a device in a network namespace: %w", err), n.Restore(ctx))
	}
	return nil
}

// Capabilities implements device.Driver: the device is software on this machine.
func (n *Netns) Capabilities() device.Capabilities {
	return device.Capabilities{Kind: "a network namespace", Software: true, OnNode: true}
}

// Place implements device.Placed.
func (n *Netns) Place() device.Placement {
	p := place(len(n.ports), func(i, processor int) error {
		return netif.In(n.device, func() error { return netif.Steer(n.ports[i].Name, processor) })
	})
	p.Preferred = len(p.Device) > 0
	for _, processor := range p.Device {
		undo, err := processors.PreferSoftInterrupts(processors.NotesDir, processor)
		if err != nil { // then they take turns with processes
			p.Preferred = false
			continue
		}
		n.undo = append(n.undo, undo)
	}
	return p
}

// Namespace of the device, between Prepare and Restore.
func (n *Netns) Namespace() netns.NsHandle { return n.device }

// Configure does nothing: the device has no variants.
func (n *Netns) Configure(context.Context) error { return nil }

// Reset implements device.Driver.
func (n *Netns) Reset(context.Context) error { return device.CannotReset(n.Capabilities()) }

// Describe returns a description of the device for the report.
func (n *Netns) Describe() string {
	routed := len(n.ports) - len(bridged(n.ports))
	kind := "Linux router"
	switch routed {
	case 0:
		kind = "Linux bridge"
	case len(n.ports):
	default:
		kind = "Linux router and bridge"
	}
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return kind + " in a network namespace"
	}
	return fmt.Sprintf("%s in a network namespace, kernel %s", kind, unix.ByteSliceToString(u.Release[:]))
}

// Restore removes the device with all links. It may be called more than once.
func (n *Netns) Restore(context.Context) error {
	var errs []error
	for _, undo := range n.undo {
		errs = append(errs, undo())
	}
	n.undo = nil
	if n.tester.IsOpen() {
		// Closing the namespace removes the links as well, but the kernel may do that
		// later; the next user may want the same names at once.
		if h, err := netlink.NewHandleAt(n.tester, unix.NETLINK_ROUTE); err == nil {
			for _, p := range n.ports {
				if link, err := h.LinkByName(p.Name); err == nil && link.Type() == "veth" {
					if err := h.LinkDel(link); err != nil && !errors.Is(err, unix.ENODEV) {
						errs = append(errs, fmt.Errorf("removing interface %s: %w", p.Name, err))
					}
				}
			}
			h.Close()
		}
		errs = append(errs, n.tester.Close())
	}
	if n.device.IsOpen() {
		errs = append(errs, n.device.Close())
	}
	return errors.Join(errs...)
}

func (n *Netns) start(ctx context.Context) error {
	addresses, err := gatewayAddresses(n.ports)
	if err != nil {
		return err
	}
	if n.tester, err = netns.Get(); err != nil {
		return fmt.Errorf("looking at the own namespace: %w", err)
	}
	if n.device, err = newNamespace(); err != nil {
		return fmt.Errorf("%w: run it as root (sudo)", err)
	}
	near, err := netlink.NewHandleAt(n.tester, unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("talking to the own namespace: %w", err)
	}
	defer near.Close()
	far, err := netlink.NewHandleAt(n.device, unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("talking to the new namespace: %w", err)
	}
	defer far.Close()

	// Forwarding first: it resets what interfaces have learnt of themselves.
	if err := netif.In(n.device, forward); err != nil {
		return err
	}
	for i, p := range n.ports {
		link := &netlink.Veth{
			LinkAttrs:     netlink.LinkAttrs{Name: p.Name, MTU: linkMTU, TxQLen: 1000},
			PeerName:      p.Name,
			PeerNamespace: netlink.NsFd(n.device),
			PeerMTU:       linkMTU,
		}
		if err := near.LinkAdd(link); err != nil {
			// What another has made under this name is not ours to remove.
			n.ports = n.ports[:i]
			return fmt.Errorf("making interface %s: %w", p.Name, err)
		}
	}
	if err := netif.In(n.device, func() error { return poll(n.ports) }); err != nil {
		return err
	}
	if members := bridged(n.ports); len(members) > 0 {
		br, err := bridge(far, members)
		if err != nil {
			return err
		}
		if err := netif.In(n.device, func() error { return snoop(br) }); err != nil {
			return err
		}
	}
	for _, p := range n.ports {
		if err := up(far, p.Name, addresses[p.Name]); err != nil {
			return err
		}
		if err := up(near, p.Name, nil); err != nil {
			return err
		}
		if err := queue(far, p, n.ports); err != nil {
			return err
		}
	}
	if err := up(far, "lo", nil); err != nil {
		return err
	}
	return n.awaitCarrier(ctx)
}

// names of the device's interfaces.
func (n *Netns) names() []string {
	names := make([]string, len(n.ports))
	for i, p := range n.ports {
		names[i] = p.Name
	}
	return names
}

// awaitCarrier waits until the kernel has seen that both ends of the links are
// up: before that the device forwards nothing.
func (n *Netns) awaitCarrier(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, carrierTimeout)
	defer cancel()
	return netif.Wait(ctx, n.names(), netif.Running)
}

// gatewayAddresses gives every gateway the prefix length of the port's network.
func gatewayAddresses(ports []v1alpha1.Port) (map[string][]netip.Prefix, error) {
	all := map[string][]netip.Prefix{}
	for _, p := range ports {
		for _, text := range p.Gateways {
			gateway, err := netip.ParseAddr(text)
			if err != nil {
				return nil, fmt.Errorf("port %s: gateway: %w", p.Name, err)
			}
			i := slices.IndexFunc(p.Addresses, func(address string) bool {
				prefix, err := netip.ParsePrefix(address)
				return err == nil && prefix.Contains(gateway)
			})
			if i < 0 {
				return nil, fmt.Errorf("port %s: gateway %s is in none of the port's networks (%s): the router would not reach the port", p.Name, gateway, strings.Join(p.Addresses, ", "))
			}
			prefix := netip.MustParsePrefix(p.Addresses[i])
			if prefix.Addr() == gateway {
				return nil, fmt.Errorf("port %s: gateway %s is the port's own address: give it the device's", p.Name, gateway)
			}
			all[p.Name] = append(all[p.Name], netip.PrefixFrom(gateway, prefix.Bits()))
		}
	}
	return all, nil
}

func bridged(ports []v1alpha1.Port) []v1alpha1.Port {
	var all []v1alpha1.Port
	for _, p := range ports {
		if len(p.Gateways) == 0 {
			all = append(all, p)
		}
	}
	return all
}

// forward makes the calling thread's namespace a router.
func forward() error {
	for key, value := range map[string]string{
		"net/ipv4/ip_forward":                  "1",
		"net/ipv4/conf/all/send_redirects":     "0",
		"net/ipv4/conf/default/send_redirects": "0",
		// Test addresses outside a port's network come in where no route leads back.
		"net/ipv4/conf/all/rp_filter":     "0",
		"net/ipv4/conf/default/rp_filter": "0",
	} {
		if err := sysctl(key, value); err != nil {
			return err
		}
	}
	// A machine without IPv6 still routes IPv4.
	if !hasIPv6() {
		return nil
	}
	for key, value := range map[string]string{
		"net/ipv6/conf/default/disable_ipv6": "0",
		"net/ipv6/conf/all/forwarding":       "1",
		"net/ipv6/conf/default/forwarding":   "1",
		"net/ipv6/conf/default/accept_dad":   "0",
	} {
		if err := sysctl(key, value); err != nil {
			return err
		}
	}
	return nil
}

func hasIPv6() bool {
	_, err := os.Stat("/proc/sys/net/ipv6")
	return err == nil
}

func sysctl(key, value string) error {
	if err := os.WriteFile("/proc/sys/"+key, []byte(value), 0); err != nil {
		return fmt.Errorf("setting %s to %s: %w", key, value, err)
	}
	return nil
}

// poll turns polling (NAPI) on at the device's ends: a veth takes frames that
// the peer's XDP program redirects into it only then. GRO is the switch for it.
func poll(ports []v1alpha1.Port) error {
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return fmt.Errorf("talking to the interfaces: %w", err)
	}
	defer tool.Close()
	for _, p := range ports {
		if err := tool.Change(p.Name, map[string]bool{"rx-gro": true}); err != nil {
			return fmt.Errorf("turning GRO on at the device's interface %s: %w", p.Name, err)
		}
	}
	return nil
}

// bridge joins ports into one layer-2 network.
func bridge(h *netlink.Handle, ports []v1alpha1.Port) (netlink.Link, error) {
	br := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: bridgeName, MTU: linkMTU}}
	if err := h.LinkAdd(br); err != nil {
		return nil, fmt.Errorf("making the bridge: %w", err)
	}
	for _, p := range ports {
		link, err := h.LinkByName(p.Name)
		if err == nil {
			err = h.LinkSetMaster(link, br)
		}
		if err == nil {
			err = h.LinkSetFastLeave(link, true)
		}
		if err != nil {
			return nil, fmt.Errorf("joining %s to the bridge: %w", p.Name, err)
		}
	}
	return br, up(h, bridgeName, bridgeAddresses())
}

// bridgeAddresses returns the address that the bridge asks for members of IPv6 groups from; none on a machine without IPv6.
// The kernel would add one once the first port has a carrier, and maybe after the ports were asked. It asks again after
// 31 s, and until then the bridge floods IPv6 groups.
func bridgeAddresses() []netip.Prefix {
	if !hasIPv6() {
		return nil
	}
	return []netip.Prefix{netip.MustParsePrefix("fe80::1/64")}
}

func up(h *netlink.Handle, name string, addresses []netip.Prefix) error {
	link, err := h.LinkByName(name)
	if err != nil {
		return fmt.Errorf("looking for interface %s: %w", name, err)
	}
	for _, prefix := range addresses {
		address, err := netlink.ParseAddr(prefix.String())
		if err != nil {
			return fmt.Errorf("reading address %s: %w", prefix, err)
		}
		// Usable at once, without a second of duplicate address detection.
		if prefix.Addr().Is6() {
			address.Flags = unix.IFA_F_NODAD
		}
		if err := h.AddrAdd(link, address); err != nil {
			return fmt.Errorf("giving %s the address %s: %w", name, prefix, err)
		}
	}
	if err := h.LinkSetUp(link); err != nil {
		return fmt.Errorf("bringing up %s: %w", name, err)
	}
	return nil
}

// newNamespace makes a network namespace that nothing but its handle keeps.
func newNamespace() (handle netns.NsHandle, err error) {
	handle = netns.None()
	err = netif.In(netns.None(), func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("making a network namespace: %w", err)
		}
		var err error
		handle, err = netns.Get()
		return err
	})
	return handle, err
}

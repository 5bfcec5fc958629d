//go:build linux

package hostdevice

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/base/netif/card"
)

// putBack brings the interface to the namespace that it came from, and restores the state in
// the note. It may be there, in the namespace of the run, or as a card whose namespace has
// ended, in the first one; the last two may be closed. putBack returns what it changed, or
// nothing if all was as it should be.
func (i *Interface) putBack(origin, run, first netns.NsHandle) (changes, failed []string, err error) {
	for _, from := range []struct {
		netns.NsHandle
		find func() (netlink.Link, error)
	}{{run, i.find}, {first, i.findHardware}} {
		if !from.IsOpen() || from.Equal(origin) {
			continue
		}
		moved, err := moveLink(from.find, from.NsHandle, origin)
		if err != nil {
			return changes, nil, err
		}
		if moved {
			changes = append(changes, "moved")
			break
		}
	}
	err = netif.In(origin, func() error {
		link, err := i.find()
		if gone := (*goneError)(nil); errors.As(err, &gone) && i.isCard() {
			// The kernel brings a card back by itself some time after its namespace has
			// ended.
			ctx, cancel := context.WithTimeout(context.Background(), returnTimeout)
			defer cancel()
			_ = netif.Wait(ctx, []string{i.Name}, nil)
			link, err = i.find()
		}
		if err != nil {
			return err
		}
		r := restoration{Interface: i, link: link}
		err = r.all()
		changes, failed = append(changes, r.changes...), r.failed
		return err
	})
	return changes, failed, err
}

// returnTimeout bounds the wait for a card whose namespace has ended.
const returnTimeout = 5 * time.Second

// isCard reports whether the interface is hardware, which no namespace takes along when it ends.
func (i *Interface) isCard() bool { return i.Kind == "device" }

// goneError reports that an interface does not exist any more: it was deleted or pulled out.
type goneError struct{ name string }

func (e *goneError) Error() string { return "interface " + e.name + " does not exist any more" }

// moveLink moves an interface from one namespace to another, if it is found there.
func moveLink(find func() (netlink.Link, error), from, to netns.NsHandle) (moved bool, err error) {
	err = netif.In(from, func() error {
		link, err := find()
		if gone := (*goneError)(nil); errors.As(err, &gone) {
			return nil
		}
		if err != nil {
			return err
		}
		switch err := netlink.LinkSetNsFd(link, int(to)); {
		case errors.Is(err, unix.EEXIST):
			return fmt.Errorf("moving it back: the name %s is taken by another interface by now: rename that one", link.Attrs().Name)
		case err != nil:
			return fmt.Errorf("moving it back: %w", err)
		}
		moved = true
		return nil
	})
	return moved, err
}

// find looks for the interface in the calling thread's network namespace: by its name,
// or where it was renamed, by its hardware.
func (i *Interface) find() (netlink.Link, error) {
	return i.first(func(l netlink.Link) bool { return l.Attrs().Name == i.Name && i.same(l) }, i.sameHardware)
}

// findHardware looks for the interface in a namespace of others, where only its hardware
// identifies it.
func (i *Interface) findHardware() (netlink.Link, error) { return i.first(i.sameHardware) }

// first is the first interface that one of these accepts.
func (i *Interface) first(accept ...func(netlink.Link) bool) (netlink.Link, error) {
	links, err := netif.Whole(netlink.LinkList)
	if err != nil {
		return nil, fmt.Errorf("listing the interfaces: %w", err)
	}
	for _, is := range accept {
		if at := slices.IndexFunc(links, is); at >= 0 {
			return links[at], nil
		}
	}
	return nil, &goneError{i.Name}
}

// same reports whether an interface with the same name may be this one.
func (i *Interface) same(l netlink.Link) bool {
	return l.Type() == i.Kind && (i.sameHardware(l) || l.Attrs().Index == i.Index)
}

// sameHardware reports whether an interface has the hardware address of this one. Those that
// can be set may be shared, as by the ports of a bond, and count only where no other is known.
func (i *Interface) sameHardware(l netlink.Link) bool {
	if i.PermanentAddress != "" {
		return l.Type() == i.Kind && l.Attrs().PermHWAddr.String() == i.PermanentAddress
	}
	return l.Type() == i.Kind && i.HardwareAddress != "" && l.Attrs().HardwareAddr.String() == i.HardwareAddress
}

// restoration gives an interface of the calling thread's network namespace the state that
// a note has.
type restoration struct {
	*Interface
	link netlink.Link
	// changes and failed describe what was done, and what could not be.
	changes, failed []string
}

// all takes all steps, each whatever happens to the others. Without some the interface
// works as before: if these fail it is only said.
func (r *restoration) all() error {
	var errs []error
	for _, step := range []struct {
		doing string
		do    func() error
		minor bool
	}{
		{"giving it its name", r.name, false},
		{"giving it its hardware address", r.hardwareAddress, false},
		{"setting its MTU", r.mtu, false},
		{"setting its queue length", r.queueLength, true},
		{"restoring what an engine has changed", r.recover, true},
		{"setting its offloads", r.features, true},
		{"setting its pause frames, queues and rings", r.card, true},
		{"setting its alias", r.alias, true},
		{"setting its sysctls", r.sysctls, true},
		{"removing the filters of the run", r.filters, false},
		{"setting its flags", r.flags, false},
		{"removing the addresses of the run", r.removeAdded, false},
		{"giving it its addresses", r.addresses, false},
		{"giving it its neighbors", r.neighbours, false},
		{"giving it its routes", r.routes, false},
	} {
		err := step.do()
		switch {
		case err == nil:
		case step.minor:
			r.failed = append(r.failed, fmt.Sprintf("%s: %v", step.doing, err))
		default:
			errs = append(errs, fmt.Errorf("%s: %w", step.doing, err))
		}
	}
	return errors.Join(errs...)
}

func (r *restoration) changed(format string, args ...any) {
	r.changes = append(r.changes, fmt.Sprintf(format, args...))
}

func (r *restoration) name() error {
	is := r.link.Attrs().Name
	if is == r.Name {
		return nil
	}
	if err := netlink.LinkSetName(r.link, r.Name); err != nil {
		return err
	}
	r.changed("renamed from %s", is)
	r.link.Attrs().Name = r.Name
	return nil
}

func (r *restoration) hardwareAddress() error {
	is := r.link.Attrs().HardwareAddr.String()
	if is == r.HardwareAddress {
		return nil
	}
	address, err := net.ParseMAC(r.HardwareAddress)
	if err == nil {
		err = netlink.LinkSetHardwareAddr(r.link, address)
	}
	if err != nil {
		return err
	}
	r.changed("hardware address %s", r.HardwareAddress)
	return nil
}

func (r *restoration) mtu() error {
	if a := r.link.Attrs(); a.MTU != r.MTU {
		if err := netlink.LinkSetMTU(r.link, r.MTU); err != nil {
			return err
		}
		r.changed("MTU %d", r.MTU)
	}
	return nil
}

// filters removes those for a port in a VLAN, which outlive a run that was killed.
func (r *restoration) filters() error {
	nl, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("opening netlink: %w", err)
	}
	defer nl.Close()
	removed, err := netif.DetachClsact(nl, r.link.Attrs().Index)
	if removed {
		r.changed("filters removed")
	}
	return err
}

func (r *restoration) queueLength() error {
	if a := r.link.Attrs(); a.TxQLen != r.QueueLength {
		if err := netlink.LinkSetTxQLen(r.link, r.QueueLength); err != nil {
			return err
		}
		r.changed("queue length %d", r.QueueLength)
	}
	return nil
}

func (r *restoration) features() error {
	is, err := features(r.Name)
	if err != nil {
		return err
	}
	other := map[string]bool{}
	for feature, want := range r.Features {
		if now, known := is[feature]; known && now != want {
			other[feature] = want
		}
	}
	if len(other) == 0 {
		return nil
	}
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return err
	}
	defer tool.Close()
	if err := tool.Change(r.Name, other); err != nil {
		return err
	}
	r.changed("%d of its offloads", len(other))
	return nil
}

// recover restores what an engine that was killed has recorded at the interface.
func (r *restoration) recover() error {
	link, err := netlink.LinkByName(r.Name)
	if err != nil {
		return err
	}
	changed, err := card.Recover(link)
	r.changes = append(r.changes, changed...)
	return err
}

func (r *restoration) card() error {
	changed, err := r.Card.Restore(r.Name)
	r.changes = append(r.changes, changed...)
	return err
}

func (r *restoration) alias() error {
	is, err := alias(r.link.Attrs().Index)
	if err != nil || is == r.Alias {
		return err
	}
	r.changed("alias %q", r.Alias)
	return netlink.LinkSetAlias(r.link, r.Alias)
}

func (r *restoration) sysctls() error {
	var errs []error
	changed := 0
	for path, want := range r.Sysctls {
		file := filepath.Join(sysctlRoot, path)
		is, err := os.ReadFile(file)
		if err == nil && strings.TrimSpace(string(is)) == want {
			continue
		}
		if err := os.WriteFile(file, []byte(want), 0); err != nil {
			errs = append(errs, err)
			continue
		}
		changed++
	}
	if changed > 0 {
		r.changed("%d of its sysctls", changed)
	}
	return errors.Join(errs...)
}

func (r *restoration) flags() error {
	a := r.link.Attrs()
	for _, flag := range []struct {
		is, want bool
		name     string
		on, off  func(netlink.Link) error
	}{
		{a.RawFlags&unix.IFF_PROMISC != 0, r.Promiscuous, "promiscuous", netlink.SetPromiscOn, netlink.SetPromiscOff},
		{a.RawFlags&unix.IFF_ALLMULTI != 0, r.AllMulticast, "all-multicast", netlink.LinkSetAllmulticastOn, netlink.LinkSetAllmulticastOff},
		{a.Flags&net.FlagUp != 0, r.Up, "up", netlink.LinkSetUp, netlink.LinkSetDown},
	} {
		if flag.is == flag.want {
			continue
		}
		set, text := flag.off, "not "+flag.name
		if flag.want {
			set, text = flag.on, flag.name
		}
		if err := set(r.link); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		r.changed("%s", text)
	}
	return nil
}

func (r *restoration) removeAdded() error {
	is, err := netif.Addresses(r.link)
	if err != nil {
		return err
	}
	for _, a := range is {
		if !slices.Contains(r.Added, prefixOf(a.IPNet)) {
			continue
		}
		if err := netlink.AddrDel(r.link, &a); err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
			return fmt.Errorf("%v: %w", a.IPNet, err)
		}
		r.changed("without %v", a.IPNet)
	}
	return nil
}

// keptAddressFlags are the flags of addresses that people set; the others are states.
const keptAddressFlags = unix.IFA_F_NODAD | unix.IFA_F_HOMEADDRESS | unix.IFA_F_MANAGETEMPADDR | unix.IFA_F_NOPREFIXROUTE | unix.IFA_F_MCAUTOJOIN | unix.IFA_F_STABLE_PRIVACY

func (r *restoration) addresses() error {
	is, err := netif.Addresses(r.link)
	if err != nil {
		return err
	}
	var errs []error
	for _, want := range r.Addresses {
		if slices.ContainsFunc(is, func(a netlink.Addr) bool { return a.Equal(want) && samePeer(a, want) }) {
			continue
		}
		want.Flags &= keptAddressFlags
		want.LinkIndex = r.link.Attrs().Index
		if want.Broadcast = want.Broadcast.To4(); want.Broadcast == nil {
			want.Broadcast = net.IPv4zero // none, in place of the library's
		}
		switch err := netlink.AddrAdd(r.link, &want); {
		case errors.Is(err, unix.EEXIST):
		case err != nil:
			errs = append(errs, fmt.Errorf("%v: %w", want.IPNet, err))
		default:
			r.changed("%v", want.IPNet)
		}
	}
	return errors.Join(errs...)
}

func samePeer(a, b netlink.Addr) bool { return prefixOf(a.Peer) == prefixOf(b.Peer) }

func (r *restoration) neighbours() error {
	var errs []error
	for _, n := range r.Neighbours {
		n.LinkIndex = r.link.Attrs().Index
		n.State = netlink.NUD_PERMANENT
		if err := netlink.NeighSet(&n); err != nil {
			errs = append(errs, fmt.Errorf("%v: %w", n.IP, err))
		}
	}
	return errors.Join(errs...)
}

// routes adds those that are missing. The kernel has made most of them with the
// addresses. Those through a gateway come after those that lead to it.
func (r *restoration) routes() error {
	if !r.Up {
		return nil // an interface that is down has none
	}
	wanted := slices.Clone(r.Routes)
	slices.SortStableFunc(wanted, func(a, b netlink.Route) int { return order(a) - order(b) })
	is, err := allRoutes()
	if err != nil {
		return err
	}
	var errs []error
	for _, want := range wanted {
		want.LinkIndex = r.link.Attrs().Index
		if slices.ContainsFunc(is, func(have netlink.Route) bool { return sameRoute(have, want) }) {
			continue
		}
		want.Flags &= unix.RTNH_F_ONLINK
		switch err := netlink.RouteAdd(&want); {
		case errors.Is(err, unix.EEXIST):
		case err != nil:
			errs = append(errs, fmt.Errorf("%v: %w", want.Dst, err))
		default:
			r.changed("route to %v", want.Dst)
		}
	}
	return errors.Join(errs...)
}

func order(r netlink.Route) int {
	if len(r.Gw) > 0 || r.Via != nil {
		return 1
	}
	return 0
}

func sameRoute(a, b netlink.Route) bool {
	return a.LinkIndex == b.LinkIndex && a.Family == b.Family && a.Table == b.Table && a.Type == b.Type && a.Priority == b.Priority &&
		a.Tos == b.Tos && a.Gw.Equal(b.Gw) && prefixOf(a.Dst) == prefixOf(b.Dst)
}

//go:build linux

package hostdevice

import (
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/base/netif/card"
)

// capture reads the state of an interface of the calling thread's network namespace. Adds
// are the addresses that a run gives it.
func capture(link netlink.Link, adds []netip.Prefix) (Interface, error) {
	a := link.Attrs()
	if _, err := card.Recover(link); err != nil {
		return Interface{}, err
	}
	i := Interface{
		Name: a.Name, Index: a.Index, Kind: link.Type(),
		HardwareAddress: a.HardwareAddr.String(), PermanentAddress: a.PermHWAddr.String(),
		MTU: a.MTU, QueueLength: a.TxQLen,
		Up: a.Flags&net.FlagUp != 0, Promiscuous: a.RawFlags&unix.IFF_PROMISC != 0, AllMulticast: a.RawFlags&unix.IFF_ALLMULTI != 0,
	}
	var err error
	if i.Features, err = features(a.Name); err != nil {
		return i, err
	}
	if i.Card, err = card.Read(a.Name); err != nil {
		return i, err
	}
	if !i.Up {
		i.Card.Spread = nil // some drivers make the table when the interface is first brought up
	}
	if i.Alias, err = alias(a.Index); err != nil {
		return i, err
	}
	if i.Sysctls, err = sysctls(a.Name); err != nil {
		return i, err
	}
	if i.Addresses, err = netif.Addresses(link); err != nil {
		return i, fmt.Errorf("listing the addresses: %w", err)
	}
	if i.Neighbours, err = permanentNeighbours(a.Index); err != nil {
		return i, err
	}
	routes, err := allRoutes()
	if err != nil {
		return i, err
	}
	for _, r := range routes {
		if r.LinkIndex == a.Index && plain(r) {
			i.Routes = append(i.Routes, r)
		}
	}
	for _, add := range adds {
		if !slices.ContainsFunc(i.Addresses, func(have netlink.Addr) bool { return prefixOf(have.IPNet).Addr() == add.Addr() }) {
			i.Added = append(i.Added, add)
		}
	}
	return i, nil
}

// alias reads the alias of an interface, which has no record of changed settings any more.
func alias(index int) (string, error) {
	link, err := netlink.LinkByIndex(index)
	if err != nil {
		return "", fmt.Errorf("reading the alias: %w", err)
	}
	return link.Attrs().Alias, nil
}

// features returns the features of an interface that can be changed, and whether each is on.
func features(name string) (map[string]bool, error) {
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return nil, fmt.Errorf("opening ethtool: %w", err)
	}
	defer tool.Close()
	states, err := tool.FeaturesWithState(name)
	if err != nil {
		return nil, fmt.Errorf("reading the offloads: %w", err)
	}
	all := map[string]bool{}
	for feature, s := range states {
		if s.Available && !s.NeverChanged {
			all[feature] = s.Active
		}
	}
	return all, nil
}

// sysctls are the settings of an interface that can be read and written, by their paths
// below /proc/sys/net. The kernel forgets them when the interface leaves its namespace.
func sysctls(name string) (map[string]string, error) {
	all := map[string]string{}
	for _, kind := range []string{"ipv4/conf", "ipv6/conf", "ipv4/neigh", "ipv6/neigh"} {
		dir := filepath.Join(kind, name)
		files, err := os.ReadDir(filepath.Join(sysctlRoot, dir))
		if os.IsNotExist(err) {
			continue // without IPv6, for one
		}
		if err != nil {
			return nil, fmt.Errorf("reading the settings: %w", err)
		}
		for _, f := range files {
			path := filepath.Join(dir, f.Name())
			info, err := f.Info()
			if err != nil || info.Mode().Perm()&0o600 != 0o600 || !settable(f) {
				continue
			}
			// Some cannot be read before they were set, such as stable_secret.
			if text, err := os.ReadFile(filepath.Join(sysctlRoot, path)); err == nil {
				all[path] = strings.TrimSpace(string(text))
			}
		}
	}
	return all, nil
}

const sysctlRoot = "/proc/sys/net"

// settable leaves out what is a second name of another setting in other units, and the
// MTU of IPv6, which follows that of the interface.
func settable(f fs.DirEntry) bool {
	switch f.Name() {
	case "base_reachable_time", "retrans_time", "unres_qlen", "mtu":
		return false
	}
	return !f.IsDir()
}

func permanentNeighbours(index int) ([]netlink.Neigh, error) {
	var all []netlink.Neigh
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		neighbours, err := netif.Whole(func() ([]netlink.Neigh, error) { return netlink.NeighList(index, family) })
		if err != nil {
			return nil, fmt.Errorf("listing the neighbors: %w", err)
		}
		for _, n := range neighbours {
			if n.State&netlink.NUD_PERMANENT != 0 {
				all = append(all, n)
			}
		}
	}
	return all, nil
}

// allRoutes returns the routes of all tables except the local one, which is the kernel's.
func allRoutes() ([]netlink.Route, error) {
	var all []netlink.Route
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		routes, err := netif.Whole(func() ([]netlink.Route, error) {
			return netlink.RouteListFiltered(family, &netlink.Route{Table: unix.RT_TABLE_UNSPEC}, netlink.RT_FILTER_TABLE)
		})
		if err != nil {
			return nil, fmt.Errorf("listing the routes: %w", err)
		}
		for _, r := range routes {
			if r.Table != unix.RT_TABLE_LOCAL {
				all = append(all, r)
			}
		}
	}
	return all, nil
}

// plain reports whether a route can be put back: a note has no encapsulations. What routers
// advertise is learnt anew.
func plain(r netlink.Route) bool {
	return len(r.MultiPath) == 0 && r.Encap == nil && r.Via == nil && r.NewDst == nil && r.Protocol != unix.RTPROT_RA
}

// prefixOf is an address with its prefix length as netip writes it.
func prefixOf(n *net.IPNet) netip.Prefix {
	if n == nil {
		return netip.Prefix{}
	}
	a, _ := netip.AddrFromSlice(n.IP)
	bits, _ := n.Mask.Size()
	return netip.PrefixFrom(a.Unmap(), bits)
}

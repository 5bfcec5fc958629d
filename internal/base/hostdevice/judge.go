//go:build linux

package hostdevice

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/internal/base/netif"
)

// scene contains the data by which the interfaces of a request are judged, from the calling
// thread's network namespace.
type scene struct {
	namespace uint64
	links     []netlink.Link
	routes    []netlink.Route
	sockets   []socket
	// elsewhere describes what is made of interfaces in other namespaces.
	elsewhere map[int]string
	living    []*Note
	moves     bool
}

// judge finds the interfaces of a request, and says which of them serve something else.
func judge(r Request, namespace uint64, living []*Note) ([]netlink.Link, field.ErrorList, error) {
	s, err := look(namespace, living, r.To.IsOpen())
	if err != nil {
		return nil, nil, err
	}
	var links []netlink.Link
	var problems field.ErrorList
	for n, p := range r.Ports {
		link, why, err := s.judge(p.Interface)
		if err != nil {
			return nil, nil, fmt.Errorf("looking at interface %s of port %s: %w", p.Interface, p.Name, err)
		}
		if link != nil && why == "" {
			if first := slices.IndexFunc(links, func(l netlink.Link) bool { return l != nil && l.Attrs().Index == link.Attrs().Index }); first >= 0 {
				why = fmt.Sprintf("port %s has this interface already: every port needs its own", r.Ports[first].Name)
			}
		}
		if why != "" {
			problems = append(problems, field.Invalid(r.Ports[n].Path, p.Interface, why))
		}
		links = append(links, link)
	}
	return links, problems, nil
}

// look gathers what interfaces are judged by.
func look(namespace uint64, living []*Note, moves bool) (*scene, error) {
	s := &scene{namespace: namespace, living: living, moves: moves}
	var err error
	if s.links, err = netif.Whole(netlink.LinkList); err != nil {
		return nil, fmt.Errorf("listing the interfaces: %w", err)
	}
	if s.routes, err = allRoutes(); err != nil {
		return nil, err
	}
	if s.sockets, err = boundSockets(); err != nil {
		return nil, err
	}
	if s.elsewhere, err = childrenElsewhere(namespace); err != nil {
		return nil, err
	}
	return s, nil
}

// judge finds an interface, and returns the reason why a run cannot have it.
func (s *scene) judge(name string) (link netlink.Link, why string, err error) {
	for _, note := range s.living {
		for _, i := range note.Interfaces {
			if i.Name == name && note.Namespace == s.namespace {
				return nil, fmt.Sprintf("benchmark %s has this interface, in process %d: wait until it ends, or name another", note.Benchmark, note.PID), nil
			}
		}
	}
	link, err = netlink.LinkByName(name)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil, "this machine has no such interface here: " + s.others(), nil
	}
	if err != nil {
		return nil, "", err
	}
	for _, reason := range reasons {
		why, err := reason(s, link)
		if err != nil || why != "" {
			return nil, why, err
		}
	}
	return link, "", nil
}

// others names the interfaces that a run can have.
func (s *scene) others() string {
	var names []string
	for _, l := range s.links {
		if !slices.ContainsFunc(reasons, func(reason func(*scene, netlink.Link) (string, error)) bool {
			why, err := reason(s, l)
			return why != "" || err != nil
		}) {
			names = append(names, l.Attrs().Name)
		}
	}
	if len(names) == 0 {
		return "no interface is free for a benchmark; see ip link"
	}
	return "name one of " + strings.Join(names, ", ")
}

// reasons return why a run cannot have an interface, or an empty string if it can. The first
// one counts.
var reasons = []func(*scene, netlink.Link) (string, error){
	notEthernet, isWireless, isMaster, isMember, isParent, isParentElsewhere, hasDefaultRoute, hasSpecialRoute, addressInUse, hasProgram, hasQdisc,
}

const another = ", or name another interface"

func notEthernet(_ *scene, l netlink.Link) (string, error) {
	a := l.Attrs()
	switch {
	case a.Flags&net.FlagLoopback != 0:
		return "this is the loopback interface, which leads to no device: name an interface that is cabled to the device", nil
	case a.EncapType != "ether" || len(a.HardwareAddr) != 6 || l.Type() == "ifb":
		return fmt.Sprintf("this interface (%s, %s) leads to no Ethernet: name an interface that is cabled to the device", l.Type(), a.EncapType), nil
	}
	return "", nil
}

// isMaster refuses what other interfaces are members of, and cannot be moved.
func isMaster(_ *scene, l netlink.Link) (string, error) {
	switch kind := l.Type(); kind {
	case "bridge", "bond", "team", "openvswitch", "vrf":
		return fmt.Sprintf("this interface is a %s: name the interface of one of its ports, taken out of it", kind), nil
	}
	return "", nil
}

// isMember refuses ports of bridges, bonds and the like.
func isMember(s *scene, l netlink.Link) (string, error) {
	index := l.Attrs().MasterIndex
	if index == 0 {
		return "", nil
	}
	kind, name := "group of interfaces", fmt.Sprint("with index ", index)
	for _, master := range s.links {
		if master.Attrs().Index == index {
			kind, name = master.Type(), master.Attrs().Name
		}
	}
	return fmt.Sprintf("this interface belongs to the %s %s: take it out (ip link set dev %s nomaster)", kind, name, l.Attrs().Name) + another, nil
}

// isParent refuses an interface that others are made of.
func isParent(s *scene, l netlink.Link) (string, error) {
	for _, child := range s.links {
		a := child.Attrs()
		if stacked(child) && a.ParentIndex == l.Attrs().Index && a.NetNsID < 0 {
			return fmt.Sprintf("%s %s is made of this interface: remove it (ip link del dev %s)", child.Type(), a.Name, a.Name) + another, nil
		}
	}
	return "", nil
}

// stacked reports whether an interface is made of another one. The other end of a veth is
// not that.
func stacked(l netlink.Link) bool { return l.Type() != "veth" && l.Attrs().ParentIndex > 0 }

func hasDefaultRoute(s *scene, l netlink.Link) (string, error) {
	for _, r := range s.routes {
		if ones := prefixOf(r.Dst).Bits(); (r.Dst == nil || ones == 0) && leadsTo(r, l.Attrs().Index) {
			text := "the default route leads over this interface"
			if len(r.Gw) > 0 {
				text += fmt.Sprintf(" (via %v)", r.Gw)
			}
			ip := "ip"
			if r.Family == netlink.FAMILY_V6 {
				ip = "ip -6"
			}
			return fmt.Sprintf("%s: this machine would lose its network; remove the route if that is meant (%s route del default dev %s)", text, ip, l.Attrs().Name) + another, nil
		}
	}
	return "", nil
}

func leadsTo(r netlink.Route, index int) bool {
	return r.LinkIndex == index || slices.ContainsFunc(r.MultiPath, func(n *netlink.NexthopInfo) bool { return n.LinkIndex == index })
}

// hasSpecialRoute refuses what could not be put back.
func hasSpecialRoute(s *scene, l netlink.Link) (string, error) {
	for _, r := range s.routes {
		if leadsTo(r, l.Attrs().Index) && !plain(r) && r.Protocol != routeRA {
			return fmt.Sprintf("the route to %v over this interface has several next hops, an encapsulation, or a next hop of another family, which NoDrop cannot put back: remove it", r.Dst) + another, nil
		}
	}
	return "", nil
}

func hasProgram(_ *scene, l netlink.Link) (string, error) {
	if x := l.Attrs().Xdp; x != nil && x.Attached {
		return fmt.Sprintf("this interface has an XDP program already: end what has attached it, or detach it (ip link set dev %s xdp off)", l.Attrs().Name) + another, nil
	}
	return "", nil
}

// hasQdisc refuses to move an interface whose queueing disciplines were configured, as a move
// removes them. Those that the kernel makes have no handle.
func hasQdisc(s *scene, l netlink.Link) (string, error) {
	if !s.moves {
		return "", nil
	}
	qdiscs, err := netif.Whole(func() ([]netlink.Qdisc, error) { return netlink.QdiscList(l) })
	if err != nil {
		return "", fmt.Errorf("listing the queueing disciplines: %w", err)
	}
	for _, q := range qdiscs {
		if q.Attrs().Handle != 0 {
			return fmt.Sprintf("this interface has the queueing discipline %s, which is lost when it is moved: remove it (tc qdisc del dev %s root, or clsact), or run with --in-place", q.Type(), l.Attrs().Name), nil
		}
	}
	return "", nil
}

// Of the kernel's generic netlink family nl80211 (linux/nl80211.h).
const (
	wirelessFamily       = "nl80211"
	wirelessGetInterface = 5
	wirelessIfindex      = 3
)

// isWireless refuses wireless interfaces, which cannot be moved alone and carry no frames
// of others.
func isWireless(_ *scene, l netlink.Link) (string, error) {
	family, err := netif.Generic(wirelessFamily)
	if errors.Is(err, unix.ENOENT) {
		return "", nil // this machine has none
	}
	if err != nil {
		return "", err
	}
	if _, err := family.Ask(wirelessGetInterface, nl.NewRtAttr(wirelessIfindex, nl.Uint32Attr(uint32(l.Attrs().Index)))); err != nil {
		return "", nil // an interface of another kind is unknown there
	}
	return "this interface is wireless: name an Ethernet interface that is cabled to the device", nil
}

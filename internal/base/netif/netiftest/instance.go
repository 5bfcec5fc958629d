package netiftest

import (
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Of the kernel's netlink family "netdev" (linux/netdev.h).
const (
	family      = "netdev"
	version     = 1
	commandGet  = 11 // NETDEV_CMD_NAPI_GET
	attrIfindex = 1  // NETDEV_A_NAPI_IFINDEX
	attrID      = 2  // NETDEV_A_NAPI_ID
	attrPID     = 4  // NETDEV_A_NAPI_PID
)

// header is the header of generic netlink: command, version, and two bytes of zero, without
// which the kernel refuses a request.
type header [nl.SizeofGenlmsg]byte

// Len implements nl.NetlinkRequestData.
func (h header) Len() int { return len(h) }

// Serialize implements nl.NetlinkRequestData.
func (h header) Serialize() []byte { return h[:] }

// instance is a NAPI instance, which polls one queue of an interface.
type instance struct {
	id uint32
	// thread that polls, in the first PID namespace; 0 for none.
	thread uint32
}

// instancesOf returns the instances of an interface of the calling thread's network namespace.
func instancesOf(iface string) ([]instance, error) {
	link, err := net.InterfaceByName(iface)
	if err != nil {
		return nil, err
	}
	f, err := netlink.GenlFamilyGet(family)
	if err != nil {
		return nil, fmt.Errorf("asking the kernel for the family %s: %w", family, err)
	}
	request := nl.NewNetlinkRequest(int(f.ID), unix.NLM_F_DUMP)
	request.AddData(header{commandGet, version})
	request.AddData(nl.NewRtAttr(attrIfindex, nl.Uint32Attr(uint32(link.Index))))
	answers, err := request.Execute(unix.NETLINK_GENERIC, 0)
	if err != nil {
		return nil, fmt.Errorf("listing: %w", err)
	}
	var all []instance
	for _, answer := range answers {
		attributes, err := nl.ParseRouteAttr(answer[nl.SizeofGenlmsg:])
		if err != nil {
			return nil, fmt.Errorf("reading an answer: %w", err)
		}
		var i instance
		for _, a := range attributes {
			switch a.Attr.Type {
			case attrID:
				i.id = nl.NativeEndian().Uint32(a.Value)
			case attrPID:
				i.thread = nl.NativeEndian().Uint32(a.Value)
			}
		}
		all = append(all, i)
	}
	return all, nil
}

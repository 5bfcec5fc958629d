package netif

import (
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// GenericFamily is a family of generic netlink, such as "ethtool".
type GenericFamily struct {
	name    string
	id      uint16
	version uint8
}

// Generic looks up a family of generic netlink by its name. The error is unix.ENOENT where the kernel does not have it.
func Generic(name string) (GenericFamily, error) {
	f, err := netlink.GenlFamilyGet(name)
	if err != nil {
		return GenericFamily{}, fmt.Errorf("looking up the netlink family %s: %w", name, err)
	}
	return GenericFamily{name, f.ID, uint8(f.Version)}, nil
}

// Ask sends a command to the kernel, in the network namespace of the calling thread, and
// returns the attributes of its replies.
func (f GenericFamily) Ask(command uint8, attributes ...*nl.RtAttr) ([][]byte, error) {
	request := nl.NewNetlinkRequest(int(f.id), 0)
	request.AddData(genericHeader{command, f.version})
	for _, a := range attributes {
		request.AddData(a)
	}
	replies, err := request.Execute(unix.NETLINK_GENERIC, 0)
	if err != nil {
		return nil, fmt.Errorf("asking the netlink family %s: %w", f.name, err)
	}
	for i, reply := range replies {
		if len(reply) < nl.SizeofGenlmsg {
			return nil, fmt.Errorf("asking the netlink family %s: a reply of %d bytes", f.name, len(reply))
		}
		replies[i] = reply[nl.SizeofGenlmsg:]
	}
	return replies, nil
}

// genericHeader is struct genlmsghdr with its reserved field, which must be zero: the
// library's own leaves it undefined.
type genericHeader [nl.SizeofGenlmsg]byte

// Len and Serialize implement nl.NetlinkRequestData.
func (h genericHeader) Len() int          { return len(h) }
func (h genericHeader) Serialize() []byte { return h[:] }

package dut

import (
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// snooping are the bridge's settings of IGMP and MLD snooping, in the order in
// which the kernel must get them. Times are in hundredths of a second. The
// bridge is the querier itself, and trusts its own table once its first question
// could have been answered, which is made a tenth of a second.
var snooping = []struct {
	attribute int
	value     []byte
}{
	{nl.IFLA_BR_MCAST_SNOOPING, []byte{1}},
	{nl.IFLA_BR_MCAST_IGMP_VERSION, []byte{3}},
	{nl.IFLA_BR_MCAST_MLD_VERSION, []byte{2}},
	{nl.IFLA_BR_MCAST_QUERY_RESPONSE_INTVL, nl.Uint64Attr(10)},
	{nl.IFLA_BR_MCAST_LAST_MEMBER_INTVL, nl.Uint64Attr(10)},
	{nl.IFLA_BR_MCAST_HASH_MAX, nl.Uint32Attr(65536)},
	{nl.IFLA_BR_MCAST_QUERIER, []byte{1}},
}

// snoop makes a bridge of the calling thread's namespace forward multicast groups
// only to the ports that joined them, as a managed switch does.
func snoop(bridge netlink.Link) error {
	for _, setting := range snooping {
		message := nl.NewIfInfomsg(unix.AF_UNSPEC)
		message.Index = int32(bridge.Attrs().Index)
		info := nl.NewRtAttr(unix.IFLA_LINKINFO, nil)
		info.AddRtAttr(nl.IFLA_INFO_KIND, nl.NonZeroTerminated(bridge.Type()))
		info.AddRtAttr(nl.IFLA_INFO_DATA, nil).AddRtAttr(setting.attribute, setting.value)
		request := nl.NewNetlinkRequest(unix.RTM_NEWLINK, unix.NLM_F_ACK)
		request.AddData(message)
		request.AddData(info)
		if _, err := request.Execute(unix.NETLINK_ROUTE, 0); err != nil {
			return fmt.Errorf("setting multicast attribute %d of the bridge: %w", setting.attribute, err)
		}
	}
	return nil
}

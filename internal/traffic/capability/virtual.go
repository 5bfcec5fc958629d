package capability

import (
	"fmt"

	"nodrop.dev/nodrop/internal/traffic"
)

// virtual describes the interfaces behind which there is no network card of their
// own, by the driver's name in the kernel or in DPDK.
var virtual = map[string]string{
	"veth":                "a virtual interface of this machine",
	"netkit":              "a virtual interface of this machine",
	"tun":                 "a TUN or TAP interface of this machine",
	"net_tap":             "a TUN or TAP interface of this machine",
	"macvlan":             "a virtual interface on another one",
	"macvtap":             "a virtual interface on another one",
	"ipvlan":              "a virtual interface on another one",
	"ipvtap":              "a virtual interface on another one",
	"802.1Q VLAN Support": "a virtual interface on another one",
	"vxlan":               "a tunnel",
	"geneve":              "a tunnel",
	"bridge":              "a bridge of this machine",
	"dummy":               "a dummy interface",
	"openvswitch":         "a port of Open vSwitch",
	"virtio_net":          "a virtual card of a hypervisor (virtio)",
	"net_virtio":          "a virtual card of a hypervisor (virtio)",
	"vmxnet3":             "a virtual card of a hypervisor (VMXNET3)",
	"net_vmxnet3":         "a virtual card of a hypervisor (VMXNET3)",
	"hv_netvsc":           "a virtual card of a hypervisor (Hyper-V)",
	"net_netvsc":          "a virtual card of a hypervisor (Hyper-V)",
	"net_vdev_netvsc":     "a virtual card of a hypervisor (Hyper-V)",
	"vif":                 "a virtual card of a hypervisor (Xen)",
	softwareDriver:        "a packet socket of TRex's software mode",
	"net_pcap":            "a socket of this machine's kernel (libpcap)",
	"net_memif":           "shared memory",
	"net_vhost":           "a virtual card of a hypervisor (vhost)",
}

// VirtualReason describes why a port is not a physical card, for the reader of a row; empty
// for one that is. The lab may state that the hypervisor passes the card through to the
// machine, which only counts where nothing shows that it is emulated.
func VirtualReason(p traffic.PortInfo, passedThrough bool) string {
	const meaning = "the result shows that everything works, not what hardware does"
	switch what := virtual[p.Driver]; {
	case what != "":
		return fmt.Sprintf("port %s is %s: %s", p.Name, what, meaning)
	case p.Emulated != "":
		return fmt.Sprintf("port %s is a card that %s emulates: %s", p.Name, p.Emulated, meaning)
	case p.Hypervisor != "" && !passedThrough:
		return fmt.Sprintf("port %s is a card of a virtual machine (%s), where an emulated card looks like a physical one: %s; if the hypervisor passes the card through, set passedThrough of port %s in the TestBed",
			p.Name, p.Hypervisor, meaning, p.Name)
	}
	return ""
}

package capability

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

// Virtual says in words what an interface is that is no network card, by its driver's
// name; empty for one that is.
func Virtual(driver string) string { return virtual[driver] }

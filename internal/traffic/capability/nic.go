package capability

import (
	"cmp"
	"slices"
	"strings"
)

// NIC describes how TRex v3.08 works with the network cards of one DPDK driver.
type NIC struct {
	// Driver is the name of the DPDK driver, as TRex reports it.
	Driver string
	// Models that the driver is for.
	Models string
	// Counters is the number of streams that one server counts with such cards; 0 means
	// none. A server with cards of several kinds counts the smallest of their numbers.
	Counters int
	// Drawbacks that users or the manual of TRex report.
	Drawbacks []Drawback
}

// Drawback is a limitation of a card that a user would not expect.
type Drawback struct {
	// Text describes the limitation and what to do, in one sentence for the report.
	Text string
	// Source is the place of the description: a thread as owner/repository#number, or a
	// page.
	Source string
	// Fixed is the release of TRex that is said to fix it; empty when none is.
	Fixed string
}

// String is the drawback with its source.
func (d Drawback) String() string {
	text := d.Text + " (" + d.Source
	if d.Fixed != "" {
		text += "; said to be fixed in TRex " + d.Fixed
	}
	return text + ")"
}

// Text lists the drawbacks with their sources. Drawbacks from one source share it.
func (n NIC) Text() string {
	var parts []string
	for i, d := range n.Drawbacks {
		if i+1 < len(n.Drawbacks) && n.Drawbacks[i+1].Source == d.Source && d.Fixed == n.Drawbacks[i+1].Fixed {
			parts = append(parts, d.Text)
			continue
		}
		parts = append(parts, d.String())
	}
	return strings.Join(parts, "; ")
}

// softwareDriver is the driver of TRex's software mode, on packet sockets.
const softwareDriver = "net_af_packet"

// onVeth is the source of what was seen in this project only.
const onVeth = "seen with TRex v3.08 on veth pairs"

// manual is the page of the TRex repository that most sources name.
const manual = "TRex stateless manual, Per stream statistics"

// What several kinds of cards have in common.
var (
	wrongSpeed = Drawback{
		Text:   "TRex sometimes takes the link for slower than it is, and then refuses loads above that: check that the speed in its answer is that of the bed",
		Source: "FDio/csit#4023",
	}
	countsInSoftware = Drawback{
		Text:   "TRex counts all received frames of the card with processors, so that its receive cores must keep up with the whole rate and not only with timed frames",
		Source: manual,
	}
	countsNothing = Drawback{
		Text:   "TRex has no counters per stream for the card, without which nothing is measured: use another card, or the software mode on its kernel driver",
		Source: "get_rx_stat_capabilities in src/drivers of cisco-system-traffic-generator/trex-core v3.08",
	}
)

// nics are all drivers that TRex v3.08 has for cards and virtual ones, except those for
// sockets and shared memory. The number of streams is the answer of the driver's source in
// get_rx_stat_capabilities (src/drivers, MAX_FLOW_STATS in src/trex_defs.h) with TRex's
// hardware filters, as it runs for DPDK here.
var nics = []NIC{
	{Driver: "net_ice", Models: "Intel E810, E822, E823", Counters: 127, Drawbacks: []Drawback{
		{"timed frames, and those counted per stream, did not come back from the card's filters: compare with the port's counters before a result is believed", "cisco-system-traffic-generator/trex-core#932, #882, FDio/csit#3996", "v3.07, which does not test it"},
		{"receive counters of the port ran backwards under load after some minutes", "cisco-system-traffic-generator/trex-core#1083", ""},
		{"v3.04 and v3.05 start and send nothing", "cisco-system-traffic-generator/trex-core#1110, #1136", ""},
		wrongSpeed,
	}},
	{Driver: "net_mlx5", Models: "NVIDIA ConnectX-4 to ConnectX-7, BlueField, and their virtual functions", Counters: 127, Drawbacks: []Drawback{
		{"counters of the port were wrong in v3.04 above some thousand frames/s", "cisco-system-traffic-generator/trex-core#1101, #1091, #1106", "v3.05"},
		{"timed frames are found by the type of service in their IP header: a device that changes it makes them disappear", "cisco-system-traffic-generator/trex-core#631", ""},
		{"frames of different VLANs are separated slowly, and bursts of many VLANs are dropped on receive", "TRex stateless manual, Bursts", ""},
	}},
	{Driver: "net_i40e", Models: "Intel X710, XL710, XXV710", Counters: 127, Drawbacks: []Drawback{
		{"with firmware 9.5 timed frames arrive as errors of the port and there is no latency, while others are counted correctly: keep an older firmware", "cisco-system-traffic-generator/trex-core#1222", ""},
		{"the card counts frames per stream and no bytes, which are not used", manual, ""},
	}},
	{Driver: "net_ixgbe", Models: "Intel 82599, X520, X540, X550", Counters: 127, Drawbacks: []Drawback{
		{"frames with a VLAN tag or IPv6 are not counted per stream on the 82599", manual, ""},
		wrongSpeed,
	}},
	{Driver: "net_e1000_igb", Models: "Intel I350, I210, 82576", Counters: 255},
	{Driver: "net_e1000_igb_vf", Models: "virtual functions of Intel 82576, I350", Drawbacks: []Drawback{
		{"TRex has no driver for these functions and ends when it starts: use the physical functions, or the engine xdp", "register_driver in src/drivers/trex_driver_base.cpp of cisco-system-traffic-generator/trex-core v3.08", ""},
	}},
	{Driver: "net_igc", Models: "Intel I225, I226", Drawbacks: []Drawback{countsNothing}},
	{Driver: "net_bnxt", Models: "Broadcom NetXtreme-E (BCM57xxx)", Drawbacks: []Drawback{countsNothing}},
	{Driver: "net_enic", Models: "Cisco VIC", Counters: 1023},
	{Driver: "net_ntacc", Models: "Napatech", Counters: 1023},
	{Driver: "net_iavf", Models: "virtual functions of Intel E810, X710, XL710, XXV710", Counters: 1023, Drawbacks: []Drawback{
		countsInSoftware,
		{"virtual functions of the E810 are not found by releases with a DPDK before 21.11", "cisco-system-traffic-generator/trex-core#840", ""},
	}},
	{Driver: "net_i40e_vf", Models: "virtual functions of Intel X710, XL710, before DPDK 21.11", Counters: 1023, Drawbacks: []Drawback{countsInSoftware}},
	{Driver: "net_ixgbe_vf", Models: "virtual functions of Intel 82599, X540, X550", Counters: 1023, Drawbacks: []Drawback{countsInSoftware}},
	{Driver: "net_virtio", Models: "virtio", Counters: 1023, Drawbacks: []Drawback{countsInSoftware}},
	{Driver: "net_vmxnet3", Models: "VMware VMXNET3", Counters: 1023, Drawbacks: []Drawback{countsInSoftware}},
	{Driver: "net_ena", Models: "Amazon ENA", Counters: 1023, Drawbacks: []Drawback{
		countsInSoftware,
		{"with timed frames the card sent little more than half of what it sent without", "cisco-system-traffic-generator/trex-core#530", ""},
	}},
	{Driver: softwareDriver, Models: "software mode, on any interface", Counters: 1023, Drawbacks: []Drawback{
		{"frames pass the kernel's packet sockets, at most some hundred thousand frames/s", onVeth, ""},
		{"TRex takes every link for one of 10 Gbit/s", onVeth, ""},
	}},
}

// InSoftware reports whether TRex's software mode uses a driver.
func InSoftware(driver string) bool { return strings.HasPrefix(driver, softwareDriver) }

// NICOf returns what is known of the cards of a DPDK driver, by the longest name in
// the table with which the driver's begins.
func NICOf(driver string) (NIC, bool) {
	known := slices.DeleteFunc(slices.Clone(nics), func(n NIC) bool { return !strings.HasPrefix(driver, n.Driver) })
	if len(known) == 0 {
		return NIC{}, false
	}
	return slices.MaxFunc(known, func(a, b NIC) int { return cmp.Compare(len(a.Driver), len(b.Driver)) }), true
}

// fewestCounters returns the number of streams that every card can count, leaving out cards
// that count none.
func fewestCounters() int {
	fewest := 0
	for _, n := range nics {
		if n.Counters > 0 && (fewest == 0 || n.Counters < fewest) {
			fewest = n.Counters
		}
	}
	return fewest
}

// Package cardcount knows the counters and the description of network cards, by driver.
package cardcount

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// CounterTable names the counters of a driver that explain frames which neither the
// device nor the receive program saw. A name is one of `ethtool -S`, in which * matches
// the number of a queue, or one of the kernel's link statistics, with the prefix "link.".
// Counters that a version of the driver does not have are ignored.
type CounterTable struct {
	// Source describes where the meaning of the counters is documented.
	Source string
	// Missed counts frames that arrived whole and were lost before the receive program: the
	// tester lost them.
	Missed []string
	// NotMissed counts frames that missed counts too, and that were not lost.
	NotMissed []string
	// Damaged counts frames that the card dropped because they arrived damaged.
	Damaged []string
	// Unsent counts frames that the driver accepted and the card did not send.
	Unsent []string
	// Sent counts the frames that the card sent, of all kinds together. It is empty where
	// the driver counts only what it gave to the card.
	Sent []string
	// PFC counts the received frames of priority-based flow control (PFC) of a priority. Its
	// number replaces the # in a name. Drivers show some of the counters only while PFC is on.
	PFC []string
	// Late is the longest time after which the counters contain an event.
	Late time.Duration
	// Blind describes the losses that the driver does not count; empty if it counts all.
	Blind string
}

// Counters that several drivers have under the same names.
var (
	// intelDamaged lists the counters of the MAC of Intel's 1G and 10G cards.
	intelDamaged = []string{"rx_crc_errors", "rx_align_errors", "rx_long_length_errors", "rx_short_length_errors"}
	// nicDamaged lists the counters of Intel's ice, which cover the whole port.
	nicDamaged = []string{"rx_crc_errors.nic", "illegal_bytes.nic", "rx_length_errors.nic", "rx_undersize.nic", "rx_fragments.nic", "rx_oversize.nic", "rx_jabber.nic"}
	// portDamaged lists the counters of Intel's i40e.
	portDamaged = []string{"port.rx_crc_errors", "port.illegal_bytes", "port.rx_length_errors", "port.rx_undersize", "port.rx_fragments", "port.rx_oversize", "port.rx_jabber"}
	byAddress   = []string{"tx_unicast", "tx_multicast", "tx_broadcast"}
)

const (
	// perSecond is the interval at which drivers refresh what the card or its firmware
	// counts.
	perSecond = 1200 * time.Millisecond
	// perWatchdog is the period of the watchdogs of Intel's virtual functions.
	perWatchdog = 2200 * time.Millisecond
	// vfBlind describes virtual functions, of which only the physical one counts losses.
	vfBlind = "a virtual function does not count the frames that it loses before the driver: they count as lost by the device"
)

// CounterTables has a table for each driver, by the name that ethtool -i shows.
var CounterTables = map[string]CounterTable{
	"mlx5_core": {
		Source: "kernel documentation, device_drivers/ethernet/mellanox/mlx5/counters.rst",
		Missed: []string{"rx_out_of_buffer", "rx_discards_phy", "rx_oversize_pkts_buffer", "rx_oversize_pkts_sw_drop", "rx_wqe_err", "rx_buff_alloc_err"},
		Damaged: []string{"rx_crc_errors_phy", "rx_in_range_len_errors_phy", "rx_out_of_range_len_phy", "rx_oversize_pkts_phy",
			"rx_undersize_pkts_phy", "rx_fragments_phy", "rx_jabbers_phy", "rx_symbol_err_phy"},
		// tx_xdp_full counts refused frames, which are sent again.
		Unsent: []string{"tx_discards_phy", "tx_errors_phy", "tx_queue_dropped", "tx_cqe_err", "tx_xdp_err"},
		// Those of the function, without the other functions of the port.
		Sent: []string{"tx_vport_unicast_packets", "tx_vport_multicast_packets", "tx_vport_broadcast_packets"},
		PFC:  []string{"rx_prio#_pause"},
		Late: perSecond,
	},
	"ice": {
		Source:  "drivers/net/ethernet/intel/ice/ice_ethtool.c; kernel documentation, device_drivers/ethernet/intel/ice.rst",
		Missed:  []string{"rx_dropped", "rx_dropped.nic"}, // no descriptor of the function; no room in the port's buffer
		Damaged: nicDamaged,
		Unsent:  []string{"tx_errors", "link.tx_dropped", "tx_dropped_link_down.nic"},
		Sent:    byAddress,
		PFC:     []string{"rx_priority_#_xon.nic", "rx_priority_#_xoff.nic"},
		Late:    perSecond, // the watchdog's link.tx_dropped
	},
	"i40e": {
		Source: "drivers/net/ethernet/intel/i40e/i40e_ethtool.c, i40e_main.c",
		// The port's counter has had two names. Without a descriptor of the function a frame
		// counts as rx_missed_errors, in older versions as rx_dropped.
		Missed:  []string{"rx_dropped", "rx_missed_errors", "port.rx_discards", "port.rx_dropped"},
		Damaged: portDamaged,
		Unsent:  []string{"tx_errors", "tx_dropped", "port.tx_dropped_link_down"},
		Sent:    byAddress,
		// The counters have had two names.
		PFC: []string{"port.rx_priority_#_xon", "port.rx_priority_#_xoff", "port.rx_priority_#_xon_rx", "port.rx_priority_#_xoff_rx"},
	},
	"iavf": {
		Source: "drivers/net/ethernet/intel/iavf/iavf_ethtool.c, iavf_virtchnl.c",
		Missed: []string{"rx_discards"},
		Unsent: []string{"tx_errors", "tx_discards"},
		Sent:   byAddress,
		Late:   perWatchdog, // asked from the physical function
	},
	"ixgbe": {
		Source:  "drivers/net/ethernet/intel/ixgbe/ixgbe_ethtool.c, ixgbe_main.c",
		Missed:  []string{"rx_missed_errors", "rx_no_dma_resources", "link.rx_dropped"},
		Damaged: append([]string{"rx_length_errors"}, intelDamaged...),
		Unsent:  []string{"tx_errors", "link.tx_dropped"},
		Sent:    []string{"tx_pkts_nic"},
		PFC:     []string{"rx_pb_#_pxon", "rx_pb_#_pxoff"},
	},
	"ixgbevf": {
		Source: "drivers/net/ethernet/intel/ixgbevf/ethtool.c",
		Missed: []string{"link.rx_dropped"},
		Unsent: []string{"link.tx_dropped"},
		Late:   perWatchdog,
		Blind:  vfBlind,
	},
	"igb": {
		Source: "drivers/net/ethernet/intel/igb/igb_main.c; 82576 datasheet, MPC, RQDPC and GPTC",
		// rx_no_buffer_count counts frames that waited in the card's buffer, not lost ones,
		// and rx_fifo_errors the sum of the first two.
		Missed:  []string{"rx_missed_errors", "rx_queue_*_drops", "link.rx_dropped"},
		Damaged: intelDamaged,
		Unsent:  []string{"tx_errors", "link.tx_dropped"},
		Sent:    []string{"tx_packets"}, // GPTC
	},
	"igbvf": {
		Source: "drivers/net/ethernet/intel/igbvf/ethtool.c, netdev.c; 82576 datasheet, VFGPTC",
		Missed: []string{"link.rx_dropped"},
		Unsent: []string{"link.tx_dropped"},
		Sent:   []string{"tx_packets"},
		Late:   perWatchdog,
		Blind:  vfBlind,
	},
	"e1000e": {
		Source:  "drivers/net/ethernet/intel/e1000e/netdev.c; 82574 datasheet, MPC and GPTC",
		Missed:  []string{"rx_missed_errors", "rx_dma_failed", "link.rx_dropped"},
		Damaged: intelDamaged,
		Unsent:  []string{"tx_errors", "tx_dma_failed", "link.tx_dropped"},
		Sent:    []string{"tx_packets"}, // GPTC
	},
	"ena": {
		Source: "kernel documentation, device_drivers/ethernet/amazon/ena.rst; EC2 user guide, metrics for the ENA driver",
		// The allowances count frames that the instance's network queued or dropped.
		Missed: []string{"link.rx_dropped", "link.rx_over_errors", "bw_in_allowance_exceeded", "pps_allowance_exceeded", "conntrack_allowance_exceeded"},
		Unsent: []string{"link.tx_dropped", "bw_out_allowance_exceeded"},
		Late:   perSecond, // link.rx_dropped comes with the device's keep-alive
	},
	"virtio_net": {
		Source: "drivers/net/virtio_net.c",
		// The driver counts each frame that an XDP program drops, as the receive program
		// does with every test frame, among its drops. The names of its queues have changed.
		Missed:    []string{"link.rx_dropped", "link.rx_length_errors", "rx*_hw_drops"},
		NotMissed: []string{"rx_queue_*_xdp_drops", "rx*_xdp_drops"},
		Unsent:    []string{"link.tx_dropped", "tx*_hw_drops"},
		Blind:     "frames that find the ring of the virtual card full are counted by the hypervisor only: they count as lost by the device",
	},
	"vmxnet3": {
		Source: "drivers/net/vmxnet3/vmxnet3_ethtool.c",
		// All queues have counters of the same names, of which one is seen.
		Missed:    []string{"link.rx_dropped", "  pkts rx OOB"},
		NotMissed: []string{"     err"}, // damaged frames, which the driver counts as dropped too
		Damaged:   []string{"link.rx_errors"},
		Unsent:    []string{"link.tx_dropped", "link.tx_errors", "  pkts tx discard"},
		Sent:      []string{"link.tx_packets"},
	},
}

// linkTable is for drivers without a table: the kernel's own counters, as far as all
// drivers mean the same by them.
var linkTable = CounterTable{
	Source:  "kernel documentation, networking/statistics.rst",
	Missed:  []string{"link.rx_dropped", "link.rx_missed_errors", "link.rx_fifo_errors"},
	Damaged: []string{"link.rx_crc_errors", "link.rx_length_errors", "link.rx_frame_errors"},
	Unsent:  []string{"link.tx_dropped"},
}

// TableOf returns the table of a driver, and whether the driver has one of its own.
func TableOf(driver string) (CounterTable, bool) {
	t, known := CounterTables[driver]
	if !known {
		t = linkTable
	}
	return t, known
}

// Names returns all counters of the table.
func (t CounterTable) Names() []string {
	names := slices.Concat(t.Missed, t.NotMissed, t.Damaged, t.Unsent, t.Sent)
	for priority := range traffic.Priorities {
		names = append(names, t.PFCOf(priority)...)
	}
	return names
}

// PFCOf returns the counters of received frames of PFC for a priority.
func (t CounterTable) PFCOf(priority int) []string {
	var names []string
	for _, pattern := range t.PFC {
		names = append(names, strings.ReplaceAll(pattern, "#", strconv.Itoa(priority)))
	}
	return names
}

// Matches reports whether a counter has a name of a table.
func Matches(pattern, name string) bool {
	before, after, queues := strings.Cut(pattern, "*")
	if !queues {
		return pattern == name
	}
	number, begins := strings.CutPrefix(name, before)
	number, ends := strings.CutSuffix(number, after)
	if !begins || !ends || number == "" {
		return false
	}
	return strings.Trim(number, "0123456789") == ""
}

package netif

import (
	"fmt"
	"strings"

	"nodrop.dev/nodrop/internal/base/netif/sysfs"
)

// Steer lets a processor take in what an interface of the calling thread's network
// namespace receives in its first queue (receive packet steering, RPS). The processor that
// polls the interface, of a veth that of the sender, only makes packets of the frames; the
// soft interrupts of the other one route or bridge them, and transmit them. Between the
// two is a queue of net.core.netdev_max_backlog packets. The kernel counts those that
// find it full in the interface's rx_dropped. It ends with the interface.
//
// It needs CAP_SYS_ADMIN and CAP_NET_ADMIN.
func Steer(iface string, processor int) error {
	if err := sysfs.Write(SteeringFile(iface), mask(processor)); err != nil {
		return fmt.Errorf("steering what %s receives to processor %d: %w", iface, processor, err)
	}
	return nil
}

// SteeringFile is the file below /sys with the processors that take in what an interface
// receives, as a mask.
func SteeringFile(iface string) string { return "class/net/" + iface + "/queues/rx-0/rps_cpus" }

// mask is a set of one processor as the kernel reads it: hexadecimal words of 32 bits,
// the highest first.
func mask(processor int) string {
	return fmt.Sprintf("%x", uint32(1)<<(processor%32)) + strings.Repeat(",00000000", processor/32)
}

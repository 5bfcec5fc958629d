package dut

import (
	"fmt"
	"math"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/netif"
)

// burstBytes is the number of bytes that a queue may send at once: the largest frame, and enough for the time
// that a timer takes.
const burstBytes = 16_384

// queue gives the device's interface of a port the queue that the bed describes. Frames are counted one by
// one: the device does not join segments that it receives, unless it has no such queue.
func queue(h *netlink.Handle, p v1alpha1.Port, ports []v1alpha1.Port) error {
	q := p.DeviceQueue
	if q == nil {
		return nil
	}
	rate, err := q.Rate.BitsPerSecond()
	if err != nil {
		return fmt.Errorf("port %s: deviceQueue.rate: %w", p.Name, err)
	}
	link, err := h.LinkByName(p.Name)
	if err != nil {
		return fmt.Errorf("looking for interface %s: %w", p.Name, err)
	}
	tbf := &netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		Rate:       uint64(rate / 8), Limit: uint32(min(q.BufferBytes, math.MaxUint32)),
	}
	tbf.Buffer = netlink.Xmittime(tbf.Rate, burstBytes)
	if err := h.QdiscAdd(tbf); err != nil {
		return fmt.Errorf("giving the device's interface %s a queue of %d bytes: %w", p.Name, q.BufferBytes, err)
	}
	for _, other := range ports {
		link, err := h.LinkByName(other.Name)
		if err == nil {
			err = h.LinkSetGROMaxSize(link, 1) // GRO stays on: without it a veth has no polling
		}
		if err != nil {
			return fmt.Errorf("keeping the device's interface %s from joining segments: %w", other.Name, err)
		}
	}
	return nil
}

// Dropped returns the number of packets that the queue of the device towards a port has dropped, and whether
// the bed describes such a queue.
func (n *Netns) Dropped(port string) (packets uint64, known bool, err error) {
	described := false
	for _, p := range n.ports {
		described = described || p.Name == port && p.DeviceQueue != nil
	}
	if !described || !n.device.IsOpen() {
		return 0, false, nil
	}
	h, err := netlink.NewHandleAt(n.device, unix.NETLINK_ROUTE)
	if err != nil {
		return 0, false, fmt.Errorf("talking to the device: %w", err)
	}
	defer h.Close()
	link, err := h.LinkByName(port)
	if err != nil {
		return 0, false, fmt.Errorf("looking for the device's interface %s: %w", port, err)
	}
	all, err := netif.Whole(func() ([]netlink.Qdisc, error) { return h.QdiscList(link) })
	if err != nil {
		return 0, false, fmt.Errorf("reading the queue of the device's interface %s: %w", port, err)
	}
	for _, q := range all {
		if s := q.Attrs().Statistics; q.Type() == "tbf" && s != nil && s.Queue != nil {
			return uint64(s.Queue.Drops), true, nil
		}
	}
	return 0, false, fmt.Errorf("the device's interface %s has lost its queue", port)
}

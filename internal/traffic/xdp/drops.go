package xdp

import (
	"fmt"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic"
)

// losses are frames that were lost at the two ends of a port's link since the links
// were made.
type losses struct {
	// tester counts those that the port received and lost before the receive program.
	tester uint64
	// device counts those that the other end of a veth received and dropped, for want of
	// room in its ring or in the queue of the processor that takes them.
	device uint64
	// card has the counters of the driver's table; nil for a veth.
	card counterValues
}

// losses reads the counters of both ends.
func (k *cardCounters) losses(handle *netlink.Handle) (losses, error) {
	l, err := handle.LinkByIndex(k.index)
	if err != nil {
		return losses{}, fmt.Errorf("reading the counters of %s: %w", k.Interface, err)
	}
	attrs := l.Attrs()
	if k.driver == "veth" {
		// A frame that finds the ring full is not sent by the other end, which may be
		// in the namespace of a device. At the veth itself the kernel counts only those
		// that the other end redirected by XDP.
		s, err := statistics(attrs.ParentIndex, attrs.NetNsID)
		if slices.Contains(hidden, err) {
			k.noteHidden(err)
			return losses{}, nil
		}
		if err != nil {
			return losses{}, fmt.Errorf("reading the counters of the other end of %s: %w", k.Interface, err)
		}
		return losses{tester: s.TxDropped, device: s.RxDropped}, nil
	}
	card, err := k.read(l)
	return losses{card: card}, err
}

// hidden are the errors of a kernel that shows no counters of the other namespace,
// which takes CAP_NET_ADMIN there.
var hidden = []error{unix.EPERM, unix.EACCES, unix.EINVAL, unix.EOPNOTSUPP}

// noteHidden notes once that the engine cannot see when the port's ring is full.
func (k *cardCounters) noteHidden(err error) {
	k.note(fmt.Sprintf("frames that find the ring of %s full count as lost by the device: the counters of its other end cannot be read (%v)", k.Interface, err))
}

// cabledTo is the engine's port at the other end of a port's veth, or nil.
func (all ports) cabledTo(handle *netlink.Handle, p *port) (*port, error) {
	l, err := handle.LinkByIndex(p.index)
	if err != nil {
		return nil, fmt.Errorf("looking up %s: %w", p.Interface, err)
	}
	if p.driver != "veth" || l.Attrs().NetNsID >= 0 { // in another namespace
		return nil, nil
	}
	i := slices.IndexFunc(all, func(o *port) bool { return o.index == l.Attrs().ParentIndex })
	if i < 0 {
		return nil, nil
	}
	return all[i], nil
}

// addLosses adds the frames that were lost at the two ends of a port between two readings to a
// measurement. What a port of the engine was refused, it sent again.
func (t *trial) addLosses(m *traffic.Measurement, all ports, handle *netlink.Handle, p *port, before, now losses) error {
	if now.card != nil {
		p.counters.addCard(m, p.send.sentIn(m)+answeredAt(m, p.Name), before.card, now.card, t.rejected(p))
		return nil
	}
	sender, err := all.cabledTo(handle, p)
	if err != nil {
		return err
	}
	lost := now.tester - before.tester
	if sender != nil {
		lost -= min(lost, t.refused(sender))
	}
	if lost > 0 {
		traffic.Put(&m.Dropped, p.Name, lost)
	}
	if sender != nil {
		return nil // there is no device
	}
	dropped := now.device - before.device
	if dropped -= min(dropped, t.refused(p)); dropped > 0 {
		m.Notes = append(m.Notes, traffic.Note{Kind: traffic.NoteDeviceDropped, Text: fmt.Sprintf(
			"the device's interface at %s counted %s frames that it received and dropped", p.Name, traffic.Grouped(dropped))})
	}
	return nil
}

// refused returns the number of frames of a port that its device refused in the trial.
func (t *trial) refused(p *port) (n uint64) {
	for _, s := range t.senders {
		for _, l := range s.lanes {
			if l.port == p {
				n += l.tx.Refused
			}
		}
	}
	return n
}

// rejected returns how often the driver rejected a frame of the port in the trial. The
// kernel counts each as dropped, and the engine sends it again.
func (t *trial) rejected(p *port) (n uint64) {
	for _, s := range t.senders {
		for _, l := range s.lanes {
			if packet, is := l.user.(*packetSender); is && l.port == p {
				n += packet.rejected
			}
		}
	}
	return n + t.refused(p)
}

// farEnd reads an interface by its index in the namespace that has a number here, which is negative for this one.
func farEnd(index, namespace int) (netlink.Link, error) {
	request := nl.NewNetlinkRequest(unix.RTM_GETLINK, 0)
	about := nl.NewIfInfomsg(unix.AF_UNSPEC)
	about.Index = int32(index)
	request.AddData(about)
	if namespace >= 0 {
		request.AddData(nl.NewRtAttr(unix.IFLA_TARGET_NETNSID, nl.Uint32Attr(uint32(namespace))))
	}
	messages, err := request.Execute(unix.NETLINK_ROUTE, 0)
	if err != nil {
		return nil, err
	}
	if len(messages) != 1 {
		return nil, fmt.Errorf("%d answers", len(messages))
	}
	return netlink.LinkDeserialize(nil, messages[0])
}

// statistics are the counters of an interface. It is in the namespace that has this
// number in the present one, or in the present one if that is below 0.
func statistics(index, namespace int) (netlink.LinkStatistics, error) {
	l, err := farEnd(index, namespace)
	if err != nil || l.Attrs().Statistics == nil {
		return netlink.LinkStatistics{}, err
	}
	return *l.Attrs().Statistics, nil
}

// checkFarEnd returns an error if the other end of a veth is too small for frames: the kernel would neither send nor count
// them. It runs in the namespace of the ports.
func (n *netdev) checkFarEnd(streams []traffic.Stream) error {
	if n.driver != "veth" || len(streams) == 0 {
		return nil
	}
	l, err := netlink.LinkByIndex(n.index)
	if err != nil {
		return fmt.Errorf("looking up %s: %w", n.Interface, err)
	}
	far, err := farEnd(l.Attrs().ParentIndex, l.Attrs().NetNsID)
	if err != nil {
		return nil // It cannot be read, as its counters.
	}
	const beyond = 14 + 4 + 4 // Ethernet header, a tag, and the FCS.
	for _, s := range streams {
		if most := far.Attrs().MTU + beyond; s.FrameSize > most {
			return fmt.Errorf("frames of %d bytes: the other end of %s takes at most %d bytes: raise its MTU at the device, now %d", s.FrameSize, n.Interface, most, far.Attrs().MTU)
		}
	}
	return nil
}

package xdp

import (
	"fmt"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic"
)

// drops are frames that the port received and lost before the receive program.
func (p *port) drops(handle *netlink.Handle) (uint64, error) {
	l, err := handle.LinkByIndex(p.index)
	if err != nil {
		return 0, fmt.Errorf("reading the counters of %s: %w", p.Interface, err)
	}
	attrs := l.Attrs()
	if p.driver == "veth" {
		// A frame that finds the ring full is not sent by the other end, which may be
		// in the namespace of a device. At the veth itself the kernel counts only those
		// that the other end redirected by XDP.
		n, err := txDropped(attrs.ParentIndex, attrs.NetNsID)
		if slices.Contains(hidden, err) {
			p.noteHidden(err)
			return 0, nil
		}
		if err != nil {
			return 0, fmt.Errorf("reading the counters of the other end of %s: %w", p.Interface, err)
		}
		return n, nil
	}
	s := attrs.Statistics
	if s == nil {
		return 0, nil
	}
	return s.RxDropped + s.RxMissedErrors + s.RxFifoErrors, nil
}

// hidden are the errors of a kernel that shows no counters of the other namespace,
// which takes CAP_NET_ADMIN there.
var hidden = []error{unix.EPERM, unix.EACCES, unix.EINVAL, unix.EOPNOTSUPP}

// noteHidden notes once that the engine cannot see when the port's ring is full.
func (p *port) noteHidden(err error) {
	note := fmt.Sprintf("frames that find the ring of %s full count as lost by the device: the counters of its other end cannot be read (%v)", p.Interface, err)
	if !slices.Contains(p.notes, note) {
		p.notes = append(p.notes, note)
	}
}

// cabledTo is the engine's port at the other end of a veth, or nil.
func (p *port) cabledTo(handle *netlink.Handle) (*port, error) {
	l, err := handle.LinkByIndex(p.index)
	if err != nil {
		return nil, fmt.Errorf("looking up %s: %w", p.Interface, err)
	}
	if p.driver != "veth" || l.Attrs().NetNsID >= 0 { // in another namespace
		return nil, nil
	}
	i := slices.IndexFunc(p.engine.ports, func(o *port) bool { return o.index == l.Attrs().ParentIndex })
	if i < 0 {
		return nil, nil
	}
	return p.engine.ports[i], nil
}

// addDrops adds the frames that were lost at the port since there were so many, to
// a measurement. What a port of the engine was refused, it sent again.
func (p *port) addDrops(m *traffic.Measurement, handle *netlink.Handle, before uint64) error {
	n, err := p.drops(handle)
	if err != nil {
		return err
	}
	sender, err := p.cabledTo(handle)
	if err != nil {
		return err
	}
	lost := n - before
	if sender != nil {
		lost -= min(lost, p.engine.trial.refused(sender))
	}
	if lost > 0 {
		traffic.Put(&m.Dropped, p.Name, lost)
	}
	return nil
}

// refused is how many frames of a port its device refused in the trial.
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

// txDropped is how many frames an interface could not send. It is in the namespace
// that has this number in the present one, or in the present one if that is below 0.
func txDropped(index, namespace int) (uint64, error) {
	request := nl.NewNetlinkRequest(unix.RTM_GETLINK, 0)
	about := nl.NewIfInfomsg(unix.AF_UNSPEC)
	about.Index = int32(index)
	request.AddData(about)
	if namespace >= 0 {
		request.AddData(nl.NewRtAttr(unix.IFLA_TARGET_NETNSID, nl.Uint32Attr(uint32(namespace))))
	}
	messages, err := request.Execute(unix.NETLINK_ROUTE, 0)
	if err != nil {
		return 0, err
	}
	if len(messages) != 1 {
		return 0, fmt.Errorf("%d answers", len(messages))
	}
	l, err := netlink.LinkDeserialize(nil, messages[0])
	if err != nil || l.Attrs().Statistics == nil {
		return 0, err
	}
	return l.Attrs().Statistics.TxDropped, nil
}

package xdp

import (
	"errors"
	"fmt"
	"math/bits"
	"sync/atomic"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
	"nodrop.dev/nodrop/internal/traffic/xdp/xsk"
)

// Transmit names a transmit path.
type Transmit string

// The transmit paths. Without one a port sends live frames where it can, and through a
// packet socket elsewhere.
const (
	// LiveFrames are written by the transmit program and sent by the kernel.
	LiveFrames Transmit = "LiveFrames"
	// AFXDP are frames that user space writes and the driver sends, with zero copy where
	// the driver has it, through an AF_XDP socket.
	AFXDP Transmit = "AFXDP"
	// PacketSocket are frames that user space writes and the kernel copies.
	PacketSocket Transmit = "PacketSocket"
)

// maxAFXDPFrame is the longest frame without FCS that an AF_XDP socket sends: the largest
// chunk is a page.
const maxAFXDPFrame = 4096

func (t Transmit) check() error {
	switch t {
	case "", LiveFrames, AFXDP, PacketSocket:
		return nil
	}
	return fmt.Errorf("transmit is %q: allowed are %s, %s and %s, or none, which sends live frames where the port can", t, LiveFrames, AFXDP, PacketSocket)
}

// transmitter sends the streams of a port: it has the CPUs of the senders and the transmit path.
type transmitter struct {
	*netdev
	// streams are the configured streams by slot, and bodies the bodies of the streams of
	// all ports.
	streams []traffic.Stream
	bodies  kernel.Bodies
	// near contains the CPUs on the NUMA node of the card; it is empty where all CPUs are
	// alike. cpus contains the CPUs of the port's senders, at least one.
	near, cpus []int
	// fallback is the reason why the port sends through a packet socket; empty if it sends
	// by XDP. The sender's thread may set it in the middle of a trial.
	fallback atomic.Pointer[string]
	// sockets are the port's AF_XDP sockets by queue. noZeroCopy is the reason why the last
	// one that was opened copies frames.
	sockets    map[int]*xsk.Socket
	noZeroCopy error
}

// choose decides how the port sends.
func (t *transmitter) choose() error {
	why := ""
	switch t.Transmit {
	case PacketSocket:
		why = "transmit is PacketSocket"
	case AFXDP:
		if longest := t.longest(); longest > maxAFXDPFrame {
			return t.cannot(fmt.Errorf("a frame of %d bytes does not fit into its largest buffer", longest+4),
				fmt.Sprintf("send frames of at most %d bytes, or leave transmit out", maxAFXDPFrame+4))
		}
	default:
		var err error
		if why, err = t.noLiveFrames(); err != nil {
			return fmt.Errorf("port %s (%s): %w", t.Name, t.Interface, err)
		}
		if why != "" && t.Transmit == LiveFrames && len(t.streams) > 0 {
			return t.cannot(errors.New(why), "leave transmit out, so that the engine uses a packet socket, or give AFXDP")
		}
	}
	t.fallback.Store(&why)
	return nil
}

// noLiveFrames returns the reason why the port cannot send live frames; empty if it can.
func (t *transmitter) noLiveFrames() (string, error) {
	if longest := t.longest(); longest > maxLiveFrame {
		return fmt.Sprintf("frames above %d bytes do not fit into the kernel's buffer for live frames", maxLiveFrame+4), nil
	}
	takes, err := takesFrames(t.index)
	if err != nil || takes {
		return "", err
	}
	return t.refused(), nil
}

// cannot returns the error that a port cannot send as transmit demands.
func (t *transmitter) cannot(why error, remedy string) error {
	return fmt.Errorf("port %s (%s, driver %s) cannot send by transmit %s: %w: %s", t.Name, t.Interface, t.driver, t.Transmit, why, remedy)
}

// chooseSender lets user space send the frames of the lane where the port does not send
// live frames.
func (l *lane) chooseSender() error {
	if l.port.Transmit == AFXDP {
		socket, err := l.port.send.socket(l.share)
		if err != nil {
			return err
		}
		l.tx.User = 1
		l.user = newAFXDPSender(l, socket)
		return nil
	}
	if why := *l.port.send.fallback.Load(); why != "" {
		return l.fallBack(why)
	}
	return nil
}

// socket returns the port's AF_XDP socket for a share of its streams. Each share has a queue
// of its own: a socket has one sender. It stays open until the port is
// closed, or needs larger buffers: with zero copy a driver stops the queue for a moment
// when a socket is opened.
func (t *transmitter) socket(share int) (*xsk.Socket, error) {
	channels, received := t.queues()
	queue, chunk := (t.cpus[0]+share)%channels, 2048
	if longest := max(t.longest(), t.mtu+18+256); longest > chunk {
		chunk = maxAFXDPFrame
	}
	if s := t.sockets[queue]; s != nil {
		if s.Idle() && s.Chunk >= chunk {
			return s, nil
		}
		delete(t.sockets, queue)
		if err := s.Close(); err != nil {
			return nil, err
		}
	}
	o := xsk.Options{Ifindex: t.index, Queue: queue, Chunk: chunk, Received: received, ZeroCopy: true}
	s, err := xsk.Open(o)
	noZeroCopy := err
	if err != nil {
		o.ZeroCopy, o.Received = false, 0
		s, err = xsk.Open(o)
	}
	if err != nil {
		return nil, t.cannot(err, remedyXSK(err))
	}
	if t.sockets == nil {
		t.sockets = map[int]*xsk.Socket{}
	}
	t.sockets[queue], t.noZeroCopy = s, noZeroCopy
	return s, nil
}

// remedyXSK returns what helps against an error from opening an AF_XDP socket.
func remedyXSK(err error) string {
	switch {
	case errors.Is(err, unix.EAFNOSUPPORT):
		return "use a kernel with CONFIG_XDP_SOCKETS, or leave transmit out"
	case errors.Is(err, unix.ENOBUFS):
		return "give the process CAP_IPC_LOCK or a RLIMIT_MEMLOCK of 16 MiB, or leave transmit out"
	case errors.Is(err, unix.EBUSY):
		return "close the other AF_XDP socket on this queue, or leave transmit out"
	case errors.Is(err, unix.EPERM):
		return "give the process CAP_NET_RAW, or leave transmit out"
	}
	return "leave transmit out, so that the engine sends live frames or uses a packet socket"
}

// queues returns the number of the port's queues that can send and receive, at least 1,
// and the number of buffers that a queue needs for received frames: twice its ring.
func (t *transmitter) queues() (channels, received int) {
	channels, received = 1, 1024
	e, err := ethtool.NewEthtool()
	if err != nil {
		return channels, received
	}
	defer e.Close()
	if c, err := e.GetChannels(t.Interface); err == nil {
		channels = max(1, int(c.CombinedCount+min(c.RxCount, c.TxCount)))
	}
	if r, err := e.GetRing(t.Interface); err == nil && r.RxPending > 0 {
		received = 2 << bits.Len(uint(r.RxPending-1))
	}
	return channels, received
}

// closeSockets gives the queues back.
func (t *transmitter) closeSockets() error {
	var errs []error
	for _, s := range t.sockets {
		errs = append(errs, s.Close())
	}
	t.sockets = nil
	return errors.Join(errs...)
}

// userPath describes how user space sends the frames of the port, in a sentence and in a
// list of ports; both are empty where the port sends live frames.
func (t *transmitter) userPath() (way, short string) {
	if t.Transmit == AFXDP {
		for _, s := range t.sockets {
			if s.ZeroCopy {
				return "through an AF_XDP socket with zero copy", "an AF_XDP socket with zero copy"
			}
			return fmt.Sprintf("through an AF_XDP socket that copies them, which is slower, because the driver %s refused zero copy: %v", t.driver, t.noZeroCopy), "an AF_XDP socket that copies"
		}
		return "through an AF_XDP socket", "an AF_XDP socket"
	}
	if why := *t.fallback.Load(); why != "" {
		return throughPacketSocket(why), "a packet socket"
	}
	return "", ""
}

// openSockets opens the AF_XDP sockets of a port that sends through some, so that a driver
// stops the queues for them before the trials, and not in one.
func (t *transmitter) openSockets() error {
	if t.Transmit != AFXDP || len(t.streams) == 0 {
		return nil
	}
	if err := t.choose(); err != nil {
		return err
	}
	for share := range t.cpus {
		if _, err := t.socket(share); err != nil {
			return err
		}
	}
	return nil
}

// Of the kernel's generic netlink family "netdev" (linux/netdev.h).
const (
	netdevFamily      = "netdev"
	netdevDevGet      = 1
	netdevIfindex     = 1
	netdevXDPFeatures = 3
	netdevTakesFrames = 1 << 2 // NETDEV_XDP_ACT_NDO_XMIT
)

// takesFrames reports whether an interface takes XDP frames at the moment. That
// changes: a veth does while its peer has an XDP program or GRO. Kernels before
// 6.3 cannot be asked; there it is tried.
func takesFrames(index int) (bool, error) {
	family, err := netif.Generic(netdevFamily)
	if errors.Is(err, unix.ENOENT) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	replies, err := family.Ask(netdevDevGet, nl.NewRtAttr(netdevIfindex, nl.Uint32Attr(uint32(index))))
	if err != nil {
		return false, fmt.Errorf("asking for the interface's XDP features: %w", err)
	}
	for _, reply := range replies {
		attributes, err := nl.ParseRouteAttr(reply)
		if err != nil {
			return false, fmt.Errorf("reading the interface's XDP features: %w", err)
		}
		for _, a := range attributes {
			if a.Attr.Type&nl.NLA_TYPE_MASK == netdevXDPFeatures && len(a.Value) == 8 {
				return nl.NativeEndian().Uint64(a.Value)&netdevTakesFrames != 0, nil
			}
		}
	}
	return false, errors.New("the kernel did not tell the interface's XDP features")
}

// refused returns the reason why a device takes no XDP frames.
func (t *transmitter) refused() string {
	if t.driver == "veth" {
		return "a veth takes XDP frames only while its other end has an XDP program or GRO (ethtool -K PEER gro on)"
	}
	return fmt.Sprintf("the driver %s does not send XDP frames", t.driver)
}

// longest is the length of the longest frame sent, without FCS.
func (t *transmitter) longest() int {
	n := 0
	for _, s := range t.streams {
		n = max(n, s.FrameSize-4)
	}
	return n
}

// checkTx returns an error if the port cannot send a stream.
func (t *transmitter) checkTx(s traffic.Stream) error {
	if s.Headers.DstMAC == (traffic.MAC{}) {
		return fmt.Errorf("stream %d has no destination MAC: resolve its gateway first", s.ID)
	}
	if most := t.mtu + 18; s.FrameSize > most {
		return fmt.Errorf("stream %d: frame size %d is above the %d bytes that port %s can send: raise the MTU of %s, now %d", s.ID, s.FrameSize, most, t.Name, t.Interface, t.mtu)
	}
	_, err := kernel.NewTxStream(s, 0, 0, nil)
	return err
}

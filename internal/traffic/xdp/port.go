package xdp

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/hypervisor"
	"nodrop.dev/nodrop/internal/netif/card"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/cardcount"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
	"nodrop.dev/nodrop/internal/traffic/xdp/xsk"
)

// port is an interface that the engine owns.
type port struct {
	Port
	engine *Engine
	index  int
	mac    traffic.MAC
	mtu    int
	driver string
	// card has the settings of the interface that the engine changes.
	card     *card.Held
	attached link.Link
	programs *kernel.Programs
	// notes for the report.
	notes []string
	// undo gives back what open changed, in reverse order.
	undo []func() error

	// tx and rx are the configured streams by slot and by flow.
	tx []traffic.Stream
	rx []traffic.Stream
	// counted frames of the last trial when it was read, and stragglers that arrived
	// after that.
	counted, stragglers uint64
	// member is the port as a member of groups; nil while it never was.
	member *member
	// promiscuous is the socket that makes the port hear all addresses; 0 for none.
	promiscuous int
	// filtersVLANs means that the NIC drops frames of the port's VLAN unless it is
	// promiscuous.
	filtersVLANs bool
	// emulated names the emulator of the card; empty where the card shows none.
	emulated string
	// generic describes how the port receives by generic XDP; empty where the driver runs
	// the program.
	generic string
	// near contains the CPUs on the NUMA node of the card; it is empty where all CPUs are
	// alike. cpus contains the CPUs of the port's senders, at least one.
	near, cpus []int
	// obeysPause means that the interface uses pause frames as it did before.
	obeysPause bool
	// fallback is the reason why the port sends through a packet socket; empty if it sends
	// by XDP. The sender's thread may set it in the middle of a trial.
	fallback atomic.Pointer[string]
	// sockets are the port's AF_XDP sockets by queue. noZeroCopy is the reason why the last
	// one that was opened copies frames.
	sockets    map[int]*xsk.Socket
	noZeroCopy error
}

// open takes the interface: it sets it up and attaches the receive program.
// It runs in the namespace of the ports.
func (p *port) open(nl *netlink.Handle) error {
	l, err := nl.LinkByName(p.Interface)
	if err != nil {
		return fmt.Errorf("looking up the interface: %w", err)
	}
	attrs := l.Attrs()
	p.index, p.mtu = attrs.Index, attrs.MTU
	if len(attrs.HardwareAddr) != len(p.mac) {
		return errors.New("the interface has no Ethernet address")
	}
	copy(p.mac[:], attrs.HardwareAddr)
	if card.InUse(l) {
		return p.inUse(unix.EBUSY)
	}
	if p.card, err = card.Hold(p.Interface); err != nil {
		return err
	}
	p.undo = append(p.undo, p.card.Restore)
	if err := p.setUp(nl, l); err != nil {
		return err
	}
	address, err := p.engine.card.BusInfo(p.Interface)
	if err != nil {
		return fmt.Errorf("asking for the card's address: %w", err)
	}
	if p.emulated, err = hypervisor.Emulated(os.DirFS("/"), address); err != nil {
		return err
	}
	if p.near, err = nearCPUs("/", address); err != nil {
		return err
	}
	if t, _ := cardcount.TableOf(p.driver); t.Blind != "" {
		p.notes = append(p.notes, t.Blind)
	}
	p.programs, err = p.load(kernel.Room{Ports: p.lanes()}.Rounded(), true)
	if err != nil {
		return err
	}
	p.undo = append(p.undo, func() error { return p.programs.Close() })
	if err := p.attach(); err != nil {
		return err
	}
	p.undo = append(p.undo, func() error { return p.attached.Close() })
	if err := p.steer(); err != nil {
		return err
	}
	return p.enterVLAN()
}

// load loads programs for the port.
func (p *port) load(room kernel.Room, frags bool) (*kernel.Programs, error) {
	return kernel.Load(p.index, uint32(p.engine.netns.Inode), room, frags, p.engine.options.Capture, p.engine.holes)
}

// attach attaches the receive program in the driver, as one that takes frames in several
// buffers where the driver allows it, or else in front of the kernel's stack.
func (p *port) attach() error {
	var first error
	for _, way := range []struct {
		frags bool
		flags link.XDPAttachFlags
	}{
		{frags: true, flags: link.XDPDriverMode},
		{flags: link.XDPDriverMode},
		{flags: link.XDPGenericMode},
	} {
		if p.programs.Frags != way.frags {
			if err := p.reload(way.frags); err != nil {
				return err
			}
		}
		l, err := link.AttachXDP(link.XDPOptions{Program: p.programs.Port, Interface: p.index, Flags: way.flags})
		if err == nil {
			p.attached = l
			if way.flags == link.XDPGenericMode {
				p.generic = byGenericXDP(p.driver, first)
				p.notes = append(p.notes, "frames are received "+p.generic)
			}
			return nil
		}
		if errors.Is(err, unix.EBUSY) || errors.Is(err, unix.EEXIST) {
			return p.inUse(err)
		}
		if first == nil {
			first = err
		}
	}
	return fmt.Errorf("attaching the receive program: %w", first)
}

// inUse is the error that another program is on the interface.
func (p *port) inUse(err error) error {
	return fmt.Errorf("the interface has an XDP program already: close the other engine or process that uses it, or detach the program by `ip link set dev %s xdp off`: %w", p.Interface, err)
}

// reload puts programs that take frames in several buffers, or do not, in place of those
// that are attached nowhere.
func (p *port) reload(frags bool) error {
	other, err := p.load(p.programs.Room, frags)
	if err != nil {
		return err
	}
	old := p.programs
	p.programs = other
	return old.Close()
}

// close gives everything back.
func (p *port) close() error {
	var errs []error
	errs = append(errs, p.hearOwn(), p.leaveAll(), p.closeSockets())
	for i := len(p.undo) - 1; i >= 0; i-- {
		errs = append(errs, p.undo[i]())
	}
	p.undo = nil
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("port %s (%s): %w", p.Name, p.Interface, err)
	}
	return nil
}

// configure prepares the port for the streams that it sends and receives, and for
// sending a number of streams of all ports.
func (p *port) configure(tx, rx []traffic.Stream, sending int) error {
	if err := p.hear(rx); err != nil {
		return err
	}
	if err := p.usePause(tx); err != nil {
		return err
	}
	p.tx, p.rx = tx, rx
	p.counted, p.stragglers = 0, 0
	if err := p.makeRoom(kernel.Room{Streams: sending + kernel.OwnLines*p.lanes(), Flows: len(rx)}); err != nil {
		return err
	}
	if err := p.useStreams(); err != nil {
		return err
	}
	if err := p.expect(traffic.Trial{}); err != nil {
		return err
	}
	return p.clear(0)
}

// useStreams tells the programs which streams there are.
func (p *port) useStreams() error {
	clear(p.programs.Index)
	for i, s := range p.rx {
		p.programs.Index[s.ID] = uint64(i) + 1
	}
	return p.programs.Use(p.engine.bodies)
}

// makeRoom loads programs with more room, if that is needed, and puts them in place
// of the present ones.
func (p *port) makeRoom(want kernel.Room) error {
	if p.programs.Room.Fits(want) {
		return nil
	}
	bigger, err := p.load(p.programs.Room.With(want.Rounded()), p.programs.Frags)
	if err != nil {
		return err
	}
	if err := p.attached.Update(bigger.Port); err != nil {
		bigger.Close()
		return fmt.Errorf("replacing the receive program: %w", err)
	}
	old := p.programs
	p.programs = bigger
	return errors.Join(p.useStreams(), old.Close())
}

// portsMost is PORTS_MAX: the highest number of ports of one sender.
const portsMost = 64

// lanes returns the highest number of lanes of all senders that run the programs of this
// port.
func (p *port) lanes() (n int) {
	for _, c := range p.engine.options.Ports {
		n += max(1, c.Senders)
	}
	return n
}

// refused returns the reason why a device takes no XDP frames.
func refused(p *port) string {
	if p.driver == "veth" {
		return "a veth takes XDP frames only while its other end has an XDP program or GRO (ethtool -K PEER gro on)"
	}
	return fmt.Sprintf("the driver %s does not send XDP frames", p.driver)
}

// longest is the length of the longest frame sent, without FCS.
func (p *port) longest() int {
	n := 0
	for _, s := range p.tx {
		n = max(n, s.FrameSize-4)
	}
	return n
}

// checkTx returns an error if the port cannot send a stream.
func (p *port) checkTx(s traffic.Stream) error {
	if s.Headers.DstMAC == (traffic.MAC{}) {
		return fmt.Errorf("stream %d has no destination MAC: resolve its gateway first", s.ID)
	}
	if most := p.mtu + 18; s.FrameSize > most {
		return fmt.Errorf("stream %d: frame size %d is above the %d bytes that port %s can send: raise the MTU of %s, now %d", s.ID, s.FrameSize, most, p.Name, p.Interface, p.mtu)
	}
	_, err := kernel.NewTxStream(s, 0, 0, nil)
	return err
}

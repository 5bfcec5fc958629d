package xdp

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/hypervisor"
	"nodrop.dev/nodrop/internal/base/netif/card"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/cardcount"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
)

// port is an interface that the engine owns.
type port struct {
	netdev
	settings interfaceSettings
	counters cardCounters
	receive  receiver
	send     transmitter
	// member is the port as a member of groups; nil while it never was.
	member *member
}

// netdev describes the network interface behind a port.
type netdev struct {
	Port
	index  int
	mac    traffic.MAC
	mtu    int
	driver string
	// emulated names the emulator of the card; empty where the card shows none.
	emulated string
	// notes for the report.
	notes []string
}

// note adds a note for the report, once.
func (d *netdev) note(text string) {
	if !slices.Contains(d.notes, text) {
		d.notes = append(d.notes, text)
	}
}

// inUse is the error that another program is on the interface.
func (d *netdev) inUse(err error) error {
	return fmt.Errorf("the interface has an XDP program already: close the other engine or process that uses it, or detach the program by `ip link set dev %s xdp off`: %w", d.Interface, err)
}

// newPort returns a port that is not open. It loads programs as attached says, and own are the
// names of all ports of the engine.
func newPort(c Port, own []string, attached attachment, reader cardReader) *port {
	p := &port{netdev: netdev{Port: c}}
	d := &p.netdev
	attached.netdev = d
	p.settings = interfaceSettings{netdev: d, hearing: hearing{netdev: d}}
	p.counters = cardCounters{netdev: d, reader: reader}
	p.receive = receiver{netdev: d, attached: attached, own: own}
	p.send.netdev = d
	return p
}

// setUp takes the interface and sets it up. It runs in the namespace of the ports.
func (p *port) setUp(nl *netlink.Handle) error {
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
	if p.settings.card, err = card.Hold(p.Interface); err != nil {
		return err
	}
	p.settings.later(p.settings.card.Restore)
	if err := p.settings.setUp(nl, l); err != nil {
		return err
	}
	address, err := p.counters.reader.BusInfo(p.Interface)
	if err != nil {
		return fmt.Errorf("asking for the card's address: %w", err)
	}
	if p.emulated, err = hypervisor.Emulated(os.DirFS("/"), address); err != nil {
		return err
	}
	if p.send.near, err = nearCPUs("/", address); err != nil {
		return err
	}
	if t, _ := cardcount.TableOf(p.driver); t.Blind != "" {
		p.notes = append(p.notes, t.Blind)
	}
	return nil
}

// load loads the programs, which takes the kernel some tenths of a second. It runs in any namespace, next to other ports.
func (p *port) load() error {
	programs, err := p.receive.attached.load(p.room(fewStreams, 0).Rounded(), true)
	if err != nil {
		return err
	}
	p.receive.attached.programs = programs
	p.settings.later(func() error { return p.receive.attached.programs.Close() })
	return nil
}

// fewStreams is the number of streams of an engine that fit into the first programs.
const fewStreams = 16

// room is the room for streams that all ports send, and for flows that this one receives.
func (p *port) room(sending, flows int) kernel.Room {
	lanes := p.receive.attached.lanes
	return kernel.Room{Ports: lanes, Streams: sending + kernel.OwnLines*lanes, Flows: flows}
}

// attach attaches the receive program. place chooses the receive queue, see interfaceSettings.steer. It runs in the namespace of the
// ports.
func (p *port) attach(nl *netlink.Handle, place int) error {
	if err := p.receive.attached.attach(); err != nil {
		return err
	}
	p.settings.later(func() error { return p.receive.attached.link.Close() })
	if err := p.settings.steer(place); err != nil {
		return err
	}
	return p.settings.enterVLAN(nl)
}

// close gives everything back.
func (p *port) close() error {
	var errs []error
	errs = append(errs, p.settings.hearing.hearOwn(), p.member.leaveAll(), p.send.closeSockets())
	p.member = nil
	errs = append(errs, p.settings.revert()...)
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("port %s (%s): %w", p.Name, p.Interface, err)
	}
	return nil
}

// configure prepares the port for the streams that it sends and receives, and for
// sending a number of streams of all ports. Its flows carry the number of the last trial.
func (p *port) configure(tx, rx []traffic.Stream, sending int, bodies kernel.Bodies, number uint64) error {
	if err := p.settings.hearing.hear(rx); err != nil {
		return err
	}
	if err := p.settings.usePause(tx); err != nil {
		return err
	}
	p.send.streams, p.send.bodies = tx, bodies
	p.receive.streams, p.receive.bodies = rx, bodies
	p.receive.counted, p.receive.stragglers = 0, 0
	var err error
	if p.receive.microflows, err = layOut(rx); err != nil {
		return err
	}
	room := p.room(sending, len(rx))
	room.Microflows, room.Firsts = p.receive.microflows.Records, p.receive.microflows.Firsts
	if err := p.receive.makeRoom(room); err != nil {
		return err
	}
	if err := p.receive.useStreams(); err != nil {
		return err
	}
	if err := p.receive.expect(traffic.Trial{}); err != nil {
		return err
	}
	return p.receive.clear(0, number)
}

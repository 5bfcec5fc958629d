package xdp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/base/netif/card"
	"nodrop.dev/nodrop/internal/traffic"
)

// interfaceSettings are the settings of a port's interface that the engine changes, and gives
// back when the port is closed.
type interfaceSettings struct {
	*netdev
	card    *card.Held
	hearing hearing
	// obeysPause means that the interface uses pause frames as it did before.
	obeysPause bool
	// undo gives back what was changed, in reverse order.
	undo []func() error
}

// later adds a step that gives a change back.
func (s *interfaceSettings) later(undo func() error) { s.undo = append(s.undo, undo) }

// revert gives back what was changed.
func (s *interfaceSettings) revert() []error {
	var errs []error
	for i := len(s.undo) - 1; i >= 0; i-- {
		errs = append(errs, s.undo[i]())
	}
	s.undo = nil
	return errs
}

// steer lets the interface receive in one queue, by its table for receive side scaling. So
// the frames of a stream are counted in the order in which they arrived, whatever varies in
// their headers. Where the driver does not allow it, the port has a note.
//
// place is the number of the port's queue, counted over the queues as often as needed. Queue n
// is usually served by processor n, and port n is sent on by processor n: ports receive in the
// queues behind those where there are as many.
func (s *interfaceSettings) steer(place int) error {
	queues, err := s.card.Queues()
	if err != nil {
		return fmt.Errorf("reading the receive queues: %w", err)
	}
	if queues < 2 {
		return nil
	}
	if err := s.card.ReceiveIn(uint32(place) % queues); err != nil {
		s.note(fmt.Sprintf("%s receives in %d queues, which can change the order of frames within a stream, because the driver %s does not put them into one: %v", s.Interface, queues, s.driver, err))
	}
	return nil
}

// turnPauseOff keeps the interface from sending pause frames, by which a tester that is
// overloaded would slow the device down, and from obeying them.
func (s *interfaceSettings) turnPauseOff() {
	if err := s.card.TurnPauseOff(); err != nil {
		s.note(fmt.Sprintf("%s uses pause frames, by which tester and device can slow each other down, because the driver %s does not turn them off: %v", s.Interface, s.driver, err))
	}
}

// keepPauseOff turns pause frames off again where a driver has turned them on with the link,
// as igb does if it was set to obey them before.
func (s *interfaceSettings) keepPauseOff() {
	if !s.obeysPause {
		s.turnPauseOff()
	}
}

// usePause lets the interface use pause frames while it sends streams that obey them.
func (s *interfaceSettings) usePause(tx []traffic.Stream) error {
	obeys := slices.ContainsFunc(tx, func(s traffic.Stream) bool { return s.ObeysPause })
	if obeys == s.obeysPause {
		return nil
	}
	s.obeysPause = obeys
	if !obeys {
		s.turnPauseOff()
		return nil
	}
	if err := s.card.RestorePause(); err != nil {
		return fmt.Errorf("using pause frames: %w", err)
	}
	return nil
}

// pauses are the pause frames (IEEE 802.3 annex 31B) that an interface has received
// so far, by which a device holds it back. They are known when the interface counts
// them, and obeys them.
type pauses struct {
	frames uint64
	known  bool
}

// pausesOf asks the kernel (linux/ethtool_netlink.h). Virtual interfaces know no
// pause.
func pausesOf(index int) (pauses, error) {
	family, err := netif.Generic(unix.ETHTOOL_GENL_NAME)
	if errors.Is(err, unix.ENOENT) {
		return pauses{}, nil // a kernel before 5.6
	}
	if err != nil {
		return pauses{}, err
	}
	header := nl.NewRtAttr(unix.ETHTOOL_A_PAUSE_HEADER|unix.NLA_F_NESTED, nil)
	header.AddRtAttr(unix.ETHTOOL_A_HEADER_DEV_INDEX, nl.Uint32Attr(uint32(index)))
	header.AddRtAttr(unix.ETHTOOL_A_HEADER_FLAGS, nl.Uint32Attr(unix.ETHTOOL_FLAG_STATS))
	replies, err := family.Ask(unix.ETHTOOL_MSG_PAUSE_GET, header)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return pauses{}, nil
	}
	if err != nil {
		return pauses{}, fmt.Errorf("asking for the interface's pause frames: %w", err)
	}
	for _, reply := range replies {
		if p, err := parsePauses(reply); err != nil || p != (pauses{}) {
			return p, err
		}
	}
	return pauses{}, nil
}

// parsePauses reads the attributes of a reply.
func parsePauses(reply []byte) (pauses, error) {
	attributes, err := nl.ParseRouteAttr(reply)
	if err != nil {
		return pauses{}, fmt.Errorf("reading the interface's pause frames: %w", err)
	}
	var p pauses
	obeys, counts := false, false
	for _, a := range attributes {
		switch a.Attr.Type & nl.NLA_TYPE_MASK {
		case unix.ETHTOOL_A_PAUSE_RX:
			obeys = len(a.Value) > 0 && a.Value[0] != 0
		case unix.ETHTOOL_A_PAUSE_STATS:
			stats, err := nl.ParseRouteAttr(a.Value)
			if err != nil {
				return pauses{}, fmt.Errorf("reading the interface's pause counters: %w", err)
			}
			for _, s := range stats {
				if s.Attr.Type&nl.NLA_TYPE_MASK == unix.ETHTOOL_A_PAUSE_STAT_RX_FRAMES && len(s.Value) == 8 {
					p.frames, counts = nl.NativeEndian().Uint64(s.Value), true
				}
			}
		}
	}
	p.known = obeys && counts
	return p, nil
}

// longestPause is the longest time for which a pause frame holds a port, in bit times: 65,535
// quanta of 512.
const longestPause = 65535 * 512

// heldBack is the note that the device held a port back: it sent less than intended,
// and received pause frames meanwhile that can have held it so long. There is none
// where that is not known.
func (t *transmitter) heldBack(m *traffic.Measurement, before, after pauses) []traffic.Note {
	var intended, sent uint64
	for _, s := range t.streams {
		intended, sent = intended+m.Tx[s.ID].Intended, sent+m.Tx[s.ID].Sent
	}
	if sent >= intended || !before.known || !after.known || after.frames <= before.frames {
		return nil
	}
	missing := float64(intended-sent) / float64(intended) * m.TxTime.Seconds()
	if speed := float64(t.SpeedBitsPerSecond); speed > 0 && missing > float64(after.frames-before.frames)*longestPause/speed {
		return nil // the tester was too slow by itself
	}
	return []traffic.Note{{Kind: traffic.NoteHeldBack, Text: fmt.Sprintf(
		"the device held %s (%s) back with %s pause frames: it sent %s of %s frames", t.Name, t.Interface,
		traffic.Grouped(after.frames-before.frames), traffic.Grouped(sent), traffic.Grouped(intended))}}
}

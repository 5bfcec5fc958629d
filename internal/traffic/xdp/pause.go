package xdp

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/netif"
	"nodrop.dev/nodrop/internal/traffic"
)

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
		if p, err := parsePauses(reply); err != nil || p.known {
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
func (p *port) heldBack(m *traffic.Measurement, before, after pauses) []traffic.Note {
	var intended, sent uint64
	for _, s := range p.tx {
		intended, sent = intended+m.Tx[s.ID].Intended, sent+m.Tx[s.ID].Sent
	}
	if sent >= intended || !before.known || !after.known || after.frames <= before.frames {
		return nil
	}
	missing := float64(intended-sent) / float64(intended) * m.TxTime.Seconds()
	if speed := float64(p.SpeedBitsPerSecond); speed > 0 && missing > float64(after.frames-before.frames)*longestPause/speed {
		return nil // the tester was too slow by itself
	}
	return []traffic.Note{{Kind: traffic.NoteHeldBack, Text: fmt.Sprintf(
		"the device held %s (%s) back with %s pause frames: it sent %s of %s frames", p.Name, p.Interface,
		traffic.Grouped(after.frames-before.frames), traffic.Grouped(sent), traffic.Grouped(intended))}}
}

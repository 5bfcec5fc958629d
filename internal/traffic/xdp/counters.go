package xdp

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vishvananda/netlink"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/cardcount"
)

const (
	// counterPoll is the time between two readings of counters that have to settle. No event
	// announces that a card has updated its counters.
	counterPoll = 20 * time.Millisecond
	// counterWait is the time for which counters may go on changing after they should be
	// complete.
	counterWait = 500 * time.Millisecond
	// othersMost is the number of frames that the kernel may send on a port during a trial,
	// such as ARP and membership reports, in addition to one in unsentShare.
	othersMost = 100
)

// cardReader reads the counters of a card, as `ethtool -S` shows them.
type cardReader interface {
	Stats(intf string) (map[string]uint64, error)
	// BusInfo returns the address of the card on its bus.
	BusInfo(intf string) (string, error)
	Close()
}

// cardCounters reads the counters of a port's card and link, and of the other end of a veth.
type cardCounters struct {
	*netdev
	reader cardReader
}

// counterValues are the values of a card's counters, by the names of the driver's table.
type counterValues map[string]uint64

// cardCountsOf reads the counters of a table.
func cardCountsOf(t cardcount.CounterTable, card, link map[string]uint64) counterValues {
	c := counterValues{}
	for _, pattern := range t.Names() {
		if name, ok := strings.CutPrefix(pattern, "link."); ok {
			if n, has := link[name]; has {
				c[pattern] = n
			}
			continue
		}
		if n, has := card[pattern]; has {
			c[pattern] = n
			continue
		}
		for name, n := range card {
			if cardcount.Matches(pattern, name) {
				c[pattern] += n
			}
		}
	}
	return c
}

// rise is the increase of a group of counters.
type rise struct {
	frames uint64
	// text names the counters that rose, and by how much.
	text string
}

// cardChange describes what a card counted between two moments.
type cardChange struct {
	missed, damaged, unsent rise
	// sent frames of all kinds, where the card counts them.
	sent     uint64
	reports  bool
	backward []string
}

// changeOfCounts compares two readings. The driver counted refused frames as dropped, and the engine
// sent them again.
func changeOfCounts(t cardcount.CounterTable, before, now counterValues, refused uint64) cardChange {
	var c cardChange
	rose := func(name string) uint64 {
		n, is := now[name]
		if was := before[name]; is && n < was {
			if !slices.Contains(c.backward, name) {
				c.backward = append(c.backward, name)
			}
			return 0
		}
		return n - min(n, before[name])
	}
	sum := func(names []string, less uint64) rise {
		var r rise
		var texts []string
		for _, name := range names {
			n := rose(name)
			if name == "link.tx_dropped" {
				n -= min(n, less)
			}
			if r.frames += n; n > 0 {
				texts = append(texts, fmt.Sprintf("%s %s", strings.TrimSpace(strings.TrimPrefix(name, "link.")), traffic.Grouped(n)))
			}
		}
		r.text = strings.Join(texts, ", ")
		return r
	}
	c.missed, c.damaged, c.unsent = sum(t.Missed, 0), sum(t.Damaged, 0), sum(t.Unsent, refused)
	if other := sum(t.NotMissed, 0); other.frames > 0 {
		c.missed.frames -= min(c.missed.frames, other.frames)
		c.missed.text += fmt.Sprintf(" (without %s)", other.text)
	}
	for _, name := range t.Sent {
		if _, has := now[name]; has {
			c.sent, c.reports = c.sent+rose(name), true
		}
	}
	return c
}

// read reads the counters of the port's card and link.
func (k *cardCounters) read(l netlink.Link) (counterValues, error) {
	var all map[string]uint64
	if _, known := cardcount.TableOf(k.driver); known {
		var err error
		if all, err = k.reader.Stats(k.Interface); err != nil {
			return nil, fmt.Errorf("reading the card's counters of %s (ethtool -S): %w", k.Interface, err)
		}
	}
	table, _ := cardcount.TableOf(k.driver)
	return cardCountsOf(table, all, linkCounts(l.Attrs().Statistics)), nil
}

// linkCounts returns the kernel's counters of a link by their names.
func linkCounts(s *netlink.LinkStatistics) map[string]uint64 {
	if s == nil {
		return nil
	}
	return map[string]uint64{
		"rx_dropped": s.RxDropped, "rx_missed_errors": s.RxMissedErrors, "rx_fifo_errors": s.RxFifoErrors,
		"rx_over_errors": s.RxOverErrors, "rx_errors": s.RxErrors, "rx_length_errors": s.RxLengthErrors,
		"rx_crc_errors": s.RxCrcErrors, "rx_frame_errors": s.RxFrameErrors,
		"tx_packets": s.TxPackets, "tx_dropped": s.TxDropped, "tx_errors": s.TxErrors,
	}
}

// settled reads the counters of all ports until the cards have updated theirs: the slowest
// driver has had the time to refresh them since a moment, two readings are equal, and each
// port is complete. It returns the last readings when that takes longer than counterWait.
func (all ports) settled(ctx context.Context, nl *netlink.Handle, since int64, complete func(port int, now losses) bool) ([]losses, error) {
	late, cards := time.Duration(0), false
	for _, p := range all {
		if t, known := cardcount.TableOf(p.driver); known && len(p.send.streams)+len(p.receive.streams) > 0 {
			late, cards = max(late, t.Late), true
		}
	}
	ready := since + int64(late)
	var before []losses
	for {
		var now []losses
		for _, p := range all {
			l, err := p.counters.losses(nl)
			if err != nil {
				return nil, err
			}
			now = append(now, l)
		}
		at := monotonic()
		settled := before != nil && slices.EqualFunc(before, now, func(a, b losses) bool { return maps.Equal(a.card, b.card) })
		for i, l := range now {
			settled = settled && complete(i, l)
		}
		if !cards || at >= ready && settled || at >= ready+int64(counterWait) {
			return now, nil
		}
		before = now
		wait := max(counterPoll, time.Duration(ready-at))
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// countsAll reports whether a port's card counts at least the frames that the engine sent
// since an earlier reading, or does not count what it sends.
func (k *cardCounters) countsAll(sent uint64, before, now counterValues) bool {
	table, _ := cardcount.TableOf(k.driver)
	c := changeOfCounts(table, before, now, 0)
	return !c.reports || c.sent >= sent
}

// sentIn returns the number of frames that the engine sent on the port.
func (t *transmitter) sentIn(m *traffic.Measurement) (sent uint64) {
	for _, s := range t.streams {
		sent += m.Tx[s.ID].Sent
	}
	return sent
}

// addCard adds what the port's card counted in the trial to a measurement. The engine sent that
// many frames, and the driver refused some of them.
func (k *cardCounters) addCard(m *traffic.Measurement, sent uint64, before, now counterValues, refused uint64) {
	table, known := cardcount.TableOf(k.driver)
	c := changeOfCounts(table, before, now, refused)
	note := func(kind traffic.NoteKind, format string, args ...any) {
		m.Notes = append(m.Notes, traffic.Note{Kind: kind, Text: fmt.Sprintf("%s (%s): ", k.Name, k.Interface) + fmt.Sprintf(format, args...)})
	}
	if c.missed.frames > 0 {
		traffic.Put(&m.Dropped, k.Name, c.missed.frames)
		note(traffic.NoteDropped, "the driver %s counted received frames that it dropped: %s", k.driver, c.missed.text)
	}
	if c.damaged.frames > 0 {
		traffic.Put(&m.WireErrors, k.Name, c.damaged.frames)
		note(traffic.NoteWire, "the card dropped frames that arrived damaged (%s): check the cable, the transceivers, the device's port and the MTU of both ends", c.damaged.text)
	}
	if len(c.backward) > 0 {
		note(traffic.NoteCounter, "the counter %s ran backwards during the trial: its driver or card was reset", c.backward[0])
		return
	}
	unsent, text := c.unsent.frames, c.unsent.text
	if known && c.reports && sent > c.sent && sent-c.sent > unsent {
		unsent = sent - c.sent
		text = fmt.Sprintf("it counted %s sent frames of the %s that it accepted", traffic.Grouped(c.sent), traffic.Grouped(sent))
	}
	if unsent = min(unsent, sent); unsent > 0 {
		traffic.Put(&m.Unsent, k.Name, unsent)
		note(traffic.NoteCardUnsent, "the card did not send %s frames that it had accepted: %s", traffic.Grouped(unsent), text)
	}
	if others := c.sent - min(c.sent, sent); c.reports && others > othersMost+sent/unsentShare {
		note(traffic.NoteMiscount, "the card sent %s frames that are not test frames: another process or another function of the card uses the port", traffic.Grouped(others))
	}
}

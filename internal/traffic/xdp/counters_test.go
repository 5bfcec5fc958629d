package xdp

import (
	"bufio"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/cardcount"
)

// recorded reads what `ethtool -S` and `ip -s link` printed, from a file of testdata. Lines
// of the kernel's link have the prefix "link.".
func recorded(t *testing.T, name string) (card, link map[string]uint64) {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", "counters", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	card, link = map[string]uint64{}, map[string]uint64{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		key, value, ok := strings.Cut(lines.Text(), ": ")
		n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
		if !ok || err != nil {
			continue // the heading
		}
		key = strings.TrimPrefix(key, "     ")
		if name, is := strings.CutPrefix(key, "link."); is {
			link[name] = n
		} else {
			card[key] = n
		}
	}
	return card, link
}

// fakeCard is a cardReader with counters of recorded outputs.
type fakeCard struct {
	counters map[string]uint64
	// late are the counters after so many readings; nil for none.
	late  map[string]uint64
	after int
}

func (f *fakeCard) Stats(string) (map[string]uint64, error) {
	if f.after--; f.after == 0 {
		f.counters = f.late
	}
	return f.counters, nil
}

func (f *fakeCard) BusInfo(string) (string, error) { return "", nil }

func (f *fakeCard) Close() {}

// with returns counters of which some are higher.
func with(counters map[string]uint64, more map[string]uint64) map[string]uint64 {
	sum := maps.Clone(counters)
	for name, n := range more {
		sum[name] += n
	}
	return sum
}

// What a driver counts goes to the tester, the wire or the sent frames.
func TestCardCounters(t *testing.T) {
	const sent = 1000
	type want struct {
		dropped, wire, unsent uint64
		kinds                 []traffic.NoteKind
		text                  string
	}
	for name, tc := range map[string]struct {
		driver string
		card   map[string]uint64
		link   map[string]uint64
		want   want
	}{
		"mlx5 without a buffer on the port": {"mlx5_core", map[string]uint64{"rx_discards_phy": 7, "rx_out_of_buffer": 2, "rx_xdp_drop": 500, "tx_vport_unicast_packets": sent}, nil,
			want{dropped: 9, kinds: []traffic.NoteKind{traffic.NoteDropped}, text: "rx_out_of_buffer 2, rx_discards_phy 7"}},
		"mlx5 with a bad cable": {"mlx5_core", map[string]uint64{"rx_crc_errors_phy": 3, "tx_vport_unicast_packets": sent}, nil,
			want{wire: 3, kinds: []traffic.NoteKind{traffic.NoteWire}, text: "rx_crc_errors_phy 3"}},
		"mlx5 drops what it sends": {"mlx5_core", map[string]uint64{"tx_discards_phy": 4, "tx_vport_unicast_packets": sent - 6}, nil,
			want{unsent: 6, kinds: []traffic.NoteKind{traffic.NoteCardUnsent}, text: "counted 994 sent frames of the 1,000"}},
		"ice":   {"ice", map[string]uint64{"rx_dropped.nic": 5, "rx_dropped": 1, "tx_unicast": sent}, nil, want{dropped: 6, kinds: []traffic.NoteKind{traffic.NoteDropped}, text: "rx_dropped 1, rx_dropped.nic 5"}},
		"i40e":  {"i40e", map[string]uint64{"port.rx_discards": 5, "port.rx_crc_errors": 2, "tx_unicast": sent}, nil, want{dropped: 5, wire: 2, kinds: []traffic.NoteKind{traffic.NoteDropped, traffic.NoteWire}, text: "port.rx_discards 5"}},
		"ixgbe": {"ixgbe", map[string]uint64{"rx_missed_errors": 5, "rx_no_dma_resources": 2, "tx_pkts_nic": sent}, nil, want{dropped: 7, kinds: []traffic.NoteKind{traffic.NoteDropped}, text: "rx_missed_errors 5, rx_no_dma_resources 2"}},
		"igb": {"igb", map[string]uint64{"rx_missed_errors": 1, "rx_queue_0_drops": 2, "rx_queue_1_drops": 4, "rx_no_buffer_count": 50, "rx_fifo_errors": 7, "tx_packets": sent + 3}, nil,
			want{dropped: 7, kinds: []traffic.NoteKind{traffic.NoteDropped}, text: "rx_missed_errors 1, rx_queue_*_drops 6"}},
		"igb with a short frame": {"igb", map[string]uint64{"rx_short_length_errors": 1, "tx_packets": sent}, nil, want{wire: 1, kinds: []traffic.NoteKind{traffic.NoteWire}, text: "rx_short_length_errors 1"}},
		"igbvf sent less":        {"igbvf", map[string]uint64{"tx_packets": sent - 1}, nil, want{unsent: 1, kinds: []traffic.NoteKind{traffic.NoteCardUnsent}, text: "999 sent frames"}},
		"e1000e":                 {"e1000e", map[string]uint64{"rx_missed_errors": 5, "tx_packets": sent}, nil, want{dropped: 5, kinds: []traffic.NoteKind{traffic.NoteDropped}, text: "rx_missed_errors 5"}},
		"ena above its allowance": {"ena", map[string]uint64{"pps_allowance_exceeded": 5}, map[string]uint64{"rx_dropped": 2, "tx_dropped": 1},
			want{dropped: 7, unsent: 1, kinds: []traffic.NoteKind{traffic.NoteDropped, traffic.NoteCardUnsent}, text: "rx_dropped 2, pps_allowance_exceeded 5"}},
		"virtio, whose drops contain those of the receive program": {"virtio_net", map[string]uint64{"rx0_xdp_drops": 900, "rx0_drops": 901}, map[string]uint64{"rx_dropped": 901},
			want{dropped: 1, kinds: []traffic.NoteKind{traffic.NoteDropped}, text: "rx_dropped 901 (without rx*_xdp_drops 900)"}},
		"vmxnet3":                               {"vmxnet3", map[string]uint64{"  pkts rx OOB": 5}, map[string]uint64{"tx_packets": sent, "rx_errors": 1}, want{dropped: 5, wire: 1, kinds: []traffic.NoteKind{traffic.NoteDropped, traffic.NoteWire}, text: "pkts rx OOB 5"}},
		"vmxnet3 with a frame that is too long": {"vmxnet3", map[string]uint64{"     err": 4}, map[string]uint64{"rx_errors": 4, "rx_dropped": 4, "tx_packets": sent}, want{wire: 4, kinds: []traffic.NoteKind{traffic.NoteWire}, text: "rx_errors 4"}},
		"a driver without a table":              {"8139cp", nil, map[string]uint64{"rx_missed_errors": 5, "tx_dropped": 2, "tx_packets": 7}, want{dropped: 5, unsent: 2, kinds: []traffic.NoteKind{traffic.NoteDropped, traffic.NoteCardUnsent}, text: "rx_missed_errors 5"}},
		"another process sends":                 {"igb", map[string]uint64{"tx_packets": sent + 5000}, nil, want{kinds: []traffic.NoteKind{traffic.NoteMiscount}, text: "5,000 frames that are not test frames"}},
		"nothing lost, and ARP was sent":        {"igb", map[string]uint64{"tx_packets": sent + 4}, nil, want{}},
	} {
		t.Run(name, func(t *testing.T) {
			card, link := recorded(t, tc.driver)
			table, known := cardcount.TableOf(tc.driver)
			for _, pattern := range slices.Sorted(maps.Keys(tc.card)) {
				if _, has := card[pattern]; known && !has {
					t.Errorf("the recorded counters of %s have no %s", tc.driver, pattern)
				}
			}
			k := &cardCounters{netdev: &netdev{Port: Port{Name: "p1", Interface: "eth1"}, driver: tc.driver}}
			m := traffic.Measurement{Tx: map[uint16]traffic.TxCount{1: {Sent: sent}}}
			k.addCard(&m, sent, cardCountsOf(table, card, link), cardCountsOf(table, with(card, tc.card), with(link, tc.link)), 0)
			var kinds []traffic.NoteKind
			text := ""
			for _, n := range m.Notes {
				kinds, text = append(kinds, n.Kind), text+n.Text+"\n"
			}
			if m.Dropped["p1"] != tc.want.dropped || m.WireErrors["p1"] != tc.want.wire || m.Unsent["p1"] != tc.want.unsent || !slices.Equal(kinds, tc.want.kinds) || !strings.Contains(text, tc.want.text) {
				t.Errorf("dropped %v, wire %v, unsent %v, notes %q\nwant %+v", m.Dropped, m.WireErrors, m.Unsent, text, tc.want)
			}
		})
	}
}

// Frames that the driver rejected, and the kernel counted as dropped, were sent again.
func TestRejectedFramesAreNotUnsent(t *testing.T) {
	table, _ := cardcount.TableOf("e1000e")
	before, now := counterValues{"link.tx_dropped": 3, "tx_packets": 10}, counterValues{"link.tx_dropped": 8, "tx_packets": 1010}
	if c := changeOfCounts(table, before, now, 5); c.unsent.frames != 0 {
		t.Errorf("%+v: want no unsent frames, since all 5 were rejected", c.unsent)
	}
	if c := changeOfCounts(table, before, now, 2); c.unsent.frames != 3 {
		t.Errorf("%+v: want 3 unsent frames", c.unsent)
	}
}

// A counter that runs backwards is noted, and proves nothing else.
func TestCounterOfTheCardRunsBackwards(t *testing.T) {
	k := &cardCounters{netdev: &netdev{Port: Port{Name: "p1", Interface: "eth1"}, driver: "igb"}}
	m := traffic.Measurement{Tx: map[uint16]traffic.TxCount{1: {Sent: 1000}}}
	k.addCard(&m, 1000, counterValues{"tx_packets": 5000}, counterValues{"tx_packets": 20}, 0)
	if len(m.Notes) != 1 || m.Notes[0].Kind != traffic.NoteCounter || !strings.Contains(m.Notes[0].Text, "tx_packets ran backwards") || len(m.Unsent) > 0 {
		t.Errorf("%+v, unsent %v", m.Notes, m.Unsent)
	}
}

// Counters that a card updates late are read until they are complete: those of a driver that
// refreshes them once per second, and those of sent frames until they have all of them.
func TestCountersAreReadUntilTheySettle(t *testing.T) {
	bed := newBed(t)
	e := bed.backToBack()
	p := e.ports.named("p1")
	driver, card := p.driver, p.counters.reader
	defer func() { p.driver, p.send.streams, p.counters.reader = driver, nil, card }()
	m := traffic.Measurement{Tx: map[uint16]traffic.TxCount{1: {Sent: 100}}}
	for driver, tc := range map[string]struct {
		early, late map[string]uint64
		after       int
	}{
		"mlx5_core": {map[string]uint64{"rx_discards_phy": 1, "tx_vport_unicast_packets": 100}, map[string]uint64{"rx_discards_phy": 12, "tx_vport_unicast_packets": 100}, 2},
		"ixgbe":     {map[string]uint64{"rx_missed_errors": 0, "tx_pkts_nic": 90}, map[string]uint64{"rx_missed_errors": 0, "tx_pkts_nic": 100}, 5},
	} {
		t.Run(driver, func(t *testing.T) {
			p.driver, p.send.streams = driver, []traffic.Stream{{ID: 1}}
			p.counters.reader = &fakeCard{counters: tc.early, late: tc.late, after: tc.after}
			var now []losses
			err := e.netns.Do(func() (err error) {
				now, err = e.ports.settled(t.Context(), e.netlink, monotonic(), func(i int, l losses) bool {
					return e.ports[i] != p || p.counters.countsAll(p.send.sentIn(&m), counterValues{}, l.card)
				})
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range tc.late {
				if got := now[0].card[name]; got != want {
					t.Errorf("%s is %d, want the late %d", name, got, want)
				}
			}
		})
	}
}

// Tables name each counter once, and only the kernel's link counters that are read.
func TestCounterTables(t *testing.T) {
	links := linkCounts(&netlink.LinkStatistics{})
	for driver, table := range cardcount.CounterTables {
		seen := map[string]bool{}
		for _, name := range table.Names() {
			link, is := strings.CutPrefix(name, "link.")
			if _, known := links[link]; seen[name] || is && !known {
				t.Errorf("%s: %s is there twice or is not read", driver, name)
			}
			seen[name] = true
		}
		if table.Source == "" || len(table.Missed) == 0 {
			t.Errorf("%s: no source, or no counter of missed frames", driver)
		}
	}
	for pattern, names := range map[string]map[string]bool{
		"rx_queue_*_drops": {"rx_queue_0_drops": true, "rx_queue_12_drops": true, "rx_queue_0_xdp_drops": false, "rx_queue__drops": false, "rx_drops": false},
		"rx_dropped":       {"rx_dropped": true, "rx_dropped.nic": false},
	} {
		for name, want := range names {
			if got := cardcount.Matches(pattern, name); got != want {
				t.Errorf("%s matches %s: %v", pattern, name, got)
			}
		}
	}
}

package xdp

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic"
)

// The kernel understands the question, and a virtual interface has no answer.
func TestAVirtualInterfaceKnowsNoPause(t *testing.T) {
	bed := newBed(t)
	bed.veth("v1", "v2", bed.tester)
	l, err := bed.nl.LinkByName("v1")
	if err != nil {
		t.Fatal(err)
	}
	if p, err := pausesOf(l.Attrs().Index); err != nil || p != (pauses{}) {
		t.Errorf("%+v, %v, want that nothing is known", p, err)
	}
	if _, err := pausesOf(1 << 20); err == nil {
		t.Error("an interface that does not exist was found")
	}
}

// No interface here has pause counters, so the replies are made by hand.
func TestReplyWithPauseCounters(t *testing.T) {
	reply := func(obeys byte, counters map[int]uint64) []byte {
		stats := nl.NewRtAttr(unix.ETHTOOL_A_PAUSE_STATS|unix.NLA_F_NESTED, nil)
		for kind, n := range counters {
			stats.AddRtAttr(kind, binary.NativeEndian.AppendUint64(nil, n))
		}
		return append(nl.NewRtAttr(unix.ETHTOOL_A_PAUSE_RX, []byte{obeys}).Serialize(), stats.Serialize()...)
	}
	both := map[int]uint64{unix.ETHTOOL_A_PAUSE_STAT_TX_FRAMES: 3, unix.ETHTOOL_A_PAUSE_STAT_RX_FRAMES: 7}
	for name, tc := range map[string]struct {
		reply []byte
		want  pauses
	}{
		"counts and obeys":          {reply(1, both), pauses{7, true}},
		"does not obey":             {reply(0, both), pauses{7, false}},
		"does not count":            {reply(1, nil), pauses{}},
		"counts only what it sends": {reply(1, map[int]uint64{unix.ETHTOOL_A_PAUSE_STAT_TX_FRAMES: 3}), pauses{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := parsePauses(tc.reply); err != nil || got != tc.want {
				t.Errorf("%+v, %v, want %+v", got, err, tc.want)
			}
		})
	}
}

func TestHeldBack(t *testing.T) {
	p := &transmitter{netdev: &netdev{Port: Port{Name: "p1", Interface: "eth1", SpeedBitsPerSecond: 10_000_000_000}}, streams: []traffic.Stream{{ID: 1}, {ID: 2}}}
	short := &traffic.Measurement{Tx: map[uint16]traffic.TxCount{1: {Intended: 100, Sent: 60}, 2: {Intended: 100, Sent: 100}, 3: {Intended: 5}}}
	// Of 30 ms, 200 frames long, 40 are missing: 6 ms. A pause of 10G lasts up to 3.36 ms.
	short.TxTime = 30 * time.Millisecond
	whole := &traffic.Measurement{Tx: map[uint16]traffic.TxCount{1: {Intended: 100, Sent: 100}}}
	for name, tc := range map[string]struct {
		m             *traffic.Measurement
		before, after pauses
		want          string
	}{
		"paused":                  {short, pauses{7, true}, pauses{9, true}, "the device held p1 (eth1) back with 2 pause frames: it sent 160 of 200 frames"},
		"paused for less":         {short, pauses{7, true}, pauses{8, true}, ""},
		"short, but not paused":   {short, pauses{7, true}, pauses{7, true}, ""},
		"paused without effect":   {whole, pauses{7, true}, pauses{9, true}, ""},
		"short, and nobody knows": {short, pauses{}, pauses{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			notes := p.heldBack(tc.m, tc.before, tc.after)
			if tc.want == "" && len(notes) > 0 || tc.want != "" && (len(notes) != 1 || notes[0] != traffic.Note{Kind: traffic.NoteHeldBack, Text: tc.want}) {
				t.Errorf("%+v, want %q", notes, tc.want)
			}
		})
	}
}

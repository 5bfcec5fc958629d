package xdp

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/cardcount"
)

// pauseFrame returns a frame of flow control (IEEE 802.3 annexes 31B and 31D): opcode, then the
// words behind it.
func pauseFrame(opcode uint16, words ...uint16) []byte {
	b := make([]byte, 60)
	copy(b, "\x01\x80\xc2\x00\x00\x01\x02\x00\x00\x00\x00\x01\x88\x08")
	for i, w := range append([]uint16{opcode}, words...) {
		binary.BigEndian.PutUint16(b[14+2*i:], w)
	}
	return b
}

// pfcFrame returns a frame of PFC that enables some priorities.
func pfcFrame(priorities ...int) []byte {
	words := make([]uint16, 1+traffic.Priorities)
	for _, p := range priorities {
		words[0] |= 1 << p
		words[1+p] = 0xffff
	}
	return pauseFrame(0x0101, words...)
}

// The receive program counts frames of flow control by kind and priority, and takes them from the
// kernel. Other frames of MAC control go to the kernel.
func TestReceivesFlowControl(t *testing.T) {
	b := newBench(t)
	for name, tc := range map[string]struct {
		frame []byte
		takes uint32
		want  traffic.PauseCount
	}{
		"pause":                     {pauseFrame(0x0001, 0xffff), xdpDrop, traffic.PauseCount{Frames: 1}},
		"end of a pause":            {pauseFrame(0x0001, 0), xdpDrop, traffic.PauseCount{Frames: 1}},
		"priority 0":                {pfcFrame(0), xdpDrop, traffic.PauseCount{ByPriority: [8]uint64{0: 1}}},
		"priority 7":                {pfcFrame(7), xdpDrop, traffic.PauseCount{ByPriority: [8]uint64{7: 1}}},
		"all priorities":            {pfcFrame(0, 1, 2, 3, 4, 5, 6, 7), xdpDrop, traffic.PauseCount{ByPriority: [8]uint64{1, 1, 1, 1, 1, 1, 1, 1}}},
		"end for priority 3":        {pauseFrame(0x0101, 1<<3), xdpDrop, traffic.PauseCount{ByPriority: [8]uint64{3: 1}}},
		"reserved half of vector":   {pauseFrame(0x0101, 0xff00), xdpDrop, traffic.PauseCount{}},
		"another opcode":            {pauseFrame(0x0002, 0xffff), xdpPass, traffic.PauseCount{}},
		"opcode of another kind":    {pauseFrame(0x0100, 0xffff), xdpPass, traffic.PauseCount{}},
		"the frame of another kind": {append(pfcFrame(1)[:12], make([]byte, 48)...), xdpPass, traffic.PauseCount{}},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.in(t)
			before, err := b.port.receive.strays()
			if err != nil {
				t.Fatal(err)
			}
			takes := b.receive(tc.frame)
			if got := b.since(before); takes != tc.takes || got != (strays{pauses: tc.want}) {
				t.Errorf("action %d, %+v, want %d, %+v", takes, got, tc.takes, tc.want)
			}
		})
	}
}

// sendRaw sends frames on an interface of the device.
func (d *device) sendRaw(index int, frames ...[]byte) {
	d.Helper()
	d.in(d.ns, func() {
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			d.Fatal(err)
		}
		defer unix.Close(fd)
		for _, f := range frames {
			if err := unix.Sendto(fd, f, 0, &unix.SockaddrLinklayer{Ifindex: index}); err != nil {
				d.Fatal(err)
			}
		}
	})
}

// nftCounters returns the packets of the counters of a table of nftables in the device's namespace.
func (d *device) nftCounters(family, table string) map[string]uint64 {
	d.Helper()
	var out []byte
	var err error
	d.in(d.ns, func() {
		out, err = exec.CommandContext(d.Context(), "nft", "-j", "list", "counters", "table", family, table).Output()
	})
	var list struct {
		Nftables []struct {
			Counter *struct {
				Name    string
				Packets uint64
			}
		}
	}
	if err == nil {
		err = json.Unmarshal(out, &list)
	}
	if err != nil {
		d.Fatalf("reading the counters of %s %s: %v: %s", family, table, err, out)
	}
	packets := map[string]uint64{}
	for _, object := range list.Nftables {
		if object.Counter != nil {
			packets[object.Counter.Name] = object.Counter.Packets
		}
	}
	return packets
}

// A device sends frames of flow control while it forwards. The ports count as many as nftables of
// the device did on their way out, by priority, and the trial is not disturbed by them.
func TestCountsFlowControlOfADevice(t *testing.T) {
	bed := newBed(t)
	d := bed.device()
	d.dropper(0)
	rules := "table netdev pauses {\n"
	for _, link := range []string{"d1", "d2"} {
		chain := ""
		for priority := range traffic.Priorities {
			rules += fmt.Sprintf(" counter %s_%d {}\n", link, priority)
			chain += fmt.Sprintf("  ether type 0x8808 @ll,112,16 0x0101 @ll,128,16 & %d != 0 counter name %s_%d\n", 1<<priority, link, priority)
		}
		rules += fmt.Sprintf(" counter %s_pause {}\n chain %s { type filter hook egress device %s priority 0;\n%s  ether type 0x8808 @ll,112,16 0x0001 counter name %s_pause\n }\n", link, link, link, chain, link)
	}
	d.nft(rules + "}\n")
	e := bed.open(d.ports(nil, nil)...)
	s := stream(1, e)
	// Frames before the trial belong to no row.
	d.sendRaw(d.d2.Attrs().Index, pfcFrame(3), pauseFrame(0x0001, 9))
	if err := e.Configure(t.Context(), []traffic.Stream{s}); err != nil {
		t.Fatal(err)
	}
	const frames = 500
	before := d.nftCounters("netdev", "pauses")
	if err := e.Start(t.Context(), traffic.Trial{Loads: map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 1000, PerNanos: 1e9}, Frames: frames}}}); err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		all := [][]byte{pfcFrame(3), pfcFrame(i%8, 5)}
		if i%4 == 0 {
			all = append(all, pauseFrame(0x0001, uint16(i)))
		}
		d.sendRaw(d.d2.Attrs().Index, all...)
		if i%10 == 0 {
			d.sendRaw(d.d1.Attrs().Index, pfcFrame(6))
		}
	}
	if err := e.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	m := bed.settle(e, func(m traffic.Measurement) bool {
		return arrived(m) && m.Pauses["p2"].Frames == 50 && m.Pauses["p1"].ByPriority[6] == 20
	})
	if sent(m) != frames || received(m) != frames {
		t.Errorf("sent %d, received %d, want %d", sent(m), received(m), frames)
	}
	now := d.nftCounters("netdev", "pauses")
	for port, link := range map[string]string{"p1": "d1", "p2": "d2"} {
		want := traffic.PauseCount{Frames: now[link+"_pause"] - before[link+"_pause"]}
		for priority := range want.ByPriority {
			name := fmt.Sprintf("%s_%d", link, priority)
			want.ByPriority[priority] = now[name] - before[name]
		}
		t.Logf("%s: %v", port, want)
		if got := m.Pauses[port]; got != want || want == (traffic.PauseCount{}) {
			t.Errorf("%s counted %v, nftables at %s %v", port, got, link, want)
		}
	}
	notes := notesOf(m, traffic.NotePauses)
	if len(notes) != 2 || notes[0] != "p1 received 20 PFC frames for priority 6 from the device" {
		t.Errorf("notes %q", notes)
	}
}

// Where the MAC takes frames of flow control, the card's counters have them. A frame that both the
// card and the receive program counted counts once.
func TestFlowControlOfCards(t *testing.T) {
	for name, tc := range map[string]struct {
		driver  string
		counted map[string]uint64
		program traffic.PauseCount
		want    traffic.PauseCount
	}{
		"mlx5":               {"mlx5_core", map[string]uint64{"rx_prio3_pause": 7, "rx_prio3_pause_duration": 1000}, traffic.PauseCount{}, traffic.PauseCount{Frames: 2, ByPriority: [8]uint64{3: 7}}},
		"ice":                {"ice", map[string]uint64{"rx_priority_0_xoff.nic": 4, "rx_priority_0_xon.nic": 3, "tx_priority_0_xoff.nic": 9}, traffic.PauseCount{}, traffic.PauseCount{Frames: 2, ByPriority: [8]uint64{0: 7}}},
		"i40e":               {"i40e", map[string]uint64{"port.rx_priority_7_xoff": 4, "port.rx_priority_7_xon": 3, "port.rx_priority_7_xon_2_xoff": 3}, traffic.PauseCount{}, traffic.PauseCount{Frames: 2, ByPriority: [8]uint64{7: 7}}},
		"a later i40e":       {"i40e", map[string]uint64{"port.rx_priority_7_xoff_rx": 4, "port.rx_priority_7_xon_rx": 3}, traffic.PauseCount{}, traffic.PauseCount{Frames: 2, ByPriority: [8]uint64{7: 7}}},
		"ixgbe":              {"ixgbe", map[string]uint64{"rx_pb_1_pxoff": 4, "rx_pb_1_pxon": 3}, traffic.PauseCount{}, traffic.PauseCount{Frames: 2, ByPriority: [8]uint64{1: 7}}},
		"both see the frame": {"mlx5_core", map[string]uint64{"rx_prio3_pause": 7}, traffic.PauseCount{Frames: 5, ByPriority: [8]uint64{3: 6, 4: 1}}, traffic.PauseCount{Frames: 5, ByPriority: [8]uint64{3: 7, 4: 1}}},
		"without a table":    {"8139cp", map[string]uint64{"rx_prio3_pause": 7}, traffic.PauseCount{}, traffic.PauseCount{Frames: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			k := &cardCounters{netdev: &netdev{driver: tc.driver}}
			table, _ := cardcount.TableOf(tc.driver)
			earlier := map[string]uint64{}
			for name := range tc.counted {
				earlier[name] = 1000
			}
			read := func(counters map[string]uint64) counterValues { return cardCountsOf(table, counters, nil) }
			m := &traffic.Measurement{}
			addPauses(m, "p1", tc.program, k.pausesBetween(read(earlier), read(with(earlier, tc.counted)), pauses{frames: 40}, pauses{frames: 42}))
			if got := m.Pauses["p1"]; got != tc.want || len(m.Notes) != 1 {
				t.Errorf("%v, notes %q, want %v", got, m.Notes, tc.want)
			}
		})
	}
}

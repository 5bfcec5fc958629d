package xdp

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/testkit/longtest"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
)

// Ports with one sender use the CPUs in turn. Further senders use the least used CPUs near the
// card.
func TestPlaceSenders(t *testing.T) {
	one := demand{senders: 1}
	for name, test := range map[string]struct {
		ports []demand
		cpus  []int
		want  string
	}{
		"one port":                  {[]demand{one}, []int{0, 1}, "[[0]]"},
		"in turn":                   {[]demand{one, one, one}, []int{0, 1}, "[[0] [1] [0]]"},
		"none asked for":            {[]demand{{}}, []int{3}, "[[3]]"},
		"two each":                  {[]demand{{senders: 2}, {senders: 2}}, []int{0, 1, 2, 3}, "[[0 1] [2 3]]"},
		"more than CPUs":            {[]demand{{senders: 4}}, []int{1, 2}, "[[1 2]]"},
		"two and one":               {[]demand{one, {senders: 2}}, []int{0, 1, 2}, "[[0] [1 2]]"},
		"least used first":          {[]demand{{senders: 2}, one, one}, []int{0, 1, 2}, "[[0 1] [2] [0]]"},
		"near the card":             {[]demand{{senders: 2, near: []int{2, 3}}, {senders: 1, near: []int{0, 1}}}, []int{0, 1, 2, 3}, "[[2 3] [0]]"},
		"near ones are too few":     {[]demand{{senders: 3, near: []int{2, 3}}}, []int{0, 1, 2}, "[[2]]"},
		"near ones are not usable":  {[]demand{{senders: 2, near: []int{6, 7}}}, []int{0, 1, 2}, "[[0 1]]"},
		"several ports on one node": {[]demand{{senders: 1, near: []int{2, 3}}, {senders: 1, near: []int{2, 3}}}, []int{0, 1, 2, 3}, "[[2] [3]]"},
	} {
		if got := fmt.Sprint(placeSenders(test.ports, test.cpus)); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// The kernel's files tell which CPUs are near a card, where there are several nodes.
func TestNearCPUs(t *testing.T) {
	for name, test := range map[string]struct {
		nodes []string
		node  string
		bus   string
		want  []int
	}{
		"two nodes":         {[]string{"0-1,4", "2-3,5"}, "1", "0000:81:00.0", []int{2, 3, 5}},
		"one node":          {[]string{"0-5"}, "0", "0000:81:00.0", nil},
		"firmware is quiet": {[]string{"0-1", "2-3"}, "-1", "0000:81:00.0", nil},
		"virtual interface": {[]string{"0-1", "2-3"}, "1", "", nil},
	} {
		root := t.TempDir()
		write := func(text string, path ...string) {
			name := filepath.Join(append([]string{root}, path...)...)
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for i, cpus := range test.nodes {
			write(cpus, "sys/devices/system/node", fmt.Sprintf("node%d", i), "cpulist")
		}
		write(test.node, "sys/bus/pci/devices/0000:81:00.0/numa_node")
		if got, err := nearCPUs(root, test.bus); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, test.want)
		}
	}
}

// Two senders send at the same times as one, and as many frames.
func TestSharesAreDueInTurn(t *testing.T) {
	const d = time.Millisecond
	dues := func(of, streams int, load traffic.Load) (all []uint64) {
		var list []traffic.Stream
		loads := map[uint16]traffic.Load{}
		for id := range uint16(streams) {
			list = append(list, traffic.Stream{ID: id})
			loads[id] = load
		}
		for _, part := range deal(list, loads, of) {
			s := newSchedule(part, d)
			l := &lane{tx: &kernel.PortTxPort{}, heap: s.heap, groups: s.groups, streams: make([]kernel.PortTxStream, streams)}
			s.place(l, 0, 0)
			for f, ok := l.take(neverDue); ok; f, ok = l.take(neverDue) {
				all = append(all, f.Due)
			}
		}
		slices.Sort(all)
		return all
	}
	for _, load := range []traffic.Load{paced(1_000_000, 1e9), paced(3, 10_000), {Rate: traffic.Rate{Frames: 7, PerNanos: 3000}, Delay: 100 * time.Microsecond}} {
		for _, streams := range []int{2, 4, 6, 12} {
			one := dues(1, streams, load)
			for _, of := range []int{2, 3} {
				several := dues(of, streams, load)
				if len(several) != len(one) {
					t.Errorf("%d streams, %+v: %d senders send %d frames, one sends %d", streams, load, of, len(several), len(one))
					continue
				}
				if streams%of != 0 {
					continue // the shares differ in rate
				}
				for i := range one {
					if late := int64(several[i]) - int64(one[i]); late < -1 || late > 1 {
						t.Fatalf("%d streams, %+v, %d senders: frame %d is due at %d ns, with one sender at %d ns", streams, load, of, i, several[i], one[i])
					}
				}
			}
		}
	}
}

// Streams with loads of their own are dealt evenly too.
func TestDealEvenly(t *testing.T) {
	var streams []traffic.Stream
	loads := map[uint16]traffic.Load{}
	for id := range uint16(9) {
		streams = append(streams, traffic.Stream{ID: id})
		if id != 4 {
			loads[id] = paced(int64(id)+1, 1e6)
		}
	}
	for i, part := range deal(streams, loads, 3) {
		if n := len(part); n < 2 || n > 3 {
			t.Errorf("share %d has %d of 8 streams", i, n)
		}
		for _, d := range part {
			if d.stream == 4 || d.load != loads[uint16(d.stream)] || d.phase != 0 {
				t.Errorf("share %d: %+v", i, d)
			}
		}
	}
}

// needsCPUs skips a test on machines with fewer CPUs.
func needsCPUs(t *testing.T, e *Engine, n int) {
	t.Helper()
	cpus, err := e.options.processors()
	if err != nil {
		t.Fatal(err)
	}
	if len(cpus) < n {
		t.Skipf("skipped: needs %d CPUs, the test may use %d", n, len(cpus))
	}
}

// Two senders of a port count exactly, keep every stream in order, and share the streams.
func TestTwoSenders(t *testing.T) {
	t.Setenv(transmitVariable, "") // AF_XDP sockets need a queue for each sender, and this veth has one
	perSecond := func(n int64) traffic.Rate { return traffic.Rate{Frames: n, PerNanos: 1e9} }
	for name, test := range map[string]struct {
		streams int
		load    traffic.Load
		vary    bool
	}{
		"paced":                   {8, traffic.Load{Rate: perSecond(20_000), Frames: 10_000}, false},
		"rates of their own":      {6, traffic.Load{Rate: perSecond(10_000), Frames: 5000}, true},
		"as fast as they can":     {4, traffic.Load{Max: true, Frames: 100_000}, false},
		"an odd number":           {5, traffic.Load{Rate: perSecond(5000), Frames: 2000}, false},
		"one stream, one sender":  {1, traffic.Load{Rate: perSecond(5000), Frames: 2000}, false},
		"slower than the senders": {2, traffic.Load{Rate: perSecond(100), Frames: 20}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "an odd number" || name == "slower than the senders" {
				longtest.Skip(t, "other streams and rates")
			}
			bed := newBed(t)
			bed.veth("v1", "v2", bed.tester)
			p1, p2 := Port{Name: "p1", Interface: "v1", Senders: 2}, Port{Name: "p2", Interface: "v2"}
			e := bed.open(p1, p2)
			needsCPUs(t, e, 2)
			trial := traffic.Trial{Loads: map[uint16]traffic.Load{}}
			var streams []traffic.Stream
			for i := range test.streams {
				s := stream(uint16(i+1), e)
				load := test.load
				if test.vary {
					load.Rate.Frames += int64(i) * 1000
				}
				streams, trial.Loads[s.ID] = append(streams, s), load
			}
			m := bed.run(e, streams, trial, arrived)
			for id, load := range trial.Loads {
				tx, rx := m.Tx[id], m.Rx[traffic.RxKey{Stream: id, Port: "p2"}]
				if tx.Sent != load.Frames || rx.Received != load.Frames || rx.Duplicate+rx.Reordered != 0 {
					t.Errorf("stream %d: %+v, received %d, duplicate %d, reordered %d: want %d frames", id, tx, rx.Received, rx.Duplicate, rx.Reordered, load.Frames)
				}
			}
			if want := min(2, test.streams); len(e.trial.senders) != want {
				t.Fatalf("%d senders, want %d", len(e.trial.senders), want)
			}
			for _, s := range e.trial.senders {
				if n := atomic.LoadUint64(&s.lanes[0].tx.Sent); n == 0 {
					t.Errorf("the sender on CPU %d sent nothing", s.processor)
				}
			}
			if len(m.Pacing) != 1 {
				t.Errorf("pacing %+v, want that of one port", m.Pacing)
			}
		})
	}
}

// Two ports with two senders each share two CPUs. A second trial begins anew.
func TestTwoSendersOnTwoPorts(t *testing.T) {
	bed := newBed(t)
	bed.veth("v1", "v2", bed.tester)
	e := bed.open(Port{Name: "p1", Interface: "v1", Senders: 2}, Port{Name: "p2", Interface: "v2", Senders: 2})
	needsCPUs(t, e, 2)
	trial := traffic.Trial{Loads: map[uint16]traffic.Load{}}
	var streams []traffic.Stream
	for id := range uint16(8) {
		s := stream(id+1, e)
		if id%2 == 1 {
			s.TxPort, s.RxPorts = "p2", []string{"p1"}
			s.Headers.SrcMAC, s.Headers.DstMAC = s.Headers.DstMAC, s.Headers.SrcMAC
			s.Headers.SrcIP, s.Headers.DstIP = s.Headers.DstIP, s.Headers.SrcIP
		}
		streams = append(streams, s)
		trial.Loads[s.ID] = traffic.Load{Rate: traffic.Rate{Frames: 10_000, PerNanos: 1e9}, Frames: 3000}
	}
	check := func(m traffic.Measurement) {
		t.Helper()
		if sent(m) != 24_000 || received(m) != 24_000 {
			t.Errorf("sent %d, received %d, want 24000", sent(m), received(m))
		}
		for key, rx := range m.Rx {
			if rx.Received != 3000 || rx.Reordered+rx.Duplicate != 0 {
				t.Errorf("%v: %+v", key, rx)
			}
		}
		if len(e.trial.senders) != 2 {
			t.Errorf("%d senders, want 2", len(e.trial.senders))
		}
	}
	check(bed.run(e, streams, trial, arrived))
	check(bed.again(e, trial, arrived))
	// One direction only: the CPUs of the other are not forgotten.
	for id := range trial.Loads {
		if id%2 == 0 {
			delete(trial.Loads, id)
		}
	}
	if m := bed.again(e, trial, arrived); sent(m) != 12_000 || received(m) != 12_000 {
		t.Errorf("one direction: sent %d, received %d, want 12000", sent(m), received(m))
	}
}

// A device whose ring is full refuses frames of both senders. None is lost, and none counted twice.
func TestTwoSendersWithAFullRing(t *testing.T) {
	t.Setenv(transmitVariable, "") // AF_XDP sockets need a queue for each sender, and this veth has one
	bed := newBed(t)
	d := bed.device()
	d.gro("d1", true)
	d.dropper(0)
	ports := d.ports(nil, nil)
	ports[0].Senders = 2
	e := bed.open(ports...)
	needsCPUs(t, e, 2)
	trial := traffic.Trial{Loads: map[uint16]traffic.Load{}}
	var streams []traffic.Stream
	for id := range uint16(4) {
		streams = append(streams, stream(id+1, e))
		trial.Loads[id+1] = traffic.Load{Max: true, Frames: 20_000}
	}
	if err := e.Configure(t.Context(), streams); err != nil {
		t.Fatal(err)
	}
	var refused uint64
	for begin := time.Now(); refused == 0; {
		if time.Since(begin) > patience {
			t.Fatal("the ring of the device was never full: nothing was tested")
		}
		before := d.faults()
		m := bed.again(e, trial, func(m traffic.Measurement) bool { return d.faults().Frames-before.Frames == sent(m) })
		if got := d.faults().Frames - before.Frames; sent(m) != 80_000 || got != sent(m) {
			t.Fatalf("sent %d, the device got %d, want 80000", sent(m), got)
		}
		for _, s := range e.trial.senders {
			refused += s.lanes[0].tx.Refused
		}
	}
}

// What the port cannot do is in its notes.
func TestNotesOnSenders(t *testing.T) {
	for name, test := range map[string]struct {
		sends       *transmitter
		where, note string
	}{
		"one":      {&transmitter{netdev: &netdev{Port: Port{Name: "p1", Senders: 1}}, cpus: []int{0}}, "", ""},
		"two":      {&transmitter{netdev: &netdev{Port: Port{Name: "p1", Senders: 2}}, cpus: []int{0, 1}}, "p1 sends on CPUs 0-1", ""},
		"few CPUs": {&transmitter{netdev: &netdev{Port: Port{Name: "p1", Senders: 4}}, cpus: []int{0, 1}}, "p1 sends on CPUs 0-1", "2 of 4 senders send, because the tester may use no other CPUs"},
		"node":     {&transmitter{netdev: &netdev{Port: Port{Name: "p1", Senders: 3}}, cpus: []int{2, 3}, near: []int{2, 3}}, "p1 sends on CPUs 2-3", "2 of 3 senders send, because the tester may use no other CPUs on the NUMA node of the card"},
	} {
		if where, note := test.sends.describeSenders(); where != test.where || note != test.note {
			t.Errorf("%s: %q and %q, want %q and %q", name, where, note, test.where, test.note)
		}
	}
	bed := newBed(t)
	bed.veth("v1", "v2", bed.tester)
	e := bed.open(Port{Name: "p1", Interface: "v1", Senders: 2, Transmit: AFXDP}, Port{Name: "p2", Interface: "v2"})
	info, err := e.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(info.Ports[0].Notes, "\n"); !strings.Contains(notes, "1 of 2 senders send, because the interface has 1 transmit queues for AF_XDP sockets") {
		t.Errorf("notes %q", notes)
	}
	if _, err := New(Options{Ports: []Port{{Name: "p1", Interface: "v1", Senders: 17}}}); err == nil || !strings.Contains(err.Error(), "17 senders: allowed are 1 to 16") {
		t.Errorf("17 senders: %v", err)
	}
}

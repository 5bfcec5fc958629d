package xdp

import (
	"net/netip"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
	"nodrop.dev/nodrop/internal/traffic/xdp/machine"
)

// microflowRecords are the records of the microflows of a stream at a port, and the times of
// their first frames.
func (b *bed) microflowRecords(e *Engine, stream uint16, port string) (all []traffic.MicroflowRecord, firsts []uint64) {
	b.Helper()
	err := e.Microflows(b.Context(), traffic.RxKey{Stream: stream, Port: port}, func(p traffic.MicroflowPart) error {
		all, firsts = append(all, p.Records...), append(firsts, p.FirstNs...)
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return all, firsts
}

// Every microflow of streams of several kinds is counted, in this trial and the next one, and
// so is when the first frame of each arrived.
func TestMicroflowsOverACable(t *testing.T) {
	bed := newBed(t)
	e := bed.backToBack()
	streams := []traffic.Stream{stream(1, e), stream(2, e), stream(3, e), stream(4, e)}
	for i := range streams {
		streams[i].Track = traffic.TrackCounts
	}
	h := &streams[0].Headers
	h.SrcIPCount, h.SrcPortCount, h.DstPortCount = 7, 11, 13
	streams[0].Track = traffic.TrackTimes
	h = &streams[1].Headers
	h.SrcIP, h.DstIP, h.SrcIPCount, h.DstIPCount = netip.MustParseAddr("2001:2::1"), netip.MustParseAddr("2001:2:0:1::"), 5, 9
	h.DstIPBits, h.DstIPStride, streams[1].FrameSize = 64, 3, 128
	h = &streams[2].Headers
	h.SrcIP, h.DstIP, h.SrcMACCount, h.DstMACCount = netip.Addr{}, netip.Addr{}, 3, 4
	streams[3].Track = traffic.TrackNone
	if err := e.Configure(t.Context(), streams); err != nil {
		t.Fatal(err)
	}
	for _, frames := range []uint64{2345, 10} {
		trial := traffic.Trial{Loads: map[uint16]traffic.Load{}}
		for _, s := range streams {
			trial.Loads[s.ID] = traffic.Load{Rate: traffic.Rate{Frames: 100_000, PerNanos: 1e9}, Frames: frames + uint64(s.ID)}
		}
		began := uint64(monotonic())
		m := bed.again(e, trial, arrived)
		if !arrived(m) {
			t.Fatalf("%d of %d frames arrived", received(m), sent(m))
		}
		for i, n := range []uint64{7 * 11 * 13, 45, 12} {
			s := streams[i]
			records, firsts := bed.microflowRecords(e, s.ID, "p2")
			places := m.Tx[s.ID].Places()
			if uint64(len(records)) != n || places.Frames != frames+uint64(s.ID) || (len(firsts) > 0) != (i == 0) {
				t.Fatalf("stream %d: %d records and %d times of %d frames, want %d records", s.ID, len(records), len(firsts), places.Frames, n)
			}
			for number, r := range records {
				want := places.Of(uint64(number), n)
				last := uint64(0)
				if want > 0 {
					last = uint64(number) + (want-1)*n + 1
				}
				if uint64(r.Received) != want || uint64(r.Last) != last {
					t.Fatalf("stream %d, microflow %d: %+v, want %d frames and %d", s.ID, number, r, want, last)
				}
				if i == 0 && (firsts[number] > began) != (want > 0) {
					t.Fatalf("the first frame of microflow %d of %d frames arrived at %d, and the trial began at %d", number, want, firsts[number], began)
				}
			}
		}
		sums, err := e.SumMicroflows(t.Context(), m.Tx, 10)
		if err != nil || len(sums) != 3 {
			t.Fatalf("%+v %v", sums, err)
		}
		for i, s := range sums {
			if s.Tracked != s.Complete || s.Tracked+s.Unsent != []uint64{7 * 11 * 13, 45, 12}[i] || s.Tracked == 0 || s.Lost != 0 || len(s.Bad) > 0 {
				t.Errorf("stream %d at %s: %+v", s.Stream, s.Port, s)
			}
		}
	}
	if err := e.Microflows(t.Context(), traffic.RxKey{Stream: 4, Port: "p2"}, nil); err == nil || !strings.Contains(err.Error(), "stream 4 at port p2") {
		t.Errorf("a stream that is not tracked: %v", err)
	}
	streams[3].Track, streams[3].Headers.SrcIPCount, streams[3].Headers.SrcPortCount = traffic.TrackCounts, 4099, 4093
	if err := e.Configure(t.Context(), streams); err == nil || !strings.Contains(err.Error(), "16,777,207 microflows") || !strings.Contains(err.Error(), "the most is 16,777,216, which need 128 MiB") {
		t.Errorf("more microflows than a port counts: %v", err)
	}
}

// Frames that are copied or overtaken on their way are counted once, in their own microflow.
func TestMicroflowsInDisorder(t *testing.T) {
	bed := newBed(t)
	d := bed.device()
	d.disturb(settings{"copy_every": uint32(7), "permute": uint32(1)})
	e := bed.open(d.ports(nil, nil)...)
	s := stream(1, e)
	s.Track, s.Headers.SrcIPCount, s.Headers.SrcPortCount = traffic.TrackCounts, 13, 77
	const frames = 7 * 10_010
	m := bed.run(e, []traffic.Stream{s}, traffic.Trial{Loads: map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 1, PerNanos: 2e4}, Frames: frames}}},
		func(m traffic.Measurement) bool {
			return arrived(m) && m.Rx[traffic.RxKey{Stream: 1, Port: "p2"}].Duplicate == d.faults().Copied
		})
	sums, err := e.SumMicroflows(t.Context(), m.Tx, 10)
	if err != nil || len(sums) != 1 || sums[0].Complete != 1001 || sums[0].Least != 70 || sums[0].Most != 70 {
		t.Errorf("%+v %v, want 1001 complete microflows of 70 frames", sums, err)
	}
}

// A firewall drops some microflows of many, and each is found, and no other.
func TestMicroflowsThatAFirewallDrops(t *testing.T) {
	sources, ports := uint32(25), uint32(4001) // 100,025
	if !testing.Short() {
		sources, ports = 250, 40001 // 10,000,250
	}
	bed := newBed(t)
	d := bed.device()
	d.router(prefixes("198.18.1.1/24"), prefixes("198.18.2.1/24"))
	e := bed.open(d.ports(prefixes("198.18.1.2/24"), prefixes("198.18.2.2/24"))...)
	s := stream(1, e)
	mac, err := e.Resolve(t.Context(), "p1", netip.MustParseAddr("198.18.1.1"))
	if err != nil {
		t.Fatal(err)
	}
	s.Track, s.Headers.DstMAC = traffic.TrackCounts, mac
	s.Headers.SrcIP, s.Headers.DstIP = netip.MustParseAddr("198.18.1.2"), netip.MustParseAddr("198.18.2.2")
	s.Headers.SrcPort, s.Headers.SrcIPCount, s.Headers.SrcPortCount = 10_000, sources, ports
	all := s.Headers.Microflows()
	dropped := map[uint64]bool{}
	var elements []string
	for n := uint64(17); n < all; n += 1000 {
		dropped[n] = true
		f := s.Headers.Microflow(n)
		elements = append(elements, f.SrcIP.String()+" . "+strconv.Itoa(int(f.SrcPort)))
	}
	d.nft("table ip filter {\n" +
		" set dropped { type ipv4_addr . inet_service; elements = { " + strings.Join(elements, ", ") + " } }\n" +
		" chain forward { type filter hook forward priority 0; ip saddr . udp sport @dropped counter drop; }\n}\n")

	load := traffic.Load{Rate: traffic.Rate{Frames: 100_000, PerNanos: 1e9}, Frames: all}
	m := bed.run(e, []traffic.Stream{s}, traffic.Trial{Loads: map[uint16]traffic.Load{1: load}},
		func(m traffic.Measurement) bool { return received(m)+uint64(len(dropped)) == sent(m) })
	sums, err := e.SumMicroflows(t.Context(), m.Tx, len(dropped)+1)
	if err != nil || len(sums) != 1 {
		t.Fatalf("%+v %v", sums, err)
	}
	sum := sums[0]
	t.Logf("%d microflows, of which the firewall dropped %d: tracked %d, complete %d, lossy %d, silent %d", all, len(dropped), sum.Tracked, sum.Complete, sum.Lossy, sum.Silent)
	if sum.Tracked != all || sum.Silent != uint64(len(dropped)) || sum.Complete != all-sum.Silent || len(sum.Bad) != len(dropped) {
		t.Fatalf("tracked %d, complete %d, silent %d, %d listed: want %d, of which %d silent", sum.Tracked, sum.Complete, sum.Silent, len(sum.Bad), all, len(dropped))
	}
	for _, b := range sum.Bad {
		if !dropped[b.Number] {
			t.Errorf("microflow %d (%+v) is listed, and was not dropped", b.Number, s.Headers.Microflow(b.Number))
		}
	}
}

// nft loads a ruleset of nftables in the device's namespace.
func (d *device) nft(rules string) {
	d.Helper()
	var out []byte
	var err error
	d.in(d.ns, func() {
		c := exec.CommandContext(d.Context(), "nft", "-f", "-")
		c.Stdin = strings.NewReader(rules)
		out, err = c.CombinedOutput()
	})
	if err != nil {
		d.Fatalf("nft: %v: %s", err, out)
	}
}

// Frames of a hole are sent again with the addresses that they had, and count in their microflows
// whenever sending ends.
func TestMicroflowsOfHoles(t *testing.T) {
	bed := newBed(t)
	e := bed.backToBack()
	s := stream(1, e)
	s.Track, s.Headers.SrcIPCount = traffic.TrackCounts, 7
	if err := e.Configure(t.Context(), []traffic.Stream{s}); err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, port: e.ports.named("p2")}
	hole := kernel.PortHole{From: 10, To: 14}
	// 10 to 13 were refused, and 14 was not. They become 15 to 18.
	places := []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 14, 10, 11, 12, 13, 15, 16, 17}
	for ends := 11; ends <= len(places); ends++ {
		b.epoch(1000)
		b.port.receive.attached.holes.At[1] = hole
		want := make([]uint32, 7)
		for i, place := range places[:ends] {
			number := uint64(i)
			if number >= hole.From {
				number += hole.To - hole.From
			}
			b.sequence(number)
			want[place%7]++
		}
		records, _ := bed.microflowRecords(e, 1, "p2")
		for i, r := range records {
			if r.Received != want[i] {
				t.Errorf("after %d frames: microflow %d has %d, want %d", ends, i, r.Received, want[i])
			}
		}
		tx := traffic.TxCount{Sent: uint64(ends), Ahead: aheadOf(hole, uint64(ends))}
		sums, err := e.SumMicroflows(t.Context(), map[uint16]traffic.TxCount{1: tx}, 10)
		if err != nil || len(sums) != 1 || sums[0].Complete != 7 || sums[0].Lost != 0 {
			t.Errorf("after %d frames: %+v %v, want all complete", ends, sums, err)
		}
	}
}

// All microflows of a stream are counted at full load, and each is complete. The log compares rates
// and memory with a stream of one microflow; docs/design/flow-scale.md has the figures.
func TestMicroflowsAtFullLoad(t *testing.T) {
	sources, ports, rounds := uint32(25), uint32(4001), 1 // 100,025
	if !testing.Short() {
		sources, ports, rounds = 250, 40001, 5 // 10,000,250
	}
	bed := newBed(t)
	e := bed.backToBack()
	one := stream(1, e)
	ranges := one
	ranges.Headers.SrcPort, ranges.Headers.SrcIPCount, ranges.Headers.SrcPortCount = 10_000, sources, ports
	tracked := ranges
	tracked.Track = traffic.TrackCounts
	all := ranges.Headers.Microflows()
	names := []string{"one microflow, not counted", "all, not counted", "all, counted"}
	rates := make([][]float64, len(names))
	memory := []string{residentMemory(t)}
	for range rounds {
		for i, s := range []traffic.Stream{one, ranges, tracked} {
			m := bed.run(e, []traffic.Stream{s}, traffic.Trial{Loads: map[uint16]traffic.Load{1: {Max: true, Frames: 3*all + 1}}}, arrived)
			if !arrived(m) {
				t.Fatalf("%s: sent %d, received %d", names[i], sent(m), received(m))
			}
			rates[i] = append(rates[i], float64(m.Tx[1].Sent)/m.Tx[1].Duration.Seconds())
			if s.Track == traffic.TrackNone {
				continue
			}
			begin := time.Now()
			sums, err := e.SumMicroflows(t.Context(), m.Tx, 10)
			t.Logf("%d microflows were summed up in %v", all, time.Since(begin))
			if err != nil || len(sums) != 1 || sums[0].Complete != all || sums[0].Least != 3 || sums[0].Most != 4 {
				t.Errorf("%+v %v, want %d complete microflows of 3 frames, and one of 4", sums, err, all)
			}
		}
		memory = append(memory, residentMemory(t))
	}
	for i, name := range names {
		slices.Sort(rates[i])
		t.Logf("%s: %.0f frames/s, %.3f of one microflow", name, rates[i][rounds/2], rates[i][rounds/2]/rates[0][rounds/2])
	}
	t.Logf("resident memory before: %s, after: %s; records of the port: %d bytes", memory[0], memory[len(memory)-1], e.ports.named("p2").receive.microflows.Bytes())
}

// The receive program takes little longer for a frame whose microflow is counted. The kernel measures
// the program alone, so that other work of the machine matters less than for rates.
func TestReceiveProgramCountsMicroflows(t *testing.T) {
	sources, ports, rounds := uint32(25), uint32(4001), 1
	if !testing.Short() {
		sources, ports, rounds = 250, 40001, 3
	}
	bed := newBed(t)
	e := bed.backToBack()
	stats, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
	if err != nil {
		t.Fatal(err)
	}
	defer stats.Close()
	one := stream(1, e)
	ranges := one
	ranges.Headers.SrcPort, ranges.Headers.SrcIPCount, ranges.Headers.SrcPortCount = 10_000, sources, ports
	tracked, timed := ranges, ranges
	tracked.Track, timed.Track = traffic.TrackCounts, traffic.TrackTimes
	all := ranges.Headers.Microflows()
	cases := []struct {
		name   string
		stream traffic.Stream
		nanos  []float64
	}{{"one microflow, not counted", one, nil}, {"all, not counted", ranges, nil}, {"all, counted", tracked, nil}, {"all, counted with times", timed, nil}}
	for range rounds {
		for i := range cases {
			c := &cases[i]
			if err := e.Configure(t.Context(), []traffic.Stream{c.stream}); err != nil {
				t.Fatal(err)
			}
			program := e.ports.named("p2").receive.attached.programs.Port
			before, err := program.Stats()
			if err != nil {
				t.Fatal(err)
			}
			m := bed.again(e, traffic.Trial{Loads: map[uint16]traffic.Load{1: {Max: true, Frames: all}}}, arrived)
			after, err := program.Stats()
			if err != nil {
				t.Fatal(err)
			}
			frames := after.RunCount - before.RunCount
			if !arrived(m) || frames < all {
				t.Fatalf("%s: sent %d, received %d, the program ran %d times", c.name, sent(m), received(m), frames)
			}
			c.nanos = append(c.nanos, float64(after.Runtime-before.Runtime)/float64(frames))
		}
	}
	for _, c := range cases {
		slices.Sort(c.nanos)
		t.Logf("%s: the receive program takes %.1f ns per frame (%.1f to %.1f)", c.name, c.nanos[rounds/2], c.nanos[0], c.nanos[rounds-1])
	}
}

// residentMemory is the resident memory of this process, as /proc/self/status has it.
func residentMemory(t *testing.T) (resident string) {
	t.Helper()
	err := machine.EachLine("/proc/self/status", func(line string) bool {
		value, found := strings.CutPrefix(line, "VmRSS:")
		resident = strings.TrimSpace(value)
		return !found
	})
	if err != nil {
		t.Fatal(err)
	}
	return resident
}

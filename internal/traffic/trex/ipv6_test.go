package trex

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// ipv6 is a stream of the smallest frames of IPv6 from left to right, with ranges.
func ipv6(t *testing.T, dst traffic.MAC, change func(*traffic.Headers)) traffic.Stream {
	t.Helper()
	s := traffic.Stream{ID: 1, TxPort: "left", RxPorts: []string{"right"}, FrameSize: 86, Headers: traffic.Headers{
		DstMAC: dst, SrcIP: addr("2001:2:0:1::2"), DstIP: addr("2001:2:0:2::fff0"),
		SrcIPCount: 1, DstIPCount: 1, SrcPort: 1024, DstPort: 7, SrcPortCount: 1, DstPortCount: 1,
	}}
	change(&s.Headers)
	return s
}

// everyRange is of everything that can count, each as often as is prime, so that
// no two go together.
func everyRange(h *traffic.Headers) {
	h.SrcIPCount, h.DstIPCount, h.SrcPortCount, h.DstPortCount = 31, 37, 41, 43
}

// seen are the values of a flow's parts.
type seen struct {
	src, dst         map[netip.Addr]bool
	srcPort, dstPort map[uint16]bool
}

// add reads a frame as an independent decoder does, and reports whether its UDP checksum
// holds.
func (s *seen) add(t *testing.T, b []byte) bool {
	t.Helper()
	if s.src == nil {
		*s = seen{map[netip.Addr]bool{}, map[netip.Addr]bool{}, map[uint16]bool{}, map[uint16]bool{}}
	}
	decoded := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default)
	ip, ok := decoded.Layer(layers.LayerTypeIPv6).(*layers.IPv6)
	if !ok {
		t.Fatalf("not a frame of IPv6: % x", b)
	}
	udp := decoded.Layer(layers.LayerTypeUDP).(*layers.UDP)
	if err := udp.SetNetworkLayerForChecksum(ip); err != nil {
		t.Fatal(err)
	}
	err, wrong := decoded.VerifyChecksums()
	if err != nil {
		t.Fatal(err)
	}
	src, _ := netip.AddrFromSlice(ip.SrcIP)
	dst, _ := netip.AddrFromSlice(ip.DstIP)
	s.src[src], s.dst[dst] = true, true
	s.srcPort[uint16(udp.SrcPort)], s.dstPort[uint16(udp.DstPort)] = true, true
	return len(wrong) == 0
}

// all checks that every value of every range was seen, and no other.
func (s *seen) all(t *testing.T, h traffic.Headers) {
	t.Helper()
	for n := range h.SrcIPCount {
		if !s.src[traffic.Above(h.SrcIP, n)] {
			t.Errorf("source %v did not come", traffic.Above(h.SrcIP, n))
		}
	}
	for n := range h.DstIPCount {
		if !s.dst[traffic.Above(h.DstIP, n)] {
			t.Errorf("destination %v did not come", traffic.Above(h.DstIP, n))
		}
	}
	for n := range h.SrcPortCount {
		if !s.srcPort[h.SrcPort+uint16(n)] {
			t.Errorf("source port %d did not come", h.SrcPort+uint16(n))
		}
	}
	for n := range h.DstPortCount {
		if !s.dstPort[h.DstPort+uint16(n)] {
			t.Errorf("destination port %d did not come", h.DstPort+uint16(n))
		}
	}
	got := []int{len(s.src), len(s.dst), len(s.srcPort), len(s.dstPort)}
	if want := []int{int(h.SrcIPCount), int(h.DstIPCount), int(h.SrcPortCount), int(h.DstPortCount)}; !slices.Equal(got, want) {
		t.Errorf("%d values of each range: want %d", got, want)
	}
}

// engine does what the server's field engine does with variables of consecutive
// values: of several transmit cores, each begins as many steps later as its number
// and makes as many steps at once as there are.
func engine(t *testing.T, vm program, packet []byte, core, cores, frame uint64) []byte {
	t.Helper()
	b := slices.Clone(packet)
	type variable struct {
		value uint64
		size  int
	}
	variables := map[string]variable{}
	for _, in := range vm {
		name := fmt.Sprint(in["name"])
		if in["type"] == "flow_var" {
			low, high := in["min_value"].(uint64), in["max_value"].(uint64)
			steps, values := core+frame*cores, high-low+1
			if in["op"] == "dec" {
				steps = values - steps%values
			}
			variables[name] = variable{low + (in["init_value"].(uint64)-low+steps)%values, in["size"].(int)}
			continue
		}
		v := variables[name]
		word := binary.BigEndian.AppendUint64(nil, v.value)
		copy(b[in["pkt_offset"].(int):], word[8-v.size:])
	}
	return b
}

// The UDP checksum of IPv6 holds for every value of every range, however many cores
// send, behind a tag, and where a part of the stream begins later.
func TestChecksumOfRanges(t *testing.T) {
	for name, change := range map[string]func(*traffic.Headers){
		"no range": func(*traffic.Headers) {},
		"ports":    func(h *traffic.Headers) { h.SrcPortCount, h.DstPortCount = 3, 65_529 },
		"addresses that carry into the upper word": func(h *traffic.Headers) { h.DstIPCount = 300 },
		"all":              everyRange,
		"all behind a tag": func(h *traffic.Headers) { everyRange(h); h.VLANs = frame.VLANs{{ID: 5}} },
	} {
		t.Run(name, func(t *testing.T) {
			one := ipv6(t, traffic.MAC{2}, change)
			one.FrameSize = 90
			s, err := newStream(one, traffic.MAC{2})
			if err != nil {
				t.Fatal(err)
			}
			for cores := uint64(1); cores <= 3; cores++ {
				for _, from := range []uint64{0, 1_000_003} {
					vm, err := s.instructions(ruleStats, from)
					if err != nil {
						t.Fatal(err)
					}
					var all seen
					for core := range cores {
						for n := range uint64(2_000) {
							b := engine(t, vm, s.packet, core, cores, n)
							if !all.add(t, b) {
								t.Fatalf("core %d of %d, frame %d after %d: UDP checksum does not hold: % x", core, cores, n, from, b)
							}
						}
					}
					if one.Headers.DstPortCount < 2_000 {
						all.all(t, one.Headers)
					}
				}
			}
		})
	}
}

// What a real server sends of IPv6 with ranges has right UDP checksums and all
// values; frames that are timed have all values, and the time in place of what the
// checksum is of.
func TestRangesOfIPv6(t *testing.T) {
	everyServer(t, false, func(t *testing.T, s suite) {
		if s.fake != nil {
			t.Skip("the fake sends no frames")
		}
		const n = 43 * 41
		for name, timed := range map[string]int{"counted": 0, "timed": 1_000_000, "some timed": 100} {
			t.Run(name, func(t *testing.T) {
				e := s.open(t, timed)
				one := ipv6(t, e.server.named("right").mac, everyRange)
				configure(t, e, one)
				exactly(t, run(t, e, frames(n, 5_000)), n)
				var all seen
				right, last := 0, 0
				frames := sniff(t, e, frames(n, 5_000))
				for i, b := range frames {
					if all.add(t, b) {
						right++
						continue
					}
					if timed == 100 && i-last > 2*n/36 {
						t.Errorf("timed frames are number %d and %d of %d: want them spread among the others", last, i, n)
					}
					last = i
				}
				all.all(t, one.Headers)
				// 1763 frames at 5000 per second take 0.35 s, of which 36 are timed at 100.
				want := map[string]int{"counted": n, "timed": 0, "some timed": n - 36}[name]
				if len(frames) != n || right != want {
					t.Errorf("%d frames, of which %d have a right UDP checksum: want %d and %d", len(frames), right, n, want)
				}
			})
		}
	})
}

// sniff runs a trial and returns the frames of IPv6 that right received.
func sniff(t *testing.T, e *Engine, trial traffic.Trial) [][]byte {
	t.Helper()
	right := e.server.named("right")
	if err := e.Start(t.Context(), traffic.Trial{Loads: map[uint16]traffic.Load{}}); err != nil { // to rest
		t.Fatal(err)
	}
	if err := right.service(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	var c capture
	err := e.server.client.call(t.Context(), "capture", params{
		"command": "start", "limit": 10_000, "mode": "fixed", "tx": []int{}, "rx": []int{right.index()},
		"filter": "ip6", "endpoint": "", "snaplen": 0,
	}, &c)
	if err != nil {
		t.Fatal(err)
	}
	run(t, e, trial)
	var out [][]byte
	for {
		var got capture
		if err := e.server.client.call(t.Context(), "capture", params{"command": "fetch", "capture_id": c.ID, "pkt_limit": 500, "snaplen": 0}, &got); err != nil {
			t.Fatal(err)
		}
		for _, p := range got.Packets {
			out = append(out, p.Binary)
		}
		if len(got.Packets) == 0 {
			break
		}
	}
	_, err = e.server.client.batch(t.Context(), []call{
		{"capture", params{"command": "stop", "capture_id": c.ID}}, {"capture", params{"command": "remove", "capture_id": c.ID}},
	})
	if err != nil {
		t.Error(err)
	}
	if err := right.service(t.Context(), false); err != nil {
		t.Error(err)
	}
	return out
}

// With a real server, counted and timed frames share a range: as many frames as there are
// values have each value once, so that devices learn all addresses.
func TestEveryValueOnce(t *testing.T) {
	everyServer(t, false, func(t *testing.T, s suite) {
		if s.fake != nil {
			t.Skip("the fake sends no frames")
		}
		const n = 500
		e := s.open(t, 100)
		one := ipv6(t, e.server.named("right").mac, func(h *traffic.Headers) {
			h.DstIPCount, h.SrcPortCount = n, n
			h.SrcMAC, h.SrcMACCount = traffic.MAC{2, 0, 0, 9}, n
		})
		configure(t, e, one)
		macs := map[traffic.MAC]int{}
		var all seen
		for _, b := range sniff(t, e, frames(n, 5_000)) {
			all.add(t, b)
			macs[traffic.MAC(b[6:12])]++
		}
		all.all(t, one.Headers)
		for i := range uint32(n) {
			if mac := one.Headers.SrcMAC.Nth(i); macs[mac] != 1 {
				t.Errorf("hardware address %d, %v, came %d times: want once", i, mac, macs[mac])
			}
		}
	})
}

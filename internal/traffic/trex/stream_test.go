package trex

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
	"nodrop.dev/nodrop/internal/traffic/frame/frametest"
)

func ranged(change func(*traffic.Headers)) traffic.Stream {
	s := traffic.Stream{ID: 6, TxPort: "left", RxPorts: []string{"right"}, FrameSize: 128, Headers: traffic.Headers{
		DstMAC: traffic.MAC{2, 0, 0, 0, 1, 1}, SrcIP: addr("198.18.0.2"), DstIP: addr("198.18.1.2"), SrcPort: 1024, DstPort: 7,
		SrcIPCount: 1, DstIPCount: 1, SrcPortCount: 1, DstPortCount: 1,
	}}
	change(&s.Headers)
	return s
}

// The instructions of UDP ports and of addresses equal those recorded of a client that the
// server accepted, with offsets behind a tag.
func TestInstructions(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*traffic.Headers)
		want   string
	}{
		"none": {func(h *traffic.Headers) {}, `[]`},
		"ports": {func(h *traffic.Headers) { h.SrcPortCount = 1024 }, `[
			{"type":"flow_var","name":"src_port","size":2,"op":"inc","init_value":1024,"min_value":1024,"max_value":2047,"step":1},
			{"type":"write_flow_var","name":"src_port","pkt_offset":34,"add_value":0,"is_big_endian":true}]`},
		"addresses behind a tag": {func(h *traffic.Headers) { h.DstIPCount, h.VLANs = 256, frame.VLANs{{ID: 7}} }, `[
			{"type":"flow_var","name":"dst_ip","size":4,"op":"inc","init_value":3323068674,"min_value":3323068674,"max_value":3323068929,"step":1},
			{"type":"write_flow_var","name":"dst_ip","pkt_offset":34,"add_value":0,"is_big_endian":true},
			{"type":"fix_checksum_ipv4","pkt_offset":18}]`},
		"hardware addresses": {func(h *traffic.Headers) { h.DstMACCount = 3 }, `[
			{"type":"flow_var","name":"dst_mac","size":4,"op":"inc","value_list":[257,10369146,3960819],"step":1},
			{"type":"write_flow_var","name":"dst_mac","pkt_offset":2,"add_value":0,"is_big_endian":true}]`},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := newStream(ranged(c.change), traffic.MAC{2})
			if err != nil {
				t.Fatal(err)
			}
			vm, err := s.instructions(ruleStats, 0)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(vm)
			if err != nil {
				t.Fatal(err)
			}
			var got, want any
			if err := errors.Join(json.Unmarshal(text, &got), json.Unmarshal([]byte(c.want), &want)); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
		})
	}
	first := traffic.MAC{2, 0, 0, 0, 1, 1}
	for i, word := range macWords(first, 3, 0) {
		mac := first.Nth(uint32(i))
		if got := binary.BigEndian.Uint32(mac[2:]); word != got {
			t.Errorf("address %d ends in %#x: want %#x", i, word, got)
		}
	}
}

func TestWhatCannotBeSent(t *testing.T) {
	for name, c := range map[string]struct {
		change      func(*traffic.Headers)
		want        string
		unsupported bool
	}{
		"no network layer": {func(h *traffic.Headers) { *h = traffic.Headers{} }, "no network layer", true},
		"labels":           {func(h *traffic.Headers) { h.Labels = []uint32{16} }, "MPLS", true},
		"addresses that carry": {func(h *traffic.Headers) {
			h.SrcIP, h.DstIP, h.DstIPCount = addr("2001:2::1"), addr("2001:2::ffff:fff0"), 17
		}, "dst_ip: 17 values from 4294967280 on pass the highest, 4294967295", false},
		"many hardware addresses": {func(h *traffic.Headers) { h.SrcMACCount = 65_536 }, "at most 65535", true},
		"ports above the highest": {func(h *traffic.Headers) { h.DstPort, h.DstPortCount = 65_000, 1_000 }, "pass the highest, 65535", false},
	} {
		_, err := newStream(ranged(c.change), traffic.MAC{2})
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, traffic.ErrUnsupported) != c.unsupported {
			t.Errorf("%s: %v: want %q, for ever %t", name, err, c.want, c.unsupported)
		}
	}
}

// The server gets every field that it insists on, the exact rate, and the frame
// without FCS.
func TestAdd(t *testing.T) {
	s, err := newStream(ranged(func(h *traffic.Headers) {}), traffic.MAC{2, 0, 0, 0, 0, 1})
	if err != nil {
		t.Fatal(err)
	}
	load := traffic.Load{Rate: traffic.Rate{Frames: 1_000_000_000, PerNanos: 672 * 3}, Delay: 1500 * time.Nanosecond}
	spec := added(t, &s, load, 12_345)
	for _, name := range required {
		if spec[name] == nil {
			t.Errorf("the stream lacks %s", name)
		}
	}
	mode := spec["mode"].(params)
	if pps := mode["rate"].(params)["value"].(float64); pps != 1e18/(672*3) {
		t.Errorf("rate of %v frames/s: want %v", pps, 1e18/(672*3))
	}
	if spec["isg"] != 1.5 || mode["total_pkts"] != uint64(12_345) {
		t.Errorf("delay %v us and mode %v: want 1.5 and a burst of 12345", spec["isg"], mode)
	}
	packet, err := base64.StdEncoding.DecodeString(spec["packet"].(params)["binary"].(string))
	if err != nil || len(packet) != 124 || packet[11] != 1 {
		t.Errorf("packet of %d bytes, from % x: want 124, from the port", len(packet), packet[6:12])
	}
	if sig, ok := frametest.ParseSignature(packet[42:]); !ok || sig.Stream != 6 {
		t.Errorf("signature %v, %t: want that of stream 6", sig, ok)
	}
	if mode := added(t, &s, load, maxBurst+1)["mode"].(params); mode["type"] != "continuous" {
		t.Errorf("%v: a burst longer than the server takes is continuous", mode)
	}
}

// added is the stream of the server that a stream without a probe becomes.
func added(t *testing.T, s *stream, load traffic.Load, n uint64) params {
	t.Helper()
	parts := s.split(load, n, 0, 0, phase{}, 100)
	if len(parts) != 1 {
		t.Fatalf("%d parts of a stream of which nothing is timed: want 1", len(parts))
	}
	add, err := parts[0].add(&port{})
	if err != nil {
		t.Fatal(err)
	}
	return add.params["stream"].(params)
}

func TestIntended(t *testing.T) {
	for name, c := range map[string]struct {
		load traffic.Load
		d    time.Duration
		want uint64
	}{
		"frames":          {traffic.Load{Rate: perSecond(10), Frames: 12_345}, 0, 12_345},
		"rounded down":    {traffic.Load{Rate: traffic.Rate{Frames: 1, PerNanos: 300_000_000}}, time.Second, 3},
		"at least one":    {traffic.Load{Rate: perSecond(1)}, time.Millisecond, 1},
		"delay":           {traffic.Load{Rate: perSecond(1000), Delay: 250 * time.Millisecond}, time.Second, 750},
		"whichever first": {traffic.Load{Rate: perSecond(1000), Frames: 10}, time.Second, 10},
		"beyond 64 bits":  {traffic.Load{Rate: traffic.Rate{Frames: 14_880_952_381, PerNanos: 100_000_000_000}}, 3 * time.Hour, 1_607_142_857_148},
		"as fast as can":  {traffic.Load{Max: true}, time.Second, unlimited},
	} {
		if got := intended(c.load, c.d); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

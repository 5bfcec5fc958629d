package trex

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// recordedHDR is the answer of a real server with --hdrh 0.1 s after the beginning of a
// trial, when its greatest latency was 0 and its histogram had 3 frames below 10 us,
// one of 5 ms and 112 in all.
const recordedHDR = "HISTFAAAAKp4nEWMOwrCUBBFM+e9EEQkSEilImIlYmVlldLKWqxdgbgBC3cgiK7AyiVY2bsBF2AluARvXpTMn5lzp7s/ZFEUPaLK3K9bqKfjrvhUixSPeecdOIwyyu7qQe5FhMnkLbJQcybaNIj/sDCSWkQqKFYOUEz9iLNJ1FMOdUtCnYtes9LLMUKbsJXmbbTp67dxq75lOnaUJVQw4+nUXp4FG+6Oi7HkmvMFWBkSog=="

// hdr encodes the latencies as the server does, in buckets of three digits.
func (t *fakeTimes) hdr() string {
	const half = 1024
	var counts []byte
	number := func(n int) {
		for v := uint64(n)<<1 ^ uint64(int64(n)>>63); ; v >>= 7 {
			if v < 0x80 {
				counts = append(counts, byte(v))
				return
			}
			counts = append(counts, byte(v)|0x80)
		}
	}
	buckets := map[int]int{}
	for us, n := range t.all {
		at, within := us, us
		for block := 1; within >= 2*half; block++ {
			within >>= 1
			at = block*half + within
		}
		buckets[at] += n
	}
	next := 0
	for _, at := range slices.Sorted(maps.Keys(buckets)) {
		if at > next {
			number(next - at)
		}
		number(buckets[at])
		next = at + 1
	}
	plain := binary.BigEndian.AppendUint32(nil, hdrPlain)
	for _, field := range []uint32{uint32(len(counts)), 0, 3, 0, 1, 0, 10_000_000, 0, 0} {
		plain = binary.BigEndian.AppendUint32(plain, field)
	}
	plain = append(plain, counts...)
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	_, _ = w.Write(plain) // into memory
	_ = w.Close()
	wire := binary.BigEndian.AppendUint32(nil, hdrCompressed)
	wire = binary.BigEndian.AppendUint32(wire, uint32(packed.Len()))
	return base64.StdEncoding.EncodeToString(append(wire, packed.Bytes()...))
}

func TestHDRAsRecorded(t *testing.T) {
	stats := latencyStats{}
	stats.Lat.HDR = recordedHDR
	if err := stats.decodeHDR(); err != nil {
		t.Fatal(err)
	}
	l, err := stats.latency()
	if err != nil || l.Count != 112 || l.MinNs != 8_000 || l.MaxNs < 5_804_000 || l.MaxNs > 5_808_000 {
		t.Errorf("%d frames of %d to %d ns, %v: recorded are 112 of 8 to 5804 us", l.Count, l.MinNs, l.MaxNs, err)
	}
	var short, long uint64
	for _, b := range stats.exact {
		switch {
		case b.low < 10_000:
			short += b.count
		case b.low >= 1_000_000 && b.low < 2_000_000:
			long += b.count
		}
	}
	if short != 3 || long != 12 {
		t.Errorf("%d frames below 10 us, %d of 1 ms: the server's own histogram has 3 and 12", short, long)
	}
}

// Every latency lies in its bucket.
func TestHDRBounds(t *testing.T) {
	times := fakeTimes{all: map[int]int{}}
	for _, us := range []int{0, 1, 1023, 1024, 2047, 2048, 2049, 4095, 4096, 24_239, 999_999, 9_999_999} {
		times.all[us] += us%3 + 1
	}
	got, err := hdrBuckets(times.hdr())
	if err != nil {
		t.Fatal(err)
	}
	var frames uint64
	for us, n := range times.all {
		in := slices.IndexFunc(got, func(b bucket) bool { return b.low <= uint64(us)*1_000 && uint64(us)*1_000 < b.high })
		if in < 0 || got[in].high-got[in].low > max(1_000, got[in].low/1_000) || got[in].count < uint64(n) {
			t.Errorf("%d frames of %d us: not in %v", n, us, got)
		}
		frames += uint64(n)
	}
	for _, b := range got {
		frames -= b.count
	}
	if frames != 0 {
		t.Errorf("%d frames too few in %v", frames, got)
	}
}

func TestHDRThatIsNone(t *testing.T) {
	for _, text := range []string{"x", "HISTFAAAAKp4nEWMOw==", recordedHDR[:len(recordedHDR)/2], strings.Repeat("A", 64)} {
		if _, err := hdrBuckets(text); !errors.Is(err, errHDR) {
			t.Errorf("%.20s: %v, want %v", text, err, errHDR)
		}
	}
	if b, err := hdrBuckets((&fakeTimes{}).hdr()); err != nil || b == nil || len(b) > 0 {
		t.Errorf("no frames: %v, %v", b, err)
	}
}

// A server that reports every latency needs no time to update anything.
func TestEveryLatency(t *testing.T) {
	f, e := openFake(t, 1_000_000) // all of them
	f.locked(func() { f.hdr, f.update = true, time.Now().Add(time.Hour) })
	configure(t, e, ipv4(t, e, 1))
	for range 2 {
		m := run(t, e, frames(800, 20_000))
		l := m.Rx[traffic.RxKey{Stream: 1, Port: "right"}].Latency
		if l.Count != 800 || l.MinNs != 6_000 || l.MaxNs < 4_321_000 || l.MaxNs > 4_324_000 || len(m.Notes) > 0 {
			t.Errorf("%d frames of %d to %d ns, notes %v: want 800 of 6 to 4321 us", l.Count, l.MinNs, l.MaxNs, m.Notes)
		}
		if mean, want := l.SumNs/l.Count, uint64(6+25+4321+28+300+4321+28+301)*1_000/8; mean < want || mean > want+2_000 {
			t.Errorf("the mean is %d ns: want %d, or a little more", mean, want)
		}
	}
}

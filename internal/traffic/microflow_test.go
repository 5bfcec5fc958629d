package traffic

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
)

func TestMicroflowsRepeatAfterTheLeastCommonMultiple(t *testing.T) {
	ip := netip.MustParseAddr("198.18.0.1")
	for name, test := range map[string]struct {
		headers Headers
		want    uint64
	}{
		"no ranges":                   {Headers{}, 1},
		"sizes without common factor": {Headers{SrcIP: ip, DstIP: ip, SrcIPCount: 250, DstIPCount: 1, SrcPortCount: 40001, DstPortCount: 1}, 10_000_250},
		"equal sizes":                 {Headers{SrcIP: ip, DstIP: ip, SrcIPCount: 250, DstIPCount: 250, SrcPortCount: 1, DstPortCount: 1}, 250},
		"common factors":              {Headers{SrcIP: ip, DstIP: ip, SrcIPCount: 6, DstIPCount: 4, SrcPortCount: 10, DstPortCount: 1}, 60},
		"without a network layer":     {Headers{SrcMACCount: 7, DstMACCount: 9, SrcPortCount: 5}, 63},
		"more than fit": {Headers{SrcIP: ip, DstIP: ip, SrcMACCount: 1<<24 - 3, DstMACCount: 1<<24 - 17, SrcIPCount: 1<<24 - 33, DstIPCount: 1, SrcPortCount: 1, DstPortCount: 1},
			math.MaxUint64},
	} {
		if got := test.headers.Microflows(); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

func TestMicroflowHasTheAddressesOfItsFrames(t *testing.T) {
	h := Headers{
		SrcIP: netip.MustParseAddr("198.18.0.250"), SrcIPCount: 10, DstIP: netip.MustParseAddr("198.19.255.1"), DstIPCount: 3, DstIPBits: 24, DstIPStride: 2,
		SrcPort: 1000, SrcPortCount: 7, DstPort: 9, DstPortCount: 1, SrcMAC: MAC{2, 0, 0, 0xff, 0xff, 0xff}, SrcMACCount: 2,
	}
	got := h.Microflow(17)
	want := Microflow{
		SrcMAC: h.SrcMAC.Nth(1), DstMAC: MAC{}, SrcIP: netip.MustParseAddr("198.18.1.1"), DstIP: netip.MustParseAddr("198.20.3.1"),
		SrcPort: 1003, DstPort: 9,
	}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, test := range []struct {
		first, want string
		bits        uint8
		number      uint64
	}{
		{"2001:2::1", "2001:2::1:0", 128, 65535}, {"2001:2::1", "2001:2:0:3::1", 64, 3}, {"2001:2::1", "2001:2:0:200::1", 57, 4},
		{"198.18.0.1", "198.18.0.129", 25, 1}, {"198.18.0.1", "198.18.0.4", 0, 3},
	} {
		h := Headers{SrcIP: netip.MustParseAddr(test.first), SrcIPCount: 1, DstIP: netip.MustParseAddr(test.first), DstIPCount: 1 << 20, DstIPBits: test.bits}
		if got := h.Microflow(test.number).DstIP; got != netip.MustParseAddr(test.want) {
			t.Errorf("number %d from %s/%d: %v, want %s", test.number, test.first, test.bits, got, test.want)
		}
	}
}

// SentPlaces counts the same frames of each microflow as a walk through the places.
func TestSentPlacesOfMicroflows(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for range 200 {
		n := 1 + uint64(random.IntN(20))
		sent := SentPlaces{Frames: uint64(random.IntN(100))}
		if sent.Frames > 0 && random.IntN(2) == 0 {
			sent.Ahead = sent.Frames + uint64(random.IntN(16))
		}
		want := make([]uint64, n)
		for place := range sent.Frames {
			if sent.Ahead > 0 && place == sent.Frames-1 {
				place = sent.Ahead
			}
			want[place%n]++
		}
		for number := range n {
			if got := sent.Of(number, n); got != want[number] {
				t.Fatalf("%+v, microflow %d of %d: %d, want %d", sent, number, n, got, want[number])
			}
		}
	}
}

func TestSumOfMicroflows(t *testing.T) {
	var s MicroflowSum
	sent := SentPlaces{Frames: 9 + 4} // 2 2 2 2 | 1 1 1 1 1
	records := []MicroflowRecord{{2, 10}, {1, 2}, {0, 0}, {2, 13}, {1, 5}, {0, 0}, {1, 7}, {1, 8}, {1, 9}}
	s.Add(sent, 9, 0, records[:4], 2)
	s.Add(sent, 9, 4, records[4:], 2)
	want := MicroflowSum{Tracked: 9, Complete: 6, Lossy: 1, Silent: 2, Lost: 4, Least: 0, Most: 2, Bad: []BadMicroflow{{1, 2, 1}, {2, 2, 0}}}
	if !slices.Equal(s.Bad, want.Bad) {
		t.Errorf("bad %+v, want %+v", s.Bad, want.Bad)
	}
	s.Bad, want.Bad = nil, nil
	if s.Tracked != want.Tracked || s.Complete != want.Complete || s.Lossy != want.Lossy || s.Silent != want.Silent || s.Lost != want.Lost || s.Least != want.Least || s.Most != want.Most {
		t.Errorf("%+v, want %+v", s, want)
	}
	// Counts above 2^32 are compared modulo that.
	s = MicroflowSum{}
	s.Add(SentPlaces{Frames: 3 << 32}, 2, 0, []MicroflowRecord{{1 << 31, 7}, {1<<31 - 5, 7}}, 9)
	if s.Complete != 1 || s.Lost != 5 || s.Least != 3<<31-5 || s.Most != 3<<31 {
		t.Errorf("above 2^32: %+v", s)
	}
	// Of a stream that sent less than its microflows the rest is no loss.
	s = MicroflowSum{}
	s.Add(SentPlaces{Frames: 1}, 3, 0, []MicroflowRecord{{1, 1}, {}, {}}, 9)
	if s.Tracked != 1 || s.Unsent != 2 || s.Silent != 0 || s.Complete != 1 {
		t.Errorf("one frame of three microflows: %+v", s)
	}
}

func TestJoinMicroflowSums(t *testing.T) {
	sum := func(stream uint16, port string, bad ...uint64) MicroflowSum {
		s := MicroflowSum{RxKey: RxKey{stream, port}}
		for _, n := range bad {
			s.Bad = append(s.Bad, BadMicroflow{Number: n})
		}
		return s
	}
	all := JoinMicroflowSums(3, []MicroflowSum{sum(2, "a", 5, 6)}, []MicroflowSum{sum(1, "b", 7), sum(1, "a", 8)})
	var got []uint64
	for _, s := range all {
		for _, b := range s.Bad {
			got = append(got, b.Number)
		}
	}
	if !slices.Equal(got, []uint64{8, 7, 5}) || all[0].Port != "a" || all[2].Stream != 2 {
		t.Errorf("bad %v of %+v", got, all)
	}
}

package trex

import (
	"encoding/binary"
	"net/netip"
	"testing"
)

// FuzzCounters reads answers of a server about counters: buckets have no negative width, and no
// correction makes frames of nothing.
func FuzzCounters(f *testing.F) {
	for _, text := range []string{
		`{"flow_stats":{"1":{"tp":{"0":5},"rp":{"1":4}}},"latency":{"1":{"lat":{"histogram":{"0":7,"10":2,"4294967290":1},"total_min":3,"total_max":900},"er":{"drp":1}},"g":{}},"ver_id":{"1":3}}`,
		`{"latency":{"1":{"lat":{"hdrh":"HISTFAAAABl42pNpmSzMwMDAxAABzFCaEUoz2X+AsIAALMQCZw=="}}}}`, `{"latency":{"2":null}}`, `[]`, ``,
	} {
		f.Add([]byte(text), uint64(9))
	}
	f.Fuzz(func(t *testing.T, answer []byte, received uint64) {
		_, _ = momentOf(answer)
		c, err := countersOf(answer)
		if err != nil {
			return
		}
		for key, l := range c.latency {
			before := l.timed()
			l.correct(received)
			if after := l.timed(); after > before && after > received {
				t.Errorf("group %s has %d frames with a latency, of %d received", key, after, received)
			}
			all, err := l.buckets()
			if err != nil {
				continue
			}
			for _, b := range all {
				if b.high <= b.low {
					t.Errorf("group %s has a bucket from %d to %d", key, b.low, b.high)
				}
			}
			l.extremes(all)
		}
	})
}

// FuzzNeighbours reads frames in which a device may tell its hardware address.
func FuzzNeighbours(f *testing.F) {
	arp := make([]byte, arpAt+arpBytes)
	binary.BigEndian.PutUint16(arp[12:], etherARP)
	binary.BigEndian.PutUint16(arp[arpAt+6:], arpReplyOp)
	copy(arp[arpAt+14:], []byte{198, 18, 0, 1})
	f.Add(arp)
	advertisement := make([]byte, ethernetBytes+ipv6Bytes+neighbourBytes+8)
	binary.BigEndian.PutUint16(advertisement[12:], etherIPv6)
	advertisement[ethernetBytes+6], advertisement[ethernetBytes+7] = protoICMPv6, neighbourHops
	message := advertisement[ethernetBytes+ipv6Bytes:]
	message[0] = typeAdvertisement
	copy(message[8:], netip.MustParseAddr("2001:2::1").AsSlice())
	message[neighbourBytes], message[neighbourBytes+1] = optionTarget, 1
	f.Add(advertisement)
	f.Add(make([]byte, 200))
	f.Fuzz(func(_ *testing.T, frame []byte) {
		answer(frame, netip.MustParseAddr("198.18.0.1"))
		answer(frame, netip.MustParseAddr("2001:2::1"))
	})
}

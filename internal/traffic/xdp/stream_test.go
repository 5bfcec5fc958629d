package xdp

import (
	"bytes"
	"net/netip"
	"testing"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
)

// A stream whose addresses and ports do not change begins with the same frame as one
// that counts in them, also where their sum needs more than 16 bits.
func TestHeadHasWhatDoesNotChange(t *testing.T) {
	for _, addresses := range [][2]string{
		{"198.18.0.1", "198.18.255.254"}, {"255.255.255.254", "255.255.255.253"},
		{"2001:2::1", "2001:2:0:ffff:ffff:ffff:ffff:fffe"},
	} {
		fixed := traffic.Stream{ID: 7, FrameSize: 128, Headers: traffic.Headers{
			SrcIP: netip.MustParseAddr(addresses[0]), DstIP: netip.MustParseAddr(addresses[1]),
			SrcIPCount: 1, DstIPCount: 1, SrcPort: 65534, DstPort: 65533, SrcPortCount: 1, DstPortCount: 1,
		}}
		counting := fixed
		counting.Headers.DstPortCount = 2
		var frames [2][3][124]byte
		for i, s := range []traffic.Stream{fixed, counting} {
			tx, err := kernel.NewTxStream(s, 0xfffe, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			if int(tx.Ranges) != i {
				t.Errorf("%v: ranges %d, want %d", addresses, tx.Ranges, i)
			}
			for k := range frames[i] {
				tx.Write(frames[i][k][:], 1<<47-uint64(k))
			}
		}
		for k := range 3 {
			if same := bytes.Equal(frames[0][k][:], frames[1][k][:]); same != (k != 1) { // every second has the other port
				t.Errorf("%v, frame %d:\n%x\n%x", addresses, k, frames[0][k], frames[1][k])
			}
		}
	}
}

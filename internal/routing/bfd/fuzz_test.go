package bfd

import (
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bfd"
)

// FuzzPackets gives packets of a device to a session: it keeps a state and bounds its intervals.
func FuzzPackets(f *testing.F) {
	for _, state := range []bfd.StateType{bfd.StateAdminDown, bfd.StateDown, bfd.StateInit, bfd.StateUp} {
		packet, err := (&bfd.BFDHeader{Version: 1, State: state, DetectTimeMultiplier: 3, MyDiscriminator: 7, YourDiscriminator: 1, Poll: true, DesiredMinTxInterval: 1 << 31, RequiredMinRxInterval: 1}).MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(packet)
		f.Add(append(packet, packet...))
	}
	f.Fuzz(func(t *testing.T, packets []byte) {
		m := newMachine(10*time.Millisecond, 3, 1)
		const size = 24
		for ; len(packets) > 0; packets = packets[min(size, len(packets)):] {
			h := &bfd.BFDHeader{}
			if h.UnmarshalBinary(packets[:min(size, len(packets))]) != nil || !m.valid(h) {
				continue
			}
			m.receive(h)
			if m.every() < 0 || (m.every() == 0) != (h.RequiredMinRxInterval == 0) || m.detection() <= 0 {
				t.Fatalf("after %+v: a packet every %s, down after %s", h, m.every(), m.detection())
			}
			if _, err := m.packet(h.Poll).MarshalBinary(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

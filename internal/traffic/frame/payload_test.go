package frame

import (
	"bytes"
	"slices"
	"testing"
)

// What stands behind the signature is the pattern, and nothing of it is in the sum that
// the receiver forms of headers and signature.
func TestPayload(t *testing.T) {
	for payload, begin := range map[Payload][]byte{
		Zeros: {0, 0, 0, 0}, Ones: {0xff, 0xff, 0xff, 0xff}, Alternating: {0xaa, 0x55, 0xaa, 0x55}, Incrementing: {0, 1, 2, 3},
	} {
		for name, p := range map[string]Packet{
			"IPv4": testPacket("198.18.0.1", "198.18.0.2", 601), "IPv6": testPacket("2001:2::1", "2001:2::2", 600), "Ethernet": {Size: 600},
		} {
			p.Payload = payload
			b, err := p.Build(Signature{Epoch: 1, Sequence: 7})
			if err != nil {
				t.Fatal(err)
			}
			if got := b[p.PayloadOffset():]; !bytes.HasPrefix(got, begin) {
				t.Errorf("%s, payload %q begins with %x, want %x", name, payload, got[:8], begin)
			}
			at := p.SignatureOffset() + SignatureSize
			if sum := ^Checksum(Sum(b[at:])); p.Src.IsValid() && sum != 0 && sum != 0xffff {
				t.Errorf("%s, payload %q: what follows the signature has the sum %#x", name, payload, sum)
			}
		}
	}
	random := make([]byte, 1000)
	Random.Fill(random)
	again := slices.Clone(random)
	Random.Fill(again[:500])
	if !bytes.Equal(random, again) || bytes.Equal(random[:256], random[256:512]) {
		t.Error("random bytes differ from frame to frame, or repeat")
	}
}

// A frame without room for a pattern is the same as without one.
func TestNoRoomForAPayload(t *testing.T) {
	for size := 64; size < 74; size++ {
		p := testPacket("198.18.0.1", "198.18.0.2", size)
		zeros, err := p.Build(Signature{})
		if err != nil {
			t.Fatal(err)
		}
		p.Payload = Ones
		ones, err := p.Build(Signature{})
		if err != nil || !bytes.Equal(zeros, ones) || p.Filling() != Zeros {
			t.Errorf("%d bytes: %x %v, want %x", size, ones, err, zeros)
		}
	}
}

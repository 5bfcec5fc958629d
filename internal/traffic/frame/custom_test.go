package frame

import (
	"bytes"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic/frame/frametest"
)

// A custom frame is its bytes behind addresses and tags, the payload, and a signature whose
// sum with its checksum is zero.
func TestCustom(t *testing.T) {
	custom, err := CustomBytes(v1alpha1.CustomPacket{Hex: " 86DD 60\n00\t00 00 "})
	if err != nil {
		t.Fatal(err)
	}
	p := Packet{Custom: custom, VLANs: VLANs{{ID: 7}}, Payload: Ones, Size: 100}
	sig := Signature{Epoch: 1, Stream: 2, Sequence: 3, Nanos: 4}
	b, err := p.Build(sig)
	if err != nil {
		t.Fatal(err)
	}
	want := append([]byte{12: 0x81, 15: 7}, custom...)
	want = append(want, bytes.Repeat([]byte{0xff}, 96-20-len(want))...)
	if got, ok := frametest.ParseSignature(b[76:]); !bytes.HasPrefix(b, want) || !ok || Signature(got) != sig || Checksum(Sum(b[76:])) != 0 || len(b) != 96 {
		t.Errorf("%x with %+v, want it to begin with %x and to end with the signature", b, got, want)
	}
	if CustomFamily(custom) != 6 || CustomFamily([]byte{0x81, 0, 0, 1, 8, 0}) != 4 || CustomFamily([]byte{0x81, 0}) != 0 {
		t.Error("the version of the IP packet was not found")
	}
	packet := v1alpha1.Packet{Custom: &v1alpha1.CustomPacket{Hex: strings.Repeat("00", 100)}, VLAN: &v1alpha1.VLANTag{ID: 1}}
	p = Packet{Custom: make([]byte, 100), VLANs: VLANs{{ID: 1}}}
	if got := MinimumSize(packet); got != 12+4+100+20+4 || got != p.MinSize() {
		t.Errorf("the smallest frame has %d bytes, or %d", got, p.MinSize())
	}
}

func TestCustomRefuses(t *testing.T) {
	for hex, want := range map[string]string{
		"0800 4": "odd length", "08 xy": "invalid byte", "08": "1 bytes: give 2 to 1500", strings.Repeat("00", 1501): "1501 bytes",
	} {
		if _, err := CustomBytes(v1alpha1.CustomPacket{Hex: hex}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

package frame

import (
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

func testPacket(src, dst string, size int) Packet {
	return Packet{
		SrcMAC: [6]byte{2, 0, 0, 0, 0, 1}, DstMAC: [6]byte{2, 0, 0, 0, 0, 2},
		Src: netip.MustParseAddr(src), Dst: netip.MustParseAddr(dst),
		SrcPort: 20001, DstPort: 49152, Size: size,
	}
}

// An independent decoder reads what Build writes, and agrees with its checksums.
func TestBuild(t *testing.T) {
	sig := Signature{Epoch: 0xfffe, Stream: 4711, Sequence: 0x0000_8765_4321_0fed, Nanos: 0x0000_1234_5678_9abc}
	for name, p := range map[string]Packet{
		"IPv4 64":   testPacket("198.18.0.1", "198.19.255.254", 64),
		"IPv4 65":   testPacket("198.18.0.1", "198.18.0.2", 65),
		"IPv4 9216": testPacket("198.18.0.1", "198.18.0.2", 9216),
		"IPv6 84":   testPacket("2001:2::1", "2001:2:0:ffff::2", 84),
		"IPv6 1518": testPacket("2001:2::1", "2001:2::2", 1518),
	} {
		t.Run(name, func(t *testing.T) {
			b, err := p.Build(sig)
			if err != nil {
				t.Fatal(err)
			}
			if len(b) != p.Size-4 {
				t.Fatalf("%d bytes, want %d and the FCS", len(b), p.Size)
			}
			decoded := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default)
			if e := decoded.ErrorLayer(); e != nil {
				t.Fatal(e.Error())
			}
			udp := decoded.Layer(layers.LayerTypeUDP).(*layers.UDP)
			if err := udp.SetNetworkLayerForChecksum(decoded.NetworkLayer()); err != nil {
				t.Fatal(err)
			}
			if err, wrong := decoded.VerifyChecksums(); err != nil || len(wrong) > 0 {
				t.Errorf("checksums: %v %v", err, wrong)
			}
			if udp.SrcPort != 20001 || udp.DstPort != 49152 {
				t.Errorf("ports %d, %d", udp.SrcPort, udp.DstPort)
			}
			if p.Src.Is6() == (udp.Checksum == 0) {
				t.Errorf("UDP checksum %#x", udp.Checksum)
			}
			flow := decoded.NetworkLayer().NetworkFlow()
			if flow.Src().String() != p.Src.String() || flow.Dst().String() != p.Dst.String() {
				t.Errorf("addresses %v", flow)
			}
			if got, ok := ParseSignature(udp.Payload); !ok || got != sig {
				t.Errorf("signature %+v %v, want %+v", got, ok, sig)
			}
		})
	}
}

func TestBuildRefuses(t *testing.T) {
	mixed := testPacket("198.18.0.1", "198.18.0.2", 64)
	mixed.Dst = netip.MustParseAddr("2001:2::2")
	for name, p := range map[string]Packet{
		"too small":     testPacket("198.18.0.1", "198.18.0.2", 63),
		"IPv6 in 64":    testPacket("2001:2::1", "2001:2::2", 64),
		"too large":     testPacket("198.18.0.1", "198.18.0.2", 9217),
		"two families":  mixed,
		"no address":    {Size: 64},
		"one forgotten": {Size: 64, Src: netip.MustParseAddr("198.18.0.1")},
	} {
		if _, err := p.Build(Signature{}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// The example of RFC 1071 section 3.
func TestChecksum(t *testing.T) {
	if got := Checksum(Sum([]byte{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7})); got != ^uint16(0xddf2) {
		t.Errorf("%#x", got)
	}
}

func TestParseSignatureWithoutMagic(t *testing.T) {
	if _, ok := ParseSignature(make([]byte, SignatureSize)); ok {
		t.Error("zeros are no signature")
	}
	if _, ok := ParseSignature([]byte{0xd5, 0x0f}); ok {
		t.Error("two bytes are no signature")
	}
}

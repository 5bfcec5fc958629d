package frame

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"nodrop.dev/nodrop/internal/traffic/frame/frametest"
)

// The ICRC of packets that network cards sent is the one that they carry. Both are in the tests
// of scapy (test/contrib/roce.uts): a SEND of an unreliable connection, and a congestion
// notification of a ConnectX-4 Lx.
func TestICRCOfCards(t *testing.T) {
	for name, packet := range map[string]string{
		"send": "4501004004784000 4011b4d5c0a80007 c0a80007" + "c00012b7002caca2" + "2460ffff000000d300cf1710" +
			"4630818be28935d90e9a95505401be885e500000" + "78f353f3",
		"congestion notification": "45c2003c718c4000 401191610a001101 0a001201" + "000012b700280000" + "8100ffff4000011800000000" +
			"00000000000000000000000000000000" + "82fd002a",
	} {
		ip, err := hex.DecodeString(strings.ReplaceAll(packet, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := ICRC(ip), binary.LittleEndian.Uint32(ip[len(ip)-4:]); got != want {
			t.Errorf("%s: ICRC %08x, want %08x", name, got, want)
		}
	}
}

func rocePacket(src, dst string, size int) Packet {
	p := testPacket(src, dst, size)
	p.DstPort, p.RoCE = RoCEPort, RoCE{Opcode: 4, PartitionKey: 0xffff, DestinationQP: 0xabcdef}
	return p
}

// Frames of RoCEv2 have a right ICRC and right checksums with every payload, and an
// independent decoder finds the transport header behind UDP.
func TestBuildRoCE(t *testing.T) {
	labelled := rocePacket("198.18.0.1", "198.18.0.2", 138)
	labelled.VLANs, labelled.Labels = VLANs{{ID: 1}}, []uint32{16}
	for _, payload := range []Payload{Zeros, Random, Ones, Alternating, Incrementing} {
		for _, p := range []Packet{
			rocePacket("198.18.0.1", "198.18.0.2", 86), rocePacket("198.18.0.1", "198.18.0.2", 94), rocePacket("198.18.0.1", "198.18.0.2", 1518),
			rocePacket("2001:2::1", "2001:2::2", 106), rocePacket("2001:2::1", "2001:2::2", 9018), labelled,
		} {
			p.Payload, p.TrafficClass = payload, 26<<2|2
			sig := Signature{Epoch: 0xfffe, Stream: 4711, Sequence: 0x8765_4321_0fed, Nanos: 0x1234_5678_9abc}
			t.Run(fmt.Sprintf("%v %d %s", p.Src, p.Size, payload), func(t *testing.T) {
				b, err := p.Build(sig)
				if err != nil {
					t.Fatal(err)
				}
				ip := b[p.NetworkOffset():]
				if got, want := ICRC(ip), binary.LittleEndian.Uint32(ip[len(ip)-4:]); got != want {
					t.Errorf("ICRC %08x, but the frame ends with %08x", got, want)
				}
				pattern := make([]byte, len(b)-p.PayloadOffset())
				p.Filling().Fill(pattern)
				if string(pattern) != string(b[p.PayloadOffset():]) {
					t.Error("the payload is another than the pattern")
				}
				decoded := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default)
				udp := decoded.Layer(layers.LayerTypeUDP).(*layers.UDP)
				if err := udp.SetNetworkLayerForChecksum(decoded.NetworkLayer()); err != nil {
					t.Fatal(err)
				}
				if err, wrong := decoded.VerifyChecksums(); err != nil || len(wrong) > 0 {
					t.Errorf("checksums: %v %v", err, wrong)
				}
				if got := hex.EncodeToString(udp.Payload[:12]); udp.DstPort != 4791 || got != "0400ffff00abcdef00210fed" {
					t.Errorf("port %d, transport header %s", udp.DstPort, got)
				}
				if got, ok := frametest.ParseSignature(udp.Payload[12:]); !ok || Signature(got) != sig {
					t.Errorf("signature %+v %v, want %+v", got, ok, sig)
				}
			})
		}
	}
}

func TestBuildRefusesRoCE(t *testing.T) {
	tunnelled := rocePacket("198.18.0.1", "198.18.0.2", 250)
	tunnelled.Tunnel = Tunnel{Kind: GRE, Src: netip.MustParseAddr("198.18.0.1"), Dst: netip.MustParseAddr("198.18.0.2")}
	far := rocePacket("198.18.0.1", "198.18.0.2", 86)
	far.RoCE.DestinationQP = 1 << 24
	without := rocePacket("198.18.0.1", "198.18.0.2", 86)
	without.Src, without.Dst = netip.Addr{}, netip.Addr{}
	for want, p := range map[string]Packet{
		"frame size 82":                   rocePacket("198.18.0.1", "198.18.0.2", 82),
		"want 126 or 130":                 rocePacket("198.18.0.1", "198.18.0.2", 128),
		`tunnel "GRE"`:                    tunnelled,
		"want an IP packet":               without,
		"destination queue pair 16777216": far,
		"a frame with these headers and a signature has 106": rocePacket("2001:2::1", "2001:2::2", 102),
	} {
		if _, err := p.Build(Signature{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

package frame

import (
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"nodrop.dev/nodrop/internal/traffic/frame/frametest"
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
	tagged := testPacket("198.18.0.1", "198.18.0.2", 68)
	tagged.VLANs, tagged.TrafficClass = VLANs{{ID: 4094, Priority: 5}}, 46<<2
	labelled := testPacket("2001:2::1", "2001:2::2", 104)
	labelled.VLANs, labelled.Labels, labelled.TTL, labelled.TrafficClass = VLANs{{ID: 1}}, []uint32{MaxLabel, 16, 17, 18}, 7, 0xa7
	stacked := testPacket("198.18.0.1", "198.18.0.2", 72)
	stacked.VLANs = VLANs{{ID: 4000, Priority: 1}, {ID: 7, Priority: 6}}
	filled := func(p Packet, payload Payload) Packet { p.Payload = payload; return p }
	sig := Signature{Epoch: 0xfffe, Stream: 4711, Sequence: 0x0000_8765_4321_0fed, Nanos: 0x0000_1234_5678_9abc}
	for name, p := range map[string]Packet{
		"IPv4 64":   testPacket("198.18.0.1", "198.19.255.254", 64),
		"IPv4 65":   testPacket("198.18.0.1", "198.18.0.2", 65),
		"IPv4 9216": testPacket("198.18.0.1", "198.18.0.2", 9216),
		"IPv6 84":   testPacket("2001:2::1", "2001:2:0:ffff::2", 84),
		"tagged":    tagged,

		"IPv4 74 of random bytes":   filled(testPacket("198.18.0.1", "198.18.0.2", 74), Random),
		"IPv4 333 of random bytes":  filled(testPacket("198.18.0.1", "198.18.0.2", 333), Random),
		"IPv6 1280 that alternates": filled(testPacket("2001:2::1", "2001:2::2", 1280), Alternating),
		"labelled":                  labelled,
		"IPv6 1518":                 testPacket("2001:2::1", "2001:2::2", 1518),
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
			if udp.Checksum == 0 {
				t.Errorf("UDP checksum %#x", udp.Checksum)
			}
			checkLink(t, p, decoded)
			flow := decoded.NetworkLayer().NetworkFlow()
			if flow.Src().String() != p.Src.String() || flow.Dst().String() != p.Dst.String() {
				t.Errorf("addresses %v", flow)
			}
			if got, ok := frametest.ParseSignature(udp.Payload); !ok || Signature(got) != sig {
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
		"a large tag":   {Size: 64, VLANs: VLANs{{ID: 4095}}},
		"no tag":        {Size: 64, VLANs: VLANs{{}}},
		"three tags":    {Size: 80, VLANs: VLANs{{ID: 1}, {ID: 2}, {ID: 3}}},
		"a priority":    {Size: 64, VLANs: VLANs{{ID: 1, Priority: 8}}},
		"five labels":   {Size: 128, Labels: []uint32{16, 17, 18, 19, 20}},
		"a large label": {Size: 128, Labels: []uint32{1 << 20}},
		"a tag in 64":   {Size: 64, VLANs: VLANs{{ID: 1}}, Src: mixed.Src, Dst: mixed.Src},
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
	if _, ok := frametest.ParseSignature(make([]byte, SignatureSize)); ok {
		t.Error("zeros are no signature")
	}
	if _, ok := frametest.ParseSignature([]byte{0xd5, 0x0f}); ok {
		t.Error("two bytes are no signature")
	}
}

// checkLink compares what an independent decoder found with the packet.
func checkLink(t *testing.T, p Packet, decoded gopacket.Packet) {
	t.Helper()
	ttl := p.TTL
	if ttl == 0 {
		ttl = 64
	}
	var labels []uint32
	var vlans VLANs
	for _, l := range decoded.Layers() {
		switch l := l.(type) {
		case *layers.Ethernet:
			if l.SrcMAC.String() != net.HardwareAddr(p.SrcMAC[:]).String() || l.DstMAC.String() != net.HardwareAddr(p.DstMAC[:]).String() {
				t.Errorf("from %v to %v", l.SrcMAC, l.DstMAC)
			}
		case *layers.Dot1Q:
			vlans = append(vlans, VLAN{ID: l.VLANIdentifier, Priority: l.Priority})
		case *layers.MPLS:
			labels = append(labels, l.Label)
			if l.TrafficClass != p.TrafficClass>>5 || l.TTL != ttl || l.StackBottom != (len(labels) == len(p.Labels)) {
				t.Errorf("label %+v", l)
			}
		case *layers.IPv4:
			if l.TOS != p.TrafficClass || l.TTL != ttl {
				t.Errorf("type of service %#x, time to live %d", l.TOS, l.TTL)
			}
		case *layers.IPv6:
			if l.TrafficClass != p.TrafficClass || l.HopLimit != ttl {
				t.Errorf("traffic class %#x, hop limit %d", l.TrafficClass, l.HopLimit)
			}
		}
	}
	if !slices.Equal(labels, p.Labels) || !slices.Equal(vlans, p.VLANs) {
		t.Errorf("tags %v of %v, labels %v of %v in %v", vlans, p.VLANs, labels, p.Labels, decoded)
	}
}

// Without addresses the signature follows the EtherType for experiments.
func TestBuildEthernet(t *testing.T) {
	sig := Signature{Epoch: 1, Stream: 2, Sequence: 3, Nanos: 4}
	for name, p := range map[string]Packet{
		"plain":  {Size: 64},
		"tagged": {Size: 64, VLANs: VLANs{{ID: 7, Priority: 1}}},
	} {
		b, err := p.Build(sig)
		if err != nil {
			t.Fatal(err)
		}
		offset := 14 + 4*len(p.VLANs)
		if got, ok := frametest.ParseSignature(b[offset:]); !ok || Signature(got) != sig || b[offset-2] != 0x88 || b[offset-1] != 0xb5 || len(b) != 60 {
			t.Errorf("%s: %x", name, b)
		}
		if end := offset + SignatureSize + EthernetCheckSize; p.PayloadOffset() != end || Checksum(Sum(b[offset:end])) != 0 {
			t.Errorf("%s: the checksum of the signature is wrong: %x", name, b)
		}
	}
}

package frame

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"nodrop.dev/nodrop/internal/traffic/frame/frametest"
)

// tunnelled is a packet in a tunnel of a kind.
func tunnelled(kind TunnelKind, src, dst string, size int) Packet {
	p := testPacket(src, dst, size)
	p.Tunnel = Tunnel{
		Kind: kind, ID: 0xabcdef, Src: netip.MustParseAddr(src), Dst: netip.MustParseAddr(dst),
		SrcMAC: [6]byte{2, 0, 0, 0, 0, 3}, DstMAC: [6]byte{2, 0, 0, 0, 0, 4},
	}
	if kind == GRE {
		p.Tunnel.ID = 0
	}
	return p
}

// An independent decoder finds the packet in every tunnel, and agrees with lengths and
// checksums; what the smallest frame is adds up.
func TestTunnels(t *testing.T) {
	sig := Signature{Epoch: 7, Stream: 4711, Sequence: 1, Nanos: 2}
	for kind := range tunnels {
		for _, family := range [][2]string{{"198.18.0.1", "198.18.0.2"}, {"2001:2::1", "2001:2::2"}} {
			t.Run(string(kind)+" from "+family[0], func(t *testing.T) {
				p := tunnelled(kind, family[0], family[1], 256)
				p.VLANs, p.Labels = VLANs{{ID: 1000}, {ID: 100}}, []uint32{16}
				b, err := p.Build(sig)
				if err != nil {
					t.Fatal(err)
				}
				decoded := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default)
				if err := decoded.ErrorLayer(); err != nil {
					t.Fatal(err.Error())
				}
				var network gopacket.NetworkLayer
				for _, l := range decoded.Layers() {
					if ip, ok := l.(gopacket.NetworkLayer); ok {
						network = ip
					} else if udp, ok := l.(*layers.UDP); ok {
						if err := udp.SetNetworkLayerForChecksum(network); err != nil {
							t.Fatal(err)
						}
					}
				}
				if err, wrong := decoded.VerifyChecksums(); err != nil || len(wrong) > 0 {
					t.Errorf("checksums: %v, %v", err, wrong)
				}
				var ethernets, packets, ids int
				for _, l := range decoded.Layers() {
					switch l := l.(type) {
					case *layers.Ethernet:
						if ethernets++; ethernets == 2 && (!bytes.Equal(l.SrcMAC, net.HardwareAddr(p.Tunnel.SrcMAC[:])) || !bytes.Equal(l.DstMAC, net.HardwareAddr(p.Tunnel.DstMAC[:]))) {
							t.Errorf("inside from %v to %v", l.SrcMAC, l.DstMAC)
						}
					case *layers.IPv4, *layers.IPv6:
						packets++
					case *layers.UDP:
						if int(l.Length) != len(l.Contents)+len(l.Payload) {
							t.Errorf("UDP of %d bytes in %d", l.Length, len(l.Contents)+len(l.Payload))
						}
					case *layers.VXLAN:
						ids += times(l.ValidIDFlag && l.VNI == p.Tunnel.ID)
					case *layers.Geneve:
						ids += times(l.VNI == p.Tunnel.ID && l.Version == 0 && l.OptionsLength == 0)
					case *layers.GTPv1U:
						ids += times(l.TEID == p.Tunnel.ID && int(l.MessageLength) == len(l.Payload) && l.MessageType == 255)
					case *layers.GRE:
						ids += times(!l.KeyPresent && !l.ChecksumPresent && l.Version == 0)
					}
				}
				if want := 1 + times(tunnels[kind].ethernet); ethernets != want || packets != 2 || ids != 1 {
					t.Errorf("%d Ethernet headers, %d packets, %d headers of the tunnel in %v", ethernets, packets, ids, decoded)
				}
				if got, ok := frametest.ParseSignature(b[p.SignatureOffset():]); !ok || Signature(got) != sig {
					t.Errorf("no signature at %d of %x", p.SignatureOffset(), b)
				}
				if b[p.NetworkOffset()]>>4 != map[bool]byte{true: 4, false: 6}[p.Src.Is4()] {
					t.Errorf("no packet at %d of %x", p.NetworkOffset(), b)
				}
				p.Size = p.MinSize() - 1
				if _, err := p.Build(sig); err == nil {
					t.Errorf("%d bytes are accepted", p.Size)
				}
			})
		}
	}
	// Of the stream depends by which way devices send it.
	p := tunnelled(VXLAN, "198.18.0.1", "198.18.0.2", 256)
	for stream, want := range map[uint16]uint16{0: 49152, 16383: 65535, 16384: 49152} {
		b, err := p.Build(Signature{Stream: stream})
		if err != nil {
			t.Fatal(err)
		}
		if got := binary.BigEndian.Uint16(b[34:]); got != want {
			t.Errorf("stream %d is sent from port %d, want %d", stream, got, want)
		}
	}
}

func times(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func TestTunnelRefuses(t *testing.T) {
	for name, change := range map[string]func(*Packet){
		"an unknown kind":  func(p *Packet) { p.Tunnel.Kind = "L2TP" },
		"a long ID":        func(p *Packet) { p.Tunnel.ID = 1 << 24 },
		"no addresses":     func(p *Packet) { p.Tunnel.Src = netip.Addr{} },
		"two families":     func(p *Packet) { p.Tunnel.Dst = netip.MustParseAddr("2001:2::1") },
		"no packet inside": func(p *Packet) { p.Src, p.Dst = netip.Addr{}, netip.Addr{} },
	} {
		p := tunnelled(VXLAN, "198.18.0.1", "198.18.0.2", 256)
		change(&p)
		if _, err := p.Build(Signature{}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

package frame

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TunnelKind is the protocol of a tunnel.
type TunnelKind string

// The tunnels that test frames can be in.
const (
	VXLAN  TunnelKind = "VXLAN"  // RFC 7348
	GENEVE TunnelKind = "GENEVE" // RFC 8926, without options
	GRE    TunnelKind = "GRE"    // RFC 2784
	GTPU   TunnelKind = "GTP-U"  // 3GPP TS 29.281, without extensions
)

// Tunnel contains the headers that carry the packet of a test frame: another IP packet, and
// the header of the tunnel. The zero value is none.
type Tunnel struct {
	// Kind of the tunnel; empty for none.
	Kind TunnelKind
	// ID of the network or of the endpoint in the tunnel's header: 24 bits of VXLAN and
	// GENEVE, 32 of GTP-U, 0 of GRE, which has none.
	ID uint32
	// Src and Dst are the outer addresses, of one family.
	Src, Dst netip.Addr
	// SrcMAC and DstMAC are the inner Ethernet addresses, where the tunnel carries
	// Ethernet.
	SrcMAC, DstMAC [6]byte
}

// tunnelProtocol describes the format of a tunnel. A further one is an entry of tunnels, and
// one in bpf/tunnel.h of the engine xdp, which finds the packet in it.
type tunnelProtocol struct {
	// port of UDP, or 0 for protocol of IP.
	port     uint16
	protocol uint8
	// bytes of the header, and the bits of its ID.
	bytes, idBits int
	// ethernet reports whether it carries Ethernet frames, else packets.
	ethernet bool
	// put writes the header in front of a payload of some bytes, which is a packet of an
	// EtherType where it is no Ethernet frame.
	put func(b []byte, id uint32, etherType uint16, payload int)
}

const etherBridged = 0x6558 // an Ethernet frame in GENEVE

var tunnels = map[TunnelKind]tunnelProtocol{
	VXLAN: {port: 4789, bytes: 8, idBits: 24, ethernet: true, put: func(b []byte, id uint32, _ uint16, _ int) {
		b[0] = 1 << 3 // the ID is valid
		binary.BigEndian.PutUint32(b[4:], id<<8)
	}},
	GENEVE: {port: 6081, bytes: 8, idBits: 24, ethernet: true, put: func(b []byte, id uint32, _ uint16, _ int) {
		binary.BigEndian.PutUint16(b[2:], etherBridged)
		binary.BigEndian.PutUint32(b[4:], id<<8)
	}},
	GRE: {protocol: 47, bytes: 4, put: func(b []byte, _ uint32, etherType uint16, _ int) {
		binary.BigEndian.PutUint16(b[2:], etherType)
	}},
	GTPU: {port: 2152, bytes: 8, idBits: 32, put: func(b []byte, id uint32, _ uint16, payload int) {
		b[0], b[1] = 1<<5|1<<4, 255 // version 1, GTP, a packet of the user
		binary.BigEndian.PutUint16(b[2:], uint16(payload))
		binary.BigEndian.PutUint32(b[4:], id)
	}},
}

// entropyPorts are the UDP source ports of tunnels, of which a stream has one: by it
// devices spread streams over links (RFC 7348 section 5).
const entropyFirst, entropyPorts = 49152, 16384

// tunnelOf is the kind and the ID of the tunnel that a profile gives.
func tunnelOf(t *v1alpha1.Tunnel) Tunnel {
	switch {
	case t == nil:
		return Tunnel{}
	case t.VXLAN != nil:
		return Tunnel{Kind: VXLAN, ID: uint32(t.VXLAN.VNI)}
	case t.GENEVE != nil:
		return Tunnel{Kind: GENEVE, ID: uint32(t.GENEVE.VNI)}
	case t.GTPU != nil:
		return Tunnel{Kind: GTPU, ID: uint32(t.GTPU.TEID)}
	}
	return Tunnel{Kind: GRE}
}

// TunnelOf is the tunnel that a profile gives, from one address to another of its family.
func TunnelOf(t *v1alpha1.Tunnel, src, dst netip.Addr) Tunnel {
	out := tunnelOf(t)
	if out.Kind != "" {
		out.Src, out.Dst = src, dst
	}
	return out
}

// parts of the headers of a tunnel, in their order.
func (k TunnelKind) parts(ipv6 bool) []part {
	p, ok := tunnels[k]
	if !ok {
		return nil
	}
	parts := []part{{ipv4Bytes, "IPv4"}}
	if ipv6 {
		parts = []part{{ipv6Bytes, "IPv6"}}
	}
	if p.port != 0 {
		parts = append(parts, part{udpBytes, "UDP"})
	}
	parts = append(parts, part{p.bytes, string(k)})
	if p.ethernet {
		parts = append(parts, part{ethernetBytes, "Ethernet"})
	}
	return parts
}

// Bytes returns the number of bytes that the tunnel adds to a frame.
func (t Tunnel) Bytes() int { return sum(t.Kind.parts(t.Src.Is6())) }

// check returns an error if the tunnel is invalid.
func (t Tunnel) check() error {
	if t.Kind == "" {
		return nil
	}
	p, ok := tunnels[t.Kind]
	switch {
	case !ok:
		var known []string
		for kind := range tunnels {
			known = append(known, string(kind))
		}
		slices.Sort(known)
		return fmt.Errorf("tunnel %q: want one of %s", t.Kind, strings.Join(known, ", "))
	case !t.Src.IsValid() || !t.Dst.IsValid() || t.Src.Is4() != t.Dst.Is4():
		return fmt.Errorf("%s tunnel from %v to %v: want two addresses of one family", t.Kind, t.Src, t.Dst)
	case uint64(t.ID)>>p.idBits != 0:
		return fmt.Errorf("%s tunnel with ID %d: want at most %d bits", t.Kind, t.ID, p.idBits)
	}
	return nil
}

// putTunnel writes a tunnel's headers to the begin of b, up to the inner packet. Its UDP
// checksum is 0, as the payload has its own.
func (p Packet) putTunnel(b []byte, stream uint16) {
	t := tunnels[p.Tunnel.Kind]
	outer := b[ipBytes(p.Tunnel.Src):]
	protocol := t.protocol
	if t.port != 0 {
		protocol = protoUDP
	}
	p.putIP(b, protocol, p.Tunnel.Src, p.Tunnel.Dst)
	if t.port != 0 {
		binary.BigEndian.PutUint16(outer, entropyFirst+stream%entropyPorts)
		binary.BigEndian.PutUint16(outer[2:], t.port)
		binary.BigEndian.PutUint16(outer[4:], uint16(len(outer)))
		outer = outer[udpBytes:]
	}
	payload := outer[t.bytes:]
	t.put(outer[:t.bytes], p.Tunnel.ID, p.packetType(), len(payload))
	if t.ethernet {
		copy(payload, p.Tunnel.DstMAC[:])
		copy(payload[6:], p.Tunnel.SrcMAC[:])
		binary.BigEndian.PutUint16(payload[tagsAt:], p.packetType())
	}
}

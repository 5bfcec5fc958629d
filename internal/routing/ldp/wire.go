package ldp

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net/netip"
)

// Sizes of the protocol in bytes (RFC 5036 sections 3.1 and 3.5).
const (
	// maxPDU is the maximum length of a PDU, before the sides agree on another.
	maxPDU = 4096
	// lengthEnd is the number of bytes before the bytes that the length of a PDU counts.
	lengthEnd     = 4
	identifier    = 6
	pduHeader     = lengthEnd + identifier
	messageHeader = 8 // type, length, message ID
	tlvHeader     = 4
)

// version of the protocol.
const version = 1

// Types of messages (RFC 5036 section 3.7).
const (
	typeNotification    uint16 = 0x0001
	typeHello           uint16 = 0x0100
	typeInitialization  uint16 = 0x0200
	typeKeepAlive       uint16 = 0x0201
	typeAddress         uint16 = 0x0300
	typeAddressWithdraw uint16 = 0x0301
	typeMapping         uint16 = 0x0400
	typeRequest         uint16 = 0x0401
	typeWithdraw        uint16 = 0x0402
	typeRelease         uint16 = 0x0403
	typeAbort           uint16 = 0x0404
)

// names of the messages.
var names = map[uint16]string{
	typeNotification: "Notification", typeHello: "Hello", typeInitialization: "Initialization", typeKeepAlive: "KeepAlive",
	typeAddress: "Address", typeAddressWithdraw: "Address Withdraw", typeMapping: "Label Mapping", typeRequest: "Label Request",
	typeWithdraw: "Label Withdraw", typeRelease: "Label Release", typeAbort: "Label Abort Request",
}

// nameOf is the name of a type of message.
func nameOf(kind uint16) string {
	if name, known := names[kind]; known {
		return name
	}
	return fmt.Sprintf("message of the type %#04x", kind)
}

// Types of TLVs (RFC 5036 section 3.4 and 3.5).
const (
	tlvFEC         uint16 = 0x0100
	tlvAddresses   uint16 = 0x0101
	tlvLabel       uint16 = 0x0200
	tlvStatus      uint16 = 0x0300
	tlvCommonHello uint16 = 0x0400
	tlvTransport   uint16 = 0x0401
	tlvSession     uint16 = 0x0500
)

// ignoreUnknown is the U bit of messages and TLVs: a receiver that does not know the type
// ignores it.
const ignoreUnknown = 0x8000

// Elements of FECs (RFC 5036 section 3.4.1), and the address family of IPv4.
const (
	fecWildcard = 1
	fecPrefix   = 2
	familyIPv4  = 1
)

// pdu is a PDU without its header.
type pdu struct {
	lsr      netip.Addr
	space    uint16
	messages []message
}

// message is a message with its TLVs. Its values belong to the buffer that it was read from.
type message struct {
	kind uint16
	id   uint32
	// ignorable reports whether a receiver that does not know the type ignores it.
	ignorable bool
	tlvs      []tlv
}

// tlv is one of the parts of a message; its type is without the U and the F bit.
type tlv struct {
	kind      uint16
	ignorable bool
	value     []byte
}

// find returns the value of the first TLV of a type.
func (m message) find(kind uint16) ([]byte, bool) {
	for _, t := range m.tlvs {
		if t.kind == kind {
			return t.value, true
		}
	}
	return nil, false
}

// readPDU reads the next PDU of a connection into a buffer of the maximum length. It fails with
// *cause for a PDU that cannot be read.
func readPDU(r *bufio.Reader, buffer []byte) (pdu, error) {
	header := buffer[:lengthEnd]
	if _, err := io.ReadFull(r, header); err != nil {
		return pdu{}, err
	}
	if v := binary.BigEndian.Uint16(header); v != version {
		return pdu{}, refuse(statusBadVersion, "the device sent a PDU of version %d", v)
	}
	n := int(binary.BigEndian.Uint16(header[2:]))
	if n < identifier+messageHeader || n > len(buffer)-lengthEnd {
		return pdu{}, refuse(statusBadPDULength, "the device sent a PDU of %d bytes, %d to %d are allowed", n, identifier+messageHeader, len(buffer)-lengthEnd)
	}
	if _, err := io.ReadFull(r, buffer[lengthEnd:lengthEnd+n]); err != nil {
		return pdu{}, err
	}
	return parsePDU(buffer[:lengthEnd+n])
}

// parsePDU reads the messages of a whole PDU.
func parsePDU(b []byte) (pdu, error) {
	p := pdu{lsr: netip.AddrFrom4([4]byte(b[lengthEnd:])), space: binary.BigEndian.Uint16(b[lengthEnd+4:])}
	for b = b[pduHeader:]; len(b) > 0; {
		if len(b) < messageHeader {
			return p, refuse(statusBadMessageLength, "%d bytes follow the last message of a PDU of the device", len(b))
		}
		kind, n := binary.BigEndian.Uint16(b), int(binary.BigEndian.Uint16(b[2:]))
		if n < messageHeader-lengthEnd || n > len(b)-lengthEnd {
			return p, refuse(statusBadMessageLength, "the device sent a message of %d bytes, of which its PDU has %d", n, len(b)-lengthEnd)
		}
		m := message{kind: kind &^ ignoreUnknown, ignorable: kind&ignoreUnknown != 0, id: binary.BigEndian.Uint32(b[4:])}
		var err error
		if m.tlvs, err = parseTLVs(b[messageHeader : lengthEnd+n]); err != nil {
			return p, err
		}
		p.messages = append(p.messages, m)
		b = b[lengthEnd+n:]
	}
	return p, nil
}

// parseTLVs reads the TLVs of a message.
func parseTLVs(b []byte) (all []tlv, err error) {
	for len(b) > 0 {
		if len(b) < tlvHeader {
			return nil, refuse(statusBadTLVLength, "%d bytes follow the last TLV of a message of the device", len(b))
		}
		kind, n := binary.BigEndian.Uint16(b), int(binary.BigEndian.Uint16(b[2:]))
		if n > len(b)-tlvHeader {
			return nil, refuse(statusBadTLVLength, "the device sent a TLV of %d bytes, of which its message has %d", n, len(b)-tlvHeader)
		}
		all = append(all, tlv{kind & 0x3fff, kind&ignoreUnknown != 0, b[tlvHeader : tlvHeader+n]})
		b = b[tlvHeader+n:]
	}
	return all, nil
}

// hello contains the parameters of a Hello message.
type hello struct {
	// hold is the hold time in seconds; 0 means the default.
	hold uint16
	// targeted reports whether the message is for one router that may be far away.
	targeted bool
	// transport address of the sender; invalid if it is the source address.
	transport netip.Addr
}

// parseHello reads a Hello message.
func parseHello(m message) (hello, error) {
	common, has := m.find(tlvCommonHello)
	if !has || len(common) != 4 {
		return hello{}, refuse(statusMissingParameter, "the device sent a Hello without its parameters")
	}
	h := hello{hold: binary.BigEndian.Uint16(common), targeted: common[2]&0x80 != 0}
	if t, has := m.find(tlvTransport); has {
		if len(t) != 4 {
			return h, refuse(statusMalformedTLV, "the device sent a transport address of %d bytes", len(t))
		}
		h.transport = netip.AddrFrom4([4]byte(t))
	}
	return h, nil
}

// initialization contains the parameters of an Initialization message.
type initialization struct {
	version, keepAlive uint16
	// onDemand reports whether the device sends labels on demand only.
	onDemand bool
	// length of the longest PDU; up to 255 means 4096.
	length uint16
	// receiver and space are the LDP identifier of the tester as the device sees it.
	receiver netip.Addr
	space    uint16
}

// parseInitialization reads an Initialization message.
func parseInitialization(m message) (initialization, error) {
	v, has := m.find(tlvSession)
	if !has || len(v) != 14 {
		return initialization{}, refuse(statusMissingParameter, "the device sent an Initialization without its parameters")
	}
	return initialization{
		version: binary.BigEndian.Uint16(v), keepAlive: binary.BigEndian.Uint16(v[2:]), onDemand: v[4]&0x80 != 0,
		length: binary.BigEndian.Uint16(v[6:]), receiver: netip.AddrFrom4([4]byte(v[8:])), space: binary.BigEndian.Uint16(v[12:]),
	}, nil
}

// binding is a FEC with a label: the prefixes of a Label Mapping, Withdraw or Release.
type binding struct {
	prefixes []netip.Prefix
	// wildcard means all prefixes.
	wildcard bool
	// unknown reports whether there is an element of another kind.
	unknown bool
	label   uint32
	// labeled reports whether there is a label.
	labeled bool
}

// parseBinding reads a message with a FEC.
func parseBinding(m message) (binding, error) {
	var out binding
	fec, has := m.find(tlvFEC)
	if !has || len(fec) == 0 {
		return out, refuse(statusMissingParameter, "the device sent a %s without a FEC", nameOf(m.kind))
	}
	for len(fec) > 0 && !out.unknown {
		switch {
		case fec[0] == fecWildcard:
			out.wildcard, fec = true, fec[1:]
		case fec[0] == fecPrefix && len(fec) >= 4 && binary.BigEndian.Uint16(fec[1:]) == familyIPv4:
			bits := int(fec[3])
			n := (bits + 7) / 8
			if bits > 32 || len(fec) < 4+n {
				return out, refuse(statusMalformedTLV, "the device sent a %s with a prefix of %d bits in %d bytes", nameOf(m.kind), bits, len(fec)-4)
			}
			var a [4]byte
			copy(a[:], fec[4:4+n])
			out.prefixes, fec = append(out.prefixes, netip.PrefixFrom(netip.AddrFrom4(a), bits).Masked()), fec[4+n:]
		default: // its length is not known
			out.unknown = true
		}
	}
	if label, has := m.find(tlvLabel); has {
		if len(label) != 4 {
			return out, refuse(statusMalformedTLV, "the device sent a label of %d bytes", len(label))
		}
		out.label, out.labeled = binary.BigEndian.Uint32(label)&(1<<20-1), true
	}
	if m.kind == typeMapping && !out.labeled && !out.unknown {
		return out, refuse(statusMissingParameter, "the device sent a Label Mapping without a label")
	}
	return out, nil
}

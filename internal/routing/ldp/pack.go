package ldp

import (
	"encoding/binary"
	"iter"
	"net/netip"
	"sync/atomic"

	"nodrop.dev/nodrop/internal/routing"
)

// writer makes the PDUs of the tester.
type writer struct {
	lsr netip.Addr
	// limit is the maximum length of a PDU that was agreed on, without version and length.
	limit int
	// id of the last message. Several goroutines make messages.
	id atomic.Uint32
}

// pdu is a PDU with messages.
func (w *writer) pdu(messages ...[]byte) []byte {
	b := w.begin(nil)
	for _, m := range messages {
		b = append(b, m...)
	}
	return end(b, 0)
}

// begin adds the header of a PDU.
func (w *writer) begin(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, version)
	b = append(b, 0, 0)
	lsr := w.lsr.As4()
	return append(append(b, lsr[:]...), 0, 0)
}

// end writes the length of the PDU that begins at some byte.
func end(b []byte, begin int) []byte {
	binary.BigEndian.PutUint16(b[begin+2:], uint16(len(b)-begin-lengthEnd))
	return b
}

// message is a message with TLVs.
func (w *writer) message(kind uint16, tlvs ...[]byte) []byte {
	n := messageHeader - lengthEnd
	for _, t := range tlvs {
		n += len(t)
	}
	b := binary.BigEndian.AppendUint16(nil, kind)
	b = binary.BigEndian.AppendUint16(b, uint16(n))
	b = binary.BigEndian.AppendUint32(b, w.id.Add(1))
	for _, t := range tlvs {
		b = append(b, t...)
	}
	return b
}

// makeTLV is a TLV.
func makeTLV(kind uint16, value ...byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, kind)
	b = binary.BigEndian.AppendUint16(b, uint16(len(value)))
	return append(b, value...)
}

// hello is the Hello of a link (RFC 5036 section 3.5.2).
func (w *writer) hello(hold uint16, transport netip.Addr) []byte {
	a := transport.As4()
	return w.pdu(w.message(typeHello, makeTLV(tlvCommonHello, byte(hold>>8), byte(hold), 0, 0), makeTLV(tlvTransport, a[:]...)))
}

// initialization is the Initialization to a device (RFC 5036 section 3.5.3).
func (w *writer) initialization(keepAlive uint16, device netip.Addr, space uint16) []byte {
	v := binary.BigEndian.AppendUint16(nil, version)
	v = binary.BigEndian.AppendUint16(v, keepAlive)
	v = append(v, 0, 0)                          // downstream unsolicited, no loop detection
	v = binary.BigEndian.AppendUint16(v, maxPDU) // up to the default length
	a := device.As4()
	v = binary.BigEndian.AppendUint16(append(v, a[:]...), space)
	return w.pdu(w.message(typeInitialization, makeTLV(tlvSession, v...)))
}

func (w *writer) keepAlive() []byte { return w.pdu(w.message(typeKeepAlive)) }

// address has the address of the tester, which is the next hop of its labels.
func (w *writer) address(a netip.Addr) []byte {
	b := a.As4()
	return w.pdu(w.message(typeAddress, makeTLV(tlvAddresses, append([]byte{0, familyIPv4}, b[:]...)...)))
}

// notification is a Notification about a message of the device; id and kind are 0 for none.
func (w *writer) notification(s status, id uint32, kind uint16) []byte {
	v := binary.BigEndian.AppendUint32(nil, uint32(s))
	v = binary.BigEndian.AppendUint32(v, id)
	v = binary.BigEndian.AppendUint16(v, kind)
	return w.pdu(w.message(typeNotification, makeTLV(tlvStatus, v...)))
}

// release answers a Label Withdraw with its FEC and label.
func (w *writer) release(m message) []byte {
	var parts [][]byte
	for _, t := range m.tlvs {
		if t.kind == tlvFEC || t.kind == tlvLabel {
			parts = append(parts, makeTLV(t.kind, t.value...))
		}
	}
	return w.pdu(w.message(typeRelease, parts...))
}

// label adds a Label Mapping or a Label Withdraw of one prefix to a PDU.
func (w *writer) label(b []byte, kind uint16, p netip.Prefix, label uint32) []byte {
	n := (p.Bits() + 7) / 8
	fec := 4 + n
	b = binary.BigEndian.AppendUint16(b, kind)
	b = binary.BigEndian.AppendUint16(b, uint16(messageHeader-lengthEnd+tlvHeader+fec+tlvHeader+4))
	b = binary.BigEndian.AppendUint32(b, w.id.Add(1))
	b = binary.BigEndian.AppendUint16(b, tlvFEC)
	b = binary.BigEndian.AppendUint16(b, uint16(fec))
	b = append(b, fecPrefix, 0, familyIPv4, byte(p.Bits()))
	a := p.Addr().As4()
	b = append(b, a[:n]...)
	b = binary.BigEndian.AppendUint16(b, tlvLabel)
	b = binary.BigEndian.AppendUint16(b, 4)
	return binary.BigEndian.AppendUint32(b, label)
}

// longest is the length of the longest message of one prefix.
const longest = messageHeader + tlvHeader + 8 + tlvHeader + 4

// chunkSize is the number of bytes that are handed to the connection at once.
const chunkSize = 64 << 10

// chunk is whole PDUs.
type chunk struct {
	bytes  []byte
	routes int
}

// labels are the prefixes of a set with their labels.
func labels(set routing.Routes) iter.Seq2[netip.Prefix, uint32] {
	return func(yield func(netip.Prefix, uint32) bool) {
		for i := range set.Count {
			if !yield(set.Prefix(i), set.Attributes.Label+i) {
				return
			}
		}
	}
}

// pack makes the Label Mappings or Label Withdraws of prefixes, and has them sent in chunks. The
// chunks share a buffer.
func (w *writer) pack(kind uint16, all iter.Seq2[netip.Prefix, uint32], send func(chunk) error) error {
	c := chunk{bytes: make([]byte, 0, chunkSize)}
	begin := 0
	c.bytes = w.begin(c.bytes)
	for prefix, label := range all {
		if len(c.bytes)-begin-lengthEnd+longest > w.limit {
			end(c.bytes, begin)
			if len(c.bytes)+lengthEnd+w.limit > chunkSize {
				if err := send(c); err != nil {
					return err
				}
				c = chunk{bytes: c.bytes[:0]}
			}
			begin = len(c.bytes)
			c.bytes = w.begin(c.bytes)
		}
		c.bytes = w.label(c.bytes, kind, prefix, label)
		c.routes++
	}
	if c.routes == 0 {
		return nil
	}
	end(c.bytes, begin)
	return send(c)
}

// split is the length of the first whole PDUs in the first n bytes of b, their number, and the
// end of the PDU that n cuts; end is n when it cuts none.
func split(b []byte, n int) (whole, pdus, end int) {
	for whole < n {
		next := whole + lengthEnd + int(binary.BigEndian.Uint16(b[whole+2:]))
		if next > n {
			return whole, pdus, next
		}
		whole, pdus = next, pdus+1
	}
	return whole, pdus, n
}

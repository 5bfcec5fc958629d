package bgp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
)

const (
	headerLength = bgp.BGP_HEADER_LENGTH
	// maxLength of a message (RFC 4271, 4.1).
	maxLength = 4096
)

// names of message types.
var names = map[uint8]string{
	bgp.BGP_MSG_OPEN: "OPEN", bgp.BGP_MSG_UPDATE: "UPDATE", bgp.BGP_MSG_NOTIFICATION: "NOTIFICATION",
	bgp.BGP_MSG_KEEPALIVE: "KEEPALIVE", bgp.BGP_MSG_ROUTE_REFRESH: "ROUTE-REFRESH",
}

// leastLength of the types of messages (RFC 4271, 6.1; RFC 2918).
var leastLength = map[uint8]int{
	bgp.BGP_MSG_OPEN: 29, bgp.BGP_MSG_UPDATE: 23, bgp.BGP_MSG_NOTIFICATION: 21,
	bgp.BGP_MSG_KEEPALIVE: headerLength, bgp.BGP_MSG_ROUTE_REFRESH: 23,
}

// read reads a message into b, which has maxLength bytes, and returns it decoded.
// Whatever is malformed in it is a *cause.
func read(r io.Reader, b []byte, options *bgp.MarshallingOption) (*bgp.BGPMessage, error) {
	if _, err := io.ReadFull(r, b[:headerLength]); err != nil {
		return nil, err
	}
	h := bgp.BGPHeader{}
	if err := h.DecodeFromBytes(b[:headerLength]); err != nil {
		return nil, malformed("message header", err)
	}
	least, known := leastLength[h.Type]
	switch {
	case !known:
		return nil, refuse(bgp.BGP_ERROR_MESSAGE_HEADER_ERROR, bgp.BGP_ERROR_SUB_BAD_MESSAGE_TYPE, "the device sent a message of type %d", h.Type)
	case int(h.Len) < least, h.Len > maxLength, h.Type == bgp.BGP_MSG_KEEPALIVE && h.Len != headerLength:
		return nil, refuse(bgp.BGP_ERROR_MESSAGE_HEADER_ERROR, bgp.BGP_ERROR_SUB_BAD_MESSAGE_LENGTH, "the device sent a %s of %d bytes", names[h.Type], h.Len)
	}
	if _, err := io.ReadFull(r, b[headerLength:h.Len]); err != nil {
		return nil, err
	}
	return decode(&h, b[headerLength:h.Len], options)
}

// decode decodes the body of a message. A defect of the decoder ends the session, not the
// process.
func decode(h *bgp.BGPHeader, body []byte, options *bgp.MarshallingOption) (m *bgp.BGPMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			m, err = nil, malformed(names[h.Type], fmt.Errorf("decoding it failed: %v", p))
		}
	}()
	m, err = bgp.ParseBGPBody(h, body, options)
	if err == nil && h.Type == bgp.BGP_MSG_UPDATE {
		_, err = bgp.ValidateUpdateMsg(m.Body.(*bgp.BGPUpdate), options.AddPath, false, false, true)
	}
	if err != nil {
		return nil, malformed(names[h.Type], err)
	}
	return m, nil
}

// split is the length of the first whole messages in the first n bytes of b, how many
// they are, and where the message ends that n cuts; end is n when it cuts none.
func split(b []byte, n int) (whole, messages, end int) {
	for whole < n {
		next := whole + int(binary.BigEndian.Uint16(b[whole+16:]))
		if next > n {
			return whole, messages, next
		}
		whole, messages = next, messages+1
	}
	return whole, messages, n
}

func serialize(m *bgp.BGPMessage) []byte {
	b, err := m.Serialize()
	if err != nil {
		panic(fmt.Sprintf("serializing a message of fixed form: %v", err))
	}
	return b
}

// ended is the cause of a failed read.
func ended(err error) *cause {
	var c *cause
	switch {
	case errors.As(err, &c):
		return c
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return because("the device closed the connection without a NOTIFICATION")
	}
	return because("reading from the connection: %v", err)
}

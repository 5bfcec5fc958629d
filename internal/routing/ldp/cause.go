package ldp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"syscall"
)

// status is the code of a Notification with the E bit, which ends a session (RFC 5036 section
// 3.9).
type status uint32

// fatal is the E bit.
const fatal status = 1 << 31

// The codes that the tester sends or explains.
const (
	statusBadVersion        = fatal | 2
	statusBadPDULength      = fatal | 3
	statusUnknownMessage    = status(4)
	statusBadMessageLength  = fatal | 5
	statusBadTLVLength      = fatal | 7
	statusMalformedTLV      = fatal | 8
	statusHoldExpired       = fatal | 9
	statusShutdown          = fatal | 0xa
	statusUnknownFEC        = status(0xc)
	statusNoRoute           = status(0xd)
	statusBadMode           = fatal | 0x11
	statusBadSize           = fatal | 0x12
	statusBadRange          = fatal | 0x13
	statusNoHello           = fatal | 0x10
	statusKeepAliveExpired  = fatal | 0x14
	statusMissingParameter  = fatal | 0x16
	statusBadKeepAlive      = fatal | 0x18
	statusBadIdentifier     = fatal | 1
	statusCode              = status(0x3fffffff)
	notificationValueLength = 10
)

// statusNames are the codes as RFC 5036 section 3.9 names them.
var statusNames = map[status]string{
	0: "Success", 1: "Bad LDP Identifier", 2: "Bad Protocol Version", 3: "Bad PDU Length", 4: "Unknown Message Type",
	5: "Bad Message Length", 6: "Unknown TLV", 7: "Bad TLV Length", 8: "Malformed TLV Value", 9: "Hold Timer Expired",
	0xa: "Shutdown", 0xb: "Loop Detected", 0xc: "Unknown FEC", 0xd: "No Route", 0xe: "No Label Resources",
	0xf: "Label Resources Available", 0x10: "Session Rejected/No Hello", 0x11: "Session Rejected/Parameters Advertisement Mode",
	0x12: "Session Rejected/Parameters Max PDU Length", 0x13: "Session Rejected/Parameters Label Range", 0x14: "KeepAlive Timer Expired",
	0x15: "Label Request Aborted", 0x16: "Missing Message Parameters", 0x17: "Unsupported Address Family",
	0x18: "Session Rejected/Bad KeepAlive Time", 0x19: "Internal Error",
}

// String is the name of the code with its number.
func (s status) String() string {
	code := s & statusCode
	if name, known := statusNames[code]; known {
		return fmt.Sprintf("%s (%#x)", name, uint32(code))
	}
	return fmt.Sprintf("status %#x", uint32(code))
}

// parseStatus reads the status of a Notification.
func parseStatus(m message) (status, error) {
	v, has := m.find(tlvStatus)
	if !has || len(v) < notificationValueLength {
		return 0, refuse(statusMissingParameter, "the device sent a Notification without a status")
	}
	return status(binary.BigEndian.Uint32(v)), nil
}

// cause is why a session is not established.
type cause struct {
	text string
	// final means that trying again does not help.
	final bool
	// tell is the status that the device is sent; 0 for none.
	tell status
}

func (c *cause) Error() string { return c.text }

// because is a cause that the device needs not know.
func because(format string, args ...any) *cause { return &cause{text: fmt.Sprintf(format, args...)} }

// refuse is a cause that the device is sent.
func refuse(s status, format string, args ...any) *cause {
	return &cause{text: fmt.Sprintf(format, args...) + "; the tester sent Notification " + s.String(), tell: s}
}

// ended is the cause of a failed read.
func ended(err error) *cause {
	var c *cause
	switch {
	case errors.As(err, &c):
		return c
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return because("the device closed the connection")
	case errors.Is(err, syscall.ECONNRESET):
		return because("the device reset the connection")
	}
	return because("reading from the device: %v", err)
}

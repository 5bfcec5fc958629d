package bgp

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
)

// codes are the error codes of NOTIFICATION messages with their subcodes as IANA names
// them (RFC 4271, 4486, 6608, 7313, 8538).
var codes = map[uint8]struct {
	name     string
	subcodes []string
}{
	bgp.BGP_ERROR_MESSAGE_HEADER_ERROR: {"Message Header Error", []string{"", "Connection Not Synchronized", "Bad Message Length", "Bad Message Type"}},
	bgp.BGP_ERROR_OPEN_MESSAGE_ERROR: {"OPEN Message Error", []string{"", "Unsupported Version Number", "Bad Peer AS", "Bad BGP Identifier",
		"Unsupported Optional Parameter", "Authentication Failure", "Unacceptable Hold Time", "Unsupported Capability"}},
	bgp.BGP_ERROR_UPDATE_MESSAGE_ERROR: {"UPDATE Message Error", []string{"", "Malformed Attribute List", "Unrecognized Well-known Attribute",
		"Missing Well-known Attribute", "Attribute Flags Error", "Attribute Length Error", "Invalid ORIGIN Attribute", "AS Routing Loop",
		"Invalid NEXT_HOP Attribute", "Optional Attribute Error", "Invalid Network Field", "Malformed AS_PATH"}},
	bgp.BGP_ERROR_HOLD_TIMER_EXPIRED: {"Hold Timer Expired", nil},
	bgp.BGP_ERROR_FSM_ERROR: {"Finite State Machine Error", []string{"", "Unexpected Message in OpenSent State",
		"Unexpected Message in OpenConfirm State", "Unexpected Message in Established State"}},
	bgp.BGP_ERROR_CEASE: {"Cease", []string{"", "Maximum Number of Prefixes Reached", "Administrative Shutdown", "Peer De-configured",
		"Administrative Reset", "Connection Rejected", "Other Configuration Change", "Connection Collision Resolution", "Out of Resources",
		"Hard Reset", "BFD Down"}},
	bgp.BGP_ERROR_ROUTE_REFRESH_MESSAGE_ERROR: {"ROUTE-REFRESH Message Error", []string{"", "Invalid Message Length"}},
}

// words name a NOTIFICATION.
func words(code, subcode uint8) string {
	c, known := codes[code]
	switch {
	case !known:
		return fmt.Sprintf("code %d, subcode %d", code, subcode)
	case int(subcode) < len(c.subcodes) && c.subcodes[subcode] != "":
		return fmt.Sprintf("%s (%d), %s (%d)", c.name, code, c.subcodes[subcode], subcode)
	case subcode == 0:
		return fmt.Sprintf("%s (%d)", c.name, code)
	}
	return fmt.Sprintf("%s (%d), subcode %d", c.name, code, subcode)
}

// cause is why a session is not established.
type cause struct {
	text string
	// final means that trying again does not help.
	final bool
	// tell is the notification that is sent to the device; nil for none.
	tell *bgp.BGPNotification
}

func (c *cause) Error() string { return c.text }

// lastMessage is the NOTIFICATION that the device is sent; empty for none.
func (c *cause) lastMessage() []byte {
	if c.tell == nil {
		return nil
	}
	return serialize(bgp.NewBGPNotificationMessage(c.tell.ErrorCode, c.tell.ErrorSubcode, c.tell.Data))
}

// because is a cause that the device needs not know.
func because(format string, args ...any) *cause { return &cause{text: fmt.Sprintf(format, args...)} }

// refuse is a cause that the device is sent.
func refuse(code, subcode uint8, format string, args ...any) *cause {
	return &cause{
		text: fmt.Sprintf(format, args...) + "; the tester sent NOTIFICATION " + words(code, subcode),
		tell: &bgp.BGPNotification{ErrorCode: code, ErrorSubcode: subcode},
	}
}

// notified is the cause that the device names.
func notified(n *bgp.BGPNotification) *cause {
	c := because("the device sent NOTIFICATION %s", words(n.ErrorCode, n.ErrorSubcode))
	switch {
	case n.ErrorCode == bgp.BGP_ERROR_OPEN_MESSAGE_ERROR:
		c.final = true
		if n.ErrorSubcode == bgp.BGP_ERROR_SUB_BAD_PEER_AS {
			c.text += ": it expects another AS number of the tester"
		}
	case n.ErrorCode == bgp.BGP_ERROR_CEASE && n.ErrorSubcode <= bgp.BGP_ERROR_SUB_ADMINISTRATIVE_RESET && n.ErrorSubcode >= bgp.BGP_ERROR_SUB_ADMINISTRATIVE_SHUTDOWN:
		// RFC 9003: a message to people, its length before it.
		if d := n.Data; len(d) > 1 && int(d[0]) < len(d) {
			c.text += ": " + printable(string(d[1:1+d[0]]))
		}
	}
	return c
}

func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// malformed is the cause for a message that cannot be read.
func malformed(what string, err error) *cause {
	var m *bgp.MessageError
	if errors.As(err, &m) && m.TypeCode != 0 {
		return refuse(m.TypeCode, m.SubTypeCode, "the device sent a malformed %s: %s", what, printable(m.Message))
	}
	code := uint8(bgp.BGP_ERROR_UPDATE_MESSAGE_ERROR)
	if what == "OPEN" {
		code = bgp.BGP_ERROR_OPEN_MESSAGE_ERROR
	}
	return refuse(code, 0, "the device sent a malformed %s: %s", what, printable(err.Error()))
}

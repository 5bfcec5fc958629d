package bfd

import (
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bfd"
)

// slow is the least interval between packets while a session is not up (RFC 5880, 6.8.3).
const slow = time.Second

// machine is the state of one session, with the names of RFC 5880, section 6.8.1.
type machine struct {
	interval   time.Duration // both DesiredMinTxInterval when up and RequiredMinRxInterval
	multiplier uint8

	state         bfd.StateType
	diagnostic    bfd.DiagnosticType
	mine, yours   uint32
	remoteState   bfd.StateType
	remoteDesired time.Duration
	remoteMinRx   time.Duration
	remoteMult    uint8
	// polling reports whether a Poll Sequence goes on, as the transmit interval changed.
	polling bool
}

func newMachine(interval time.Duration, multiplier uint8, discriminator uint32) *machine {
	return &machine{interval: interval, multiplier: multiplier, mine: discriminator, state: bfd.StateDown, remoteState: bfd.StateDown, remoteMinRx: time.Microsecond}
}

// desired is the DesiredMinTxInterval in force.
func (m *machine) desired() time.Duration {
	if m.state != bfd.StateUp {
		return max(slow, m.interval)
	}
	return m.interval
}

// every is the time between packets, without jitter; 0 when the device wants none
// (section 6.8.7).
func (m *machine) every() time.Duration {
	if m.remoteMinRx == 0 {
		return 0
	}
	return max(m.desired(), m.remoteMinRx)
}

// detection returns the time without a packet after which the session is down (section 6.8.4);
// 0 if no packet has arrived yet.
func (m *machine) detection() time.Duration {
	return time.Duration(m.remoteMult) * max(m.interval, m.remoteDesired)
}

// packet returns the packet to send: the answer to a Poll, or a periodic one.
func (m *machine) packet(final bool) *bfd.BFDHeader {
	return &bfd.BFDHeader{
		Version: 1, Diagnostic: m.diagnostic, State: m.state, Poll: m.polling && !final, Final: final,
		DetectTimeMultiplier: m.multiplier, MyDiscriminator: m.mine, YourDiscriminator: m.yours,
		DesiredMinTxInterval: micros(m.desired()), RequiredMinRxInterval: micros(m.interval),
	}
}

// valid reports whether a packet is one of this session (section 6.8.6).
func (m *machine) valid(h *bfd.BFDHeader) bool {
	switch {
	case h.Version != 1, h.DetectTimeMultiplier == 0, h.MyDiscriminator == 0:
		return false
	case h.YourDiscriminator == 0:
		return h.State == bfd.StateDown || h.State == bfd.StateAdminDown
	}
	return h.YourDiscriminator == m.mine
}

// receive takes a valid packet in, and reports whether it has to be answered at once.
func (m *machine) receive(h *bfd.BFDHeader) (answer bool) {
	m.yours, m.remoteState, m.remoteMult = h.MyDiscriminator, h.State, h.DetectTimeMultiplier
	m.remoteDesired, m.remoteMinRx = fromMicros(h.DesiredMinTxInterval), fromMicros(h.RequiredMinRxInterval)
	if h.Final {
		m.polling = false
	}
	switch {
	case m.state == bfd.StateAdminDown:
		return false
	case h.State == bfd.StateAdminDown:
		m.fall(bfd.DiagnosticNeighborSignaledSessionDown)
	case m.state == bfd.StateDown && h.State == bfd.StateDown:
		m.state = bfd.StateInit
	case m.state == bfd.StateDown && h.State == bfd.StateInit, m.state == bfd.StateInit && h.State >= bfd.StateInit:
		m.state, m.diagnostic = bfd.StateUp, bfd.DiagnosticNoDiagnostic
		m.polling = true // The transmit interval is another one now.
	case m.state == bfd.StateUp && h.State == bfd.StateDown:
		m.fall(bfd.DiagnosticNeighborSignaledSessionDown)
	}
	return h.Poll
}

// expire is the end of the detection time.
func (m *machine) expire() {
	m.yours, m.remoteMult = 0, 0
	m.fall(bfd.DiagnosticControlDetectionTimeExpired)
}

// fall makes the session down, unless it is.
func (m *machine) fall(why bfd.DiagnosticType) {
	if m.state == bfd.StateInit || m.state == bfd.StateUp {
		m.state, m.diagnostic, m.polling = bfd.StateDown, why, false
	}
}

// close makes the session down for the device to know (section 6.8.16).
func (m *machine) close() {
	m.state, m.diagnostic, m.polling = bfd.StateAdminDown, bfd.DiagnosticAdministrativelyDown, false
}

func micros(d time.Duration) uint32     { return uint32(d / time.Microsecond) }
func fromMicros(n uint32) time.Duration { return time.Duration(n) * time.Microsecond }

package bfd

import (
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bfd"
)

const interval = 150 * time.Millisecond

// handshake brings two machines up, as RFC 5880, section 6.2 has it.
func handshake(t *testing.T) (a, b *machine) {
	t.Helper()
	a, b = newMachine(interval, 3, 7), newMachine(interval, 3, 9)
	for i, want := range []struct{ a, b bfd.StateType }{
		{bfd.StateDown, bfd.StateInit}, {bfd.StateUp, bfd.StateInit}, {bfd.StateUp, bfd.StateUp},
	} {
		from, to := a, b
		if i == 1 {
			from, to = b, a
		}
		pass(t, from, to)
		if a.state != want.a || b.state != want.b {
			t.Fatalf("after packet %d: %v and %v, want %v and %v", i+1, a.state, b.state, want.a, want.b)
		}
	}
	return a, b
}

// pass sends a packet of one machine to the other, with the answer to a Poll.
func pass(t *testing.T, from, to *machine) {
	t.Helper()
	h := from.packet(false)
	if !to.valid(h) {
		t.Fatalf("%+v is not valid", h)
	}
	if to.receive(h) {
		answer := to.packet(true)
		if !answer.Final || answer.Poll || !from.valid(answer) {
			t.Fatalf("the answer to a poll is %+v", answer)
		}
		from.receive(answer)
	}
}

func TestHandshakeAndTimers(t *testing.T) {
	t.Parallel()
	one := newMachine(interval, 3, 7)
	if one.every() != time.Second || one.packet(false).DesiredMinTxInterval != 1_000_000 || one.packet(false).RequiredMinRxInterval != 150_000 {
		t.Errorf("while down a packet comes every %v: %+v", one.every(), one.packet(false))
	}
	a, b := handshake(t)
	if a.polling { // b's answer came when it was still in Init
		pass(t, a, b)
	}
	pass(t, b, a)
	pass(t, a, b)
	for _, m := range []*machine{a, b} {
		if m.polling || m.every() != interval || m.detection() != 3*interval || m.diagnostic != bfd.DiagnosticNoDiagnostic {
			t.Errorf("up: %+v, every %v, detection %v", m, m.every(), m.detection())
		}
	}
	// The slower side decides (sections 6.8.2 and 6.8.4).
	slower := b.packet(false)
	slower.DesiredMinTxInterval, slower.RequiredMinRxInterval, slower.DetectTimeMultiplier = 300_000, 200_000, 5
	a.receive(slower)
	if a.every() != 200*time.Millisecond || a.detection() != 1500*time.Millisecond {
		t.Errorf("every %v, detection %v", a.every(), a.detection())
	}
	slower.RequiredMinRxInterval = 0
	if a.receive(slower); a.every() != 0 {
		t.Errorf("a device that wants no packets gets one every %v", a.every())
	}
}

func TestGoingDown(t *testing.T) {
	t.Parallel()
	a, b := handshake(t)
	a.expire()
	if a.state != bfd.StateDown || a.diagnostic != bfd.DiagnosticControlDetectionTimeExpired || a.packet(false).YourDiscriminator != 0 || a.every() != time.Second {
		t.Errorf("after the detection time: %+v", a)
	}
	pass(t, a, b)
	if b.state != bfd.StateDown || b.diagnostic != bfd.DiagnosticNeighborSignaledSessionDown {
		t.Errorf("the other side: %+v", b)
	}
	a, b = handshake(t)
	a.close()
	pass(t, a, b)
	if b.state != bfd.StateDown || b.diagnostic != bfd.DiagnosticNeighborSignaledSessionDown {
		t.Errorf("after AdminDown: %+v", b)
	}
	if b.receive(a.packet(false)); b.state != bfd.StateDown {
		t.Errorf("AdminDown keeps the other side down: %+v", b)
	}
	if a.receive(b.packet(false)); a.state != bfd.StateAdminDown {
		t.Errorf("what is closed stays closed: %+v", a)
	}
}

func TestPacketsOfOthersAreNotValid(t *testing.T) {
	t.Parallel()
	a, b := handshake(t)
	for name, change := range map[string]func(*bfd.BFDHeader){
		"another version":          func(h *bfd.BFDHeader) { h.Version = 0 },
		"no multiplier":            func(h *bfd.BFDHeader) { h.DetectTimeMultiplier = 0 },
		"no discriminator":         func(h *bfd.BFDHeader) { h.MyDiscriminator = 0 },
		"of another session":       func(h *bfd.BFDHeader) { h.YourDiscriminator++ },
		"up without discriminator": func(h *bfd.BFDHeader) { h.YourDiscriminator = 0 },
	} {
		h := b.packet(false)
		if !a.valid(h) {
			t.Fatalf("%+v is valid", h)
		}
		if change(h); a.valid(h) {
			t.Errorf("%s: valid", name)
		}
	}
}

func TestJitter(t *testing.T) {
	t.Parallel()
	for multiplier, most := range map[uint8]time.Duration{1: 90 * time.Millisecond, 3: 100 * time.Millisecond} {
		for range 1000 {
			if d := jittered(100*time.Millisecond, multiplier); d < 75*time.Millisecond || d > most {
				t.Fatalf("multiplier %d: %v", multiplier, d)
			}
		}
	}
}

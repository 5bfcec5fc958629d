package bfd

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bfd"
	"golang.org/x/net/ipv4"
)

const patience = 2 * time.Minute

// start starts a session on the loopback, and returns its states.
func start(t *testing.T, local, remote string) (*Session, <-chan State) {
	t.Helper()
	states := make(chan State, 100)
	s, err := Start(Config{
		Local: netip.MustParseAddr(local), Remote: netip.MustParseAddr(remote), Interval: 20 * time.Millisecond, Multiplier: 50,
		Changed: func(s State) { states <- s },
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, states
}

func next(t *testing.T, states <-chan State) State {
	t.Helper()
	select {
	case s := <-states:
		return s
	case <-time.After(patience):
		t.Fatal("no other state")
		return State{}
	}
}

func closed(t *testing.T, s *Session) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// Two sessions bring each other up, and one that is closed says so.
func TestTwoSessions(t *testing.T) {
	t.Parallel()
	a, ofA := start(t, "127.0.1.1", "127.0.1.2")
	b, ofB := start(t, "127.0.1.2", "127.0.1.1")
	defer closed(t, b)
	if !next(t, ofA).Up || !next(t, ofB).Up {
		t.Fatal("they are not up")
	}
	closed(t, a)
	if s := next(t, ofB); s.Up || s.Cause != "BFD is down: the device 127.0.1.1 signaled that its side is" {
		t.Errorf("after the other was closed: %+v", s)
	}
	a, ofA = start(t, "127.0.1.1", "127.0.1.2")
	defer closed(t, a)
	if !next(t, ofA).Up || !next(t, ofB).Up {
		t.Error("they do not come back")
	}
}

// A session whose process has no processor for longer than the detection time stays up
// while a packet is there that it has not read.
func TestUnreadPacketsAreNotMissing(t *testing.T) {
	t.Parallel()
	const interval, multiplier = 20 * time.Millisecond, 3
	own, peer := opened(t, "127.0.3.1", "127.0.3.2"), opened(t, "127.0.3.2", "127.0.3.1")
	states := make(chan State, 100)
	s := &Session{socket: own, conf: Config{
		Local: peer.remote, Remote: own.remote, Interval: interval, Multiplier: multiplier, Changed: func(s State) { states <- s },
	}}
	ctx, cancel := context.WithCancel(t.Context())
	packets := make(chan *bfd.BFDHeader) // what the reader hands over, which is the test
	s.ended.Go(func() { s.run(ctx, packets) })
	defer s.ended.Wait()
	defer cancel()

	_ = peer.receiver.SetReadDeadline(time.Now().Add(patience))
	first, err := peer.read(make([]byte, 256))
	if err != nil || first == nil {
		t.Fatal(first, err)
	}
	device := newMachine(interval, multiplier, 5)
	device.receive(first)
	second := device.packet(false)
	second.DesiredMinTxInterval = micros(interval)
	if err := peer.send(second); err != nil {
		t.Fatal(err)
	}
	packets <- second
	if !next(t, states).Up {
		t.Fatal("it is not up")
	}
	time.Sleep(3 * multiplier * interval) // the reader has no processor
	select {
	case s := <-states:
		t.Errorf("%+v while a packet is not read", s)
	default:
	}
	if h, err := own.read(make([]byte, 256)); err != nil || h == nil {
		t.Fatal(h, err)
	}
	if s := next(t, states); s.Up || s.Cause != "BFD is down: no control packet came from 127.0.3.2 for 60ms" {
		t.Errorf("%+v without packets", s)
	}
}

// opened are the sockets of a session on the loopback.
func opened(t *testing.T, local, remote string) *socket {
	t.Helper()
	s, err := open(netip.MustParseAddr(local), netip.MustParseAddr(remote))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.sender.Close(); s.receiver.Close() })
	return s
}

// Packets that were forwarded (RFC 5881, section 5), or are none, are not taken.
func TestForeignPacketsAreDropped(t *testing.T) {
	t.Parallel()
	local, remote := netip.MustParseAddr("127.0.2.1"), netip.MustParseAddr("127.0.2.2")
	s, err := open(local, remote)
	if err != nil {
		t.Fatal(err)
	}
	defer s.sender.Close()
	defer s.receiver.Close()
	peer, err := net.DialUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(remote, 0)), net.UDPAddrFromAddrPort(netip.AddrPortFrom(local, port)))
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	good, err := newMachine(interval, 3, 5).packet(false).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	flagged := func(flag byte) []byte {
		b := append([]byte(nil), good...)
		b[1] |= flag
		return b
	}
	for _, p := range []struct {
		name    string
		ttl     int
		content []byte
		taken   bool
	}{
		{"forwarded", 254, good, false}, {"short", 255, good[:1], false}, {"authenticated", 255, flagged(authenticated), false},
		{"multipoint", 255, flagged(multipoint), false}, {"good", 255, good, true},
	} {
		if err := ipv4.NewConn(peer).SetTTL(p.ttl); err != nil {
			t.Fatal(err)
		}
		if _, err := peer.Write(p.content); err != nil {
			t.Fatal(err)
		}
		_ = s.receiver.SetReadDeadline(time.Now().Add(patience))
		h, err := s.read(make([]byte, 256))
		if err != nil || (h != nil) != p.taken || h != nil && h.State != bfd.StateDown {
			t.Errorf("%s: %+v, %v", p.name, h, err)
		}
	}
}

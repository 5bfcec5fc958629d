package bfd

import (
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bfd"
	"golang.org/x/net/ipv4"
)

// recorded are the control packets that two sides send from the first one to the end of the
// session, with Poll and Final among them.
func recorded(t *testing.T) [][]byte {
	t.Helper()
	a, b := newMachine(interval, 3, 7), newMachine(interval, 3, 9)
	var all [][]byte
	send := func(from, to *machine, final bool) {
		h := from.packet(final)
		packet, err := h.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, packet)
		to.receive(h)
	}
	for range 3 {
		send(a, b, false)
		send(b, a, false)
		send(a, b, true)
		send(b, a, true)
	}
	if a.state != bfd.StateUp || b.state != bfd.StateUp {
		t.Fatalf("%v and %v", a.state, b.state)
	}
	a.close()
	send(a, b, false)
	b.expire()
	send(b, a, false)
	return all
}

// mutated is a packet with some bytes changed, cut or added.
func mutated(rng *rand.Rand, packet []byte) []byte {
	m := append([]byte(nil), packet...)
	for range rng.IntN(4) {
		switch i := rng.IntN(len(m)); rng.IntN(4) {
		case 0:
			m[i] = byte(rng.Uint32())
		case 1:
			m[i] ^= 1 << rng.IntN(8)
		case 2:
			m = m[:max(1, i)]
		case 3:
			m = append(m, make([]byte, 1+rng.IntN(300))...)
		}
	}
	return m
}

// device is a fake device: it hears what a session sends, and sends it what it wants.
type device struct {
	t     *testing.T
	heard *net.UDPConn
	*net.UDPConn
}

func newDevice(t *testing.T, local, remote string) *device {
	t.Helper()
	heard, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(local), port)))
	if err != nil {
		t.Fatal(err)
	}
	to, err := net.DialUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(local), 0)), net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(remote), port)))
	if err != nil {
		t.Fatal(err)
	}
	if err := ipv4.NewConn(to).SetTTL(timeToLive); err != nil {
		t.Fatal(err)
	}
	return &device{t, heard, to}
}

// hear is the next packet of the session that is wanted.
func (d *device) hear(wanted func(*bfd.BFDHeader) bool) *bfd.BFDHeader {
	d.t.Helper()
	b := make([]byte, 256)
	if err := d.heard.SetReadDeadline(time.Now().Add(patience)); err != nil {
		d.t.Fatal(err)
	}
	for {
		n, err := d.heard.Read(b)
		if err != nil {
			d.t.Fatal(err)
		}
		h := &bfd.BFDHeader{}
		if err := h.UnmarshalBinary(b[:n]); err != nil {
			d.t.Fatal(err)
		}
		if wanted(h) {
			return h
		}
	}
}

// poll asks for an answer, so that all that was sent before is read. Answers have the
// discriminator of what they answer, which distinguishes them from earlier ones.
func (d *device) poll(mine, number uint32) {
	d.t.Helper()
	h := newMachine(interval, 3, number).packet(false)
	h.Poll, h.YourDiscriminator = true, mine
	b, err := h.MarshalBinary()
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := d.Write(b); err != nil {
		d.t.Fatal(err)
	}
	d.hear(func(h *bfd.BFDHeader) bool { return h.Final && h.YourDiscriminator == number })
}

func (d *device) close() {
	d.t.Helper()
	if err := errors.Join(d.heard.Close(), d.Close()); err != nil {
		d.t.Fatal(err)
	}
}

// A device that sends malformed control packets does not crash a session, nor keep it from
// coming up with one that sends good ones, nor from being closed.
func TestSessionSurvivesMutatedPackets(t *testing.T) {
	t.Parallel()
	const local, remote = "127.0.9.1", "127.0.9.2"
	packets := recorded(t)
	s, states := start(t, local, remote)
	peer := newDevice(t, remote, local)
	mine := peer.hear(func(*bfd.BFDHeader) bool { return true }).MyDiscriminator
	rng := rand.New(rand.NewPCG(5880, 1))
	for n := range 5_000 {
		packet := packets[n%len(packets)]
		if len(packet) >= 12 && packet[8]|packet[9]|packet[10]|packet[11] != 0 && rng.IntN(4) > 0 { // of this session, so that more than the first look is needed
			packet = append([]byte(nil), packet...)
			packet[8], packet[9], packet[10], packet[11] = byte(mine>>24), byte(mine>>16), byte(mine>>8), byte(mine)
		}
		if _, err := peer.Write(mutated(rng, packet)); err != nil {
			t.Fatal(err)
		}
		if n%50 == 0 {
			peer.poll(mine, 1<<24|uint32(n))
		}
		drain(states)
	}
	peer.close()
	other, ofOther := start(t, remote, local)
	for !next(t, ofOther).Up {
	}
	closed(t, other)
	closed(t, s)
}

// drain forgets states, so that the session does not wait for who takes them.
func drain(states <-chan State) {
	for {
		select {
		case <-states:
		default:
			return
		}
	}
}

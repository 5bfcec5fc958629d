package bgp

import (
	"context"
	"net"
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"nodrop.dev/nodrop/internal/routing"
)

// A session that goes down while another is being opened is awaited again: opening ends
// when all are established at one time, and what happened before are no flaps.
func TestOpenAwaitsAllAtOneTime(t *testing.T) {
	t.Parallel()
	d := newFakeDevice(t, "")
	s := newSpeaker(t, d.port())
	a, b := tester(0), tester(1)
	// accept takes the next connection from a session; connections of others wait.
	waiting := map[string]net.Conn{}
	accept := func(from routing.Session) {
		for waiting[from.Local.String()] == nil {
			conn, err := d.listener.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { conn.Close() })
			waiting[conn.RemoteAddr().(*net.TCPAddr).IP.String()] = conn
		}
		d.conn = waiting[from.Local.String()]
		delete(waiting, from.Local.String())
	}
	establish := func(from routing.Session) {
		d.read(bgp.BGP_MSG_OPEN)
		d.write(opening(func(s *routing.Session) { s.Local = from.Remote }))
		d.read(bgp.BGP_MSG_KEEPALIVE)
		d.write(bgp.NewBGPKeepAliveMessage())
	}
	opened := make(chan error, 1)
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	go func() { opened <- s.Open(ctx, []routing.Session{a, b}) }()

	accept(a)
	establish(a)
	awaitState(t, s, "a", func(s routing.State) bool { return s.Established })
	d.conn.Close()
	awaitState(t, s, "a", func(s routing.State) bool { return !s.Established && s.Cause != "" })
	accept(b)
	establish(b)
	awaitState(t, s, "b", func(s routing.State) bool { return s.Established })
	accept(a)
	select {
	case err := <-opened:
		t.Fatalf("opening ended with %v while a session is down", err)
	default:
	}
	establish(a)
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	states, err := s.States(t.Context())
	if err != nil || len(states) != 2 {
		t.Fatalf("%+v, %v", states, err)
	}
	for _, state := range states {
		if !state.Established || state.Flaps != 0 {
			t.Errorf("%+v", state)
		}
	}
}

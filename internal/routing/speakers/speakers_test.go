package speakers

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/routing/bgp"
	"nodrop.dev/nodrop/internal/routing/endpoint"
	"nodrop.dev/nodrop/internal/routing/ldp"
)

func TestSpeakerOfProtocol(t *testing.T) {
	s := New(Options{Ports: map[string]endpoint.Port{"p": {}}})
	session := func(p routing.Protocol) routing.Session {
		return routing.Session{
			Name: "one", Protocol: p, Port: "p", Local: netip.MustParseAddr("198.18.1.2"), Remote: netip.MustParseAddr("198.18.1.1"),
			RouterID: netip.MustParseAddr("198.18.1.2"), Families: []routing.Family{routing.IPv4Unicast}, HoldTime: time.Second, LocalASN: 65001, RemoteASN: 65000,
		}
	}
	// A hold time of 1 s is refused by both speakers, each for itself.
	for protocol, want := range map[routing.Protocol]string{"": "holdTime: 1s", routing.BGP: "holdTime: 1s", routing.LDP: "holdTime: 1s, must be 3s to 65535s", "RIP": "there is no speaker of RIP"} {
		if err := s.Open(t.Context(), []routing.Session{session(protocol)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", protocol, err, want)
		}
		if _, is := s.current().(*ldp.Speaker); protocol == routing.LDP && !is {
			t.Errorf("%q: speaker %T", protocol, s.current())
		}
		if _, is := s.current().(*bgp.Speaker); (protocol == "" || protocol == routing.BGP) && !is {
			t.Errorf("%q: speaker %T", protocol, s.current())
		}
	}
	if err := s.Open(t.Context(), []routing.Session{session(""), session(routing.LDP)}); err == nil || !strings.Contains(err.Error(), "open sessions of one protocol") {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

package bgp

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/api"

	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/routing/speakertest"
	"nodrop.dev/nodrop/internal/testkit/freeport"
)

const patience = speakertest.Patience

func within(t *testing.T) context.Context { t.Helper(); return speakertest.Within(t) }

func freePort(t *testing.T) uint16 { t.Helper(); return uint16(freeport.Get(t)) }

// tester is the i-th session with the router.
func tester(i byte) routing.Session { return speakertest.Session(i) }

// set of routes that the router accepts.
func set(first string, count uint32) routing.Routes { return speakertest.Set(first, count) }

// The speaker of this process does what every speaker does.
func TestConformance(t *testing.T) {
	t.Parallel()
	speakertest.Conform(t, func(t *testing.T, tcpPort uint16, passwords map[string]routing.Secret) routing.Speaker {
		s := New(Options{Ports: map[string]Port{"p": {}}, TCPPort: tcpPort, Retry: 10 * time.Millisecond, Passwords: passwords})
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	})
}

func newSpeaker(t *testing.T, tcpPort uint16) *Speaker {
	t.Helper()
	s := New(Options{Ports: map[string]Port{"p": {}}, TCPPort: tcpPort, Retry: 10 * time.Millisecond})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// opened are sessions with one router, which both sides hold for established.
func opened(t *testing.T, sessions ...routing.Session) (*speakertest.Router, *Speaker) {
	t.Helper()
	var peers []*api.Peer
	for _, s := range sessions {
		peers = append(peers, speakertest.Peer(s))
	}
	r := speakertest.NewRouter(t, peers...)
	s := newSpeaker(t, r.Port)
	if err := s.Open(within(t), sessions); err != nil {
		t.Fatal(err)
	}
	r.AwaitEstablished(t, len(sessions))
	return r, s
}

// announce awaits a session that is down: FRR may begin BFD anew after it came up.
func announce(t *testing.T, s *Speaker, session string, sets ...routing.Routes) routing.Sent {
	t.Helper()
	for {
		sent, err := s.Announce(within(t), session, sets)
		if errors.As(err, new(*routing.DownError)) {
			awaitState(t, s, session, func(s routing.State) bool { return s.Established })
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		return sent
	}
}

func withdraw(t *testing.T, s *Speaker, session string, sets ...routing.Routes) {
	t.Helper()
	if _, err := s.Withdraw(within(t), session, sets); err != nil {
		t.Fatal(err)
	}
}

func awaitTable(t *testing.T, s *Speaker, session string, want routing.Table) routing.Learnt {
	t.Helper()
	learnt, err := s.Await(within(t), session, want)
	if err != nil {
		t.Fatal(err)
	}
	return learnt
}

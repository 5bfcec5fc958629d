package bgp

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/server"

	"nodrop.dev/nodrop/internal/routing"
)

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func freePort(t *testing.T) uint16 {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return uint16(l.Addr().(*net.TCPAddr).Port)
}

// router is a GoBGP server in AS 65000 at 127.0.0.1.
type router struct {
	*server.BgpServer
	port uint16
}

func newRouter(t *testing.T, peers ...*api.Peer) *router {
	t.Helper()
	r := &router{server.NewBgpServer(server.LoggerOption(slog.New(slog.NewTextHandler(io.Discard, nil)), &slog.LevelVar{})), freePort(t)}
	go r.Serve()
	if err := r.StartBgp(t.Context(), &api.StartBgpRequest{Global: &api.Global{
		Asn: 65000, RouterId: "198.18.0.254", ListenPort: int32(r.port), ListenAddresses: []string{"127.0.0.1"},
	}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Stop)
	for _, p := range peers {
		if err := r.AddPeer(t.Context(), &api.AddPeerRequest{Peer: p}); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// peer is what the router has to know of a session.
func peer(s routing.Session) *api.Peer {
	p := &api.Peer{
		Conf:      &api.PeerConf{NeighborAddress: s.Local.String(), PeerAsn: s.LocalASN, AuthPassword: string(s.Password)},
		Transport: &api.Transport{PassiveMode: true},
		Timers:    &api.Timers{Config: &api.TimersConfig{HoldTime: 90, ConnectRetry: 1, IdleHoldTimeAfterReset: 1}},
	}
	for _, f := range s.Families {
		rf := families[f]
		p.AfiSafis = append(p.AfiSafis, &api.AfiSafi{
			Config:   &api.AfiSafiConfig{Family: &api.Family{Afi: api.Family_Afi(rf.Afi()), Safi: api.Family_Safi(rf.Safi())}, Enabled: true},
			AddPaths: &api.AddPaths{Config: &api.AddPathsConfig{Receive: s.AddPath, SendMax: 8}},
		})
	}
	return p
}

// tester is the i-th session with the router.
func tester(i byte) routing.Session {
	return routing.Session{
		Name: string('a' + rune(i)), Port: "p", Local: netip.AddrFrom4([4]byte{127, 0, 0, 10 + i}), Remote: netip.MustParseAddr("127.0.0.1"),
		LocalASN: 65001 + uint32(i), RemoteASN: 65000, RouterID: netip.AddrFrom4([4]byte{198, 18, 0, 1 + i}),
		Families: []routing.Family{routing.IPv4Unicast, routing.IPv6Unicast}, HoldTime: 90 * time.Second,
	}
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

// opened are sessions with one router, which both sides hold for established: what the
// router gets before, it may advertise twice.
func opened(t *testing.T, sessions ...routing.Session) (*router, *Speaker) {
	t.Helper()
	var peers []*api.Peer
	for _, s := range sessions {
		peers = append(peers, peer(s))
	}
	r := newRouter(t, peers...)
	s := newSpeaker(t, r.port)
	if err := s.Open(within(t), sessions); err != nil {
		t.Fatal(err)
	}
	for ctx := within(t); ; {
		up := 0
		if err := r.ListPeer(ctx, &api.ListPeerRequest{}, func(p *api.Peer) {
			if p.State.SessionState == api.PeerState_SESSION_STATE_ESTABLISHED {
				up++
			}
		}); err != nil {
			t.Fatal(err)
		}
		if up == len(sessions) {
			return r, s
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the router holds %d of %d sessions for established", up, len(sessions))
		case <-time.After(time.Millisecond):
		}
	}
}

// set of routes that the router accepts.
func set(first string, count uint32) routing.Routes {
	r := routing.Routes{Name: first, First: netip.MustParsePrefix(first), Count: count, Attributes: routing.Attributes{ASPath: []uint32{64512, 4200000000}, Communities: []uint32{65001<<16 | 100}}}
	r.Attributes.NextHop = netip.MustParseAddr("198.18.1.2")
	if r.First.Addr().Is6() {
		r.Attributes.NextHop = netip.MustParseAddr("2001:2:0:1::2")
	}
	return r
}

func announce(t *testing.T, s *Speaker, session string, sets ...routing.Routes) routing.Sent {
	t.Helper()
	sent, err := s.Announce(within(t), session, sets)
	if err != nil {
		t.Fatal(err)
	}
	return sent
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

// Package speakertest tests implementations of routing.Speaker: a GoBGP server as the
// device, and what every speaker has to do with it.
package speakertest

import (
	"context"
	"io"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/server"

	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/testkit/freeport"
)

// Patience is the time for which a test waits for what must come.
const Patience = time.Minute

// Within is a context that ends after Patience.
func Within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	t.Cleanup(cancel)
	return ctx
}

// Router is a GoBGP server in AS 65000 at 127.0.0.1.
type Router struct {
	*server.BgpServer
	// Port that it listens on.
	Port uint16
}

// NewRouter starts a router with peers; it ends with the test.
func NewRouter(t *testing.T, peers ...*api.Peer) *Router {
	t.Helper()
	r := &Router{server.NewBgpServer(server.LoggerOption(slog.New(slog.NewTextHandler(io.Discard, nil)), &slog.LevelVar{})), uint16(freeport.Get(t))}
	go r.Serve()
	if err := r.StartBgp(t.Context(), &api.StartBgpRequest{Global: &api.Global{
		Asn: 65000, RouterId: "198.18.0.254", ListenPort: int32(r.Port), ListenAddresses: []string{"127.0.0.1"},
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

// wire are the families as the router's API names them.
var wire = map[routing.Family]*api.Family{
	routing.IPv4Unicast:        {Afi: api.Family_AFI_IP, Safi: api.Family_SAFI_UNICAST},
	routing.IPv6Unicast:        {Afi: api.Family_AFI_IP6, Safi: api.Family_SAFI_UNICAST},
	routing.IPv4LabeledUnicast: {Afi: api.Family_AFI_IP, Safi: api.Family_SAFI_MPLS_LABEL},
	routing.IPv6LabeledUnicast: {Afi: api.Family_AFI_IP6, Safi: api.Family_SAFI_MPLS_LABEL},
}

// Peer returns the router's configuration of a session.
func Peer(s routing.Session) *api.Peer {
	p := &api.Peer{
		Conf:      &api.PeerConf{NeighborAddress: s.Local.String(), PeerAsn: s.LocalASN, AuthPassword: string(s.Password)},
		Transport: &api.Transport{PassiveMode: true},
		Timers:    &api.Timers{Config: &api.TimersConfig{HoldTime: 90, ConnectRetry: 1, IdleHoldTimeAfterReset: 1}},
	}
	for _, f := range s.Families {
		p.AfiSafis = append(p.AfiSafis, &api.AfiSafi{
			Config:   &api.AfiSafiConfig{Family: wire[f], Enabled: true},
			AddPaths: &api.AddPaths{Config: &api.AddPathsConfig{Receive: s.AddPath, SendMax: 8}},
		})
	}
	return p
}

// Session is the i-th session with the router, on port p.
func Session(i byte) routing.Session {
	return routing.Session{
		Name: string('a' + rune(i)), Port: "p", Local: netip.AddrFrom4([4]byte{127, 0, 0, 10 + i}), Remote: netip.MustParseAddr("127.0.0.1"),
		LocalASN: 65001 + uint32(i), RemoteASN: 65000, RouterID: netip.AddrFrom4([4]byte{198, 18, 0, 1 + i}),
		Families: []routing.Family{routing.IPv4Unicast, routing.IPv6Unicast}, HoldTime: 90 * time.Second,
	}
}

// AwaitEstablished waits until the router holds n sessions for established: what it gets
// before, it may advertise twice.
func (r *Router) AwaitEstablished(t *testing.T, n int) {
	t.Helper()
	for ctx := Within(t); ; {
		up := 0
		if err := r.ListPeer(ctx, &api.ListPeerRequest{}, func(p *api.Peer) {
			if p.State.SessionState == api.PeerState_SESSION_STATE_ESTABLISHED {
				up++
			}
		}); err != nil {
			t.Fatal(err)
		}
		if up == n {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the router holds %d of %d sessions for established", up, n)
		case <-time.After(time.Millisecond):
		}
	}
}

// Set of routes that the router accepts.
func Set(first string, count uint32) routing.Routes {
	r := routing.Routes{Name: first, First: netip.MustParsePrefix(first), Count: count, Attributes: routing.Attributes{ASPath: []uint32{64512, 4200000000}, Communities: []uint32{65001<<16 | 100}}}
	r.Attributes.NextHop = netip.MustParseAddr("198.18.1.2")
	if r.First.Addr().Is6() {
		r.Attributes.NextHop = netip.MustParseAddr("2001:2:0:1::2")
	}
	return r
}

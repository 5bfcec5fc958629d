package bgpbench

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
	"github.com/osrg/gobgp/v4/pkg/server"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"nodrop.dev/nodrop/internal/routing"
)

// batch is the number of paths in one message of the gRPC stream.
const batch = 10_000

// gobgp is the server of gobgpd with its gRPC API.
type gobgp struct{ *server.BgpServer }

func newGoBGP(ctx context.Context, j *job) (*gobgp, error) {
	s := server.NewBgpServer(server.GrpcListenAddress("unix://"+j.Socket), server.GrpcOption([]grpc.ServerOption{grpc.MaxRecvMsgSize(64 << 20)}),
		server.LoggerOption(slog.New(slog.NewTextHandler(io.Discard, nil)), &slog.LevelVar{}))
	go s.Serve()
	if err := s.StartBgp(ctx, &api.StartBgpRequest{Global: &api.Global{Asn: j.Session.LocalASN, RouterId: j.Session.RouterID.String(), ListenPort: -1}}); err != nil {
		return nil, fmt.Errorf("starting GoBGP: %w", err)
	}
	family := func(a api.Family_Afi) *api.AfiSafi {
		return &api.AfiSafi{Config: &api.AfiSafiConfig{Family: &api.Family{Afi: a, Safi: api.Family_SAFI_UNICAST}, Enabled: true}}
	}
	if err := s.AddPeer(ctx, &api.AddPeerRequest{Peer: &api.Peer{
		Conf:     &api.PeerConf{NeighborAddress: j.Session.Remote.String(), PeerAsn: j.Session.RemoteASN},
		AfiSafis: []*api.AfiSafi{family(api.Family_AFI_IP), family(api.Family_AFI_IP6)},
		Timers:   &api.Timers{Config: &api.TimersConfig{ConnectRetry: 1, HoldTime: 90, IdleHoldTimeAfterReset: 1}},
	}}); err != nil {
		return nil, fmt.Errorf("adding the device to GoBGP: %w", err)
	}
	for {
		up := false
		if err := s.ListPeer(ctx, &api.ListPeerRequest{}, func(p *api.Peer) {
			up = up || p.State.SessionState == api.PeerState_SESSION_STATE_ESTABLISHED
		}); err != nil {
			return nil, err
		}
		if up {
			return &gobgp{s}, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("opening a session by GoBGP: %w", ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (g *gobgp) close() { g.Stop() }

// stream announces sets by the gRPC API of a server at a socket.
func stream(ctx context.Context, socket string, sets []routing.Routes) error {
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(64<<20)))
	if err != nil {
		return err
	}
	defer conn.Close()
	paths, err := api.NewGoBgpServiceClient(conn).AddPathStream(ctx)
	if err != nil {
		return fmt.Errorf("opening the stream to GoBGP: %w", err)
	}
	request := &api.AddPathStreamRequest{TableType: api.TableType_TABLE_TYPE_GLOBAL}
	for _, set := range sets {
		for i := range set.Count {
			p, err := path(set, i)
			if err != nil {
				return err
			}
			if request.Paths = append(request.Paths, p); len(request.Paths) == batch {
				if err := paths.Send(request); err != nil {
					return fmt.Errorf("sending paths to GoBGP: %w", err)
				}
				request.Paths = nil
			}
		}
	}
	if len(request.Paths) > 0 {
		if err := paths.Send(request); err != nil {
			return fmt.Errorf("sending paths to GoBGP: %w", err)
		}
	}
	if _, err := paths.CloseAndRecv(); err != nil {
		return fmt.Errorf("closing the stream to GoBGP: %w", err)
	}
	return nil
}

func path(set routing.Routes, i uint32) (*api.Path, error) {
	n, err := bgp.NewIPAddrPrefix(set.Prefix(i))
	if err != nil {
		return nil, err
	}
	as := bgp.NewPathAttributeAsPath([]bgp.AsPathParamInterface{bgp.NewAs4PathParam(bgp.BGP_ASPATH_ATTR_TYPE_SEQ, set.Attributes.ASPath)})
	all := []bgp.PathAttributeInterface{bgp.NewPathAttributeOrigin(0), as}
	p := &api.Path{Family: &api.Family{Afi: api.Family_AFI_IP, Safi: api.Family_SAFI_UNICAST}}
	if set.First.Addr().Is4() {
		hop, err := bgp.NewPathAttributeNextHop(set.Attributes.NextHop)
		if err != nil {
			return nil, err
		}
		all = append(all, hop)
	} else {
		p.Family.Afi = api.Family_AFI_IP6
		reach, err := bgp.NewPathAttributeMpReachNLRI(bgp.RF_IPv6_UC, []bgp.PathNLRI{{NLRI: n}}, set.Attributes.NextHop)
		if err != nil {
			return nil, err
		}
		all = append(all, reach)
	}
	if p.NlriBinary, err = n.Serialize(); err != nil {
		return nil, err
	}
	for _, a := range all {
		b, err := a.Serialize()
		if err != nil {
			return nil, err
		}
		p.PattrsBinary = append(p.PattrsBinary, b)
	}
	return p, nil
}

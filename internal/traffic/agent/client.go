package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"time"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/agent/agentpb"
)

// Endpoint describes one agent and its address.
type Endpoint struct {
	// Name is the DNS name in the agent's certificate.
	Name string
	// Address is host:port.
	Address string
	// Ports of the bed that the agent owns.
	Ports []string
}

// ClientOptions tune a client. Runners use the zero value.
type ClientOptions struct {
	// Grace is the time for which a silent agent counts as alive; 0 means 10 s. An agent
	// whose process died is noticed at once.
	Grace time.Duration
	// ReturnTimeout is the time after which an agent that is away counts as lost; 0 means
	// 60 s. A container that was killed is started again within about 10 s.
	ReturnTimeout time.Duration
	// Log of connections; nil discards it.
	Log *slog.Logger
}

func (o ClientOptions) withDefaults() ClientOptions {
	if o.Grace == 0 {
		o.Grace = 10 * time.Second
	}
	if o.ReturnTimeout == 0 {
		o.ReturnTimeout = time.Minute
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Client is the Generator of an agent. When the connection breaks or the agent
// restarts, calls that belong to a trial fail with traffic.ErrInterrupted until
// Configure was called again, which connects anew; when the agent does not come
// back in time they fail with ErrLost.
type Client struct {
	link   connection
	joined clientMemberships
}

var (
	_ traffic.Generator        = (*Client)(nil)
	_ traffic.Proxy            = (*Client)(nil)
	_ traffic.Armer            = (*Client)(nil)
	_ traffic.ProgressReporter = (*Client)(nil)
	_ traffic.Sampler          = (*Client)(nil)
	_ traffic.GroupMember      = (*Client)(nil)
	_ traffic.MicroflowCounter = (*Client)(nil)
)

// Dial connects to an agent and becomes its controller. It waits until ctx ends
// for the agent to come up, and for an earlier controller to go; the error then
// is ErrBusy when there still was one.
func Dial(ctx context.Context, e Endpoint, b pki.Bundle, o ClientOptions) (*Client, error) {
	t, err := b.ClientConfig(e.Name)
	if err != nil {
		return nil, fmt.Errorf("dialling agent %s: %w", e.Name, err)
	}
	o = o.withDefaults()
	conn, err := grpc.NewClient("passthrough:///"+e.Address,
		grpc.WithTransportCredentials(credentials.NewTLS(t)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: o.Grace}),
		// The beats of the session tell sooner that an agent is gone; the ping closes
		// the connection, so that the next session does not try the dead one.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: o.Grace, PermitWithoutStream: true}),
		grpc.WithDisableServiceConfig(),
	)
	if err != nil {
		return nil, fmt.Errorf("dialling agent %s at %s: %w", e.Name, e.Address, err)
	}
	c := &Client{link: connection{endpoint: e, options: o, conn: conn, rpc: agentpb.NewAgentClient(conn), opening: semaphore.NewWeighted(1)}}
	if _, err := c.link.session(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("dialling agent %s at %s: %w", e.Name, e.Address, err)
	}
	return c, nil
}

// Info implements Generator.
func (c *Client) Info(ctx context.Context) (info traffic.Info, err error) {
	err = c.link.do(ctx, "describing itself", func(ctx context.Context, _ *clientSession) error {
		w, err := c.link.rpc.Info(ctx, &agentpb.InfoRequest{})
		if err != nil {
			return err
		}
		info, err = infoFromWire(w)
		return err
	})
	return info, err
}

// Resolve implements Generator.
func (c *Client) Resolve(ctx context.Context, port string, addr netip.Addr) (mac traffic.MAC, err error) {
	request := &agentpb.ResolveRequest{Port: port, Addr: addr.AsSlice()}
	outer := ctx
	if deadline, ok := ctx.Deadline(); ok {
		// The agent stops asking at the deadline. The call lasts a little longer, so
		// that the agent's UnresolvedError comes back instead of a timeout.
		request.TimeoutNanos = int64(max(time.Until(deadline), 1))
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(context.WithoutCancel(ctx), deadline.Add(c.link.options.Grace))
		defer cancel()
		defer context.AfterFunc(outer, func() {
			if errors.Is(outer.Err(), context.Canceled) {
				cancel()
			}
		})()
	}
	err = c.link.do(ctx, fmt.Sprintf("resolving %s on port %s", addr, port), func(ctx context.Context, _ *clientSession) error {
		w, err := c.link.rpc.Resolve(ctx, request)
		if err != nil {
			return err
		}
		mac, err = macFromWire(w.GetMac())
		return err
	})
	return mac, err
}

// Configure implements Generator. After an interruption it connects anew.
func (c *Client) Configure(ctx context.Context, streams []traffic.Stream) error {
	return c.link.do(ctx, "configuring streams", func(ctx context.Context, s *clientSession) error {
		parts, err := c.link.rpc.Configure(ctx)
		if err != nil {
			return err
		}
		for len(streams) > 0 {
			n := min(len(streams), streamsPerPart)
			part := &agentpb.ConfigureRequest{Streams: make([]*agentpb.Stream, n)}
			for i, stream := range streams[:n] {
				part.Streams[i] = streamToWire(stream)
			}
			streams = streams[n:]
			if err := parts.Send(part); err != nil {
				break // CloseAndRecv tells why.
			}
		}
		if _, err := parts.CloseAndRecv(); err != nil {
			return err
		}
		if err := c.joined.remember(ctx, c.link.rpc, s); err != nil {
			return err
		}
		c.link.configuredIn(s)
		return nil
	})
}

// Arm implements traffic.Armer; it fails when the agent's engine does not.
func (c *Client) Arm(ctx context.Context, trial traffic.Trial) error {
	return c.link.doTrial(ctx, "arming", func(ctx context.Context, _ *clientSession) error {
		parts, err := c.link.rpc.Arm(ctx)
		if err != nil {
			return err
		}
		if err := trialToWire(trial, parts.Send); err != nil {
			return err
		}
		_, err = parts.CloseAndRecv()
		return err
	})
}

// Start implements Generator.
func (c *Client) Start(ctx context.Context, trial traffic.Trial) error {
	return c.link.doTrial(ctx, "starting a trial", func(ctx context.Context, _ *clientSession) error {
		parts, err := c.link.rpc.Start(ctx)
		if err != nil {
			return err
		}
		if err := trialToWire(trial, parts.Send); err != nil {
			return err
		}
		_, err = parts.CloseAndRecv()
		return err
	})
}

// Wait implements Generator.
func (c *Client) Wait(ctx context.Context) error {
	return c.link.doTrial(ctx, "waiting for the end of sending", func(ctx context.Context, _ *clientSession) error {
		_, err := c.link.rpc.Wait(ctx, &agentpb.WaitRequest{})
		return err
	})
}

// Stop implements Generator. When the connection is broken it connects anew,
// because an agent stops sending before it takes another controller.
func (c *Client) Stop(ctx context.Context) error {
	err := c.link.do(ctx, "stopping", func(ctx context.Context, _ *clientSession) error {
		_, err := c.link.rpc.Stop(ctx, &agentpb.StopRequest{})
		return err
	})
	// An engine that lost its trial did not say by that that it stopped.
	if broken := (*InterruptedError)(nil); errors.As(err, &broken) {
		_, err = c.link.session(ctx)
	}
	return err
}

// Read implements Generator.
func (c *Client) Read(ctx context.Context) (traffic.Measurement, error) {
	var m traffic.Measurement
	err := c.link.doTrial(ctx, "reading counters", func(ctx context.Context, _ *clientSession) error {
		m = traffic.Measurement{Tx: map[uint16]traffic.TxCount{}, Rx: map[traffic.RxKey]traffic.RxCount{}}
		parts, err := c.link.rpc.Read(ctx, &agentpb.ReadRequest{})
		if err != nil {
			return err
		}
		for {
			part, err := parts.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			addPart(&m, part)
		}
	})
	if err != nil {
		return traffic.Measurement{}, err
	}
	return m, nil
}

// Clock implements Generator: agents live in real time.
func (c *Client) Clock() traffic.Clock { return traffic.RealClock{} }

// Close gives the agent up: it stops sending, and takes another controller.
func (c *Client) Close() error {
	s := c.link.last()
	var err error
	if s != nil && s.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(context.Background(), c.link.options.Grace)
		defer cancel()
		// The agent stops when the session ends, too; but here the caller learns of it.
		if err = c.Stop(ctx); errors.Is(err, traffic.ErrInterrupted) {
			err = nil
		}
		s.end(errClosed)
	}
	return errors.Join(err, c.link.conn.Close())
}

var errClosed = errors.New("the client was closed")

package gnmiaccess

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"nodrop.dev/nodrop/internal/dut/configure"
)

// maxMessage bounds an answer, so that a device cannot fill the memory.
const maxMessage = 64 << 20

// Client is a connection to a device. It is not opened again when it is lost: what the device has done then is for the caller to
// find out.
type Client struct {
	gnmi gnmi.GNMIClient
	conn *grpc.ClientConn
	wire *wire
	ctx  context.Context //nolint:containedctx // The connection ends with it.

	config *Config
	// Encoding of values: JSON by RFC 7951 if the device has it.
	Encoding gnmi.Encoding
}

// Connect opens a connection, which ends with the context. It fails with configure.ErrUnreachable or configure.ErrRefused.
func (c *Config) Connect(ctx context.Context) (*Client, error) {
	w, err := c.handshake(ctx)
	if err != nil {
		return nil, err
	}
	once := make(chan net.Conn, 1)
	once <- w
	conn, err := grpc.NewClient("passthrough:///"+c.Address,
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			select {
			case w := <-once:
				return w, nil
			default:
				return nil, errors.New("the connection was lost")
			}
		}),
		grpc.WithTransportCredentials(insecure.NewCredentials()), // TLS is below.
		grpc.WithDisableRetry(),
		grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
	if err != nil {
		_ = w.Close()
		return nil, fmt.Errorf("%w: %w", configure.ErrRefused, err)
	}
	client := &Client{gnmi: gnmi.NewGNMIClient(conn), conn: conn, wire: w, ctx: ctx, config: c}
	if err := client.greet(); err != nil {
		client.Close()
		return nil, err
	}
	return client, nil
}

// handshake connects by TLS.
func (c *Config) handshake(ctx context.Context) (*wire, error) {
	settings, err := c.tls()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", configure.ErrRefused, err)
	}
	conn, err := configure.Dialed(ctx, c.Dial, c.Address, c.AnswerWithin())
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, c.AnswerWithin())
	defer cancel()
	secured := tls.Client(conn, settings)
	err = secured.HandshakeContext(within)
	if err == nil {
		return &wire{Conn: secured}, nil
	}
	_ = conn.Close()
	var plain tls.RecordHeaderError
	var unknown *CertificateError
	switch {
	case errors.As(err, &unknown):
		return nil, fmt.Errorf("%w: %w", configure.ErrRefused, unknown)
	case errors.As(err, &plain):
		return nil, fmt.Errorf("%w: it does not speak TLS", configure.ErrRefused)
	case isAlert(err):
		return nil, refusedBy(err)
	}
	return nil, fmt.Errorf("%w: %w", configure.ErrUnreachable, err)
}

// isAlert reports whether the device ended TLS. The library has no type for that.
func isAlert(err error) bool {
	var o *net.OpError
	return errors.As(err, &o) && o.Op == "remote error"
}

func refusedBy(alert error) error {
	return fmt.Errorf("%w: the device ends TLS (%w): it may want another certificate of the client", configure.ErrRefused, alert)
}

// wire keeps by which alert of TLS a device ended the connection: with TLS 1.3 it does so after the handshake.
type wire struct {
	net.Conn
	alert atomic.Pointer[error]
}

func (w *wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if isAlert(err) {
		w.alert.Store(&err)
	}
	return n, err
}

// Write reads the alert that explains why the device no longer reads.
func (w *wire) Write(b []byte) (int, error) {
	n, err := w.Conn.Write(b)
	if err != nil {
		_ = w.SetReadDeadline(time.Now().Add(time.Second))
		_, _ = io.Copy(io.Discard, w)
	}
	return n, err
}

// greet asks what the device can do.
func (c *Client) greet() error {
	ctx, cancel := c.request()
	defer cancel()
	can, err := c.gnmi.Capabilities(ctx, &gnmi.CapabilityRequest{})
	if err != nil {
		return c.Explain(err)
	}
	c.Encoding = gnmi.Encoding_JSON_IETF
	if !slices.Contains(can.SupportedEncodings, c.Encoding) {
		c.Encoding = gnmi.Encoding_JSON
	}
	return nil
}

// request returns a context for one request, with the credentials.
func (c *Client) request() (context.Context, context.CancelFunc) {
	ctx := c.ctx
	if c.config.User != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "username", c.config.User, "password", c.config.Password)
	}
	return context.WithTimeout(ctx, c.config.AnswerWithin())
}

// Get returns what the device has at a path.
func (c *Client) Get(kind gnmi.GetRequest_DataType, path *gnmi.Path) ([]*gnmi.Notification, error) {
	ctx, cancel := c.request()
	defer cancel()
	answer, err := c.gnmi.Get(ctx, &gnmi.GetRequest{Type: kind, Path: []*gnmi.Path{path}, Encoding: c.Encoding})
	return answer.GetNotification(), err
}

// Set changes the configuration in one transaction.
func (c *Client) Set(change *gnmi.SetRequest) error {
	ctx, cancel := c.request()
	defer cancel()
	_, err := c.gnmi.Set(ctx, change)
	return err
}

// Once returns the present values at some paths, each by a subscription that ends with them.
func (c *Client) Once(ctx context.Context, paths ...*gnmi.Path) ([]*gnmi.Update, error) {
	request, cancel := c.request()
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	stream, err := c.gnmi.Subscribe(request)
	if err != nil {
		return nil, err
	}
	list := &gnmi.SubscriptionList{Mode: gnmi.SubscriptionList_ONCE, Encoding: c.Encoding}
	for _, p := range paths {
		list.Subscription = append(list.Subscription, &gnmi.Subscription{Path: p})
	}
	if err := stream.Send(&gnmi.SubscribeRequest{Request: &gnmi.SubscribeRequest_Subscribe{Subscribe: list}}); err != nil {
		_, err = stream.Recv() // It has the reason.
		return nil, err
	}
	var out []*gnmi.Update
	for {
		answer, err := stream.Recv()
		if err != nil {
			return nil, err
		}
		if answer.GetSyncResponse() {
			return out, nil
		}
		for _, u := range answer.GetUpdate().GetUpdate() {
			u.Path = join(answer.GetUpdate().GetPrefix(), u.Path)
			if out = append(out, u); len(out) > maxUpdates {
				return nil, status.Errorf(codes.ResourceExhausted, "it has more than %d values there", maxUpdates)
			}
		}
	}
}

// maxUpdates bounds the values of one subscription.
const maxUpdates = 500_000

// Explain returns the error of a request as configure.ErrUnreachable or configure.ErrRefused, or as it is where the device
// refused what was requested.
func (c *Client) Explain(err error) error {
	s := status.Convert(err)
	if alert := c.wire.alert.Load(); alert != nil {
		return refusedBy(*alert)
	}
	switch s.Code() { //nolint:exhaustive // Others are about what was requested.
	case codes.OK:
		return nil
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		if c.ctx.Err() != nil {
			return fmt.Errorf("%w: %w", configure.ErrUnreachable, context.Cause(c.ctx))
		}
		return fmt.Errorf("%w: %s", configure.ErrUnreachable, s.Message())
	case codes.Unauthenticated, codes.PermissionDenied:
		return fmt.Errorf("%w: the device does not accept the user or its credentials", configure.ErrRefused)
	case codes.Unimplemented, codes.ResourceExhausted:
		return fmt.Errorf("%w: %w", configure.ErrRefused, err)
	}
	return err
}

// Close ends the connection.
func (c *Client) Close() {
	_ = c.conn.Close()
	_ = c.wire.SetDeadline(time.Now())
	_ = c.wire.Close()
}

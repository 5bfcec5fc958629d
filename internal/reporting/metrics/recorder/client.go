package recorder

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/reporting/metrics/recorder/recorderpb"
)

const (
	// answerWithin bounds one call.
	answerWithin = 30 * time.Second
	// reconnectWithin is about how long a recorder that is back goes unnoticed: less than a
	// runner hands points over after its end.
	reconnectWithin = time.Second
)

// Client hands points to a recorder.
type Client struct {
	conn *grpc.ClientConn
	rpc  recorderpb.RecorderClient
}

// Dial is a client of the recorder at host:port. It does not connect: a recorder that is
// not there is tried again with each call.
func Dial(address string, b pki.Bundle) (*Client, error) {
	t, err := b.ClientConfig(pki.RecorderName)
	if err != nil {
		return nil, fmt.Errorf("dialling the recorder: %w", err)
	}
	conn, err := grpc.NewClient("dns:///"+address,
		grpc.WithTransportCredentials(credentials.NewTLS(t)),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: 5 * time.Second, Backoff: backoff.Config{
			BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: reconnectWithin,
		}}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithDisableServiceConfig(),
	)
	if err != nil {
		return nil, fmt.Errorf("dialling the recorder at %s: %w", address, err)
	}
	return &Client{conn: conn, rpc: recorderpb.NewRecorderClient(conn)}, nil
}

// IsRefused reports whether a recorder does not take points, also when they are handed over again.
func IsRefused(err error) bool { return status.Code(err) == codes.InvalidArgument }

// Take hands lines over. When it returns nil, they are on the recorder's disk.
func (c *Client) Take(ctx context.Context, rows, series [][]byte) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	_, err := c.rpc.Take(ctx, &recorderpb.TakeRequest{Rows: bytes.Join(rows, nil), Series: bytes.Join(series, nil)})
	if err != nil {
		return fmt.Errorf("handing points to the recorder: %w", err)
	}
	return nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

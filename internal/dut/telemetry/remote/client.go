package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/dut/telemetry"
)

// maxAnswer bounds what is read, in bytes: 10,000 counters have less.
const maxAnswer = 4 << 20

// Client reads a device through a server.
type Client struct {
	address string
	http    *http.Client
}

var (
	_ telemetry.Reader = (*Client)(nil)
	_ telemetry.Meter  = (*Client)(nil)
)

// NewClient returns a client of the server at address (host:port) whose certificate has this name. It does not connect yet.
func NewClient(address, serverName string, b pki.Bundle) (*Client, error) {
	c, err := b.HTTPClient(serverName)
	if err != nil {
		return nil, fmt.Errorf("making a client of %s: %w", serverName, err)
	}
	return &Client{address: address, http: c}, nil
}

// Read implements telemetry.Reader.
func (c *Client) Read(ctx context.Context) (*telemetry.Reading, error) {
	reading := &telemetry.Reading{}
	return reading, c.get(ctx, readingPath, reading)
}

// Facts implements telemetry.Reader.
func (c *Client) Facts(ctx context.Context) (*telemetry.Facts, error) {
	facts := &telemetry.Facts{}
	return facts, c.get(ctx, factsPath, facts)
}

// Power implements telemetry.Meter.
func (c *Client) Power(ctx context.Context) (milliwatts int64, err error) {
	err = c.get(ctx, powerPath, &milliwatts)
	return milliwatts, err
}

// Cycle turns the power of the device off, which the server turns on again after a while, whatever becomes of this client.
func (c *Client) Cycle(ctx context.Context, off time.Duration) error {
	var done bool
	return c.ask(ctx, http.MethodPost, cyclePath+"?off="+off.String(), &done)
}

// Reset performs a reset that the bed describes, and returns when the device has begun it.
func (c *Client) Reset(ctx context.Context, name string) error {
	var done bool
	return c.ask(ctx, http.MethodPost, resetPath+"?"+url.Values{"name": {name}}.Encode(), &done)
}

// Restore gives the device the configuration of the run again, and reports whether it had another one.
func (c *Client) Restore(ctx context.Context) (bool, error) {
	var restored bool
	err := c.ask(ctx, http.MethodPost, restorePath, &restored)
	return restored, err
}

// Scale gives the device a list of the bed, by its name, with n entries; 0 for no list. Rejected is the reason why the device did not
// take it; empty if it did.
func (c *Client) Scale(ctx context.Context, name string, n int64) (rejected string, err error) {
	err = c.ask(ctx, http.MethodPost, scalePath+"?"+url.Values{"name": {name}, "entries": {strconv.FormatInt(n, 10)}}.Encode(), &rejected)
	return rejected, err
}

func (c *Client) get(ctx context.Context, path string, into any) error {
	return c.ask(ctx, http.MethodGet, path, into)
}

func (c *Client) ask(ctx context.Context, method, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, "https://"+c.address+path, nil) //nolint:gosec // The operator gives the address; only the query has a word of a benchmark.
	if err != nil {
		return err
	}
	response, err := c.http.Do(request) //nolint:gosec // As above.
	if err != nil {
		return fmt.Errorf("asking the pod that reads the device: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("asking the pod that reads the device: %w", err)
	case len(answer) > maxAnswer:
		return fmt.Errorf("the readings of the device have more than %d MiB: name its interfaces in telemetry.interfaces", maxAnswer>>20)
	case response.StatusCode == http.StatusBadGateway:
		return errors.New(strings.TrimSpace(string(answer[:min(len(answer), 500)])))
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("the pod that reads the device answered %s", response.Status)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("the pod that reads the device sent no reading: %w", err)
	}
	return nil
}

// Close implements telemetry.Reader.
func (c *Client) Close() { c.http.CloseIdleConnections() }

package service

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"nodrop.dev/nodrop/internal/pki"
	"nodrop.dev/nodrop/internal/runner"
)

// maxState bounds what a client reads: thousands of rows fit many times.
const maxState = 64 << 20

// Client asks one runner for its state.
type Client struct {
	address string
	http    *http.Client
}

// NewClient makes a client of the runner at address (host:port) whose
// certificate has this name; it does not connect yet.
func NewClient(address, serverName string, b pki.Bundle) (*Client, error) {
	t, err := b.ClientConfig(serverName)
	if err != nil {
		return nil, fmt.Errorf("making a client of runner %s: %w", serverName, err)
	}
	return &Client{
		address: address,
		http: &http.Client{
			// A runner does not send anybody elsewhere.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				// Pods are reached directly, whatever the environment says of proxies.
				DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
				TLSClientConfig:     t,
				TLSHandshakeTimeout: 5 * time.Second,
				IdleConnTimeout:     time.Minute,
			},
		},
	}, nil
}

// State returns how far the run is. Give ctx a deadline of some seconds: a
// runner answers at once.
func (c *Client) State(ctx context.Context) (runner.State, error) {
	state, err := c.get(ctx)
	if err != nil {
		return runner.State{}, fmt.Errorf("asking the runner at %s for its state: %w", c.address, err)
	}
	return state, nil
}

func (c *Client) get(ctx context.Context) (state runner.State, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+c.address+statePath, nil)
	if err != nil {
		return state, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return state, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxState+1))
	switch {
	case err != nil:
		return state, err
	case response.StatusCode != http.StatusOK:
		return state, fmt.Errorf("it answered %s: %s", response.Status, strings.TrimSpace(string(body[:min(len(body), 200)])))
	case len(body) > maxState:
		return state, fmt.Errorf("its answer is longer than %d bytes", maxState)
	}
	if err := json.Unmarshal(body, &state); err != nil {
		return state, fmt.Errorf("reading its answer: %w", err)
	}
	return state, nil
}

// Close gives the connections back.
func (c *Client) Close() { c.http.CloseIdleConnections() }

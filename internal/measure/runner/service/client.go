package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/measure/runner"
)

const (
	// maxAnswer bounds what a client reads.
	maxAnswer = 8 << 20
	// maxPieceRows and maxPieceBytes bound the rows that are given in one request.
	maxPieceRows  = 1024
	maxPieceBytes = 4 << 20
)

// Client asks one runner for its state.
type Client struct {
	address string
	http    *http.Client
}

// NewClient makes a client of the runner at address (host:port) whose
// certificate has this name; it does not connect yet.
func NewClient(address, serverName string, b pki.Bundle) (*Client, error) {
	c, err := b.HTTPClient(serverName)
	if err != nil {
		return nil, fmt.Errorf("making a client of runner %s: %w", serverName, err)
	}
	return &Client{address: address, http: c}, nil
}

// State returns how far the run is, with rows after the first ones of the log. Give
// ctx a deadline of some seconds: a runner answers at once.
func (c *Client) State(ctx context.Context, after int) (runner.Answer, error) {
	var answer runner.Answer
	body, err := c.call(ctx, http.MethodGet, statePath+"?after="+strconv.Itoa(after), nil)
	if err == nil {
		err = json.Unmarshal(body, &answer)
	}
	if err != nil {
		return runner.Answer{}, fmt.Errorf("asking the runner at %s for its state: %w", c.address, err)
	}
	return answer, nil
}

// Begin gives the runner the rows that are stored, and lets it begin. On a runner
// that has begun it changes nothing.
func (c *Client) Begin(ctx context.Context, rows []v1alpha1.ResultRow) error {
	for _, piece := range pieces(rows) {
		body, err := json.Marshal(piece)
		if err == nil {
			_, err = c.call(ctx, http.MethodPost, rowsPath, body)
		}
		if err != nil {
			return fmt.Errorf("giving the runner at %s its rows: %w", c.address, err)
		}
	}
	body, err := json.Marshal(beginning{Rows: len(rows)})
	if err == nil {
		_, err = c.call(ctx, http.MethodPost, beginPath, body)
	}
	if err != nil {
		return fmt.Errorf("letting the runner at %s begin: %w", c.address, err)
	}
	return nil
}

// pieces divides rows so that each piece fits into one request.
func pieces(rows []v1alpha1.ResultRow) [][]v1alpha1.ResultRow {
	var all [][]v1alpha1.ResultRow
	begin, size := 0, 0
	for i, row := range rows {
		text, err := json.Marshal(row)
		if err != nil { // The piece with the row fails likewise, and says so.
			text = nil
		}
		if i > begin && (i-begin == maxPieceRows || size+len(text) > maxPieceBytes) {
			all = append(all, rows[begin:i])
			begin, size = i, 0
		}
		size += len(text) + 1
	}
	if begin < len(rows) {
		all = append(all, rows[begin:])
	}
	return all
}

func (c *Client) call(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, "https://"+c.address+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode != http.StatusOK && response.StatusCode != http.StatusNoContent:
		return nil, fmt.Errorf("it answered %s: %s", response.Status, strings.TrimSpace(string(answer[:min(len(answer), 200)])))
	case len(answer) > maxAnswer:
		return nil, fmt.Errorf("its answer is longer than %d bytes: %w", maxAnswer, ErrTooLong)
	}
	return answer, nil
}

// ErrTooLong means that an answer was not read, since it is longer than any answer of
// a runner can be.
var ErrTooLong = errors.New("no runner says that much")

// Close gives the connections back.
func (c *Client) Close() { c.http.CloseIdleConnections() }

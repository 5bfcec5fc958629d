package container

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/commands"
)

// version of the API of Docker 20.10, which later versions and Podman serve as well.
const version = "/v1.41"

// maxAnswer bounds an answer of the runtime about a container, in bytes.
const maxAnswer = 1 << 20

// runtime runs commands in one container.
type runtime struct {
	ctx       context.Context
	cancel    context.CancelFunc
	socket    string
	container string
	// within is how long the runtime may take to answer.
	within time.Duration
}

var _ commands.Connection = (*runtime)(nil)

// Close implements commands.Connection.
func (r *runtime) Close() error {
	r.cancel()
	return nil
}

// request returns a request to the runtime.
func (r *runtime) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var text io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		text = bytes.NewReader(b)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://runtime"+version+path, text)
	if err == nil && body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return request, err
}

// ask makes a request and reads the answer. It fails for any other status than success, which it returns.
func (r *runtime) ask(method, path string, body, into any) (status int, _ error) {
	ctx, cancel := context.WithTimeout(r.ctx, r.within)
	defer cancel()
	request, err := r.request(ctx, method, path, body)
	if err != nil {
		return 0, err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: r.dial}}
	answer, err := client.Do(request)
	if err != nil {
		return 0, unreachable(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return 0, unreachable(err)
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		return answer.StatusCode, complaint(answer.StatusCode, text)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return 0, fmt.Errorf("%w: the container runtime at %s answers no JSON: %w", configure.ErrRefused, r.socket, err)
	}
	return answer.StatusCode, nil
}

// unreachable marks an error of a connection, unless it says more.
func unreachable(err error) error {
	if errors.Is(err, configure.ErrRefused) || errors.Is(err, configure.ErrUnreachable) {
		return err
	}
	return fmt.Errorf("%w: %w", configure.ErrUnreachable, err)
}

// complaint returns the message of the runtime about a request that it does not carry out. A container that is paused or stopped may run again, and a
// runtime that fails may recover.
func complaint(status int, text []byte) error {
	var said struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(text, &said) != nil {
		said.Message = string(text)
	}
	kind := configure.ErrUnreachable
	if status == http.StatusBadRequest || status == http.StatusUnauthorized || status == http.StatusForbidden {
		kind = configure.ErrRefused
	}
	return fmt.Errorf("%w: the container runtime answers %d: %.400s", kind, status, strings.TrimSpace(said.Message))
}

package trex

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/go-zeromq/zmq4"
)

// callTimeout bounds one exchange with the server, which answers within
// milliseconds even while it sends.
const callTimeout = 10 * time.Second

// callsAtOnce bounds a batch, so that it stays well below callTimeout: to start or
// stop a profile takes the server milliseconds.
const callsAtOnce = 500

// ServerError is an error that the server answered with.
type ServerError struct {
	// Method that was called.
	Method string `json:"-"`
	// Code of JSON-RPC.
	Code int `json:"code"`
	// Message belongs to the code, Specific to the case.
	Message  string `json:"message"`
	Specific string `json:"specific_err"`
}

// Error names method, code and what the server said.
func (e *ServerError) Error() string {
	text := e.Message
	if e.Specific != "" {
		text = e.Specific
	}
	return fmt.Sprintf("TRex refused %s (code %d): %s", e.Method, e.Code, text)
}

// params are the parameters of a call.
type params map[string]any

// call is one method with its parameters.
type call struct {
	method string
	params params
}

type request struct {
	Version string `json:"jsonrpc"`
	ID      int    `json:"id"`
	Method  string `json:"method"`
	Params  params `json:"params"`
	body    []byte
}

type response struct {
	ID     *int            `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *ServerError    `json:"error"`
}

// client calls one server; by one goroutine at a time.
type client struct {
	endpoint string
	socket   zmq4.Socket
	id       int
	session
}

// call calls a method and decodes its result, unless result is nil.
func (c *client) call(ctx context.Context, method string, p params, result any) error {
	raw, err := c.batch(ctx, []call{{method, p}})
	if err != nil {
		return err
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(raw[0], result); err != nil {
		return fmt.Errorf("reading TRex's answer to %s: %w", method, err)
	}
	return nil
}

// batch calls several methods and returns their results in the order of the
// calls. It sends as many at once as the server reads. Every error is reported; other
// calls of the batch are not undone.
func (c *client) batch(ctx context.Context, calls []call) ([]json.RawMessage, error) {
	results := make([]json.RawMessage, 0, len(calls))
	var errs []error
	var part []request
	size := 2
	flush := func() error {
		got, err := c.send(ctx, part)
		if err != nil {
			return err
		}
		for i, r := range got {
			if r.ID == nil || *r.ID != part[i].ID {
				return c.broken(fmt.Errorf("TRex did not answer request %d, %s", part[i].ID, part[i].Method))
			}
			if r.Error != nil {
				r.Error.Method = part[i].Method
				errs = append(errs, r.Error)
			}
			results = append(results, r.Result)
		}
		size, part = 2, nil
		return nil
	}
	for _, one := range calls {
		r, err := c.encode(one)
		if err != nil {
			return nil, err
		}
		if len(r.body)+2 > maxRequest {
			return nil, fmt.Errorf("%s takes %d bytes, and TRex reads at most %d: use smaller address ranges", one.method, len(r.body), maxRequest)
		}
		if size+len(r.body)+1 > maxRequest || len(part) == callsAtOnce {
			if err := flush(); err != nil {
				return nil, err
			}
		}
		part, size = append(part, r), size+len(r.body)+1
	}
	if len(part) > 0 { // an empty batch is answered with null
		if err := flush(); err != nil {
			return nil, err
		}
	}
	return results, errors.Join(errs...)
}

// encode numbers a call, adds the handle and writes it.
func (c *client) encode(one call) (request, error) {
	c.id++
	r := request{Version: "2.0", ID: c.id, Method: one.method, Params: params{}}
	maps.Copy(r.Params, one.params)
	if c.handle != "" {
		r.Params["api_h"] = c.handle
	}
	body, err := json.Marshal(r)
	if err != nil {
		return r, fmt.Errorf("writing a call of %s: %w", one.method, err)
	}
	r.body = body
	return r, nil
}

// send sends requests as one message. A batch of one is answered with an object
// instead of a list, so it is sent as an object too.
func (c *client) send(ctx context.Context, requests []request) ([]response, error) {
	message := requests[0].body
	if len(requests) > 1 {
		message = joined(requests)
	}
	answer, err := c.exchange(ctx, message)
	if err != nil {
		return nil, err
	}
	var responses []response
	if trimmed := bytes.TrimSpace(answer); len(trimmed) > 0 && trimmed[0] == '[' {
		err = json.Unmarshal(answer, &responses)
	} else {
		responses = make([]response, 1)
		err = json.Unmarshal(answer, &responses[0])
	}
	if err != nil {
		return nil, c.broken(fmt.Errorf("TRex at %s answered with what is no JSON-RPC: %w", c.endpoint, err))
	}
	if len(responses) != len(requests) {
		if len(responses) == 1 && responses[0].Error != nil {
			return nil, responses[0].Error // the whole message was refused
		}
		return nil, c.broken(fmt.Errorf("TRex at %s answered %d of %d requests", c.endpoint, len(responses), len(requests)))
	}
	return responses, nil
}

// joined writes requests as a list.
func joined(requests []request) []byte {
	list := []byte{'['}
	for i, r := range requests {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, r.body...)
	}
	return append(list, ']')
}

// exchange sends one message and waits for its answer, in the session if there is
// one.
func (c *client) exchange(ctx context.Context, message []byte) ([]byte, error) {
	if c.lost != nil {
		return nil, c.lost
	}
	if c.socket == nil && c.started != "" {
		if err := c.identify(ctx); err != nil {
			return nil, c.fail(ctx, err)
		}
	}
	answer, err := c.transfer(ctx, message)
	if err != nil {
		return nil, c.fail(ctx, err)
	}
	return answer, nil
}

// transfer sends one message and waits for its answer. A request without an answer
// leaves a REQ socket useless, so that it is replaced.
func (c *client) transfer(ctx context.Context, message []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("%w within %v: is TRex running, and does it serve RPC at %s?", errNoAnswer, callTimeout, c.endpoint))
	defer cancel()
	wire, err := pack(message)
	if err != nil {
		return nil, err
	}
	type outcome struct {
		message []byte
		err     error
	}
	socket := c.socket
	fresh := socket == nil
	if fresh {
		// The library sleeps between attempts and ignores the context, so there is one
		// attempt, and it is bounded.
		socket = zmq4.NewReq(context.Background(), zmq4.WithTimeout(callTimeout), zmq4.WithDialerTimeout(callTimeout), zmq4.WithDialerMaxRetries(0))
		c.socket = socket
	}
	done := make(chan outcome, 1)
	go func() {
		if fresh {
			if err := socket.Dial(c.endpoint); err != nil {
				done <- outcome{err: err}
				return
			}
		}
		if err := socket.Send(zmq4.NewMsg(wire)); err != nil {
			done <- outcome{err: err}
			return
		}
		answer, err := socket.Recv()
		if err == nil {
			err = answer.Err()
		}
		done <- outcome{answer.Bytes(), err}
	}()
	select {
	case got := <-done:
		if got.err != nil {
			return nil, c.broken(fmt.Errorf("calling TRex at %s: %w", c.endpoint, got.err))
		}
		return unpack(got.message)
	case <-ctx.Done():
		return nil, c.broken(context.Cause(ctx))
	}
}

// broken drops the connection and returns the reason.
func (c *client) broken(reason error) error {
	c.close()
	return reason
}

func (c *client) close() {
	if c.socket != nil {
		// The error is of no use: the socket is gone either way.
		_ = c.socket.Close()
		c.socket = nil
	}
}

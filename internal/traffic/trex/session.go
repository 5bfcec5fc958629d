package trex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

const (
	// returnTimeout is the time for which Configure waits for a server that was lost, and
	// returnEvery the interval between its requests.
	returnTimeout, returnEvery = 30 * time.Second, 200 * time.Millisecond
)

// errRestarted means that the server that answers is not the one with which the session was
// opened. It has neither handles nor streams.
var errRestarted = errors.New("the server was started again")

// errNoAnswer means that a server accepts connections and does not answer.
var errNoAnswer = errors.New("the server did not answer")

// session contains what a client agreed on with a server. A server that was started again has
// lost it, and its counters are void. After each new connection identify reads the start time
// of the server.
type session struct {
	// handle is the server's api_h, which goes into every call.
	handle string
	// started is the start time that the server reports; empty until it is known.
	started string
	// lost is why the session was lost: a traffic.ErrInterrupted, which every call
	// returns until another session is opened.
	lost error
}

// fail turns an error of the connection into the loss of the session, unless there was
// no session or the caller gave up: then only the connection is lost.
func (c *client) fail(ctx context.Context, err error) error {
	if c.started == "" || ctx.Err() != nil {
		return err
	}
	c.lost = fmt.Errorf("%w: TRex at %s was lost: %w", traffic.ErrInterrupted, c.endpoint, err)
	return c.lost
}

// identify fails unless the server is the one of the session.
func (c *client) identify(ctx context.Context) error {
	r, err := c.encode(call{"get_system_info", nil})
	if err != nil {
		return err
	}
	answer, err := c.transfer(ctx, r.body)
	if err != nil {
		return err
	}
	var answered struct {
		Result system `json:"result"`
	}
	if err := json.Unmarshal(answer, &answered); err != nil {
		return fmt.Errorf("reading TRex's answer to get_system_info: %w", err)
	}
	if answered.Result.Started != c.started {
		return c.broken(errRestarted)
	}
	return nil
}

// still connects again after a loss, and reports whether the server is the one of the
// session: then it still has the ports and may still send. It fails when that cannot
// be determined.
func (c *client) still(ctx context.Context) (bool, error) {
	c.close()
	err := c.identify(ctx)
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() != nil || errors.Is(err, errNoAnswer):
		return false, fmt.Errorf("finding out whether TRex at %s still sends: %w", c.endpoint, err)
	}
	return false, nil // no server, or another one
}

// afterLoss runs f if the server of a lost session is still there, and returns
// whether it is. The session stays lost.
func (s *server) afterLoss(ctx context.Context, f func() error) (bool, error) {
	there, err := s.client.still(ctx)
	if err != nil || !there {
		return false, err
	}
	lost := s.client.lost
	s.client.lost = nil
	defer func() { s.client.lost = lost }()
	return true, f()
}

// reconnect opens another session by open when the present one was lost. It waits for a server that
// is being started.
func (s *server) reconnect(ctx context.Context, open func(ctx context.Context, before []*port) error) error {
	lost := s.client.lost
	if lost == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, returnTimeout)
	defer cancel()
	before := s.ports
	var last error
	for {
		s.client.close()
		s.client.session, s.ports = session{}, nil
		err := open(ctx, before)
		if err == nil {
			return nil
		}
		s.client.lost, s.ports = lost, before
		if ctx.Err() == nil || last == nil {
			last = err // the end of ctx itself is no reason
		}
		if late := s.clock.Sleep(ctx, returnEvery); late != nil {
			return fmt.Errorf("%w; it did not come back: %w", lost, last)
		}
	}
}

// openAgain agrees on the API, takes the ports and sets what was resolved again.
func (s *server) openAgain(ctx context.Context, before []*port) error {
	if err := s.open(ctx); err != nil {
		return err
	}
	return s.resolveAgain(ctx, before)
}

// neighbour is the layer-3 setting of a port at the server: the neighbor's address, and
// that of the port, for which the server answers ARP.
type neighbour struct {
	src, dst netip.Addr
	mac      traffic.MAC
}

// resolveAgain sets what was resolved at a server that was started again.
func (s *server) resolveAgain(ctx context.Context, before []*port) error {
	for _, old := range before {
		n, p := old.neighbours.last, s.named(old.Name)
		p.neighbours.known = old.neighbours.known
		if !n.src.IsValid() {
			continue
		}
		if err := p.service(ctx, true); err != nil {
			return err
		}
		err := p.setL3(ctx, n.src, n.dst, n.mac)
		if err := errors.Join(err, p.service(ctx, false)); err != nil {
			return err
		}
	}
	return nil
}

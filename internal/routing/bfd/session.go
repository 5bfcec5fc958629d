package bfd

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bfd"
)

// State of a session.
type State struct {
	// Up reports whether packets come and go.
	Up bool
	// Cause of it being down, for a person; empty while it is up.
	Cause string
}

// Config of a session.
type Config struct {
	// Local and Remote are the addresses of tester and device, of one IP version.
	Local, Remote netip.Addr
	// Interval between packets in both directions; while the session is not up, packets
	// are sent every second.
	Interval time.Duration
	// Multiplier is the number of missing packets after which the session is down, 1 to
	// 255.
	Multiplier uint8
	// In runs a function in the network namespace of the session; nil for this one.
	In func(func() error) error
	// Changed is called with each change of the state, one call at a time.
	Changed func(State)
}

// Session is a session that runs.
type Session struct {
	conf   Config
	socket *socket
	stop   context.CancelFunc
	ended  sync.WaitGroup
}

// Start opens the sockets of a session and begins to send. Close ends it.
func Start(c Config) (*Session, error) {
	if c.In == nil {
		c.In = func(f func() error) error { return f() }
	}
	s := &Session{conf: c}
	err := c.In(func() (err error) {
		s.socket, err = open(c.Local, c.Remote)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("opening the sockets of BFD from %v to %v: %w", c.Local, c.Remote, err)
	}
	life, stop := context.WithCancel(context.Background())
	s.stop = stop
	packets := make(chan *bfd.BFDHeader)
	s.ended.Go(func() { s.read(life, packets) })
	s.ended.Go(func() { s.run(life, packets) })
	return s, nil
}

// Close signals to the device that the session ends, and closes the sockets.
func (s *Session) Close() error {
	s.stop()
	err := s.socket.receiver.Close() // ends the reader
	s.ended.Wait()
	return errors.Join(err, s.socket.sender.Close())
}

// read hands packets to run until the socket is closed.
func (s *Session) read(ctx context.Context, packets chan<- *bfd.BFDHeader) {
	buffer := make([]byte, 256)
	for {
		h, err := s.socket.read(buffer)
		if errors.Is(err, net.ErrClosed) || ctx.Err() != nil {
			return
		}
		if err != nil || h == nil {
			continue
		}
		select {
		case packets <- h:
		case <-ctx.Done():
			return
		}
	}
}

// unread is the time for which packets that have arrived may stay unread, before the session
// checks again whether there are some.
const unread = time.Millisecond

// run is the session's life.
func (s *Session) run(ctx context.Context, packets <-chan *bfd.BFDHeader) {
	m := newMachine(s.conf.Interval, s.conf.Multiplier, rand.Uint32()|1)
	transmit, detect := time.NewTimer(0), time.NewTimer(time.Hour)
	detect.Stop()
	take := func(h *bfd.BFDHeader) {
		if !m.valid(h) {
			return
		}
		if m.receive(h) {
			_ = s.socket.send(m.packet(true)) // A packet can get lost, too.
		}
		detect.Reset(m.detection())
	}
	for {
		before := m.state
		every := m.every()
		select {
		case <-ctx.Done():
			m.close()
			_ = s.socket.send(m.packet(false)) // The device finds out by itself otherwise.
			return
		case h := <-packets:
			take(h)
		case <-detect.C:
			// Where this process had no processor, packets have come that it has not read.
			select {
			case h := <-packets:
				detect.Reset(unread)
				take(h)
			default:
				if s.socket.waiting() {
					detect.Reset(unread)
				} else {
					m.expire()
				}
			}
		case <-transmit.C:
			if every > 0 {
				_ = s.socket.send(m.packet(false))
			}
			transmit.Reset(jittered(max(every, time.Millisecond), s.conf.Multiplier))
		}
		if m.every() < every || m.state != before {
			transmit.Reset(0) // A change is said at once.
		}
		if s.conf.Changed != nil && m.state != before && (m.state == bfd.StateUp || before == bfd.StateUp) {
			s.conf.Changed(s.stateOf(m))
		}
	}
}

func (s *Session) stateOf(m *machine) State {
	if m.state == bfd.StateUp {
		return State{Up: true}
	}
	if m.diagnostic == bfd.DiagnosticNeighborSignaledSessionDown {
		return State{Cause: fmt.Sprintf("BFD is down: the device %v signaled that its side is", s.conf.Remote)}
	}
	return State{Cause: fmt.Sprintf("BFD is down: no control packet came from %v for %v", s.conf.Remote, max(m.interval, m.remoteDesired)*time.Duration(s.conf.Multiplier))}
}

// jittered is an interval less 0 to 25 %, and 10 to 25 % where one missing packet ends the
// session (section 6.8.7).
func jittered(d time.Duration, multiplier uint8) time.Duration {
	least := 0.0
	if multiplier == 1 {
		least = 0.1
	}
	return time.Duration(float64(d) * (1 - least - rand.Float64()*(0.25-least)))
}

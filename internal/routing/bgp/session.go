package bgp

import (
	"bufio"
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/routing/bfd"
	"nodrop.dev/nodrop/internal/routing/endpoint"
	"nodrop.dev/nodrop/internal/routing/sessions"
)

// openTime is the time that the device may take from the connection to the last message of
// opening.
const openTime = 30 * time.Second

// session keeps one session open.
type session struct {
	*sessions.Held
	port      Port
	tcpPort   uint16
	retry     time.Duration
	maxRoutes uint64

	// sending makes one sequence of UPDATE messages wait for another, and guards book.
	sending sync.Mutex
	book    book
	// refreshing makes one request for all routes wait for another.
	refreshing sync.Mutex

	// The mutex of Held guards what follows.
	up *established // nil while down
	// detected is the state of BFD since BGP is up; always up for a session without BFD.
	detected bfd.State
	table    *table
}

// established is a connection over which routes are exchanged.
type established struct {
	*endpoint.Link
	terms  *terms
	packer packer
	// end ends the life of the session for a cause.
	end context.CancelCauseFunc
}

func newSession(conf routing.Session) *session {
	s := &session{table: newTable(conf.LocalASN)}
	s.Held = sessions.NewHeld(conf, func() routing.Learnt { return s.table.Learnt })
	return s
}

// run keeps the session open until ctx ends, or a failure is final.
func (s *session) run(ctx context.Context) {
	sessions.Keep(ctx, s.retry, func(ctx context.Context) bool { return s.once(ctx).final })
}

// once is one life of the session: it returns why that ended.
func (s *session) once(ctx context.Context) *cause {
	conn, c := connect(ctx, s.port, &s.Conf, s.tcpPort)
	if c != nil {
		s.fell(c)
		return c
	}
	life, end := context.WithCancelCause(ctx)
	l := &endpoint.Link{Conn: conn, Life: life, Split: split}
	// Reads and writes end with the life.
	interrupted := make(chan struct{})
	context.AfterFunc(life, func() {
		defer close(interrupted)
		_ = conn.SetDeadline(time.Unix(1, 0))
	})
	c = s.live(life, end, l)
	if why := (*cause)(nil); errors.As(context.Cause(life), &why) {
		c = why
	}
	end(nil)
	if ctx.Err() != nil {
		c = because("it was closed")
		c.tell = &bgp.BGPNotification{ErrorCode: bgp.BGP_ERROR_CEASE, ErrorSubcode: bgp.BGP_ERROR_SUB_ADMINISTRATIVE_SHUTDOWN}
	}
	s.fell(c)
	<-interrupted // or its deadline could end the write of the NOTIFICATION
	l.Part(c.lastMessage())
	return c
}

// live opens the session and reads until it ends.
func (s *session) live(ctx context.Context, end context.CancelCauseFunc, l *endpoint.Link) *cause {
	r := bufio.NewReaderSize(l.Conn, 64<<10)
	buffer := make([]byte, maxLength)
	t, c := s.open(ctx, l, r, buffer)
	if c != nil {
		return c
	}
	up := &established{Link: l, terms: t, packer: packer{session: &s.Conf, addPath: t.options.AddPath}, end: end}
	var parts sync.WaitGroup
	defer parts.Wait()
	defer end(nil)
	refresh := newRefresher(s, up)
	s.raise(up, refresh)
	stop, c := s.startBFD()
	if c != nil {
		return c
	}
	defer stop()
	parts.Go(func() { refresh.run(ctx) })
	parts.Go(func() { keepAlive(ctx, up) })
	for {
		if t.hold > 0 {
			_ = l.Conn.SetReadDeadline(time.Now().Add(t.hold))
		}
		if ctx.Err() != nil { // looked at after the deadline was set, which may undo the one that ends reads
			return because("it was closed")
		}
		m, err := read(r, buffer, t.options)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil:
			return refuse(bgp.BGP_ERROR_HOLD_TIMER_EXPIRED, 0, "nothing came from the device for %v, the hold time", t.hold)
		case err != nil:
			return ended(err)
		}
		switch body := m.Body.(type) {
		case *bgp.BGPUpdate:
			if c := s.learn(body); c != nil {
				return c
			}
		case *bgp.BGPNotification:
			return notified(body)
		case *bgp.BGPRouteRefresh:
			refresh.ask(bgp.NewFamily(body.AFI, body.SAFI))
		case *bgp.BGPKeepAlive:
		default:
			return refuse(bgp.BGP_ERROR_FSM_ERROR, bgp.BGP_ERROR_SUB_RECEIVE_UNEXPECTED_MESSAGE_IN_ESTABLISHED_STATE,
				"the device sent an %s in an established session", names[m.Header.Type])
		}
	}
}

// open exchanges OPEN and KEEPALIVE.
func (s *session) open(ctx context.Context, l *endpoint.Link, r *bufio.Reader, buffer []byte) (*terms, *cause) {
	_ = l.Conn.SetReadDeadline(time.Now().Add(openTime))
	if ctx.Err() != nil {
		return nil, because("it was closed")
	}
	open, err := openMessage(&s.Conf)
	if err != nil {
		return nil, because("making the OPEN message: %v", err)
	}
	if _, _, err := l.Write(ctx, serialize(open)); err != nil {
		return nil, because("sending OPEN: %v", err)
	}
	var t *terms
	for _, state := range []struct {
		name    string
		subcode uint8
	}{
		{"OPEN", bgp.BGP_ERROR_SUB_RECEIVE_UNEXPECTED_MESSAGE_IN_OPENSENT_STATE},
		{"KEEPALIVE", bgp.BGP_ERROR_SUB_RECEIVE_UNEXPECTED_MESSAGE_IN_OPENCONFIRM_STATE},
	} {
		m, err := read(r, buffer, &bgp.MarshallingOption{})
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil:
			return nil, refuse(bgp.BGP_ERROR_HOLD_TIMER_EXPIRED, 0, "the device sent no %s in %v", state.name, openTime)
		case err != nil:
			return nil, ended(err)
		}
		switch body := m.Body.(type) {
		case *bgp.BGPNotification:
			return nil, notified(body)
		case *bgp.BGPOpen:
			if t != nil {
				break
			}
			var c *cause
			if t, c = agree(&s.Conf, body); c != nil {
				return nil, c
			}
			if _, _, err := l.Write(ctx, serialize(bgp.NewBGPKeepAliveMessage())); err != nil {
				return nil, because("sending KEEPALIVE: %v", err)
			}
			continue
		case *bgp.BGPKeepAlive:
			if t != nil {
				continue
			}
		}
		return nil, refuse(bgp.BGP_ERROR_FSM_ERROR, state.subcode, "the device sent %s in place of %s", names[m.Header.Type], state.name)
	}
	_ = l.Conn.SetReadDeadline(time.Time{})
	return t, nil
}

// learn takes an UPDATE in and serves who waits for the table.
func (s *session) learn(m *bgp.BGPUpdate) *cause {
	s.Lock()
	defer s.Unlock()
	s.table.update(m)
	s.table.Last = endpoint.Now()
	if s.table.again != nil && s.table.again.Routes > 0 {
		s.table.again.Last = s.table.Last
	}
	s.Serve()
	if s.table.Routes > s.maxRoutes {
		return refuse(bgp.BGP_ERROR_CEASE, bgp.BGP_ERROR_SUB_MAXIMUM_NUMBER_OF_PREFIXES_REACHED,
			"the device advertises more than %d routes, the most that the tester takes", s.maxRoutes)
	}
	return nil
}

// raise makes the session established, and has announced again what was announced before.
func (s *session) raise(up *established, r *refresher) {
	s.sending.Lock()
	defer s.sending.Unlock()
	if s.book.count > 0 {
		r.ask(s.families()...)
	}
	s.Lock()
	defer s.Unlock()
	s.up, s.table, s.detected = up, newTable(s.Conf.LocalASN), s.undetected()
	s.establish()
}

// fell makes it down: nothing is sent any more, and what was learnt is void.
func (s *session) fell(c *cause) {
	s.Lock()
	defer s.Unlock()
	wasUp := s.up != nil
	if wasUp {
		s.up, s.table = nil, newTable(s.Conf.LocalASN)
	}
	s.Fell(wasUp, c.text, c.final)
}

func (s *session) families() (all []bgp.Family) {
	for _, f := range s.Conf.Families {
		all = append(all, families[f])
	}
	return all
}

// keepAlive sends a KEEPALIVE message every third of the hold time.
func keepAlive(ctx context.Context, up *established) {
	if up.terms.hold == 0 {
		return
	}
	message := serialize(bgp.NewBGPKeepAliveMessage())
	up.Repeat(ctx, up.terms.hold/3, func() []byte { return message })
}

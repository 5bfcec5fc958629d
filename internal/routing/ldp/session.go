package ldp

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/routing/endpoint"
	"nodrop.dev/nodrop/internal/routing/sessions"
)

// session keeps one session open.
type session struct {
	*sessions.Held
	port             endpoint.Port
	tcpPort, udpPort uint16
	retry            time.Duration
	maxRoutes        uint64

	// parts are the goroutines of the session, and accepted are connections of the device.
	parts    sync.WaitGroup
	accepted chan net.Conn
	listener *net.TCPListener
	// met has an element when the device was heard.
	met chan struct{}

	// sending makes one sequence of messages wait for another.
	sending sync.Mutex

	// The mutex of Held guards what follows.
	adjacency adjacency
	up        *established // nil while down
	table     *table
}

// established is a connection over which labels are exchanged.
type established struct {
	*endpoint.Link
	writer *writer
	hold   time.Duration
}

func newSession(conf routing.Session) *session {
	s := &session{accepted: make(chan net.Conn), met: make(chan struct{}, 1), table: newTable(map[uint64]uint32{})}
	s.Held = sessions.NewHeld(conf, func() routing.Learnt { return s.table.Learnt })
	return s
}

// run keeps the session open until ctx ends, or a failure is final.
func (s *session) run(ctx context.Context) {
	sessions.Keep(ctx, s.retry, func(ctx context.Context) bool { return s.once(ctx).final })
}

// once is one life of the session: it returns why that ended.
func (s *session) once(ctx context.Context) *cause {
	a, c := s.awaitAdjacency(ctx)
	if c != nil {
		s.fell(c)
		return c
	}
	conn, c := s.connect(ctx, a)
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
	w := &writer{lsr: s.Conf.RouterID, limit: maxPDU}
	c = s.live(life, end, l, w, a)
	if why := (*cause)(nil); errors.As(context.Cause(life), &why) {
		c = why
	}
	end(nil)
	if ctx.Err() != nil {
		c = because("it was closed")
		c.tell = statusShutdown
	}
	s.fell(c)
	<-interrupted // or its deadline could end the write of the Notification
	var last []byte
	if c.tell != 0 {
		last = w.notification(c.tell, 0, 0)
	}
	l.Part(last)
	return c
}

// live opens the session and reads until it ends.
func (s *session) live(ctx context.Context, end context.CancelCauseFunc, l *endpoint.Link, w *writer, a adjacency) *cause {
	r := &reader{conn: l.Conn, buffered: bufio.NewReaderSize(l.Conn, 64<<10), buffer: make([]byte, lengthEnd+maxPDU), device: a, hold: openTime}
	hold, c := s.open(ctx, l, w, r)
	if c != nil {
		return c
	}
	r.hold = hold
	up := &established{Link: l, writer: w, hold: hold}
	var parts sync.WaitGroup
	defer parts.Wait()
	defer end(nil)
	parts.Go(func() { up.Repeat(ctx, hold/3, w.keepAlive) })
	parts.Go(func() { s.watchAdjacency(ctx, end) })
	parts.Go(func() { s.raise(ctx, up) })
	for {
		m, c := r.next(ctx)
		if c != nil {
			return c
		}
		if c := s.handle(ctx, up, m); c != nil {
			return c
		}
	}
}

// reader reads the messages of a connection.
type reader struct {
	conn     net.Conn
	buffered *bufio.Reader
	buffer   []byte
	device   adjacency
	// hold is the time within which a message must come.
	hold  time.Duration
	queue []message
}

// next reads the next message. Its values last until the next call.
func (r *reader) next(ctx context.Context) (message, *cause) {
	if len(r.queue) == 0 {
		_ = r.conn.SetReadDeadline(time.Now().Add(r.hold))
		if ctx.Err() != nil { // looked at after the deadline was set, which may undo the one that ends reads
			return message{}, because("it was closed")
		}
		p, err := readPDU(r.buffered, r.buffer)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil:
			return message{}, refuse(statusKeepAliveExpired, "nothing came from the device for %v, the hold time", r.hold)
		case err != nil:
			return message{}, ended(err)
		case p.lsr != r.device.lsr || p.space != r.device.space:
			return message{}, refuse(statusBadIdentifier, "the device sent a PDU as %v:%d, and Hello messages as %v:%d", p.lsr, p.space, r.device.lsr, r.device.space)
		}
		r.queue = p.messages
	}
	m := r.queue[0]
	r.queue = r.queue[1:]
	return m, nil
}

// handle takes a message of an established session in.
func (s *session) handle(ctx context.Context, up *established, m message) *cause {
	switch m.kind {
	case typeMapping, typeWithdraw:
		b, err := parseBinding(m)
		switch {
		case err != nil:
			return ended(err)
		case b.unknown:
			return s.answer(ctx, up, up.writer.notification(statusUnknownFEC, m.id, m.kind))
		}
		if c := s.learn(b, m.kind == typeWithdraw); c != nil {
			return c
		}
		if m.kind == typeWithdraw {
			return s.answer(ctx, up, up.writer.release(m))
		}
	case typeRequest:
		return s.request(ctx, up, m)
	case typeNotification:
		code, err := parseStatus(m)
		switch {
		case err != nil:
			return ended(err)
		case code&fatal != 0:
			return because("the device sent Notification %v", code)
		}
	case typeKeepAlive, typeAddress, typeAddressWithdraw, typeRelease, typeAbort:
	case typeHello, typeInitialization:
		return refuse(statusShutdown, "the device sent %s in an established session", nameOf(m.kind))
	default:
		if !m.ignorable {
			return s.answer(ctx, up, up.writer.notification(statusUnknownMessage, m.id, m.kind))
		}
	}
	return nil
}

// request answers a Label Request: with the label, or with the fact that there is none.
func (s *session) request(ctx context.Context, up *established, m message) *cause {
	b, err := parseBinding(m)
	if err != nil {
		return ended(err)
	}
	for _, p := range b.prefixes {
		s.Lock()
		label, has := s.table.own[key(p)]
		s.Unlock()
		answer := up.writer.notification(statusNoRoute, m.id, m.kind)
		if has {
			answer = end(up.writer.label(up.writer.begin(nil), typeMapping, p, label), 0)
		}
		if c := s.answer(ctx, up, answer); c != nil {
			return c
		}
	}
	return nil
}

func (s *session) answer(ctx context.Context, up *established, b []byte) *cause {
	if _, _, err := up.Write(ctx, b); err != nil {
		return because("answering the device: %v", err)
	}
	return nil
}

// learn takes a binding in and serves who waits for the table.
func (s *session) learn(b binding, withdraw bool) *cause {
	s.Lock()
	defer s.Unlock()
	if withdraw {
		s.table.withdrawn(b)
	} else {
		s.table.mapped(b)
	}
	s.table.Last = endpoint.Now()
	s.Serve()
	if uint64(len(s.table.labels)) > s.maxRoutes {
		return refuse(statusShutdown, "the device advertises more than %d labels, the most that the tester takes", s.maxRoutes)
	}
	return nil
}

// raise makes the session established, and announces again what was announced before.
func (s *session) raise(ctx context.Context, up *established) {
	s.sending.Lock()
	defer s.sending.Unlock()
	if _, _, err := up.Write(ctx, up.writer.address(s.Conf.Local)); err != nil {
		return // the reader finds out why
	}
	s.Lock()
	own := s.table.own
	s.Unlock()
	if err := up.send(ctx, &routing.Sent{}, typeMapping, inOrder(own)); err != nil {
		return
	}
	s.Lock()
	defer s.Unlock()
	if ctx.Err() != nil {
		return
	}
	s.up = up
	s.Establish()
	s.Serve()
	s.Notify()
}

// fell makes it down: nothing is sent any more, and what was learnt is void.
func (s *session) fell(c *cause) {
	s.Lock()
	defer s.Unlock()
	s.table = newTable(s.table.own)
	wasUp := s.up != nil
	s.up = nil
	s.Fell(wasUp, c.text, c.final)
}

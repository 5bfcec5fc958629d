package endpoint

import (
	"context"
	"net"
	"sync"
	"time"

	"nodrop.dev/nodrop/internal/base/interrupt"
	"nodrop.dev/nodrop/internal/routing"
)

// partingTime is the time that handing the last message to the connection may take.
const partingTime = 500 * time.Millisecond

// Link is a connection whose messages are never cut: what a write that was given up left
// of a message goes out before the next one.
type Link struct {
	Conn net.Conn
	// Life of the session; with it, writes end.
	Life context.Context
	// Split returns the length of the first whole messages in the first n bytes of b, their
	// number, and the end of the message that n cuts; end is n when it cuts none.
	Split func(b []byte, n int) (whole, messages, end int)

	// writing makes one writer wait for another: an announcement, KEEPALIVE, NOTIFICATION.
	writing sync.Mutex
	rest    []byte
}

// Write writes whole messages and returns how many bytes and messages of them went out
// whole when ctx ended before all did. The rest of one that was begun follows later.
func (l *Link) Write(ctx context.Context, b []byte) (bytes, messages int, err error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	if err := l.Life.Err(); err != nil {
		return 0, 0, err
	}
	stop := interrupt.AtEnd(ctx, func() { _ = l.Conn.SetWriteDeadline(time.Unix(1, 0)) })
	defer func() {
		if stop() {
			_ = l.Conn.SetWriteDeadline(time.Time{})
			if l.Life.Err() != nil { // looked at last, as it set the deadline
				_ = l.Conn.SetWriteDeadline(time.Unix(1, 0))
			}
		}
	}()
	if len(l.rest) > 0 {
		n, err := l.Conn.Write(l.rest)
		l.rest = l.rest[n:]
		if err != nil {
			return 0, 0, err
		}
	}
	n, err := l.Conn.Write(b)
	whole, messages, end := l.Split(b, n)
	if n > whole {
		l.rest = append([]byte(nil), b[n:end]...)
	}
	return whole, messages, err
}

// Count returns a function that writes messages with so many routes, and adds both up in sent. The
// time between two calls is the tester's own.
func (l *Link) Count(ctx context.Context, sent *routing.Sent) func(b []byte, routes int) error {
	began := time.Now()
	return func(b []byte, routes int) error {
		sent.Own += time.Since(began)
		if sent.First == 0 {
			sent.First = Now()
		}
		bytes, messages, err := l.Write(ctx, b)
		sent.Last = Now()
		sent.Bytes += uint64(bytes)
		sent.Messages += uint64(messages)
		if err != nil {
			return err
		}
		sent.Routes += uint64(routes)
		began = time.Now()
		return nil
	}
}

// Repeat writes a message at every interval until ctx ends or a write fails, whose cause the reader
// finds out.
func (l *Link) Repeat(ctx context.Context, every time.Duration, message func() []byte) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if _, _, err := l.Write(ctx, message()); err != nil {
				return
			}
		}
	}
}

// Part sends a last message, unless it is empty, and closes the connection. Life is over.
func (l *Link) Part(last []byte) {
	defer l.Conn.Close()
	if len(last) == 0 {
		return
	}
	l.writing.Lock() // no writer waits for the device any more, as life is over
	defer l.writing.Unlock()
	_ = l.Conn.SetWriteDeadline(time.Now().Add(partingTime))
	if len(l.rest) > 0 {
		if _, err := l.Conn.Write(l.rest); err != nil {
			return
		}
	}
	_, _ = l.Conn.Write(last)
}

package bgp

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
)

// partingTime is the time that handing a NOTIFICATION to the connection may take.
const partingTime = 500 * time.Millisecond

// link is a connection whose messages are never cut: what a write that was given up left
// of a message goes out before the next one.
type link struct {
	conn net.Conn
	// life of the session; with it, writes end.
	life context.Context

	// writing makes one writer wait for another: an announcement, KEEPALIVE, NOTIFICATION.
	writing sync.Mutex
	rest    []byte
}

// write writes whole messages and returns how many bytes and messages of them went out
// whole when ctx ended before all did. The rest of one that was begun follows later.
func (l *link) write(ctx context.Context, b []byte) (bytes, messages int, err error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	if err := l.life.Err(); err != nil {
		return 0, 0, err
	}
	fired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = l.conn.SetWriteDeadline(time.Unix(1, 0))
		close(fired)
	})
	defer func() {
		if !stop() {
			<-fired
			_ = l.conn.SetWriteDeadline(time.Time{})
			if l.life.Err() != nil { // looked at last, as it set the deadline
				_ = l.conn.SetWriteDeadline(time.Unix(1, 0))
			}
		}
	}()
	if len(l.rest) > 0 {
		n, err := l.conn.Write(l.rest)
		l.rest = l.rest[n:]
		if err != nil {
			return 0, 0, err
		}
	}
	n, err := l.conn.Write(b)
	whole, messages, end := split(b, n)
	if n > whole {
		l.rest = append([]byte(nil), b[n:end]...)
	}
	return whole, messages, err
}

// part sends a NOTIFICATION, if there is one, and closes the connection. Life is over.
func (l *link) part(n *bgp.BGPNotification) {
	defer l.conn.Close()
	if n == nil {
		return
	}
	l.writing.Lock() // no writer waits for the device any more, as life is over
	defer l.writing.Unlock()
	_ = l.conn.SetWriteDeadline(time.Now().Add(partingTime))
	if len(l.rest) > 0 {
		if _, err := l.conn.Write(l.rest); err != nil {
			return
		}
	}
	_, _ = l.conn.Write(serialize(bgp.NewBGPNotificationMessage(n.ErrorCode, n.ErrorSubcode, n.Data)))
}

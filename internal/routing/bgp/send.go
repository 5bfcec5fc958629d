package bgp

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/routing/endpoint"
)

// send announces or withdraws sets.
func (s *session) send(ctx context.Context, sets []routing.Routes, withdraw bool) (routing.Sent, error) {
	s.sending.Lock()
	defer s.sending.Unlock()
	s.mu.Lock()
	up, down := s.up, s.down()
	s.mu.Unlock()
	if up == nil {
		return routing.Sent{}, down
	}
	for _, set := range sets {
		if _, err := up.packer.template(set, withdraw); err != nil {
			return routing.Sent{}, err
		}
	}
	for _, set := range sets {
		if withdraw {
			s.book.withdraw(set)
		} else {
			s.book.announce(set)
		}
	}
	var sent routing.Sent
	for _, set := range sets {
		if err := up.send(ctx, &sent, set, withdraw, nil); err != nil {
			return sent, s.sendError(ctx, up, err)
		}
	}
	return sent, nil
}

// send writes the messages of a set and adds them up in sent.
func (up *established) send(ctx context.Context, sent *routing.Sent, set routing.Routes, withdraw bool, skip func(netip.Prefix) bool) error {
	began := time.Now()
	return up.packer.pack(set, withdraw, skip, func(c chunk) error {
		sent.Own += time.Since(began)
		if sent.First == 0 {
			sent.First = endpoint.Now()
		}
		bytes, messages, err := up.Write(ctx, c.bytes)
		sent.Last = endpoint.Now()
		sent.Bytes += uint64(bytes)
		sent.Messages += uint64(messages)
		if err != nil {
			return err
		}
		sent.Routes += uint64(c.routes)
		began = time.Now()
		return nil
	})
}

// sendError returns the cause of a failed write: ctx ended, or the session did, for a reason
// that is known only when the reader has found it.
func (s *session) sendError(ctx context.Context, up *established, err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() != nil {
		return fmt.Errorf("session %s: the device did not take all messages: %w", s.conf.Name, context.Cause(ctx))
	}
	for {
		s.mu.Lock()
		down, changed, over := s.down(), s.changed, s.up != up
		s.mu.Unlock()
		if over {
			return down
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("session %s: %w", s.conf.Name, err)
		case <-changed:
		}
	}
}

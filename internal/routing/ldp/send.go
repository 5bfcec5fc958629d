package ldp

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"os"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/routing/endpoint"
)

// send announces or withdraws the labels of sets.
func (s *session) send(ctx context.Context, sets []routing.Routes, withdraw bool) (routing.Sent, error) {
	for _, set := range sets {
		if err := set.Check(); err != nil {
			return routing.Sent{}, err
		}
		if set.Family() != routing.IPv4LabeledUnicast {
			return routing.Sent{}, fmt.Errorf("session %s: routes %s: %w", s.conf.Name, set.Name, errLabels)
		}
	}
	s.sending.Lock()
	defer s.sending.Unlock()
	s.mu.Lock()
	up, down := s.up, s.down()
	if up != nil {
		for _, set := range sets {
			for prefix, label := range labels(set) {
				if withdraw {
					s.table.withdraw(prefix)
				} else {
					s.table.announce(prefix, label)
				}
			}
		}
		s.serve()
	}
	s.mu.Unlock()
	if up == nil {
		return routing.Sent{}, down
	}
	kind := typeMapping
	if withdraw {
		kind = typeWithdraw
	}
	var sent routing.Sent
	for _, set := range sets {
		if err := up.send(ctx, &sent, kind, labels(set)); err != nil {
			return sent, s.sendError(ctx, up, err)
		}
	}
	return sent, nil
}

// send writes the messages of prefixes and adds them up in sent.
func (up *established) send(ctx context.Context, sent *routing.Sent, kind uint16, all iter.Seq2[netip.Prefix, uint32]) error {
	began := time.Now()
	return up.writer.pack(kind, all, func(c chunk) error {
		sent.Own += time.Since(began)
		if sent.First == 0 {
			sent.First = endpoint.Now()
		}
		bytes, pdus, err := up.Write(ctx, c.bytes)
		sent.Last = endpoint.Now()
		sent.Bytes += uint64(bytes)
		sent.Messages += uint64(pdus)
		if err != nil {
			return err
		}
		sent.Routes += uint64(c.routes)
		began = time.Now()
		return nil
	})
}

// inOrder are the announced labels in the order of their prefixes.
func inOrder(own map[uint64]uint32) iter.Seq2[netip.Prefix, uint32] {
	return func(yield func(netip.Prefix, uint32) bool) {
		for _, k := range slices.Sorted(maps.Keys(own)) {
			if !yield(prefixOf(k), own[k]) {
				return
			}
		}
	}
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

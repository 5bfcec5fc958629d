package ldp

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"slices"

	"nodrop.dev/nodrop/internal/routing"
)

// Send implements sessions.Session.
func (s *session) Send(ctx context.Context, sets []routing.Routes, withdraw bool) (routing.Sent, error) {
	for _, set := range sets {
		if err := set.Check(); err != nil {
			return routing.Sent{}, err
		}
		if set.Family() != routing.IPv4LabeledUnicast {
			return routing.Sent{}, fmt.Errorf("session %s: routes %s: %w", s.Conf.Name, set.Name, errLabels)
		}
	}
	s.sending.Lock()
	defer s.sending.Unlock()
	s.Lock()
	up, down := s.up, s.Down()
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
		s.Serve()
	}
	s.Unlock()
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
			return sent, s.SendError(ctx, func() bool { return s.up != up }, err)
		}
	}
	return sent, nil
}

// send writes the messages of prefixes and adds them up in sent.
func (up *established) send(ctx context.Context, sent *routing.Sent, kind uint16, all iter.Seq2[netip.Prefix, uint32]) error {
	write := up.Count(ctx, sent)
	return up.writer.pack(kind, all, func(c chunk) error { return write(c.bytes, c.routes) })
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

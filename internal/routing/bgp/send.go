package bgp

import (
	"context"
	"net/netip"

	"nodrop.dev/nodrop/internal/routing"
)

// Send implements sessions.Session.
func (s *session) Send(ctx context.Context, sets []routing.Routes, withdraw bool) (routing.Sent, error) {
	s.sending.Lock()
	defer s.sending.Unlock()
	s.Lock()
	up, down := s.up, s.Down()
	s.Unlock()
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
	write := up.Count(ctx, sent)
	return up.packer.pack(set, withdraw, skip, func(c chunk) error { return write(c.bytes, c.routes) })
}

// sendError returns the cause of a failed write.
func (s *session) sendError(ctx context.Context, up *established, err error) error {
	return s.SendError(ctx, func() bool { return s.up != up }, err)
}

package bgp

import (
	"context"
	"slices"
	"sync"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"nodrop.dev/nodrop/internal/routing"
)

// refresher announces again what is announced, when the device asks for it by
// ROUTE-REFRESH (RFC 2918) or a session is established again. It does so next to the
// reader, which must never wait for the device.
type refresher struct {
	session *session
	up      *established

	mu    sync.Mutex
	asked []bgp.Family
	wake  chan struct{}
}

func newRefresher(s *session, up *established) *refresher {
	return &refresher{session: s, up: up, wake: make(chan struct{}, 1)}
}

// ask has the routes of families announced again; a family that waits already does so once.
func (r *refresher) ask(all ...bgp.Family) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range all {
		if !slices.Contains(r.asked, f) {
			r.asked = append(r.asked, f)
		}
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *refresher) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
		r.mu.Lock()
		asked := r.asked
		r.asked = nil
		r.mu.Unlock()
		if err := r.announce(ctx, asked); err != nil {
			return // the reader finds out why
		}
	}
}

func (r *refresher) announce(ctx context.Context, asked []bgp.Family) error {
	r.session.sending.Lock()
	defer r.session.sending.Unlock()
	for _, e := range r.session.book.inOrder() {
		if !slices.Contains(asked, families[e.set.Family()]) {
			continue
		}
		if err := r.up.send(ctx, &routing.Sent{}, e.set, false, e.missing()); err != nil {
			return err
		}
	}
	return nil
}

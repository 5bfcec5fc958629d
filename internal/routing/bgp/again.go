package bgp

import (
	"context"
	"fmt"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/routing/endpoint"
	"nodrop.dev/nodrop/internal/routing/sessions"
)

// again are the routes that came since the device was asked for all of them once more. A
// route that comes more than once counts once.
type again struct {
	routing.Refreshed
	seen map[uint64]bool
}

// add takes a route in by its digest.
func (a *again) add(digest uint64) {
	if a.seen[digest] {
		return
	}
	a.seen[digest] = true
	a.Routes++
	a.Digest += digest
}

// Refresh implements routing.Speaker. One session is refreshed by one caller at a time.
func (s *Speaker) Refresh(ctx context.Context, name string) (routing.Refreshed, error) {
	one, err := s.Named(name)
	if err != nil {
		return routing.Refreshed{}, err
	}
	one.refreshing.Lock()
	defer one.refreshing.Unlock()
	one.Lock()
	up, down, changed := one.up, one.Down(), one.Changed()
	if up == nil {
		one.Unlock()
		return routing.Refreshed{}, down
	}
	if !up.terms.refresh {
		one.Unlock()
		return routing.Refreshed{}, fmt.Errorf("session %s: the device does not offer ROUTE-REFRESH (RFC 2918)", name)
	}
	a := &again{seen: map[uint64]bool{}}
	a.Asked = endpoint.Now()
	w := &sessions.Waiter{Satisfied: func() bool { return one.table.again == a && a.Table == one.table.Table }, Got: make(chan routing.Learnt, 1)}
	one.table.again = a
	one.Wait(w)
	one.Unlock()
	err = one.askAgain(ctx, up)
	if err == nil {
		err = one.awaitAgain(ctx, w, changed, up)
	}
	one.Lock()
	defer one.Unlock()
	one.Forget(w)
	one.table.again = nil
	if err == nil && a.Table != one.table.Table {
		err = &routing.UnlearnedError{Session: name, Want: one.table.Table, Got: a.Table}
	}
	return a.Refreshed, err
}

// askAgain sends ROUTE-REFRESH for all families.
func (s *session) askAgain(ctx context.Context, up *established) error {
	for _, f := range s.families() {
		if _, _, err := up.Write(ctx, serialize(bgp.NewBGPRouteRefreshMessage(f.Afi(), 0, f.Safi()))); err != nil {
			return s.sendError(ctx, up, err)
		}
	}
	return nil
}

// awaitAgain waits until all routes came, ctx ends, or the session does.
func (s *session) awaitAgain(ctx context.Context, w *sessions.Waiter, changed <-chan struct{}, up *established) error {
	s.Lock()
	satisfied := w.Satisfied() // also by a table without routes
	s.Unlock()
	for !satisfied {
		select {
		case <-w.Got:
			return nil
		case <-ctx.Done():
			return nil // what came is compared by the caller
		case <-changed:
		}
		s.Lock()
		down, over := s.Down(), s.up != up
		changed = s.Changed()
		s.Unlock()
		if over {
			return down
		}
	}
	return nil
}

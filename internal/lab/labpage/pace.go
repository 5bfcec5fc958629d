package labpage

import (
	"context"
	"time"

	"golang.org/x/time/rate"

	"nodrop.dev/nodrop/internal/base/pace"
)

const (
	// refusalDelay is the time after which a request is refused that came too early: those who ask without pause
	// get no faster answer than others. More than maxDelayed requests are refused at once.
	refusalDelay = time.Second
	maxDelayed   = 256
)

// paced bounds the requests of each of many.
type paced struct {
	*pace.Pace
	delayed chan struct{}
}

func newPaced(atOnce int, perSecond rate.Limit) *paced {
	return &paced{pace.New(atOnce, perSecond), make(chan struct{}, maxDelayed)}
}

// allows reports whether one more request may be served now. If not, it returns after refusalDelay.
func (p *paced) allows(ctx context.Context, whom string) bool {
	if p.Of(whom).Allow() {
		return true
	}
	p.delay(ctx)
	return false
}

// await waits until one more request may be served, and reports whether it may. It does not wait longer than
// a time; a request that would have to is refused after refusalDelay.
func (p *paced) await(ctx context.Context, whom string, longest time.Duration) bool {
	waiting, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	if p.Of(whom).Wait(waiting) == nil {
		return true
	}
	p.delay(ctx)
	return false
}

func (p *paced) delay(ctx context.Context) {
	select {
	case p.delayed <- struct{}{}:
		defer func() { <-p.delayed }()
	default:
		return
	}
	select {
	case <-time.After(refusalDelay):
	case <-ctx.Done():
	}
}

package labpage

import (
	"context"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/cache"
)

const (
	// maxPaced is the number of users, and of addresses, whose requests are counted, and pacedFor the time for
	// which they are after the last request.
	maxPaced = 10_000
	pacedFor = time.Hour
	// refusalDelay is the time after which a request is refused that came too early: those who ask without pause
	// get no faster answer than others. More than maxDelayed requests are refused at once.
	refusalDelay = time.Second
	maxDelayed   = 256
)

// pace bounds the requests of each of many: so many at once, and so many per second after that.
type pace struct {
	atOnce    int
	perSecond rate.Limit
	limiters  *cache.LRUExpireCache
	delayed   chan struct{}
}

func newPace(atOnce int, perSecond rate.Limit) *pace {
	return &pace{atOnce, perSecond, cache.NewLRUExpireCache(maxPaced), make(chan struct{}, maxDelayed)}
}

func (p *pace) of(whom string) *rate.Limiter {
	known, is := p.limiters.Get(whom)
	if !is {
		known = rate.NewLimiter(p.perSecond, p.atOnce)
	}
	p.limiters.Add(whom, known, pacedFor)
	return known.(*rate.Limiter)
}

// allows reports whether one more request may be served now. If not, it returns after refusalDelay.
func (p *pace) allows(ctx context.Context, whom string) bool {
	if p.of(whom).Allow() {
		return true
	}
	p.delay(ctx)
	return false
}

// await waits until one more request may be served, and reports whether it may. It does not wait longer than
// a time; a request that would have to is refused after refusalDelay.
func (p *pace) await(ctx context.Context, whom string, longest time.Duration) bool {
	waiting, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	if p.of(whom).Wait(waiting) == nil {
		return true
	}
	p.delay(ctx)
	return false
}

func (p *pace) delay(ctx context.Context) {
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

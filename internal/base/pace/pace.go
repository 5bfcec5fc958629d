// Package pace bounds how often each of many may do something: so many times at once, and so many times per second after that.
package pace

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/cache"
)

const (
	// maxKnown is the number of those whose times are counted, and knownFor the time for which they are after the last one.
	maxKnown = 10_000
	knownFor = time.Hour
)

// Pace has a limiter for each of many.
type Pace struct {
	atOnce    int
	perSecond rate.Limit
	// one keeps two that ask at the same time from having a limiter each.
	one      sync.Mutex
	limiters *cache.LRUExpireCache
}

// New returns a pace of so many times at once, and so many per second after that.
func New(atOnce int, perSecond rate.Limit) *Pace {
	return &Pace{atOnce: atOnce, perSecond: perSecond, limiters: cache.NewLRUExpireCache(maxKnown)}
}

// Of returns the limiter of one of many.
func (p *Pace) Of(whom string) *rate.Limiter {
	p.one.Lock()
	defer p.one.Unlock()
	known, is := p.limiters.Get(whom)
	if !is {
		known = rate.NewLimiter(p.perSecond, p.atOnce)
	}
	p.limiters.Add(whom, known, knownFor)
	return known.(*rate.Limiter)
}

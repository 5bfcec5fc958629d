package schedules

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// firingsAtOnce is the number of benchmarks that the schedules of a namespace make without a pause, as many as one schedule
	// may have, and firingsPerSecond their rate after that. The API server serves the operator before users: a team could otherwise let
	// it make thousands of benchmarks each minute.
	firingsAtOnce, firingsPerSecond = 64, 2
	// firingPause is the time after which a firing goes on that has to wait.
	firingPause = 10 * time.Second
)

// pace bounds the benchmarks that the schedules of each namespace make. The zero value is ready to use.
type pace struct {
	mu       sync.Mutex
	limiters map[string]*rate.Limiter
}

// allow reports whether a schedule of a namespace may make one more benchmark now.
func (p *pace) allow(namespace string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.limiters[namespace]
	if l == nil {
		p.forget(now)
		if p.limiters == nil {
			p.limiters = map[string]*rate.Limiter{}
		}
		l = rate.NewLimiter(firingsPerSecond, firingsAtOnce)
		p.limiters[namespace] = l
	}
	return l.AllowN(now, 1)
}

// forget drops the namespaces that have not fired lately.
func (p *pace) forget(now time.Time) {
	for namespace, l := range p.limiters {
		if l.TokensAt(now) >= firingsAtOnce {
			delete(p.limiters, namespace)
		}
	}
}

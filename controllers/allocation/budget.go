package allocation

import (
	"time"

	"golang.org/x/time/rate"
)

// Bounds of the writes that only inform people.
const (
	// showRate bounds the writes of explanations and counts over the whole lab, per second.
	showRate = 20
	// writesOfRun is the number of writes that a run costs from its lease on, three of a status and one of the
	// result: each lease takes the place of so many messages.
	writesOfRun = 4
	// leastRate is the rate of first messages for which leases leave no place.
	leastRate = 1
)

// budget bounds the writes that only inform people. A first message that contains no more than that a
// benchmark waits gives way to leases.
type budget struct {
	// all bounds every write. spare bounds first messages next to leases, and least has the ones that leases never take.
	all, spare, least *rate.Limiter
}

func newBudget() *budget {
	return &budget{
		all: rate.NewLimiter(showRate, 2*showRate), spare: rate.NewLimiter(showRate, 2*showRate), least: rate.NewLimiter(leastRate, 1),
	}
}

// lease counts a lease. Leases owe the messages of about a second at most.
func (b *budget) lease(now time.Time) {
	if b.spare.TokensAt(now) > -showRate {
		b.spare.ReserveN(now, writesOfRun)
	}
}

// has reports whether something may be written, and hasPlain whether a first message may be that contains
// no more than that a benchmark waits.
func (b *budget) has(now time.Time) bool { return b.all.TokensAt(now) >= 1 }

func (b *budget) hasPlain(now time.Time) bool {
	return b.has(now) && (b.spare.TokensAt(now) >= 1 || b.least.TokensAt(now) >= 1)
}

// take counts a write, and takePlain such a first message.
func (b *budget) take(now time.Time) { b.all.AllowN(now, 1) }

func (b *budget) takePlain(now time.Time) {
	if !b.spare.AllowN(now, 1) {
		b.least.AllowN(now, 1)
	}
	b.take(now)
}

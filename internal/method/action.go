package method

import (
	"context"
	"time"
)

// action is what happens in a trial beside sending. A trial that is repeated, since
// the generator failed or only just fell short, begins from the start.
type action struct {
	// before is called before sending begins; again says that it was called for this
	// trial already, and that during may have been. It may be nil.
	before func(ctx context.Context, again bool) error
	// does is called once sending has begun. Sending goes on meanwhile, and its end is
	// waited for afterwards.
	does func(ctx context.Context) error
	// settled waits, in place of the settling time, until the counters can be read. It
	// may be nil.
	settled func(ctx context.Context) error

	begun *bool
}

// happening makes an action of one trial.
func happening(before func(ctx context.Context, again bool) error, does func(ctx context.Context) error) action {
	return action{before: before, does: does, begun: new(bool)}
}

func (a action) begin(ctx context.Context) error {
	again := *a.begun
	*a.begun = true
	if a.before == nil {
		return nil
	}
	return a.before(ctx, again)
}

func (a action) during(ctx context.Context) error { return a.does(ctx) }

// sleep lets the time of the generator pass.
func (l *Lab) sleep(ctx context.Context, d time.Duration) error {
	return l.gen.Clock().Sleep(ctx, d)
}

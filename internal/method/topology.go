package method

import (
	"context"
	"fmt"
	"time"

	"nodrop.dev/nodrop/internal/plan"
)

// answerTime is how long a neighbour on a topology of a method's own has to answer.
const answerTime = 2 * time.Second

// apart calls f with a lab whose streams are these alone, between any ports of the
// bed. Unlike those of with, the device has not learnt them: f lets it, by learn,
// where that is not what the method is about. The step after it gets the streams of
// the plan again.
func (l *Lab) apart(ctx context.Context, step plan.Step, streams []plan.Stream, f func(*Lab) error) error {
	info, err := l.gen.Info(ctx)
	if err != nil {
		return fmt.Errorf("asking the generator for its ports: %w", err)
	}
	other := *l
	other.plan.Streams, other.size, other.answered = streams, step.FrameSize, time.Time{}
	if other.hops, err = Resolve(ctx, l.gen, other.plan, info, answerTime); err != nil {
		return err
	}
	l.size = 0
	err = other.persist(ctx, Event{Step: step}, func() error { return other.give(ctx) })
	if err == nil {
		err = f(&other)
	}
	l.trials, l.rested = other.trials, other.rested
	return err
}

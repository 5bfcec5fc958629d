package trials

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// EventKind names what happens in a trial besides sending.
type EventKind string

// The kinds of events.
const (
	// EventReset resets the device, or asks a person to do it.
	EventReset EventKind = "Reset"
	// EventJoin and EventLeave change memberships of multicast groups.
	EventJoin  EventKind = "Join"
	EventLeave EventKind = "Leave"
	// EventAnnounce and EventWithdraw change routes.
	EventAnnounce EventKind = "Announce"
	EventWithdraw EventKind = "Withdraw"
	// EventRefresh asks for all routes of a session again.
	EventRefresh EventKind = "Refresh"
	// EventRestart restarts the BGP of the device.
	EventRestart EventKind = "Restart"
)

// Moment is the time at which an event is to begin in the trials of a test.
type Moment struct {
	Kind EventKind
	// At is the time since the beginning of sending.
	At time.Duration
}

// Stamp contains the times of an event of a trial.
type Stamp struct {
	// Kind of the event.
	Kind EventKind
	// Due is the time at which the event was to begin, Began and Ended are the times at
	// which it did. All count from the beginning of sending, by the clock of the tester.
	Due, Began, Ended time.Duration
	// Ports contains the time at which each port did its part, by the clock of the port's
	// host, which also times frames. It is empty for events in which no port takes part.
	Ports traffic.Moments
}

// Action is an activity in a trial besides sending. All actions of a trial run in parallel.
// A trial that is repeated, since the generator failed or only just fell short, begins from
// the start.
type Action struct {
	// before is called before sending begins. again reports whether it was called for this
	// trial already, and the rest may have happened. It may be nil.
	before func(ctx context.Context, again bool) error
	// kind, at and does are the event: does is called so long after the beginning of
	// sending, and the trial is not over before it has returned. Its error voids the
	// trial. Does is nil when there is no event.
	kind EventKind
	at   time.Duration
	does func(ctx context.Context) (traffic.Moments, error)
	// alongside runs from the beginning of sending. It returns when ctx ends, which it
	// does once frames have settled, and can fail for itself only. Stop ends the sending
	// early; frames settle then as ever. It may be nil.
	alongside func(ctx context.Context, stop func())
	// failed is the error by which alongside voids the trial; nil if it voids none.
	failed *atomic.Pointer[error]
	// settled waits, in place of the settling time, until the counters can be read. It
	// may be nil.
	settled func(ctx context.Context) error
	// finish adds the results of the action to the trial, before the trial is reported. It
	// may be nil.
	finish func(*Trial)
	// EndsSessions reports whether BGP sessions go down by the event, on purpose.
	EndsSessions bool

	begun *bool
}

// EachLoss is an action of trials that measure when frames were lost. Where that matters, a single
// frame that the tester may have lost or caused to be lost makes the tester the limit of the trial.
func EachLoss(matters func(*Trial) bool) Action {
	a := Prepared(func(context.Context, bool) error { return nil })
	a.finish = func(t *Trial) { t.faults.each = matters(t) }
	return a
}

// Prepared is an action that happens before the trial only.
func Prepared(before func(ctx context.Context, again bool) error) Action {
	return Action{before: before, begun: new(bool)}
}

// Timed is an event that happens at a time after the beginning of sending.
func Timed(kind EventKind, at time.Duration, does func(context.Context) (traffic.Moments, error)) Action {
	return Action{kind: kind, at: at, does: does, begun: new(bool)}
}

// Alongside is an activity from the beginning of sending on, which can stop the sending. Its
// error voids the trial.
func Alongside(does func(ctx context.Context, stop func()) error) Action {
	a := Action{begun: new(bool), failed: &atomic.Pointer[error]{}}
	a.alongside = func(ctx context.Context, stop func()) {
		if err := does(ctx, stop); err != nil && ctx.Err() == nil {
			a.failed.Store(&err)
			stop()
		}
	}
	return a
}

// Finished is an action that adds to the trial only.
func Finished(finish func(*Trial)) Action {
	return Action{finish: finish, begun: new(bool)}
}

// After is the action with something that is called before sending begins.
func (a Action) After(before func(ctx context.Context, again bool) error) Action {
	a.before = before
	return a
}

func (a Action) begin(ctx context.Context) error {
	again := *a.begun
	*a.begun = true
	if a.failed != nil {
		a.failed.Store(nil)
	}
	if a.before == nil {
		return nil
	}
	return a.before(ctx, again)
}

// happen waits until the event of an action is due, and lets it happen.
func (a Action) happen(ctx context.Context, clock traffic.Clock, begin time.Time) (Stamp, error) {
	s := Stamp{Kind: a.kind, Due: a.at}
	if err := clock.Sleep(ctx, begin.Add(a.at).Sub(clock.Now())); err != nil {
		return s, err
	}
	s.Began = clock.Now().Sub(begin)
	var err error
	s.Ports, err = a.does(ctx)
	s.Ended = clock.Now().Sub(begin)
	return s, err
}

// OverdueError reports that events of a trial had not ended long after sending had.
type OverdueError struct {
	// Events are the kinds of all events of the trial.
	Events []EventKind
	// After is the time that was waited for them.
	After time.Duration
}

// Error names the events, and how long they were waited for.
func (e *OverdueError) Error() string {
	return fmt.Sprintf("the events of the trial (%v) had not ended %s after the end of sending", e.Events, e.After)
}

// kindsOf are the kinds of the events among actions.
func kindsOf(acts []Action) []EventKind {
	var kinds []EventKind
	for _, a := range acts {
		if a.does != nil {
			kinds = append(kinds, a.kind)
		}
	}
	return kinds
}

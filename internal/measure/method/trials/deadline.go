package trials

import (
	"errors"
	"fmt"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

const (
	// Grace is the time by which a call of the generator may exceed its expected duration.
	// It covers a link that is negotiated again and a new connection to an agent, both
	// within 15 s, and a busy machine.
	Grace = time.Minute
	// slowest is the rate in frames/s at which any tester sends numbered frames of
	// all ports together.
	slowest = 100_000
)

// UnansweredError reports that the generator did not answer within a generous time.
type UnansweredError struct {
	// Awaited is the expected event, such as "the end of sending".
	Awaited string
	// After is the time that was waited.
	After time.Duration
}

// Error names what was awaited, and for how long.
func (e *UnansweredError) Error() string {
	return fmt.Sprintf("the generator did not answer: %s was awaited for %s", e.Awaited, e.After)
}

// paced is implemented by a clock in which time passes at another pace than in the
// real world.
type paced interface {
	// Real returns the duration of d in real time.
	Real(d time.Duration) time.Duration
}

// SendingTime bounds how long a trial sends: its duration, or what its frames take
// at the rates asked for and with a slow tester.
func SendingTime(trial traffic.Trial) time.Duration {
	if trial.Duration > 0 {
		return trial.Duration + LateTolerance(trial.Duration)
	}
	var longest time.Duration
	var frames uint64
	for _, load := range trial.Loads {
		frames += load.Frames
		if r := load.Rate; !load.Max && r.Frames > 0 {
			took := float64(load.Frames) * float64(r.PerNanos) / float64(r.Frames)
			longest = max(longest, load.Delay+time.Duration(took))
		}
	}
	return longest + time.Duration(frames/slowest)*time.Second
}

// nameTrial adds the load and the duration of the trial to an UnansweredError.
func nameTrial(e Event, err error) error {
	if unanswered := (*UnansweredError)(nil); errors.As(err, &unanswered) {
		return fmt.Errorf("trial at %s for %s: %w", Percent(e.LoadPPM), e.Duration, err)
	}
	return err
}

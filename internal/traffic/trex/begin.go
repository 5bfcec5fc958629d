package trex

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// moment is a time of the server's clock in seconds since the server started. A trial is
// timed by it, so that the delay of a call and its answer is not part of the time.
type moment float64

// since is the time from another moment to this.
func (m moment) since(begin moment) time.Duration {
	return time.Duration(float64(m-begin) * float64(time.Second))
}

// timeCall reads the server's time.
var timeCall = call{"ping", nil}

func momentOf(answer json.RawMessage) (moment, error) {
	var clock struct {
		At moment `json:"ts"`
	}
	if err := json.Unmarshal(answer, &clock); err != nil {
		return 0, fmt.Errorf("reading TRex's answer to ping: %w", err)
	}
	return clock.At, nil
}

// begin starts the senders of a trial, in one message that asks for the time first:
// no frame leaves before that moment.
//
// The server also takes a moment at which to begin (start_at_ts). It is not used: a port
// that also had the profile of advertise then sent 43 of 2,976 frames in a second.
func (e *Engine) begin(ctx context.Context, t *trial) error {
	calls := []call{timeCall}
	for _, s := range t.senders {
		calls = append(calls, s.start(profile))
	}
	t.begin = e.server.clock.Now()
	e.trial = t
	answers, err := e.server.client.batch(ctx, calls)
	if err != nil {
		return err
	}
	if t.at, err = momentOf(answers[0]); err != nil {
		return err
	}
	e.sample(e.sampledOf(t))
	return nil
}

// start returns the call that starts a profile. The server's own duration counts the time of
// its scheduler, which goes slower than the clock when the port does: -1 is none, and Wait
// ends the trial.
func (p *port) start(profile string) call {
	return call{"start_traffic", p.profile(profile, params{
		"mul": params{"type": "raw", "op": "abs", "value": 1.0}, "duration": -1.0, "force": true,
		"core_mask": uint64(math.MaxUint64), "start_at_ts": 0,
	})}
}

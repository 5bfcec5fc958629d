package method

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/traffic"
)

// hanging is a fake generator in which one call of the trials, not of learning,
// does not end before its context does, the first few times.
type hanging struct {
	traffic.Generator
	call    string
	times   int
	trial   bool
	stopped int
}

func (h *hanging) hang(ctx context.Context, call string) error {
	if !h.trial || call != h.call || h.times == 0 {
		return nil
	}
	h.times--
	<-ctx.Done()
	return errors.New("the connection was given up")
}

func (h *hanging) Configure(ctx context.Context, s []traffic.Stream) error {
	if h.call == "configure" {
		<-ctx.Done()
		return ctx.Err()
	}
	return h.Generator.Configure(ctx, s)
}

func (h *hanging) Start(ctx context.Context, t traffic.Trial) error {
	h.trial = t.Duration > 0
	if err := h.hang(ctx, "start"); err != nil {
		return err
	}
	return h.Generator.Start(ctx, t)
}

func (h *hanging) Wait(ctx context.Context) error {
	if err := h.hang(ctx, "wait"); err != nil {
		return err
	}
	return h.Generator.Wait(ctx)
}

func (h *hanging) Read(ctx context.Context) (traffic.Measurement, error) {
	if err := h.hang(ctx, "read"); err != nil {
		return traffic.Measurement{}, err
	}
	return h.Generator.Read(ctx)
}

func (h *hanging) Stop(ctx context.Context) error {
	h.stopped++
	return h.Generator.Stop(ctx)
}

// A generator that never answers ends the trial, which is begun again; one that
// still does not answer ends the run with an error that says what was awaited.
func TestAGeneratorThatHangs(t *testing.T) {
	tests := map[string]struct {
		call  string
		times int
		err   string
	}{
		"once":           {"wait", 1, ""},
		"before":         {"configure", 9, "preparing latency 64 B at 50%: the generator failed 3 times: the generator did not answer: the taking over of streams was awaited for 1m0s"},
		"at the start":   {"start", 9, "trial at 50% for 1m0s: starting to send: the generator did not answer: the beginning of sending was awaited for 1m0s"},
		"while it sends": {"wait", 9, "trial at 50% for 1m0s: waiting for the end of sending: the generator did not answer: the end of sending was awaited for 1m0s"},
		"at the end":     {"read", 9, "trial at 50% for 1m0s: reading counters: the generator did not answer: the reading of counters was awaited for 1m0s"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := testPlan(t)
				gen := &hanging{Generator: simulate(t, header+"\n64,100,1,2,3\n", p), call: tc.call, times: tc.times}
				out, err := Run(t.Context(), open(t, gen, p, nil), p.Steps[1])
				if tc.err == "" {
					if err != nil || out.Trial.Lost != 0 || gen.stopped != 1 {
						t.Errorf("%+v, %v, stopped %d times", out, err, gen.stopped)
					}
					return
				}
				var unanswered *trials.UnansweredError
				if !errors.As(err, &unanswered) || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("error %v, want %q", err, tc.err)
				}
				if gen.stopped != trials.Attempts {
					t.Errorf("stopped %d times, want %d", gen.stopped, trials.Attempts)
				}
			})
		})
	}
}

// If the run is canceled, the hanging call ends with that cause.
func TestAnEndComesBeforeTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := testPlan(t)
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		gen := &hanging{Generator: simulate(t, header+"\n64,100,1,2,3\n", p), call: "wait", times: 9}
		go func() {
			time.Sleep(time.Second)
			cancel(enough)
		}()
		if _, err := Run(ctx, open(t, gen, p, nil), p.Steps[1]); !errors.Is(err, enough) {
			t.Errorf("error %v, want the cause", err)
		}
	})
}

package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"nodrop.dev/nodrop/internal/traffic"
)

// forgetful is an engine that loses its trial, as one does whose server restarts.
type forgetful struct {
	*fakeEngine
	lost atomic.Bool
}

var errForgotten = fmt.Errorf("%w: the server was started again", traffic.ErrInterrupted)

func (f *forgetful) Wait(ctx context.Context) error {
	if f.lost.Load() {
		return errForgotten
	}
	return f.fakeEngine.Wait(ctx)
}

func (f *forgetful) Stop(ctx context.Context) error {
	if f.lost.Load() {
		return errForgotten
	}
	return f.fakeEngine.Stop(ctx)
}

// The agent lives, but its engine lost the trial: the caller learns that the trial is void,
// and not that sending stopped.
func TestEngineLosesATrial(t *testing.T) {
	l, wire := newLab(t), &cable{}
	engine := &forgetful{fakeEngine: wire.engine("node-a", "p1", "p2")}
	address, _ := l.serve(0, "127.0.0.1:0", engine)
	c := l.dial(t.Context(), l.endpoint(0, address, "p1", "p2"))
	endless(t, c, engine.fakeEngine)
	engine.lost.Store(true)
	for doing, call := range map[string]func(context.Context) error{"waiting": c.Wait, "stopping": c.Stop} {
		err := call(t.Context())
		if broken := (*InterruptedError)(nil); !errors.Is(err, traffic.ErrInterrupted) || errors.As(err, &broken) || !strings.Contains(err.Error(), errForgotten.Error()) {
			t.Errorf("%s: %v, want %v", doing, err, errForgotten)
		}
	}
	engine.lost.Store(false)
	endless(t, c, engine.fakeEngine) // the trial is repeated
}

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

// fakeDriver is an engine that drives a server, which can be lost in a trial while
// the agent lives on.
type fakeDriver struct {
	*fakeEngine
	lost atomic.Bool
}

func (d *fakeDriver) Read(ctx context.Context) (traffic.Measurement, error) {
	if d.lost.Load() {
		// What went wrong underneath may be a timeout; the trial is lost all the same.
		return traffic.Measurement{}, fmt.Errorf("%w: the server does not answer: %w", traffic.ErrInterrupted, context.DeadlineExceeded)
	}
	return d.fakeEngine.Read(ctx)
}

// An engine that loses its trial is told apart from one that fails, and the trial
// can be repeated on the same connection.
func TestEngineLosesItsTrial(t *testing.T) {
	l, wire := newLab(t), &cable{}
	driver := &fakeDriver{fakeEngine: wire.engine("node-a", "p1", "p2")}
	address, _ := l.serve(0, "127.0.0.1:0", driver)
	c := l.dial(t.Context(), l.endpoint(0, address, "p1", "p2"))
	streams := []traffic.Stream{pair(1, "p1", "p2")}
	must(t, "configuring", c.Configure(t.Context(), streams))
	must(t, "starting", c.Start(t.Context(), frames(10, 1)))

	driver.lost.Store(true)
	_, err := c.Read(t.Context())
	var connection *InterruptedError
	if !errors.Is(err, traffic.ErrInterrupted) || errors.As(err, &connection) || errors.Is(err, traffic.ErrLost) || !strings.Contains(err.Error(), "the server does not answer") {
		t.Fatalf("a server that is lost gives %v", err)
	}
	must(t, "stopping", c.Stop(t.Context()))
	if !c.connected() {
		t.Error("the agent is given up, though only its engine lost the trial")
	}

	driver.lost.Store(false)
	must(t, "configuring", c.Configure(t.Context(), streams))
	must(t, "starting", c.Start(t.Context(), frames(10, 1)))
	if m, err := c.Read(t.Context()); err != nil || m.Tx[1].Sent != 10 {
		t.Errorf("the repeated trial: %v, %v", m, err)
	}
}

package agent

import (
	"context"
	"errors"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// fakeCore is an engine without optional interfaces.
type fakeCore struct{ traffic.Generator }

// What one agent sent, another may have received.
func TestFleetProgressAddsUp(t *testing.T) {
	f, _, _ := newFleet(t, "node-a", "node-b")
	must(t, "configuring", f.Configure(t.Context(), []traffic.Stream{pair(1, "p1", "p2"), pair(2, "p2", "p3"), pair(3, "p1", "p3")}))
	must(t, "starting", f.Start(t.Context(), frames(10, 1, 2, 3)))
	reporter, ok := traffic.As[traffic.ProgressReporter](f)
	if !ok {
		t.Fatal("the fleet does not report, and all of its agents do")
	}
	got, err := reporter.Progress(t.Context(), 3)
	must(t, "reporting", err)
	if want := (traffic.Progress{Expected: 30, Received: 30, Lost: 6}); got != want || !got.Back() {
		t.Errorf("%+v, want %+v", got, want)
	}
	if _, err := reporter.Progress(t.Context(), 0); err == nil {
		t.Error("a reorder window of 0 was taken")
	}
}

// The progress is reported while the agent waits for the end of sending, and then the trial is
// stopped.
func TestProgressComesWhileATrialRuns(t *testing.T) {
	c, engine, waited := waiting(t)
	p, err := c.Progress(t.Context(), time.Microsecond)
	if err != nil || p.Lost != 1000 {
		t.Errorf("%+v, error %v", p, err)
	}
	engine.Stop(t.Context())
	must(t, "waiting", <-waited)
}

// The records of microflows are read while the agent waits for the end of sending.
func TestMicroflowsComeWhileATrialRuns(t *testing.T) {
	c, engine, waited := waiting(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var got traffic.MicroflowPart
	err := c.Microflows(ctx, traffic.RxKey{Stream: 1, Port: "p2"}, func(p traffic.MicroflowPart) error {
		got = p
		return nil
	})
	if err != nil || len(got.Records) != 2 || got.Records[1] != (traffic.MicroflowRecord{Received: 3, Last: 7}) || got.FirstNs[1] != 5 || got.FirstNs[0] != 0 {
		t.Errorf("%+v, error %v", got, err)
	}
	engine.Stop(t.Context())
	must(t, "waiting", <-waited)
}

// An engine that does not report is not asked, and the trial goes on.
func TestAnEngineThatDoesNotReport(t *testing.T) {
	l, wire := newLab(t), &cable{}
	address, _ := l.serve(0, "127.0.0.1:0", fakeCore{wire.engine("node-a", "p1", "p2")})
	c := l.dial(t.Context(), l.endpoint(0, address, "p1", "p2"))
	must(t, "configuring", c.Configure(t.Context(), []traffic.Stream{pair(1, "p1", "p2")}))
	if _, ok := traffic.As[traffic.ProgressReporter](c); ok {
		t.Error("the client reports for an engine that does not")
	}
	if _, err := c.Progress(t.Context(), time.Second); !errors.Is(err, traffic.ErrUnsupported) {
		t.Errorf("error %v, want that it is not supported", err)
	}
	must(t, "starting", c.Start(t.Context(), frames(10, 1)))
	must(t, "waiting", c.Wait(t.Context()))
}

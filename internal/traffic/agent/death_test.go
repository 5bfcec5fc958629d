package agent

import (
	"context"
	"errors"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/testkit/testserver"
	"nodrop.dev/nodrop/internal/traffic"
)

// endless begins a trial that only Stop ends.
func endless(t *testing.T, c traffic.Generator, engine *fakeEngine) {
	t.Helper()
	must(t, "configuring", c.Configure(t.Context(), []traffic.Stream{pair(1, "p1", "p2")}))
	must(t, "starting", c.Start(t.Context(), frames(0, 1)))
	if engine.busy() == nil {
		t.Fatal("nothing is sent")
	}
}

// waiting is a client whose agent waits for the end of an endless trial; waited gets the
// end of that.
func waiting(t *testing.T) (c *Client, engine *fakeEngine, waited chan error) {
	t.Helper()
	l, wire := newLab(t), &cable{}
	engine = wire.engine("node-a", "p1", "p2")
	address, _ := l.serve(0, "127.0.0.1:0", engine)
	c = l.dial(t.Context(), l.endpoint(0, address, "p1", "p2"))
	endless(t, c, engine)
	waited = make(chan error, 1)
	go func() { waited <- c.Wait(t.Context()) }()
	eventually(t, "the agent waits", func() bool { return engine.users.Load() == 1 })
	return c, engine, waited
}

func TestSendingStopsWithoutController(t *testing.T) {
	t.Parallel() // It waits.
	for name, die := range map[string]func(*proxy, *Client){
		"the process died":   func(p *proxy, _ *Client) { p.cut() },
		"the node fell dumb": func(p *proxy, _ *Client) { p.frozen.Store(true) },
		"the client closed":  func(_ *proxy, c *Client) { c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			l, wire := newLab(t), &cable{}
			engine := wire.engine("node-a", "p1", "p2")
			address, _ := l.serve(0, "127.0.0.1:0", engine)
			network := newProxy(t, address)
			c := l.dial(t.Context(), l.endpoint(0, network.address, "p1", "p2"))
			endless(t, c, engine)

			die(network, c)
			eventually(t, "sending stopped", func() bool { return engine.busy() == nil })

			// A restarted runner takes over, by another way.
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			next := l.dial(ctx, l.endpoint(0, address, "p1", "p2"))
			endless(t, next, engine)
			must(t, "stopping", next.Stop(t.Context()))
			if engine.torn.Load() {
				t.Error("the generator was used by two goroutines at a time")
			}
		})
	}
}

func TestAgentRestartsBetweenCalls(t *testing.T) {
	t.Parallel() // It waits.
	l, wire := newLab(t), &cable{}
	address, kill := l.serve(0, testserver.FreeAddress(t), wire.engine("node-a", "p1", "p2"))
	c := l.dial(t.Context(), l.endpoint(0, address, "p1", "p2"))
	streams := []traffic.Stream{pair(1, "p1", "p2")}
	must(t, "configuring", c.Configure(t.Context(), streams))

	kill()
	wire.engines = nil
	l.serve(0, address, wire.engine("node-a", "p1", "p2"))
	eventually(t, "the client noticed", func() bool { return !c.link.connected() })

	var interrupted *InterruptedError
	for _, call := range []func() error{
		func() error { return c.Start(t.Context(), frames(10, 1)) },
		func() error { return c.Wait(t.Context()) },
		func() error { _, err := c.Read(t.Context()); return err },
	} {
		if err := call(); !errors.Is(err, traffic.ErrInterrupted) || !errors.As(err, &interrupted) || !interrupted.Restarted {
			t.Fatalf("after a restart: %v", err)
		}
	}
	must(t, "stopping", c.Stop(t.Context()))
	// The same trial again.
	must(t, "configuring", c.Configure(t.Context(), streams))
	must(t, "starting", c.Start(t.Context(), frames(10, 1)))
	if m, err := c.Read(t.Context()); err != nil || m.Tx[1].Sent != 10 {
		t.Errorf("the repeated trial: %v, %v", m, err)
	}
}

func TestAgentDiesDuringATrial(t *testing.T) {
	t.Parallel() // It waits.
	l, wire := newLab(t), &cable{}
	engine := wire.engine("node-a", "p1", "p2")
	address, kill := l.serve(0, "127.0.0.1:0", engine)
	c := l.dial(t.Context(), l.endpoint(0, address, "p1", "p2"))
	endless(t, c, engine)
	waited := make(chan error, 1)
	go func() { waited <- c.Wait(t.Context()) }()
	eventually(t, "the call arrived", func() bool { return engine.users.Load() == 1 })

	kill()
	if err := <-waited; !errors.Is(err, traffic.ErrInterrupted) {
		t.Fatalf("a death in the middle gives %v", err)
	}
	if engine.busy() != nil {
		t.Error("the dead agent still sends")
	}
	// No agent comes back: the wait ends, with ErrLost.
	if err := c.Configure(t.Context(), nil); !errors.Is(err, ErrLost) || !errors.Is(err, traffic.ErrLost) {
		t.Errorf("an agent that stays away gives %v", err)
	}
}

func TestDumbAgentIsNoticed(t *testing.T) {
	t.Parallel() // It waits.
	l, wire := newLab(t), &cable{}
	engine := wire.engine("node-a", "p1", "p2")
	address, _ := l.serve(0, "127.0.0.1:0", engine)
	network := newProxy(t, address)
	c := l.dial(t.Context(), l.endpoint(0, network.address, "p1", "p2"))
	endless(t, c, engine)
	network.frozen.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.Wait(ctx); !errors.Is(err, traffic.ErrInterrupted) {
		t.Errorf("an agent that fell dumb gives %v", err)
	}
}

func TestConnectionBreaksAndComesBack(t *testing.T) {
	l, wire := newLab(t), &cable{}
	engine := wire.engine("node-a", "p1", "p2")
	address, _ := l.serve(0, "127.0.0.1:0", engine)
	network := newProxy(t, address)
	c := l.dial(t.Context(), l.endpoint(0, network.address, "p1", "p2"))
	endless(t, c, engine)
	network.cut()
	eventually(t, "the client noticed", func() bool { return !c.link.connected() })
	var interrupted *InterruptedError
	if _, err := c.Read(t.Context()); !errors.As(err, &interrupted) || interrupted.Restarted {
		t.Fatalf("after a broken connection: %v", err)
	}
	if engine.busy() != nil {
		t.Error("the agent still sends for a session that ended")
	}
	endless(t, c, engine)
}

func TestCallsEndWithTheirContext(t *testing.T) {
	l, wire := newLab(t), &cable{}
	engine := wire.engine("node-a", "p1", "p2")
	address, _ := l.serve(0, "127.0.0.1:0", engine)
	c := l.dial(t.Context(), l.endpoint(0, address, "p1", "p2"))
	endless(t, c, engine)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := c.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a wait without end gives %v", err)
	}
	must(t, "stopping", c.Stop(t.Context()))
	if engine.busy() != nil || engine.torn.Load() {
		t.Errorf("stopping after a wait that was given up: sending %v, torn %v", engine.busy() != nil, engine.torn.Load())
	}
}

package trex

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/traffictest"
)

// A server that is started again has lost the trial, not the run: every call says
// so until the streams are given again, and then trials are exact.
func TestRestart(t *testing.T) {
	everyServer(t, false, func(t *testing.T, s suite) {
		s.restartable(t)
		e := s.open(t, 0)
		configure(t, e, ipv4(t, e, 1))
		exactly(t, run(t, e, frames(500, 20_000)), 500)
		if err := e.Start(t.Context(), frames(1_000_000, 20_000)); err != nil {
			t.Fatal(err)
		}
		waited := make(chan error, 1)
		go func() { waited <- e.Wait(t.Context()) }()
		s.restart(t)
		interrupted(t, "waiting for the end", <-waited)
		_, err := e.Read(t.Context())
		interrupted(t, "reading", err)
		_, err = traffictest.SampleNow(t, e)
		interrupted(t, "sampling", err)
		if err := e.Stop(t.Context()); err != nil {
			t.Errorf("stopping what a server that is gone sent: %v", err)
		}
		interrupted(t, "waiting after the stop", e.Wait(t.Context()))
		interrupted(t, "starting without configuring", e.Start(t.Context(), frames(500, 20_000)))
		configure(t, e, ipv4(t, e, 1))
		exactly(t, run(t, e, frames(12_345, 50_000)), 12_345)
		// Between two trials.
		s.restart(t)
		interrupted(t, "starting", e.Start(t.Context(), frames(500, 20_000)))
		configure(t, e, ipv4(t, e, 1))
		exactly(t, run(t, e, frames(500, 20_000)), 500)
	})
}

func interrupted(t *testing.T, doing string, err error) {
	t.Helper()
	if !errors.Is(err, traffic.ErrInterrupted) {
		t.Errorf("%s: %v, want that the trial was interrupted", doing, err)
	}
}

// Configure waits for a server that is away, as long as it may.
func TestConfigureWaitsForTheServer(t *testing.T) {
	f, e := openFake(t, 0)
	configure(t, e, ipv4(t, e, 1))
	if err := e.Start(t.Context(), frames(1_000_000, 20_000)); err != nil {
		t.Fatal(err)
	}
	f.down()
	interrupted(t, "waiting for the end", e.Wait(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), 3*returnEvery)
	defer cancel()
	err := e.Configure(ctx, []traffic.Stream{ipv4(t, e, 1)})
	interrupted(t, "configuring without a server", err)
	if text := "did not come back: calling TRex"; !strings.Contains(err.Error(), text) {
		t.Errorf("%v: want %q", err, text)
	}
	configured := make(chan error, 1)
	go func() { configured <- e.Configure(t.Context(), []traffic.Stream{ipv4(t, e, 1)}) }()
	select {
	case err := <-configured:
		t.Errorf("configuring without a server ended: %v", err)
	case <-time.After(2 * returnEvery):
	}
	f.up()
	if err := <-configured; err != nil {
		t.Fatal(err)
	}
	exactly(t, run(t, e, frames(500, 20_000)), 500)
}

// Closing does not wait for a server that is gone.
func TestCloseAfterALoss(t *testing.T) {
	f, e := openFake(t, 0)
	configure(t, e, ipv4(t, e, 1))
	if err := e.Start(t.Context(), frames(1_000_000, 20_000)); err != nil {
		t.Fatal(err)
	}
	f.down()
	interrupted(t, "waiting for the end", e.Wait(t.Context()))
	if err := e.Close(); err != nil {
		t.Errorf("closing after the server is gone: %v", err)
	}
	f.up() // for the end of the test
}

// A broken connection does not mean another server: sending stops, and the ports can
// still be released.
func TestBrokenConnection(t *testing.T) {
	everyServer(t, false, func(t *testing.T, s suite) {
		e := s.open(t, 0)
		configure(t, e, ipv4(t, e, 1))
		for range 2 {
			if err := e.Start(t.Context(), frames(1_000_000, 10_000)); err != nil {
				t.Fatal(err)
			}
			if err := e.server.client.socket.Close(); err != nil {
				t.Fatal(err)
			}
			interrupted(t, "waiting for the end", e.Wait(t.Context()))
			if err := e.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, err := e.Read(t.Context())
			interrupted(t, "reading", err)
			if _, err := e.server.afterLoss(t.Context(), func() error {
				now, err := e.server.named("left").status(t.Context())
				if now.State != "STREAMS" {
					t.Errorf("left is in state %s after the stop", now.State)
				}
				return err
			}); err != nil {
				t.Error(err)
			}
			configure(t, e, ipv4(t, e, 1))
			exactly(t, run(t, e, frames(500, 20_000)), 500)
		}
	})
}

// A caller that gives up loses the connection only: the server is found again.
func TestGivingUpIsNoLoss(t *testing.T) {
	everyServer(t, false, func(t *testing.T, s suite) {
		e := s.open(t, 0)
		configure(t, e, ipv4(t, e, 1))
		if err := e.Start(t.Context(), frames(2_000, 10_000)); err != nil {
			t.Fatal(err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := e.Wait(gone); !errors.Is(err, context.Canceled) {
			t.Errorf("%v: want that the context ended", err)
		}
		if err := e.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		settle(t, e)
		m, err := e.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		exactly(t, m, 2_000)
	})
}

// What was resolved is set at a server that was started again, or it would not
// answer ARP for the port any more.
func TestResolvedAfterARestart(t *testing.T) {
	f := newFake(t)
	e, err := New(t.Context(), Options{Endpoint: f.endpoint, Ports: []Port{
		{Name: "left", Index: 0, Addresses: []netip.Prefix{netip.MustParsePrefix("198.18.0.2/24")}}, {Name: "right", Index: 1},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	f.hosts[addr("198.18.0.1")] = traffic.MAC{2, 0, 0, 0, 9, 4}
	if _, err := e.Resolve(t.Context(), "left", addr("198.18.0.1")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		f.down()
		f.up()
		_, err := e.Resolve(t.Context(), "left", addr("198.18.0.1"))
		interrupted(t, "resolving", err)
		configure(t, e, ipv4(t, e, 1))
		if p := f.ports[0]; p.src != "198.18.0.2" || p.dst != "198.18.0.1" || p.inService {
			t.Errorf("the server was set to %q and %q, service mode is %t", p.src, p.dst, p.inService)
		}
	}
}

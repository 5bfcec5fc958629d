package agent

import (
	"context"
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/traffic"
)

func TestGeneratorOverTheWire(t *testing.T) {
	l, wire := newLab(t), &cable{}
	engine := wire.engine("node-a", "p1", "p2")
	address, _ := l.serve(0, "127.0.0.1:0", engine)
	c := l.dial(t.Context(), l.endpoint(0, address, "p1", "p2"))

	wantInfo, _ := engine.Info(t.Context())
	info, err := c.Info(t.Context())
	must(t, "info", err)
	if diff := cmp.Diff(wantInfo, info); diff != "" {
		t.Errorf("info changed on the wire (-want +got):\n%s", diff)
	}

	streams := []traffic.Stream{pair(0, "p1", "p2"), pair(65535, "p2", "p1")}
	streams[1].Headers.SrcIP = netip.MustParseAddr("2001:2::1")
	streams[1].Headers.DstIP = netip.MustParseAddr("2001:2:0:1::1")
	must(t, "configuring", c.Configure(t.Context(), streams))
	if diff := cmp.Diff(streams, engine.streams, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("streams changed on the wire (-want +got):\n%s", diff)
	}

	must(t, "starting", c.Start(t.Context(), frames(1000, 0, 65535)))
	must(t, "waiting", c.Wait(t.Context()))
	must(t, "stopping", c.Stop(t.Context()))
	got, err := c.Read(t.Context())
	must(t, "reading", err)
	if diff := cmp.Diff(engine.m, got); diff != "" {
		t.Errorf("the measurement changed on the wire (-want +got):\n%s", diff)
	}
	if got.Rx[traffic.RxKey{Stream: 65535, Port: "p1"}].Received != 1000 {
		t.Errorf("stream 65535 is missing: %v", got.Rx)
	}
	if engine.torn.Load() {
		t.Error("the generator was used by two goroutines at a time")
	}
}

func TestErrorsKeepTheirTypeOverTheWire(t *testing.T) {
	l, wire := newLab(t), &cable{}
	engine := wire.engine("node-a", "p1")
	gateway := netip.MustParseAddr("198.18.1.1")
	// Like a real engine: asks until the context ends.
	engine.resolve = func(ctx context.Context, port string, addr netip.Addr) (traffic.MAC, error) {
		switch port {
		case "p1":
			<-ctx.Done()
			return traffic.MAC{}, &traffic.UnresolvedError{Port: port, Addr: addr}
		case "p2":
			return traffic.MAC{}, traffic.ErrUnsupported
		}
		return traffic.MAC{2, 3, 4, 5, 6, 7}, nil
	}
	address, _ := l.serve(0, "127.0.0.1:0", engine)
	c := l.dial(t.Context(), l.endpoint(0, address, "p1", "p2", "p3"))

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := c.Resolve(ctx, "p1", gateway)
	var unresolved *traffic.UnresolvedError
	if !errors.As(err, &unresolved) || *unresolved != (traffic.UnresolvedError{Port: "p1", Addr: gateway}) {
		t.Errorf("nobody answers: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if _, err := c.Resolve(ctx, "p1", gateway); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled question gives %v", err)
	}
	if _, err := c.Resolve(t.Context(), "p2", gateway); !errors.Is(err, traffic.ErrUnsupported) || !strings.Contains(err.Error(), pki.AgentName(uid, 0)) {
		t.Errorf("an engine that cannot gives %v", err)
	}
	if mac, err := c.Resolve(t.Context(), "p3", gateway); err != nil || mac != (traffic.MAC{2, 3, 4, 5, 6, 7}) {
		t.Errorf("an answer gives %v, %v", mac, err)
	}
	if _, err := c.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "reading counters: there was no trial") || strings.Contains(err.Error(), "rpc error") {
		t.Errorf("another error gives %v", err)
	}
	if err := c.Start(t.Context(), frames(1, 1)); err == nil || !strings.Contains(err.Error(), "no streams are configured") {
		t.Errorf("starting without streams gives %v", err)
	}
}

// 65,536 streams, each with a filled histogram, are far above the limit of one
// message.
func TestManyStreams(t *testing.T) {
	l, wire := newLab(t), &cable{}
	engine := wire.engine("node-a", "p1", "p2")
	address, _ := l.serve(0, "127.0.0.1:0", engine)
	c := l.dial(t.Context(), l.endpoint(0, address, "p1", "p2"))
	streams := make([]traffic.Stream, 65536)
	trial := traffic.Trial{Loads: map[uint16]traffic.Load{}}
	for i := range streams {
		streams[i] = pair(uint16(i), "p1", "p2")
		trial.Loads[uint16(i)] = traffic.Load{Max: true, Frames: uint64(i) + 1}
	}
	must(t, "configuring", c.Configure(t.Context(), streams))
	must(t, "starting", c.Start(t.Context(), trial))
	for i := range 64 {
		key := traffic.RxKey{Stream: uint16(i), Port: "p2"}
		rx := engine.m.Rx[key]
		rx.Latency.Buckets = map[uint32]uint64{}
		for b := range uint32(traffic.BucketCount) {
			rx.Latency.Buckets[b] = 1 << 60
		}
		engine.m.Rx[key] = rx
	}
	got, err := c.Read(t.Context())
	must(t, "reading", err)
	if len(engine.streams) != 65536 || len(got.Tx) != 65536 || len(got.Rx) != 65536 {
		t.Fatalf("%d streams, %d tx, %d rx arrived, want 65536 each", len(engine.streams), len(got.Tx), len(got.Rx))
	}
	if !reflect.DeepEqual(engine.m, got) {
		t.Error("the measurement changed on the wire")
	}
}

func TestOneControllerAtATime(t *testing.T) {
	l, wire := newLab(t), &cable{}
	address, _ := l.serve(0, "127.0.0.1:0", wire.engine("node-a", "p1"))
	e := l.endpoint(0, address, "p1")
	first := l.dial(t.Context(), e)

	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if c, err := Dial(ctx, e, l.pki.Runner, quick); !errors.Is(err, ErrBusy) {
		if err == nil {
			c.Close()
		}
		t.Fatalf("a second controller gets %v, want ErrBusy", err)
	}
	if _, err := first.Info(t.Context()); err != nil {
		t.Errorf("the first controller was disturbed: %v", err)
	}
	must(t, "closing", first.Close())
	if _, err := first.Info(t.Context()); err == nil {
		t.Error("a closed client still answers")
	}
	second := l.dial(t.Context(), e)
	if _, err := second.Info(t.Context()); err != nil {
		t.Errorf("the second controller: %v", err)
	}
}

func TestOnlyTheRunnerMayDial(t *testing.T) {
	t.Parallel() // It waits.
	l, wire := newLab(t), &cable{}
	address, _ := l.serve(0, "127.0.0.1:0", wire.engine("node-a", "p1"))
	other := newLab(t)
	// What the server refuses, the client sometimes only sees as a broken pipe.
	for name, c := range map[string]struct {
		bundle   pki.Bundle
		endpoint Endpoint
		reason   string
	}{
		"the operator":                   {l.pki.Operator, l.endpoint(0, address), ""},
		"another agent":                  {l.pki.Agents[1], l.endpoint(0, address), ""},
		"the runner of another lab":      {other.pki.Runner, l.endpoint(0, address), "unknown authority"},
		"the runner, at another's place": {l.pki.Runner, l.endpoint(1, address), "agent-1.0c5f.nodrop"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		client, err := Dial(ctx, c.endpoint, c.bundle, quick)
		cancel()
		if err == nil {
			client.Close()
			t.Errorf("%s was let in", name)
		} else if !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: the reason is missing: %v", name, err)
		}
	}
}

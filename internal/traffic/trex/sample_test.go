package trex

import (
	"context"
	"errors"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/traffictest"
)

// Samples are read by a connection of their own while the engine waits for the end of
// sending. One that is given up in the middle of a call loses that connection only.
func TestSamplesDoNotDisturbATrial(t *testing.T) {
	_, e := openFake(t, 0)
	configure(t, e, ipv4(t, e, 1))
	if err := e.Start(t.Context(), frames(20_000, 20_000)); err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() { waited <- e.Wait(t.Context()) }()
	last := traffic.Sample{}
	for range 5 {
		ctx, enough := context.WithCancel(t.Context())
		err := e.Sample(ctx, traffic.Sampling{Interval: time.Millisecond, Span: time.Hour}, func(s traffic.Sample) {
			if s.Interval <= last.Interval || s.Sent < last.Sent || s.Received < last.Received {
				t.Errorf("%+v after %+v", s, last)
			}
			last = s
			go enough() // at any moment of the next call
		})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("sampling: %v", err)
		}
	}
	if err := <-waited; err != nil {
		t.Fatalf("waiting for the end: %v", err)
	}
	m, err := e.Read(t.Context())
	if err != nil || m.Tx[1].Sent != 20_000 || m.Rx[traffic.RxKey{Stream: 1, Port: "right"}].Received != 20_000 {
		t.Errorf("%+v, %v", m, err)
	}
	if s, err := traffictest.SampleNow(t, e); err != nil || s.Sent != 20_000 || s.Received != 20_000 {
		t.Errorf("after the end: %+v, %v", s, err)
	}
	s, err := traffictest.PortsNow(t, e)
	if err != nil {
		t.Fatal(err)
	}
	tx, rx := s.Ports.Tx[traffic.ClassAt{Port: "left"}], s.Ports.Rx[traffic.ClassAt{Port: "right"}]
	if want := m.Rx[traffic.RxKey{Stream: 1, Port: "right"}]; tx.Sent != 20_000 || rx.Received != want.Received || rx.Latency.Count != want.Latency.Count {
		t.Errorf("ports after the end: %+v and %+v, want %+v", tx, rx, want)
	}
}

package server

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/trex"
)

// TestFramesPass sends the largest frames that fit through rings of both kinds, and
// wants each of them back: the kernel cuts off what a place of the ring cannot hold,
// and TRex then does not recognize it. Cards have to pass the same frames.
func TestFramesPass(t *testing.T) {
	dir := realDir(t)
	if !alone(t) {
		return
	}
	const frames = 4000
	for name, c := range map[string]struct{ mtu, frame int }{
		"1500 bytes":              {1500, 1518},
		"most of the small place": {1960, 1978},
		"just above it":           {1961, 1979},
		"jumbo":                   {9198, 9216},
	} {
		t.Run(name, func(t *testing.T) {
			config := joined(t, dir, c.mtu)
			if config.Software != nil {
				defer remove(t, "p1")
			}
			s, err := Start(bounded(t), config, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			m := send(t, s.Endpoint(), c.frame, frames, 10_000)
			for _, port := range []string{"p1", "p2"} {
				id, other := uint16(1), "p2"
				if port == "p2" {
					id, other = 2, "p1"
				}
				if tx, rx := m.Tx[id].Sent, m.Rx[traffic.RxKey{Stream: id, Port: other}].Received; tx != frames || rx != frames {
					t.Errorf("from %s: %d frames of %d bytes sent, %d received, want %d; %v", port, tx, c.frame, rx, frames, m.Notes)
				}
			}
		})
	}
}

// send sends frames in both directions at a rate, and returns what was counted.
func send(t *testing.T, endpoint string, size int, frames uint64, perSecond int64) traffic.Measurement {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	e, err := trex.New(ctx, trex.Options{Endpoint: endpoint, Ports: []trex.Port{{Name: "p1", Index: 0}, {Name: "p2", Index: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	info, err := e.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var streams []traffic.Stream
	loads := map[uint16]traffic.Load{}
	for i, port := range []string{"p1", "p2"} {
		other := []string{"p2", "p1"}[i]
		s := traffic.Stream{ID: uint16(i + 1), TxPort: port, RxPorts: []string{other}, FrameSize: size, Headers: traffic.Headers{
			SrcIP: netip.MustParseAddr("198.18.0.2"), DstIP: netip.MustParseAddr("198.18.1.2"),
			SrcIPCount: 1, DstIPCount: 1, SrcPort: 1024, DstPort: 7, SrcPortCount: 1, DstPortCount: 1,
		}}
		for _, p := range info.Ports {
			if p.Name == other {
				s.Headers.DstMAC = p.MAC
			}
		}
		streams = append(streams, s)
		loads[s.ID] = traffic.Load{Rate: traffic.Rate{Frames: perSecond, PerNanos: int64(time.Second)}, Frames: frames}
	}
	if err := e.Configure(ctx, streams); err != nil {
		t.Fatal(err)
	}
	if err := e.Start(ctx, traffic.Trial{Loads: loads}); err != nil {
		t.Fatal(err)
	}
	if err := e.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	m, err := e.Read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

package trex

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/traffictest"
)

// two are engines on two fake servers, whose ports a cable joins each to each: left
// to left, and right to right.
func two(t *testing.T, timed int) (engines [2]*Engine, fakes [2]*fakeServer) {
	t.Helper()
	for i := range fakes {
		fakes[i] = newFake(t)
		e, err := New(t.Context(), Options{Endpoint: fakes[i].endpoint, TimedFramesPerSecond: timed, Ports: []Port{
			{Name: fmt.Sprintf("left%d", i), Index: 0}, {Name: fmt.Sprintf("right%d", i), Index: 1},
		}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
		engines[i] = e
	}
	join(fakes[0], fakes[1])
	return engines, fakes
}

// between is a stream of 64-byte frames from one port to another.
func between(id uint16, from, to string) traffic.Stream {
	return traffic.Stream{ID: id, TxPort: from, RxPorts: []string{to}, FrameSize: 64, Headers: traffic.Headers{
		DstMAC: traffic.MAC{2, 0, 0, 0, 0, 9}, SrcIP: addr("198.18.0.2"), DstIP: addr("198.18.1.2"),
		SrcIPCount: 1, DstIPCount: 1, SrcPort: 1024, DstPort: 7, SrcPortCount: 1, DstPortCount: 1,
	}}
}

// crossing are streams in both directions between the left ports, in no order.
func crossing() []traffic.Stream {
	var streams []traffic.Stream
	for _, id := range []uint16{9, 2, 40, 7, 300, 31} {
		from, to := "left0", "left1"
		if id%2 == 1 {
			from, to = to, from
		}
		streams = append(streams, between(id, from, to))
	}
	return streams
}

// trialOf runs a trial of both engines as agents would: all are armed, then all are
// started.
func trialOf(t *testing.T, engines [2]*Engine, epoch uint16, streams []traffic.Stream) traffic.Measurement {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range engines {
		must(e.Arm(t.Context(), traffic.Trial{Epoch: epoch}))
	}
	for _, e := range engines {
		loads := map[uint16]traffic.Load{}
		for _, s := range streams {
			if e.server.named(s.TxPort) != nil {
				loads[s.ID] = traffic.Load{Rate: perSecond(50_000), Frames: 1_000 + uint64(s.ID)}
			}
		}
		must(e.Start(t.Context(), traffic.Trial{Loads: loads, Epoch: epoch}))
	}
	for _, e := range engines {
		must(e.Wait(t.Context()))
	}
	all := traffic.Measurement{Tx: map[uint16]traffic.TxCount{}, Rx: map[traffic.RxKey]traffic.RxCount{}, Misdelivered: map[string]uint64{}}
	for _, e := range engines {
		m, err := e.Read(t.Context())
		must(err)
		for id, tx := range m.Tx {
			all.Tx[id] = tx
		}
		for key, rx := range m.Rx {
			all.Rx[key] = rx
		}
		for port, n := range m.Misdelivered {
			all.Misdelivered[port] = n
		}
		all.Notes = append(all.Notes, m.Notes...)
	}
	return all
}

// Frames are counted by the number that the other server assigned to the stream: both
// assign the same, whatever one of them had before and in whatever order streams come.
func TestServersAgreeOnNumbers(t *testing.T) {
	engines, fakes := two(t, 0)
	streams := crossing()
	var past []traffic.Stream
	for id := range uint16(20) {
		past = append(past, between(100+id, "right0", "right1"))
	}
	configure(t, engines[0], past...)
	if err := engines[0].Arm(t.Context(), traffic.Trial{Epoch: 1}); err != nil {
		t.Fatal(err)
	}
	configure(t, engines[0], streams...)
	slices.Reverse(streams)
	configure(t, engines[1], streams...)
	for epoch := range uint16(3) {
		m := trialOf(t, engines, epoch+1, streams)
		for _, s := range streams {
			want := 1_000 + uint64(s.ID)
			if got := m.Rx[traffic.RxKey{Stream: s.ID, Port: s.RxPorts[0]}].Received; m.Tx[s.ID].Sent != want || got != want {
				t.Errorf("epoch %d, stream %d: sent %d, received %d, want %d each", epoch+1, s.ID, m.Tx[s.ID].Sent, got, want)
			}
		}
		if len(m.Rx) != len(streams) || len(m.Misdelivered) > 0 {
			t.Errorf("%d receivers, misdelivered %v", len(m.Rx), m.Misdelivered)
		}
	}
	sample, err := traffictest.SampleNow(t, engines[1])
	if want := uint64(3*1_000 + 2 + 40 + 300); err != nil || sample.Received != want {
		t.Errorf("a sample has %d received frames (%v), want %d", sample.Received, err, want)
	}
	var all, want traffic.Progress
	for _, s := range streams {
		want.Expected, want.Received = want.Expected+1_000+uint64(s.ID), want.Received+1_000+uint64(s.ID)
	}
	for _, e := range engines {
		p, err := e.Progress(t.Context(), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		all.Expected, all.Received = all.Expected+p.Expected, all.Received+p.Received
	}
	if all != want {
		t.Errorf("progress %+v, want %+v", all, want)
	}
	if n := fakes[0].calls["start_traffic"]; n == 0 {
		t.Error("nothing was started")
	}
}

// Frames of a probe that end up at another server are not those of its own probe.
func TestProbesOfServersAreApart(t *testing.T) {
	t.Parallel()
	engines, _ := two(t, 1_000)
	// Each ends up where the other should have.
	streams := []traffic.Stream{between(1, "left0", "right0"), between(2, "right1", "left1")}
	for _, e := range engines {
		configure(t, e, streams...)
	}
	for epoch := range uint16(2) {
		m := trialOf(t, engines, epoch+1, streams)
		if m.Misdelivered["left1"] != 1_001 || m.Misdelivered["right0"] != 1_002 || len(m.Misdelivered) != 2 {
			t.Errorf("misdelivered %v: want 1001 at left1 and 1002 at right0", m.Misdelivered)
		}
		for key, rx := range m.Rx {
			if rx.Received > 0 || rx.Latency.Count > 0 {
				t.Errorf("stream %d at %s: received %d, timed %d: want none", key.Stream, key.Port, rx.Received, rx.Latency.Count)
			}
		}
	}
}

// A listing that cannot be added is removed, and one that another session left
// too; a port with a listing still resolves.
func TestListingGoes(t *testing.T) {
	engines, fakes := two(t, 0)
	streams := crossing()
	for _, e := range engines {
		configure(t, e, streams...)
	}
	if err := engines[0].Arm(t.Context(), traffic.Trial{Epoch: 0}); err == nil {
		t.Error("armed for epoch 0")
	}
	fakes[0].locked(func() { fakes[0].broken["start_traffic"] = refused("no counter") })
	if err := engines[0].Arm(t.Context(), traffic.Trial{Epoch: 7}); err == nil || !strings.Contains(err.Error(), "listing the streams of all servers on port left0") {
		t.Errorf("a listing that cannot be added: %v", err)
	}
	fakes[0].locked(func() { delete(fakes[0].broken, "start_traffic") })
	for range 2 {
		if err := engines[0].Arm(t.Context(), traffic.Trial{Epoch: 7}); err != nil {
			t.Fatal(err)
		}
	}
	again, err := New(t.Context(), Options{Endpoint: fakes[0].endpoint, Force: true, Ports: []Port{{Name: "left0", Index: 0}}})
	if err != nil {
		t.Fatal(err)
	}
	if state := fakes[0].ports[0].state(); state != stateIdle {
		t.Errorf("the port that was taken is %s", state)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	engines[0].server.ports = nil // its ports are no longer its own
	if err := engines[1].Arm(t.Context(), traffic.Trial{Epoch: 7}); err != nil {
		t.Fatal(err)
	}
	engines[1].server.ports[0].Addresses = []netip.Prefix{netip.MustParsePrefix("198.18.0.2/24")}
	fakes[1].hosts[addr("198.18.0.1")] = traffic.MAC{2, 0, 0, 0, 0, 2}
	if _, err := engines[1].Resolve(t.Context(), "left1", addr("198.18.0.1")); err != nil {
		t.Errorf("resolving on a port with a listing: %v", err)
	}
}

// A server counts all streams of the bed.
func TestStreamsOfOthersAreCounted(t *testing.T) {
	engines, fakes := two(t, 0)
	var streams []traffic.Stream
	for id := range uint16(fakeCounters + 1) {
		streams = append(streams, between(id, "left1", "left0"))
	}
	if err := engines[0].Configure(t.Context(), streams); err == nil || !strings.Contains(err.Error(), "1024 streams: TRex counts at most 1023") {
		t.Errorf("%v", err)
	}
	configure(t, engines[0], streams[1:]...)
	if err := engines[0].Arm(t.Context(), traffic.Trial{Epoch: 1}); err != nil {
		t.Fatal(err)
	}
	if n := len(fakes[0].numbers[false]); n != fakeCounters {
		t.Errorf("%d streams are listed, want %d", n, fakeCounters)
	}
}

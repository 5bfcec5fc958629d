package sim

import (
	"context"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
)

// behaving is a device with three ports of 10G that forwards everything.
func behaving(t *testing.T, b v1alpha1.SimulatedBehaviour, columns ...string) *Engine {
	t.Helper()
	model := "frame_size_bytes,line_rate_percent,latency_min_us,latency_avg_us,latency_max_us\n64,100,1,2,3\n"
	if len(columns) > 0 {
		model = columns[0]
	}
	e, err := New(model, []Port{{"p1", 1e10}, {"p2", 1e10}, {"p3", 1e10}}, WithBehaviour(b))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// do runs a trial of the streams, each with its load, and reads it.
func do(t *testing.T, e *Engine, trial traffic.Trial) traffic.Measurement {
	t.Helper()
	ctx := context.Background()
	if err := e.Start(ctx, trial); err != nil {
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

func burst(stream uint16, frames uint64) traffic.Trial {
	return traffic.Trial{Loads: map[uint16]traffic.Load{stream: {Rate: traffic.Rate{Frames: 1000, PerNanos: 1e9}, Frames: frames}}}
}

var rangeOf = traffic.MAC{2, 1, 1, 1, 1, 1}

// rangeStreams are: 1 from the range on p1 to p2, 2 from p2 to the range, watched on
// p3.
func rangeStreams() []traffic.Stream {
	p2 := traffic.MAC{2, 2, 2, 2, 2, 2}
	return []traffic.Stream{
		{ID: 1, TxPort: "p1", RxPorts: []string{"p2"}, FrameSize: 64, Headers: traffic.Headers{SrcMAC: rangeOf, SrcMACCount: 10, DstMAC: p2}},
		{ID: 2, TxPort: "p2", RxPorts: []string{"p1", "p3"}, FrameSize: 64, Headers: traffic.Headers{SrcMAC: p2, DstMAC: rangeOf, DstMACCount: 10}},
	}
}

// Frames to addresses that the device does not hold are flooded, in every round of a
// range; those to others are not.
func TestFlooding(t *testing.T) {
	six := int32(6)
	e := behaving(t, v1alpha1.SimulatedBehaviour{AddressTableSize: &six})
	if err := e.Configure(t.Context(), rangeStreams()); err != nil {
		t.Fatal(err)
	}
	flooded := func(frames uint64) uint64 {
		t.Helper()
		m := do(t, e, burst(2, frames))
		if got := m.Rx[traffic.RxKey{Stream: 2, Port: "p1"}].Received; got != frames {
			t.Errorf("p1 received %d of %d frames", got, frames)
		}
		return m.Rx[traffic.RxKey{Stream: 2, Port: "p3"}].Received
	}
	if n := flooded(25); n != 25 {
		t.Errorf("%d of 25 frames were flooded before anything was learnt", n)
	}
	do(t, e, burst(1, 10)) // p2 is in the table by now, so that five of ten fit
	if n := flooded(25); n != 2*5+0 {
		t.Errorf("%d of 25 frames were flooded, want those to the last five of two whole rounds", n)
	}
	if n := flooded(28); n != 2*5+3 {
		t.Errorf("%d of 28 frames were flooded, want three more", n)
	}
	if err := e.Clock().Sleep(t.Context(), agingTime); err != nil {
		t.Fatal(err)
	}
	if n := flooded(10); n != 10 {
		t.Errorf("%d of 10 frames were flooded after the device forgot", n)
	}
}

// Of what comes faster than it learns, the device learns what its rate allows.
func TestLearningRate(t *testing.T) {
	rate := int32(500)
	e := behaving(t, v1alpha1.SimulatedBehaviour{LearningRate: &rate})
	if err := e.Configure(t.Context(), rangeStreams()); err != nil {
		t.Fatal(err)
	}
	do(t, e, burst(1, 10)) // 10 ms
	if n := do(t, e, burst(2, 10)).Rx[traffic.RxKey{Stream: 2, Port: "p3"}].Received; n != 5 {
		t.Errorf("%d of 10 frames were flooded, want 5: 500 addresses/s are 5 in 10 ms", n)
	}
}

// What a station says from another port moves it there.
func TestAddressesMove(t *testing.T) {
	e := behaving(t, v1alpha1.SimulatedBehaviour{})
	streams := append(rangeStreams(), traffic.Stream{ID: 3, TxPort: "p3", RxPorts: []string{"p2"}, FrameSize: 64, Headers: traffic.Headers{SrcMAC: rangeOf, SrcMACCount: 10}})
	if err := e.Configure(t.Context(), streams); err != nil {
		t.Fatal(err)
	}
	for from, want := range map[uint16]string{1: "p1", 3: "p3"} {
		do(t, e, burst(from, 10))
		m := do(t, e, burst(2, 10))
		for _, port := range []string{"p1", "p3"} {
			if got := m.Rx[traffic.RxKey{Stream: 2, Port: port}].Received; (got == 10) != (port == want) || got != 0 && got != 10 {
				t.Errorf("the addresses are on %s, and %d of 10 frames came to %s", want, got, port)
			}
		}
	}
}

// A reset forgets the addresses, whenever it comes, and what is sent while it lasts
// is not heard.
func TestAResetForgetsAddresses(t *testing.T) {
	lasts := after(5 * time.Millisecond)
	for name, tc := range map[string]struct {
		reset func(e *Engine)
		// flooded frames of 10, one to each address.
		flooded uint64
	}{
		"never":         {func(*Engine) {}, 0},
		"after a trial": {func(e *Engine) { reset(t, e) }, 10},
		"before one":    {func(e *Engine) { reset(t, e); wait(t, e, time.Second); do(t, e, burst(1, 10)) }, 0},
		"in one":        {func(e *Engine) { begin(t, e, 20, 2*time.Millisecond); reset(t, e); finish(t, e) }, 0},
		"late in one":   {func(e *Engine) { begin(t, e, 20, 12*time.Millisecond); reset(t, e); finish(t, e) }, 7},
		"at its end":    {func(e *Engine) { begin(t, e, 20, 18*time.Millisecond); reset(t, e); finish(t, e) }, 10},
		"into the next": {func(e *Engine) { reset(t, e); do(t, e, burst(1, 10)) }, 5},
		"with no trial": {func(e *Engine) { configure(t, e); reset(t, e) }, 10},
	} {
		t.Run(name, func(t *testing.T) {
			e := behaving(t, v1alpha1.SimulatedBehaviour{ResetTime: lasts})
			configure(t, e)
			do(t, e, burst(1, 10))
			tc.reset(e)
			wait(t, e, time.Second)
			m := do(t, e, burst(2, 10))
			if n := m.Rx[traffic.RxKey{Stream: 2, Port: "p3"}].Received; n != tc.flooded {
				t.Errorf("%d of 10 frames were flooded, want %d", n, tc.flooded)
			}
		})
	}
}

func configure(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.Configure(t.Context(), rangeStreams()); err != nil {
		t.Fatal(err)
	}
}

func reset(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.Device().Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func wait(t *testing.T, e *Engine, d time.Duration) {
	t.Helper()
	if err := e.Clock().Sleep(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// begin sends frames from the range, and lets d pass.
func begin(t *testing.T, e *Engine, frames uint64, d time.Duration) {
	t.Helper()
	if err := e.Start(t.Context(), burst(1, frames)); err != nil {
		t.Fatal(err)
	}
	wait(t, e, d)
}

func finish(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// overload sends from p1 to p2 and p3, and from p2 to p3, which gets 150 %.
func overload(t *testing.T, e *Engine) traffic.Measurement {
	t.Helper()
	if err := e.Configure(t.Context(), []traffic.Stream{
		{ID: 1, TxPort: "p1", RxPorts: []string{"p2"}, FrameSize: 64},
		{ID: 2, TxPort: "p1", RxPorts: []string{"p3"}, FrameSize: 64},
		{ID: 3, TxPort: "p2", RxPorts: []string{"p3"}, FrameSize: 64},
	}); err != nil {
		t.Fatal(err)
	}
	// 84 bytes on the wire: 625,000,000 frames in 42 s.
	whole, half := traffic.Load{Rate: traffic.Rate{Frames: 625, PerNanos: 42_000}}, traffic.Load{Rate: traffic.Rate{Frames: 625, PerNanos: 84_000}}
	return do(t, e, traffic.Trial{Duration: 42 * time.Second, Loads: map[uint16]traffic.Load{1: half, 2: half, 3: whole}})
}

func TestHeadOfLineBlocking(t *testing.T) {
	yes := true
	const noBuffer = "frame_size_bytes,line_rate_percent,latency_min_us,latency_avg_us,latency_max_us,buffer_frames\n64,100,1,2,3,"
	for name, tc := range map[string]struct {
		behaviour v1alpha1.SimulatedBehaviour
		model     string
		free      uint64
	}{
		"none":                        {v1alpha1.SimulatedBehaviour{}, noBuffer + "0\n", 312_500_000},
		"a third, as on the full one": {v1alpha1.SimulatedBehaviour{HeadOfLineBlocking: &yes}, noBuffer + "0\n", 208_333_333},
		"a buffer that takes it all":  {v1alpha1.SimulatedBehaviour{HeadOfLineBlocking: &yes}, noBuffer + "312500000\n", 312_500_000},
	} {
		t.Run(name, func(t *testing.T) {
			m := overload(t, behaving(t, tc.behaviour, tc.model))
			if got := m.Rx[traffic.RxKey{Stream: 1, Port: "p2"}].Received; got != tc.free {
				t.Errorf("p2 received %d frames, want %d", got, tc.free)
			}
		})
	}
}

func TestBackPressure(t *testing.T) {
	yes := true
	m := overload(t, behaving(t, v1alpha1.SimulatedBehaviour{BackPressure: &yes}))
	var lost uint64
	for id, port := range map[uint16]string{1: "p2", 2: "p3", 3: "p3"} {
		lost += m.Tx[id].Sent - m.Rx[traffic.RxKey{Stream: id, Port: port}].Received
	}
	if m.Tx[3].Intended != 625_000_000 || m.Tx[3].Sent != 416_666_666 || m.Tx[1].Sent != 208_333_333 || lost != 0 {
		t.Errorf("%+v, %d lost: want two thirds sent, and nothing lost", m.Tx, lost)
	}
	if len(m.Notes) != 2 || m.Notes[0].Kind != traffic.NoteHeldBack || !strings.Contains(m.Notes[1].Text, "held p2 back: it sent 416,666,666 of 625,000,000 frames") {
		t.Errorf("notes %+v", m.Notes)
	}
}

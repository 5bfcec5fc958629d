package trex

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

const (
	// dirVariable names a directory with a real server, see StartReal.
	dirVariable = "NODROP_TREX_DIR"
	// endpointVariable names the RPC endpoint of a real server, such as
	// tcp://127.0.0.1:4501, whose ports 0 and 1 reach each other.
	endpointVariable = "NODROP_TREX_ENDPOINT"
	// lossVariable sets the number of frames that the device between the ports of the real
	// server drops, in parts per million. With it, only loss is tested.
	lossVariable = "NODROP_TREX_LOSS_PPM"
)

// trialPatience is above what a trial of the suite takes. Emulated cards send some hundred
// frames/s, however many are asked for.
var trialPatience = func() time.Duration {
	if OnCards() {
		return 10 * time.Minute
	}
	return time.Minute
}()

// suite is a server that the driver has to work with.
type suite struct {
	endpoint string
	fake     *fakeServer
	lossPPM  uint64
	// exact reports whether of each stream exactly lossPPM is dropped.
	exact bool
	// neighbour answers for its addresses on the lossy device, if it is known.
	neighbour traffic.MAC
	// again ends a real server at once and starts it again; nil where that cannot be
	// done.
	again func(t *testing.T)
	// limits sets the limit of the lossy device of a real server.
	limits func(t *testing.T, perSecond, depth uint64)
}

// The UDP ports by which the lossy device distinguishes frames. It passes all, those up
// to its limit, or 19 of 20.
const (
	portOfAll  = 10
	portOfSome = 9
	portOfMost = 7
)

// lossy is the server with the lossy device between its ports.
func (s suite) lossy(t *testing.T) suite {
	t.Helper()
	if s.fake != nil {
		return s
	}
	return realServer(t, true)
}

// limit sets how many frames a second the lossy device passes, and up to how many of
// more it holds.
func (s suite) limit(t *testing.T, perSecond, depth uint64) {
	t.Helper()
	switch {
	case s.fake != nil:
		s.fake.locked(func() { s.fake.limited = fakeLimit{perSecond: float64(perSecond), depth: float64(depth)} })
	case s.limits != nil:
		s.limits(t, perSecond, depth)
	default:
		t.Skipf("%s names a server: the limit of the device between its ports is not known", endpointVariable)
	}
}

// restart ends the server at once and starts it again.
func (s suite) restart(t *testing.T) {
	t.Helper()
	if s.fake == nil {
		s.again(t)
		return
	}
	s.fake.down()
	s.fake.up()
}

// restartable skips the test of a server that runs already.
func (s suite) restartable(t *testing.T) {
	t.Helper()
	if s.fake == nil && s.again == nil {
		t.Skipf("%s names a server that others started", endpointVariable)
	}
}

// everyServer runs a test against the fake server and a real one. Without a real one, which
// needs the processors, it runs next to others. With a real one on cards, the fake is left
// out.
func everyServer(t *testing.T, lossy bool, test func(t *testing.T, s suite)) {
	if os.Getenv(dirVariable) == "" && os.Getenv(endpointVariable) == "" {
		t.Parallel()
	}
	if !OnCards() {
		t.Run("fake", func(t *testing.T) {
			f := newFake(t)
			s := suite{endpoint: f.endpoint, fake: f, exact: true}
			if lossy {
				f.dropEvery, s.lossPPM = 20, 50_000
			}
			test(t, s)
		})
	}
	t.Run("real", func(t *testing.T) { test(t, realServer(t, lossy)) })
}

// realServer is the real server of the environment, or the test is skipped.
func realServer(t *testing.T, lossy bool) suite {
	t.Helper()
	if StartReal != nil {
		r := StartReal(t, lossy)
		s := suite{endpoint: r.Endpoint, again: r.Restart, neighbour: r.Neighbour, limits: r.Limit, exact: true}
		if lossy {
			s.lossPPM = 50_000
		}
		return s
	}
	endpoint, loss := os.Getenv(endpointVariable), os.Getenv(lossVariable)
	switch {
	case os.Getenv(dirVariable) != "":
		t.Skipf("%s is set, and a server is started by root only", dirVariable)
	case endpoint == "":
		t.Skipf("neither %s nor %s is set: they name a real TRex server", dirVariable, endpointVariable)
	case lossy && loss == "":
		t.Skipf("%s is not set: the device between the ports of the real server drops nothing", lossVariable)
	case !lossy && loss != "":
		t.Skipf("%s is set: the device between the ports of the real server drops frames", lossVariable)
	}
	s := suite{endpoint: endpoint}
	if lossy {
		ppm, err := strconv.ParseUint(loss, 10, 32)
		if err != nil {
			t.Fatalf("%s: %v", lossVariable, err)
		}
		s.lossPPM = ppm
	}
	return s
}

// open takes both ports, with so many frames per second and stream timed.
func (s suite) open(t *testing.T, timed int) *Engine {
	t.Helper()
	e, err := New(t.Context(), Options{
		Endpoint: s.endpoint, TimedFramesPerSecond: timed,
		Ports: []Port{{Name: "left", Index: 0}, {Name: "right", Index: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return e
}

// ipv4 is a stream of 64-byte frames from left to right.
func ipv4(t *testing.T, e *Engine, id uint16) traffic.Stream {
	t.Helper()
	return traffic.Stream{ID: id, TxPort: "left", RxPorts: []string{"right"}, FrameSize: 64, Headers: traffic.Headers{
		DstMAC: e.server.named("right").mac, SrcIP: addr("198.18.0.2"), DstIP: addr("198.18.1.2"),
		SrcIPCount: 1, DstIPCount: 1, SrcPort: 1024, DstPort: 7, SrcPortCount: 1, DstPortCount: 1,
	}}
}

func configure(t *testing.T, e *Engine, streams ...traffic.Stream) {
	t.Helper()
	if err := e.Configure(t.Context(), streams); err != nil {
		t.Fatal(err)
	}
}

// perSecond is a rate of n frames a second.
func perSecond(n int64) traffic.Rate { return traffic.Rate{Frames: n, PerNanos: int64(time.Second)} }

// run runs a trial to its end and reads it.
func run(t *testing.T, e *Engine, trial traffic.Trial) traffic.Measurement {
	t.Helper()
	if err := e.Start(t.Context(), trial); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), trialPatience)
	defer cancel()
	if err := e.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	settle(t, e)
	m, err := e.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// settle waits until the frames in flight have arrived.
func settle(t *testing.T, e *Engine) {
	t.Helper()
	if _, err := e.server.drain(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// frames is a trial in which stream 1 sends exactly n frames.
func frames(n uint64, rate int64) traffic.Trial {
	return traffic.Trial{Loads: map[uint16]traffic.Load{1: {Rate: perSecond(rate), Frames: n}}}
}

// exactly checks that stream 1 sent and received n frames.
func exactly(t *testing.T, m traffic.Measurement, n uint64) {
	t.Helper()
	rx := m.Rx[traffic.RxKey{Stream: 1, Port: "right"}]
	if tx := m.Tx[1]; tx.Intended != n || tx.Sent != n || rx.Received != n {
		t.Errorf("intended %d, sent %d, received %d: want %d each", tx.Intended, tx.Sent, rx.Received, n)
	}
}

func TestBurstIsExact(t *testing.T) {
	everyServer(t, false, func(t *testing.T, s suite) {
		e := s.open(t, 0)
		configure(t, e, ipv4(t, e, 1))
		exactly(t, run(t, e, frames(12_345, 50_000)), 12_345)
	})
}

// Without remove_rx_filters between them, the second run would receive nothing.
func TestRunsInARow(t *testing.T) {
	everyServer(t, false, func(t *testing.T, s suite) {
		e := s.open(t, 0)
		configure(t, e, ipv4(t, e, 1))
		for _, n := range []uint64{2_000, 1_234, 3_000} {
			exactly(t, run(t, e, frames(n, 20_000)), n)
		}
		configure(t, e, ipv4(t, e, 1))
		exactly(t, run(t, e, frames(777, 20_000)), 777)
	})
}

func TestLossIsFound(t *testing.T) {
	everyServer(t, true, func(t *testing.T, s suite) {
		const n = 20_000
		e := s.open(t, 1_000)
		other := ipv4(t, e, 2)
		other.Headers.DstPort++ // by which the lossy device distinguishes them
		configure(t, e, ipv4(t, e, 1), other)
		m := run(t, e, traffic.Trial{Loads: map[uint16]traffic.Load{
			1: {Rate: perSecond(50_000), Frames: n}, 2: {Rate: perSecond(50_000), Frames: n},
		}})
		for id := uint16(1); id <= 2; id++ {
			if sent := m.Tx[id].Sent; sent != n {
				t.Errorf("stream %d sent %d frames: want %d", id, sent, n)
			}
			lost := n - m.Rx[traffic.RxKey{Stream: id, Port: "right"}].Received
			want := n * s.lossPPM / 1_000_000
			// Another device drops at random: 5 standard deviations of 5 % are 154 frames.
			slack := uint64(154)
			if s.exact {
				slack = 0
			}
			if lost < want-slack || lost > want+slack {
				t.Errorf("stream %d lost %d frames: want %d, give or take %d", id, lost, want, slack)
			}
		}
	})
}

// Offered load is the counted frames in the time that passed on the clock, also if the
// server's own time goes slower.
func TestOfferedLoad(t *testing.T) {
	everyServer(t, false, func(t *testing.T, s suite) {
		rate, d := int64(1_000_000), time.Second
		if s.fake != nil {
			rate, d = 100_000, 200*time.Millisecond
			s.fake.capacity = 10_000
		}
		e := s.open(t, 0)
		configure(t, e, ipv4(t, e, 1))
		m := run(t, e, traffic.Trial{Duration: d, Loads: map[uint16]traffic.Load{1: {Rate: perSecond(rate)}}})
		tx := m.Tx[1]
		if want := uint64(float64(rate) * d.Seconds()); tx.Intended != want {
			t.Errorf("intended %d: want %d", tx.Intended, want)
		}
		if offered := float64(tx.Sent) / m.TxTime.Seconds(); offered > float64(rate) {
			t.Errorf("offered %.0f frames/s in %v, more than the %d intended", offered, m.TxTime, rate)
		}
		t.Logf("sent %d of %d in %v", tx.Sent, tx.Intended, m.TxTime)
		short := tx.Sent < tx.Intended
		noted := len(m.Notes) > 0 && m.Notes[0].Kind == traffic.NoteUnsent
		if short && (tx.Intended-tx.Sent)*unsentShare > tx.Intended && !noted {
			t.Errorf("sent %d of %d without a note: %v", tx.Sent, tx.Intended, m.Notes)
		}
		if short && m.TxTime < d {
			t.Errorf("stopped after %v, before the %v that the trial lasts", m.TxTime, d)
		}
		if s.fake == nil {
			return
		}
		// 200 ms, and the grace of 102 ms and what calls take, at 10,000 a second, of a
		// server that was asked for 20,000 frames.
		if offered := float64(tx.Sent) / m.TxTime.Seconds(); !short || offered > s.fake.capacity {
			t.Errorf("offered %.0f frames/s, sent %d in %v: the server can do %.0f", offered, tx.Sent, m.TxTime, s.fake.capacity)
		}
	})
}

func TestInfo(t *testing.T) {
	everyServer(t, false, func(t *testing.T, s suite) {
		e := s.open(t, 1)
		info, err := e.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if info.Engine != "trex" || len(info.Ports) != 2 || info.Capabilities.MaxStreams < 1 {
			t.Errorf("info %+v: want engine trex, two ports and at least one stream", info)
		}
		if info.Ports[0].Name != "left" || info.Ports[0].MAC == info.Ports[1].MAC {
			t.Errorf("ports %+v: want left first, each with its own address", info.Ports)
		}
		if s.fake != nil && info.Ports[0].MAC != s.fake.ports[0].mac {
			t.Errorf("left has %v: TRex port 0 has %v, second in the server's list", info.Ports[0].MAC, s.fake.ports[0].mac)
		}
	})
}

// Both ports send at once.
func TestBothWays(t *testing.T) {
	everyServer(t, false, func(t *testing.T, s suite) {
		e := s.open(t, 0)
		back := ipv4(t, e, 2)
		back.TxPort, back.RxPorts, back.Headers.DstMAC = "right", []string{"left"}, e.server.named("left").mac
		configure(t, e, ipv4(t, e, 1), back)
		trial := traffic.Trial{Duration: 200 * time.Millisecond, Loads: map[uint16]traffic.Load{
			1: {Rate: perSecond(5_000)}, 2: {Rate: perSecond(10_000), Delay: 100 * time.Millisecond},
		}}
		if OnCards() { // which may be slower than that
			trial.Duration = 0
			trial.Loads[1] = traffic.Load{Rate: perSecond(5_000), Frames: 1_000}
			trial.Loads[2] = traffic.Load{Rate: perSecond(10_000), Frames: 1_000, Delay: 100 * time.Millisecond}
		}
		m := run(t, e, trial)
		for id, port := range map[uint16]string{1: "right", 2: "left"} {
			if got := m.Rx[traffic.RxKey{Stream: id, Port: port}].Received; m.Tx[id].Sent != 1_000 || got != 1_000 {
				t.Errorf("stream %d: sent %d, received %d: want 1000 each", id, m.Tx[id].Sent, got)
			}
		}
		if len(m.Misdelivered) > 0 {
			t.Errorf("misdelivered %v: want none", m.Misdelivered)
		}
	})
}

// Ranges, of which that of hardware addresses is a list, lose no frame, and those
// to foreign addresses are taken.
func TestRangesArrive(t *testing.T) {
	everyServer(t, false, func(t *testing.T, s suite) {
		e := s.open(t, 0)
		wide := ipv4(t, e, 1)
		wide.Headers.SrcMACCount, wide.Headers.DstMACCount = 1_000, 64
		wide.Headers.SrcIPCount, wide.Headers.DstPortCount = 100, 8_000
		configure(t, e, wide)
		exactly(t, run(t, e, frames(8_000, 20_000)), 8_000)
		configure(t, e, ipv4(t, e, 1)) // and back
		exactly(t, run(t, e, frames(1_000, 20_000)), 1_000)
	})
}

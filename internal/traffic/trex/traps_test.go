package trex

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/traffictest"
)

// openFake is a fake server and an engine on it.
func openFake(t *testing.T, timed int) (*fakeServer, *Engine) {
	t.Helper()
	f := newFake(t)
	return f, suite{endpoint: f.endpoint}.open(t, timed)
}

// locked changes the fake while it serves.
func (f *fakeServer) locked(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// A port reports its end late; the time of sending ends with the last frame that was
// counted.
func TestEndIsToldLate(t *testing.T) {
	f, e := openFake(t, 0)
	f.late = time.Second
	configure(t, e, ipv4(t, e, 1))
	m := run(t, e, frames(1_000, 20_000))
	exactly(t, m, 1_000)
	if reported := f.ports[0].profiles[profile].reportsEnd.Sub(e.trial.begin); m.TxTime == 0 || m.TxTime >= reported {
		t.Errorf("sending took %v: want less than %v, after which the port reported its end", m.TxTime, reported)
	}
}

// Frames that an earlier trial left in the rings are not counted in the next one.
func TestLeftoversAreDrained(t *testing.T) {
	f, e := openFake(t, 0)
	configure(t, e, ipv4(t, e, 1))
	f.leftover = 450
	if err := e.Start(t.Context(), frames(1_000, 20_000)); err != nil {
		t.Fatal(err)
	}
	if err := e.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.locked(func() { f.leftover = 0 })
	exactly(t, run(t, e, frames(500, 20_000)), 500)
}

// A port whose streams go to other addresses than its own takes all.
func TestPromiscuousAsNeeded(t *testing.T) {
	f, e := openFake(t, 0)
	wide := ipv4(t, e, 1)
	wide.Headers.DstMACCount = 64
	for _, c := range []struct {
		stream traffic.Stream
		want   bool
	}{{wide, true}, {ipv4(t, e, 1), false}} {
		configure(t, e, c.stream)
		if got := f.ports[1].promiscuous; got != c.want {
			t.Errorf("%d addresses: promiscuous is %t, want %t", c.stream.Headers.DstMACCount, got, c.want)
		}
		exactly(t, run(t, e, frames(640, 20_000)), 640)
	}
}

// Stop ends a trial that would continue, and its counts stop there.
func TestStopEndsSending(t *testing.T) {
	f, e := openFake(t, 0)
	configure(t, e, ipv4(t, e, 1))
	if err := e.Start(t.Context(), frames(1_000_000, 10_000)); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Read(t.Context()); err == nil {
		t.Error("counters were read of a port that sends")
	}
	for { // until frames are sent
		s, err := traffictest.SampleNow(t, e)
		if err != nil {
			t.Fatal(err)
		}
		if s.Sent > 0 {
			if s.Received != s.Sent || s.At <= 0 {
				t.Errorf("sample %+v: want as many received as sent, some time after the beginning", s)
			}
			break
		}
	}
	if err := e.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	m, err := e.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if tx, rx := m.Tx[1], m.Rx[traffic.RxKey{Stream: 1, Port: "right"}]; tx.Sent == 0 || tx.Sent >= 1_000_000 || rx.Received != tx.Sent {
		t.Errorf("sent %d, received %d of a million: want some, and all of them", tx.Sent, rx.Received)
	}
	if f.ports[0].profiles["_"].sending {
		t.Error("the server still sends")
	}
}

// At maximum rate, the intended number of frames is the sent one.
func TestMaximumRate(t *testing.T) {
	f, e := openFake(t, 0)
	f.capacity = 50_000
	configure(t, e, ipv4(t, e, 1))
	m := run(t, e, traffic.Trial{Duration: 100 * time.Millisecond, Loads: map[uint16]traffic.Load{1: {Max: true}}})
	if tx := m.Tx[1]; tx.Sent == 0 || tx.Intended != tx.Sent || m.TxTime < 100*time.Millisecond || len(m.Notes) > 0 {
		t.Errorf("intended %d, sent %d in %v, notes %v: want as much as was sent, in 100 ms or more, and no note", tx.Intended, tx.Sent, m.TxTime, m.Notes)
	}
}

// An engine that loses a port or its streams in a trial loses the trial, not the run.
func TestInterruption(t *testing.T) {
	for name, disturb := range map[string]func(f *fakeServer){
		"port taken": func(f *fakeServer) {
			f.event(eventAcquired, map[string]any{"force": true, "port_id": 1, "session_id": 999, "who": "other"})
		},
		"error of a core": func(f *fakeServer) {
			f.event(eventError, map[string]any{"port_id": 0, "thread_id": 0})
		},
		"streams replaced": func(f *fakeServer) {
			for _, s := range f.ports[0].profiles["_"].streams {
				s.version += 100
			}
		},
		"streams and filters removed": func(f *fakeServer) {
			f.ports[0].profiles["_"] = newFakeProfile("_")
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, e := openFake(t, 0)
			configure(t, e, ipv4(t, e, 1))
			if err := e.Start(t.Context(), frames(100, 20_000)); err != nil {
				t.Fatal(err)
			}
			if err := e.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			f.locked(func() { disturb(f) })
			if _, err := e.Read(t.Context()); !errors.Is(err, traffic.ErrInterrupted) {
				t.Errorf("reading: %v, want an interrupted trial", err)
			}
			f.locked(func() { f.event(eventError, map[string]any{"port_id": 1, "thread_id": 0}) }) // before the next trial
			exactly(t, run(t, e, frames(100, 20_000)), 100)
		})
	}
}

// The server leaves the beginning out of the greatest latency, and so all of a
// short trial; the histogram has it.
func TestMaximumOfAShortTrial(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		period time.Duration
		want   uint64
	}{"short": {time.Hour, 4_999_999}, "long": {20 * time.Millisecond, 4_321_000}} {
		t.Run(name, func(t *testing.T) {
			f, e := openFake(t, 1_000_000) // all of them
			f.locked(func() { f.period, f.update = c.period, time.Now() })
			configure(t, e, ipv4(t, e, 1))
			if err := e.Start(t.Context(), frames(1_000, 5_000)); err != nil {
				t.Fatal(err)
			}
			if err := e.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			f.locked(func() { f.update = time.Now() })
			m, err := e.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if l := m.Rx[traffic.RxKey{Stream: 1, Port: "right"}].Latency; l.MaxNs != c.want || l.MinNs != 6_000 {
				t.Errorf("latency from %d to %d ns: want 6000 and %d", l.MinNs, l.MaxNs, c.want)
			}
		})
	}
}

// Frames of an earlier stream below 10 us do not count for the next one.
func TestFirstBucketOfEarlierTrials(t *testing.T) {
	t.Parallel()
	f, e := openFake(t, 1_000_000) // all of them
	f.locked(func() { f.period, f.update = 20*time.Millisecond, time.Now() })
	configure(t, e, ipv4(t, e, 1))
	for _, n := range []uint64{800, 80} {
		m := run(t, e, frames(n, 20_000))
		if l := m.Rx[traffic.RxKey{Stream: 1, Port: "right"}].Latency; l.Count != n || len(m.Notes) > 0 {
			t.Errorf("timed %d frames of %d, notes %v", l.Count, n, m.Notes)
		}
	}
}

// Frames of less than 10 us come into the histogram late; what it does not hold
// in the end is noted.
func TestLateHistogram(t *testing.T) {
	t.Parallel()
	f, e := openFake(t, 1_000_000) // all of them
	configure(t, e, ipv4(t, e, 1))
	for name, c := range map[string]struct {
		after time.Duration
		want  uint64
	}{"late": {2 * latencyLag, 800}, "never": {time.Hour, 700}} {
		f.locked(func() { f.update = time.Now().Add(c.after) })
		m := run(t, e, frames(800, 20_000))
		l := m.Rx[traffic.RxKey{Stream: 1, Port: "right"}].Latency
		if noted := len(m.Notes) == 1 && strings.Contains(m.Notes[0].Text, "timed 700 frames of stream 1 and received 800 of those"); l.Count != c.want || noted == (c.want == 800) {
			t.Errorf("%s: timed %d frames, notes %v: want %d of 800, and a note if some are missing", name, l.Count, m.Notes, c.want)
		}
	}
}

// Frames that a port counts as dropped are noted.
func TestPortErrorsAreNoted(t *testing.T) {
	f, e := openFake(t, 0)
	configure(t, e, ipv4(t, e, 1))
	if err := e.Start(t.Context(), frames(100, 20_000)); err != nil {
		t.Fatal(err)
	}
	if err := e.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.locked(func() { f.ports[1].inErrors = 7 })
	m, err := e.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Notes) != 1 || m.Notes[0].Kind != traffic.NoteDropped || m.Dropped["right"] != 7 || !strings.Contains(m.Notes[0].Text, "right (TRex port 1) dropped 7 received frames: lower the load, or raise engine.trex.software.ringFrames") {
		t.Errorf("notes %v: want the 7 frames that right dropped", m.Notes)
	}
}

// A batch goes in as few messages as the server reads. A batch of one call and a batch without
// calls work, too.
func TestBatches(t *testing.T) {
	f, e := openFake(t, 0)
	if got, err := e.server.client.batch(t.Context(), nil); err != nil || len(got) != 0 {
		t.Errorf("no calls: %v, %v", got, err)
	}
	ping := call{"ping", params{"ballast": strings.Repeat("x", 300_000)}}
	f.locked(func() { f.compressed = 0 })
	got, err := e.server.client.batch(t.Context(), []call{ping, ping, ping, ping, ping, ping, ping})
	if err != nil || len(got) != 7 {
		t.Errorf("%d answers to 7 calls: %v", len(got), err)
	}
	if f.compressed != 3 {
		t.Errorf("%d messages for 7 calls of 300 kB: want 3, of which the last holds one", f.compressed)
	}
	ping.params["ballast"] = strings.Repeat("x", 1_000_000)
	if _, err := e.server.client.batch(t.Context(), []call{ping}); err == nil || !strings.Contains(err.Error(), "at most 999999") {
		t.Errorf("a call of a million bytes: %v, want that it is too large", err)
	}
	_, err = e.server.client.batch(t.Context(), []call{{"ping", nil}, {"no_such_method", nil}, {"ping", nil}})
	var refusal *ServerError
	if !errors.As(err, &refusal) || refusal.Code != -32601 || refusal.Method != "no_such_method" {
		t.Errorf("%v: want code -32601 of no_such_method", err)
	}
}

// A thousand streams, more than one message holds, are all sent and counted.
func TestManyStreams(t *testing.T) {
	_, e := openFake(t, 0)
	const n = 1023
	var streams []traffic.Stream
	loads := map[uint16]traffic.Load{}
	for id := range uint16(n) {
		s := ipv4(t, e, id)
		s.FrameSize = 1518
		streams = append(streams, s)
		loads[id] = traffic.Load{Rate: perSecond(500), Frames: uint64(id%7 + 1)}
	}
	configure(t, e, streams...)
	m := run(t, e, traffic.Trial{Loads: loads})
	for id := range uint16(n) {
		want := uint64(id%7 + 1)
		if rx := m.Rx[traffic.RxKey{Stream: id, Port: "right"}]; m.Tx[id].Sent != want || rx.Received != want {
			t.Fatalf("stream %d: sent %d, received %d: want %d", id, m.Tx[id].Sent, rx.Received, want)
		}
	}
	if err := e.Configure(t.Context(), append(streams, ipv4(t, e, n))); !errors.Is(err, traffic.ErrUnsupported) {
		t.Errorf("%d streams: %v, want that they are too many", n+1, err)
	}
}

// A server that accepts connections and does not answer costs no more time than the
// caller allows, and the client works with the next one.
func TestSilentServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the caller gave up")
	go func() {
		conn, err := l.Accept()
		cancel(cause)
		if err == nil {
			defer conn.Close()
			<-t.Context().Done()
		}
	}()
	c := client{endpoint: "tcp://" + l.Addr().String()}
	if err := c.call(ctx, "ping", nil, nil); !errors.Is(err, cause) {
		t.Errorf("%v: want %v", err, cause)
	}
	c.endpoint = newFake(t).endpoint
	if err := c.call(t.Context(), "ping", nil, nil); err != nil {
		t.Errorf("after a silent server: %v", err)
	}
	c.close()
}

func TestConnectFailures(t *testing.T) {
	for name, c := range map[string]struct {
		options Options
		prepare func(f *fakeServer)
		want    string
	}{
		"no such port":    {Options{Ports: []Port{{Name: "left", Index: 2}}}, nil, "TRex has no port 2: it has 2"},
		"no port":         {Options{}, nil, "at least one port"},
		"same port twice": {Options{Ports: []Port{{Name: "left"}, {Name: "right"}}}, nil, "want different names and different TRex ports"},
		"fewer timed than none": {
			Options{Ports: []Port{{Name: "left"}}, TimedFramesPerSecond: -1}, nil, "-1 timed frames per second: want 0 or more",
		},
		"taken": {
			Options{Ports: []Port{{Name: "left"}}}, func(f *fakeServer) { f.ports[0].owner = "other" }, "port is already taken by 'other'; let its owner release it",
		},
		"other version": {
			Options{Ports: []Port{{Name: "left"}}}, func(f *fakeServer) { f.broken["api_sync_v2"] = refused("Version mismatch") }, "agreeing on API STL 5.1 with TRex v3.08",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			if c.prepare != nil {
				c.prepare(f)
			}
			c.options.Endpoint = f.endpoint
			if _, err := New(t.Context(), c.options); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v: want %q", err, c.want)
			}
			if owner := f.ports[0].owner; owner != "" && owner != "other" {
				t.Errorf("port 0 is still taken by %s", owner)
			}
		})
	}
	f := newFake(t)
	f.ports[0].owner = "other"
	e, err := New(t.Context(), Options{Endpoint: f.endpoint, Ports: []Port{{Name: "left"}}, Force: true})
	if err != nil {
		t.Fatalf("by force: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

package trex

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// A frame that is missing is lost once it was missing for the age, unless one came late
// since: that may have been it.
func TestOvertakenProbes(t *testing.T) {
	at := func(ms int, missing, filled uint64) gaps {
		return gaps{moment(float64(ms) / 1000), []uint64{0, missing}, []uint64{9, filled}}
	}
	for name, tc := range map[string]struct {
		known []gaps
		now   gaps
		want  uint64
	}{
		"the first report":          {nil, at(300, 5, 0), 0},
		"missing for too short":     {[]gaps{at(60, 5, 0)}, at(300, 5, 0), 0},
		"missing for the age":       {[]gaps{at(50, 5, 0)}, at(300, 5, 0), 5},
		"more since":                {[]gaps{at(50, 5, 0)}, at(300, 8, 0), 5},
		"some came":                 {[]gaps{at(50, 5, 1)}, at(300, 3, 3), 3},
		"more came than were":       {[]gaps{at(50, 1, 0)}, at(300, 0, 7), 0},
		"the newest that is so old": {[]gaps{at(10, 1, 0), at(40, 4, 0), at(60, 9, 0)}, at(300, 9, 0), 4},
	} {
		p := progress{known: slices.Clone(tc.known)}
		if got := p.overtaken(tc.now, 250*time.Millisecond); got != tc.want {
			t.Errorf("%s: %d lost, want %d", name, got, tc.want)
		}
	}
}

// follow reports the progress of a trial until stop says so, which stops the trial, or
// until sending has ended.
func follow(t *testing.T, e *Engine, age time.Duration, stop func(traffic.Progress) bool) (last traffic.Progress) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	waiting, given := context.WithCancel(ctx)
	defer given()
	ended := make(chan error, 1)
	go func() { ended <- e.Wait(waiting) }()
	for ; ; runtime.Gosched() {
		p, err := e.Progress(ctx, age)
		if err != nil {
			t.Fatal(err)
		}
		if p.Lost < last.Lost || p.Expected < last.Expected || p.Received < last.Received {
			t.Fatalf("%+v after %+v", p, last)
		}
		last = p
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			return last
		default:
		}
		if stop(p) {
			given()
			<-ended
			if err := e.Stop(ctx); err != nil {
				t.Fatal(err)
			}
			return last
		}
	}
}

// Of a device that drops 5 % the lost probes are found out while the trial runs. None of
// what is reported lost comes back, and what was cut off was not intended.
func TestProgressFindsLoss(t *testing.T) {
	everyServer(t, true, func(t *testing.T, s suite) {
		// Of 1,000 a second every 20th frame is a probe, and all that are dropped can be.
		e := s.open(t, 700)
		if _, err := e.Progress(t.Context(), time.Second); err == nil {
			t.Error("progress without a trial")
		}
		configure(t, e, ipv4(t, e, 1))
		if err := e.Start(t.Context(), traffic.Trial{Duration: time.Minute, Loads: map[uint16]traffic.Load{1: {Rate: perSecond(20_000)}}}); err != nil {
			t.Fatal(err)
		}
		p := follow(t, e, 50*time.Millisecond, func(p traffic.Progress) bool { return p.Lost >= 10 })
		settle(t, e)
		m, err := e.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tx, rx := m.Tx[1], m.Rx[traffic.RxKey{Stream: 1, Port: "right"}]
		if lost := tx.Sent - rx.Received; p.Lost < 10 || p.Lost > lost {
			t.Errorf("%+v, and then %d frames were lost", p, lost)
		}
		// A minute of this load are 1,200,000 frames.
		if m.TxTime >= time.Minute || tx.Intended < tx.Sent || tx.Sent == 0 || tx.Sent > 1_000_000 {
			t.Errorf("ended after %s, %+v", m.TxTime, tx)
		}
		if s.fake != nil && tx.Intended != tx.Sent {
			t.Errorf("a sender that keeps its rate is asked for %d frames and sent %d", tx.Intended, tx.Sent)
		}
	})
}

// A sender that is slower than its load is cut off with a shortfall.
func TestACutLeavesAShortfall(t *testing.T) {
	f := newFake(t)
	f.capacity = 1_000
	s := suite{endpoint: f.endpoint, fake: f}
	e := s.open(t, 0)
	configure(t, e, ipv4(t, e, 1))
	if err := e.Start(t.Context(), traffic.Trial{Duration: time.Minute, Loads: map[uint16]traffic.Load{1: {Rate: perSecond(10_000)}}}); err != nil {
		t.Fatal(err)
	}
	follow(t, e, time.Second, func(p traffic.Progress) bool { return p.Received >= 500 })
	m, err := e.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// After the half second 100 ms and 1 % of 5,000 frames are allowed for.
	if tx := m.Tx[1]; tx.Sent < 500 || tx.Intended < 3_500 || tx.Intended >= uint64(m.TxTime.Seconds()*10_000) {
		t.Errorf("%+v in %s", tx, m.TxTime)
	}
}

// Nothing is reported lost of a device that loses nothing, and in the end all is back.
func TestProgressWithoutLoss(t *testing.T) {
	for name, timed := range map[string]int{"plain": 0, "timed": 1_000} {
		t.Run(name, func(t *testing.T) {
			everyServer(t, false, func(t *testing.T, s suite) {
				e := s.open(t, timed)
				configure(t, e, ipv4(t, e, 1))
				if err := e.Start(t.Context(), frames(10_000, 20_000)); err != nil {
					t.Fatal(err)
				}
				follow(t, e, 10*time.Millisecond, func(p traffic.Progress) bool { return p.Lost > 0 })
				settle(t, e)
				want := traffic.Progress{Expected: 10_000, Received: 10_000}
				if p, err := e.Progress(t.Context(), 10*time.Millisecond); err != nil || p != want {
					t.Errorf("%+v, %v; want %+v", p, err, want)
				}
				m, err := e.Read(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				exactly(t, m, 10_000)
			})
		})
	}
}

// A report that is given up, or that the server refuses, is missing. The trial and the
// reports after it are not affected.
func TestReportsDoNotDisturbATrial(t *testing.T) {
	f, e := openFake(t, 0)
	configure(t, e, ipv4(t, e, 1))
	if err := e.Start(t.Context(), frames(20_000, 20_000)); err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() { waited <- e.Wait(t.Context()) }()
	given, reported := 0, 0
	for range 100 {
		ctx, enough := context.WithCancel(t.Context())
		go enough() // at any moment of the call
		switch _, err := e.Progress(ctx, time.Second); {
		case err == nil:
			reported++
		case errors.Is(err, context.Canceled):
			given++
		default:
			t.Fatal(err)
		}
		if _, err := e.Progress(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-waited; err != nil {
		t.Fatalf("waiting for the end: %v", err)
	}
	f.locked(func() { f.broken["get_pgid_stats"] = refused("not now") })
	if _, err := e.Progress(t.Context(), time.Second); err == nil {
		t.Error("a report of counters that could not be read")
	}
	f.locked(func() { delete(f.broken, "get_pgid_stats") })
	m, err := e.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exactly(t, m, 20_000)
	if p, err := e.Progress(t.Context(), time.Second); err != nil || !p.Back() {
		t.Errorf("after the end: %+v, %v", p, err)
	}
	t.Logf("%d reports were given up, %d were not", given, reported)
}

// A report fails once its server was lost, and never before the trial does.
func TestReportsOfALostServer(t *testing.T) {
	f, e := openFake(t, 0)
	configure(t, e, ipv4(t, e, 1))
	if err := e.Start(t.Context(), frames(2_000, 20_000)); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Progress(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	f.down()
	f.up()
	_, err := e.Progress(t.Context(), time.Second)
	interrupted(t, "reporting", err)
	interrupted(t, "waiting", e.Wait(t.Context()))
	configure(t, e, ipv4(t, e, 1))
	exactly(t, run(t, e, frames(500, 20_000)), 500)
	if p, err := e.Progress(t.Context(), time.Second); err != nil || !p.Back() {
		t.Errorf("of the next trial: %+v, %v", p, err)
	}
}

package controlplane

import (
	"slices"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/traffic"
)

// noLonger is the flight of frames of which none takes longer.
func noLonger(d time.Duration) inFlight {
	return inFlight{longer: []latencyCount{{uint64(d), 0}}, known: true}
}

// Frames in flight when a sample is taken are no loss of its interval, at any rate.
func TestFramesInFlightAreNotLost(t *testing.T) {
	t.Parallel()
	sample := func(n int, sent, received uint64) traffic.Sample {
		return traffic.Sample{At: time.Duration(n) * time.Second, Sent: sent, Received: received}
	}
	all := rated(readings([]traffic.Sample{sample(1, 100, 90), sample(2, 200, 150), sample(3, 300, 258), sample(4, 400, 360), sample(5, 500, 459), sample(6, 600, 560)}, false), inFlight{})
	var lost []uint64
	for _, i := range all {
		lost = append(lost, i.sent-i.received)
	}
	if want := []uint64{10, 30, 0, 0, 0, 0}; !slices.Equal(lost, want) {
		t.Errorf("lost %v, want %v", lost, want)
	}
	if e := all.until(500*time.Millisecond, 6*time.Second, time.Second, whollyForwarded); e.took != 1500*time.Millisecond || !e.seen {
		t.Errorf("all frames are forwarded after %v (%v)", e.took, e.seen)
	}
}

// Frames that were in flight when others began to be lost do not prolong the event before:
// a sample every 100 ms, of 200 frames each, where frames take 4 ms.
func TestFramesInFlightBeforeTheNextEvent(t *testing.T) {
	t.Parallel()
	var samples []traffic.Sample
	for n := range uint64(10) {
		samples = append(samples, traffic.Sample{At: time.Duration(n+1) * 100 * time.Millisecond, Sent: 200 * (n + 1), Received: 200*(n+1) - 8*(n/5)})
	}
	samples = append(samples, traffic.Sample{At: 1100 * time.Millisecond, Sent: 2200, Received: 2000})
	end := 900 * time.Millisecond
	if e := rated(readings(samples, false), inFlight{}).until(0, end, 100*time.Millisecond, whollyForwarded); e.seen && e.took == 0 {
		t.Error("the frames in flight are not seen at all: this test shows nothing")
	}
	if e := rated(readings(samples, false), noLonger(4*time.Millisecond)).until(0, end, 100*time.Millisecond, whollyForwarded); e.took != 0 || !e.seen {
		t.Errorf("all frames are forwarded after %v (%v), want from the beginning", e.took, e.seen)
	}
	if e := rated(readings(samples, false), noLonger(time.Hour)).until(0, 1100*time.Millisecond, 100*time.Millisecond, whollyForwarded); e.seen {
		t.Errorf("all frames are forwarded after %v, though the last 200 are lost", e.took)
	}
}

// The time by frames begins with the event, and not with the interval in which it happened:
// 1 frame in a millisecond, a sample every second, routes announced at 1.4 s that are
// forwarded after 50 ms, and withdrawn at 3.7 s, which takes 80 ms.
func TestTheTimeByFramesBeginsWithTheEvent(t *testing.T) {
	t.Parallel()
	var samples []traffic.Sample
	for n, received := range []uint64{0, 550, 1550, 2330, 2330} {
		samples = append(samples, traffic.Sample{At: time.Duration(n+1) * time.Second, Sent: 1000 * uint64(n+1), Received: received})
	}
	all := rated(readings(samples, false), inFlight{})
	announced, withdrawn := 1400*time.Millisecond, 3700*time.Millisecond
	if got := all.stillMissing(announced, withdrawn); got != 50*time.Millisecond {
		t.Errorf("announced routes were missing for %v, want 50 ms", got)
	}
	if got := all.stillForwarded(withdrawn, 5*time.Second); got != 80*time.Millisecond {
		t.Errorf("withdrawn routes were forwarded for %v, want 80 ms", got)
	}
	if got := all.missing(withdrawn, 5*time.Second); got != 1220*time.Millisecond {
		t.Errorf("frames were missing for %v after an event before which none was, want 1.22 s", got)
	}
	withdraw := event{kind: trials.EventWithdraw, turn: time.Millisecond, networks: 16, gradual: true,
		ending: all.until(withdrawn, 5*time.Second, time.Second, notForwarded), derived: all.stillForwarded(withdrawn, 5*time.Second)}
	if doubt := withdraw.contradiction(); doubt != "" {
		t.Error(doubt)
	}
}

// One frame with a high latency hides no route: 5 % of the routes follow 20 s late, at 200
// frames in 100 ms of which one took 5 ms.
func TestAnOutlierOfLatencyHidesNoRoute(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		late time.Duration
		// part of the routes, in per mille.
		part uint64
	}{
		"one in twenty": {20 * time.Second, 50},
		"one in fifty":  {20 * time.Second, 20},
		"one in five":   {5 * time.Second, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var announced, withdrawn []traffic.Sample
			var one, other traffic.Sample
			for range 600 {
				one.At, one.Sent, one.Received = one.At+100*time.Millisecond, one.Sent+1000, one.Received+1000
				other.At, other.Sent = one.At, one.Sent
				if one.At <= tc.late {
					one.Received -= tc.part
					other.Received += tc.part
				}
				announced, withdrawn = append(announced, one), append(withdrawn, other)
			}
			outlier := inFlight{longer: []latencyCount{{uint64(5 * time.Millisecond), 0}, {uint64(100 * time.Microsecond), 1}}}
			if e := rated(readings(announced, false), outlier).until(0, time.Minute, 100*time.Millisecond, whollyForwarded); !e.seen || e.took != tc.late {
				t.Errorf("all frames are forwarded after %v (%v), want %v", e.took, e.seen, tc.late)
			}
			if e := rated(readings(withdrawn, false), outlier).until(0, time.Minute, 100*time.Millisecond, notForwarded); !e.seen || e.took != tc.late {
				t.Errorf("no frame is forwarded after %v (%v), want %v", e.took, e.seen, tc.late)
			}
		})
	}
}

// An engine that reports gaps tells frames in flight from those to routes that are missing,
// however few these are.
func TestGapsTellMissingRoutesFromFramesInFlight(t *testing.T) {
	t.Parallel()
	const interval = 100 * time.Millisecond
	for name, tc := range map[string]struct {
		// missing of 10,000 frames of an interval go to routes that are late, each of which
		// has streams of its own.
		missing uint64
		late    time.Duration
		flying  []uint64
		took    time.Duration
		seen    bool
	}{
		"no route":                       {0, 0, []uint64{40}, 0, true},
		"a frame more in flight":         {0, 0, []uint64{40, 37, 44, 49}, 0, true},
		"more in flight than can be":     {0, 0, []uint64{90}, 0, false},
		"one in 2,000, for 3 s":          {5, 3 * time.Second, []uint64{40}, 3 * time.Second, true},
		"one in 2,000, never":            {5, time.Hour, []uint64{40}, 0, false},
		"one in ten, for 7 s":            {1000, 7 * time.Second, []uint64{40, 30, 45}, 7 * time.Second, true},
		"one in ten, until the end":      {1000, 10 * time.Second, []uint64{0}, 10 * time.Second, false},
		"half, for a part of the second": {5000, 300 * time.Millisecond, []uint64{40}, 300 * time.Millisecond, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all []reading
			var r reading
			var lost uint64
			for n := range 100 {
				r.at, r.sent, r.gaps = r.at+interval, r.sent+10_000, true
				flying := tc.flying[n%len(tc.flying)]
				if r.at <= tc.late {
					lost += tc.missing
				}
				r.received, r.passed = r.sent-lost-flying, r.sent-flying
				if r.at < tc.late { // Nothing of these streams has arrived.
					r.passed -= lost
				}
				all = append(all, r)
			}
			e := rated(all, noLonger(500*time.Microsecond)).until(0, 10*time.Second, interval, whollyForwarded)
			if e.seen != tc.seen || e.seen && e.took != tc.took {
				t.Errorf("all frames are forwarded after %v (%v), want %v (%v)", e.took, e.seen, tc.took, tc.seen)
			}
		})
	}
}

// What was sent is read before what arrived, so that a sample may have frames that were sent
// in between. It hides no frame that was lost before, on one path or on the way to another: 200
// frames in 100 ms, of which that with number 500 is lost.
func TestReadingLaterHidesNoLoss(t *testing.T) {
	t.Parallel()
	const interval, each = 100 * time.Millisecond, 200
	tx, home, other := traffic.ClassAt{Port: "p1", Class: classFlapped}, traffic.ClassAt{Port: "p2", Class: classFlapped}, traffic.ClassAt{Port: "p3", Class: classFlapped}
	for name, moves := range map[string]bool{"on one path": false, "on the way to another path": true} {
		var samples []traffic.Sample
		for n := range uint64(10) {
			s := traffic.Sample{At: time.Duration(n+1) * interval, Ports: traffic.NewPortSamples()}
			s.Ports.Tx[tx] = traffic.TxSample{Sent: each * (n + 1)}
			next := each*(n+1) + 3 // number of the frame that arrives next when this is read
			switch {
			case n < 2:
				s.Ports.Rx[home] = traffic.RxSample{Received: next}
			case moves:
				s.Ports.Rx[home] = traffic.RxSample{Received: 500}
				s.Ports.Rx[other] = traffic.RxSample{Received: next - 501, Lost: 501}
			default:
				s.Ports.Rx[home] = traffic.RxSample{Received: next - 1, Lost: 1}
			}
			samples = append(samples, s)
		}
		f := flapping{primary: map[string]bool{"p2": true}, further: [][]string{{"p3"}}}
		all := map[string][]reading{"routeFlap": f.readings(samples, classFlapped, false, true)}
		if !moves {
			all["convergence"] = readings(samples, true)
		}
		for of, read := range all {
			rates := rated(read, noLonger(time.Millisecond))
			if e := rates.until(2*interval, time.Second, interval, whollyForwarded); !e.seen || e.took != interval {
				t.Errorf("%s, %s: all frames are forwarded after %v (%v), want %v", of, name, e.took, e.seen, interval)
			}
			for n, i := range rates {
				want := uint64(0)
				if n == 2 {
					want = 1
				}
				if i.missing() != want {
					t.Errorf("%s, %s: %d frames are missing in interval %d, want %d", of, name, i.missing(), n, want)
				}
			}
		}
	}
}

// Frames of a stream that is dead until a later part of the trial are missing in this part.
func TestADeadStreamIsNotInFlight(t *testing.T) {
	t.Parallel()
	var all []reading
	for n := range uint64(30) {
		r := reading{at: time.Duration(n+1) * time.Second, sent: 100 * (n + 1), gaps: true}
		if r.passed, r.received = r.sent, r.sent; n >= 10 {
			r.received -= min(1000, 100*(n-9))
		}
		if n >= 10 && n < 20 {
			r.passed = 1000
		}
		all = append(all, r)
	}
	rates := rated(all, noLonger(time.Millisecond))
	if e := rates.until(10*time.Second, 20*time.Second, time.Second, whollyForwarded); e.seen {
		t.Errorf("all frames are forwarded after %v though none is", e.took)
	}
	if e := rates.until(20*time.Second, 30*time.Second, time.Second, whollyForwarded); !e.seen || e.took != time.Second {
		t.Errorf("all frames are forwarded after %v (%v), want 1s", e.took, e.seen)
	}
}

// The number of frames in flight is bounded by what is sent in a latency, and by those that
// take longer.
func TestFramesInFlightAreBounded(t *testing.T) {
	t.Parallel()
	f := inFlight{longer: []latencyCount{{uint64(5 * time.Millisecond), 0}, {uint64(time.Millisecond), 3}, {uint64(100 * time.Microsecond), 400}}}
	for sent, want := range map[uint64]uint64{100: 4, 1000: 13, 100_000: 500} {
		if got := f.most(sent, 100*time.Millisecond); got != want {
			t.Errorf("%d of %d frames in 100 ms, want %d", got, sent, want)
		}
	}
	if got := (inFlight{}).most(1000, time.Second); got != 0 {
		t.Errorf("%d frames of an unknown latency", got)
	}
}

// Two times of an event that sampling does not explain are a contradiction.
func TestContradictingTimes(t *testing.T) {
	t.Parallel()
	seen := func(took time.Duration) ending {
		return ending{took: took, within: 100 * time.Millisecond, seen: true, sampled: true}
	}
	for name, tc := range map[string]struct {
		event
		want string
	}{
		"routes one after the other":  {event{ending: seen(2 * time.Second), derived: time.Second, networks: 1000, gradual: true}, ""},
		"a mean above the last":       {event{kind: trials.EventAnnounce, ending: seen(0), derived: time.Second, networks: 1000, gradual: true}, "the two times of the event Announce contradict each other: 0.000 us by the samples, and 1.000 s by the frames of 1,000 networks"},
		"within sampling":             {event{ending: seen(0), derived: 150 * time.Millisecond, networks: 1000}, ""},
		"within the turn of networks": {event{ending: seen(0), derived: time.Second, turn: time.Second, networks: 1000}, ""},
		"one network, gone once":      {event{ending: seen(20 * time.Second), derived: 20 * time.Second, networks: 1, gradual: true}, ""},
		"one network, gone twice":     {event{kind: trials.EventWithdraw, ending: seen(20 * time.Second), derived: 2 * time.Second, networks: 1, gradual: true}, "the two times of the event Withdraw contradict each other"},
		"one network that dips":       {event{ending: seen(20 * time.Second), derived: 2 * time.Second, networks: 1}, ""},
		"over, and not any more":      {event{kind: trials.EventAnnounce, ending: ending{took: 20 * time.Second, within: 100 * time.Millisecond, over: 15 * time.Second, seen: true, sampled: true}, derived: time.Second, networks: 1000, gradual: true}, "the event Announce took 20.000 s by the samples, but for 15.000 s before it seemed to be over"},
		"unseen":                      {event{ending: ending{sampled: true}, derived: time.Hour, networks: 1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var e eventTimes
			e.add(&trials.Trial{}, tc.event)
			if got := contradictions(e); !strings.HasPrefix(got, tc.want) || tc.want == "" && got != "" {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// A loss long after all frames were forwarded does not count as a late route.
func TestALossAfterTheEndIsNoLateRoute(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		missing []uint64
		over    time.Duration
	}{
		"late routes":       {[]uint64{100, 100, 50, 50, 0, 0, 0, 0}, 0},
		"lost once more":    {[]uint64{100, 50, 0, 0, 0, 0, 0, 3, 0, 0}, 5 * time.Second},
		"twice once more":   {[]uint64{100, 0, 0, 0, 0, 3, 0, 3, 0}, 4 * time.Second},
		"at the beginning":  {[]uint64{0, 0, 0}, 0},
		"all at once, late": {[]uint64{100, 100, 100, 0}, 0},
	} {
		var all intervals
		for n, missing := range tc.missing {
			all = append(all, tally{from: time.Duration(n) * time.Second, to: time.Duration(n+1) * time.Second, sent: 100, received: 100 - missing, overtaken: missing, gaps: true})
		}
		if e := all.until(0, all[len(all)-1].to, time.Second, whollyForwarded); e.over != tc.over || !e.seen {
			t.Errorf("%s: over for %v (%v), want %v", name, e.over, e.seen, tc.over)
		}
	}
}

// Where samples are missing, a time is known less exactly; an event without any sample has
// none.
func TestMissingSamplesLowerTheResolution(t *testing.T) {
	t.Parallel()
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	all := intervals{
		{from: 0, to: ms(100), sent: 100, received: 100},
		{from: ms(100), to: ms(800), sent: 700, received: 650},
		{from: ms(800), to: ms(900), sent: 100, received: 100},
	}
	var times eventTimes
	times.add(&trials.Trial{}, event{ending: all.until(ms(200), ms(1000), ms(100), whollyForwarded)})
	if s := times.summary(); s.MaxNs != int64(ms(600)) || times.within != ms(600) || unsampledEvents(times) != "" {
		t.Errorf("%+v known to %v: %s", s, times.within, unsampledEvents(times))
	}
	times.add(&trials.Trial{}, event{ending: all.until(ms(100), ms(1000), ms(100), whollyForwarded)})
	times.add(&trials.Trial{}, event{ending: all.until(ms(910), ms(1000), ms(100), whollyForwarded)})
	if s := times.summary(); s.MaxNs != int64(ms(700)) || times.within != ms(700) || s.Unseen != 0 || times.unsampled != 1 {
		t.Errorf("%+v known to %v, %d without a sample", s, times.within, times.unsampled)
	}
	if want, got := "1 of the events have no time", unsampledEvents(times); !strings.HasPrefix(got, want) {
		t.Errorf("message %q, want %s", got, want)
	}
}

// An event whose end lies in a time without samples has no time: it is not one that did not end. A
// sample every 100 ms, of 100 frames each, routes withdrawn at 1 s that are forwarded for 50 ms.
func TestAnEndWithoutSamplesIsNotSeen(t *testing.T) {
	t.Parallel()
	const interval = 100 * time.Millisecond
	for name, tc := range map[string]struct {
		// samples that were not read, by their numbers from 1.
		from, to int
		// only these were read, unless it is empty.
		only              []int
		unseen, unsampled int32
		times             int64
	}{
		"all samples":              {0, 0, nil, 0, 0, 1},
		"one missing":              {12, 12, nil, 0, 0, 1},
		"none after the event":     {11, 20, nil, 0, 1, 0},
		"only the one at the end":  {11, 19, nil, 0, 1, 0},
		"none at the end":          {14, 20, nil, 0, 1, 0},
		"few, and none at the end": {0, 0, []int{1, 8, 15}, 0, 1, 0},
		"few, also at the end":     {0, 0, []int{1, 8, 15, 18, 20}, 0, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var samples []reading
			for n := 1; n <= 20; n++ {
				if n >= tc.from && n <= tc.to || len(tc.only) > 0 && !slices.Contains(tc.only, n) {
					continue
				}
				r := reading{at: time.Duration(n) * interval, sent: 100 * uint64(n), gaps: true}
				r.received = min(r.sent, 1050)
				r.passed = r.received
				samples = append(samples, r)
			}
			var times eventTimes
			whole := 2 * time.Second
			times.add(&trials.Trial{}, event{kind: trials.EventWithdraw, turn: time.Millisecond, networks: 4, gradual: true,
				ending: rated(samples, noLonger(time.Millisecond)).until(time.Second, whole, interval, notForwarded)})
			if times.unseen != tc.unseen || times.unsampled != tc.unsampled || times.times.Count != tc.times {
				t.Errorf("%d unseen, %d unsampled, %d times", times.unseen, times.unsampled, times.times.Count)
			}
		})
	}
}

// An event begins when its first message left, by the clock of the port that samples go by.
func TestMomentsOfEvents(t *testing.T) {
	t.Parallel()
	stamp := func(ports traffic.Moments) trials.Stamp {
		return trials.Stamp{Kind: trials.EventAnnounce, Began: 300 * time.Millisecond, Ports: ports}
	}
	for name, tc := range map[string]struct {
		began, sent traffic.Moments
		want        time.Duration
	}{
		"a message 90 ms late":               {traffic.Moments{"p1": 1e9}, traffic.Moments{"p1": 1.39e9}, 390 * time.Millisecond},
		"the first of two":                   {traffic.Moments{"p1": 1e9, "p2": 7e9}, traffic.Moments{"p1": 1.39e9, "p2": 7.35e9}, 350 * time.Millisecond},
		"an engine that does not know":       {nil, traffic.Moments{"p1": 1.39e9}, 300 * time.Millisecond},
		"a speaker that does not know":       {traffic.Moments{"p1": 1e9}, nil, 300 * time.Millisecond},
		"another clock than that of samples": {traffic.Moments{"p1": 5e9}, traffic.Moments{"p1": 1.39e9}, 300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one := &trials.Trial{Stamps: []trials.Stamp{stamp(tc.sent)}}
			one.Counters.Measurement.Began = tc.began
			if got := momentOf(one, trials.EventAnnounce, 0); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
			if got := momentsOf(one, trials.EventWithdraw); got != nil {
				t.Errorf("withdrawn at %v", got)
			}
		})
	}
}

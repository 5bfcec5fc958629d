package trials

import (
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

// twoWay is a pair of ports with a stream in each direction.
func twoWay() plan.Plan {
	return plan.Plan{
		Ports:   []plan.Port{{Name: "p1"}, {Name: "p2"}},
		Streams: []plan.Stream{{ID: 0, Tx: 0, Rx: []int{1}, Part: 1}, {ID: 1, Tx: 1, Rx: []int{0}, Part: 1}},
	}
}

func measurement(sent0, received0, sent1, received1 uint64) traffic.Measurement {
	return traffic.Measurement{
		Tx: map[uint16]traffic.TxCount{0: {Intended: 100, Sent: sent0}, 1: {Intended: 100, Sent: sent1}},
		Rx: map[traffic.RxKey]traffic.RxCount{
			{Stream: 0, Port: "p2"}: {Received: received0},
			{Stream: 1, Port: "p1"}: {Received: received1},
		},
		TxTime: time.Second,
	}
}

func TestTrialVerdicts(t *testing.T) {
	tests := map[string]struct {
		m                                     traffic.Measurement
		passed, generator, unsent, testerLost bool
		lost, excess                          uint64
		silent                                string
		change                                func(*traffic.Measurement)
	}{
		"all came back": {m: measurement(100, 100, 100, 100), passed: true},
		"one lost":      {m: measurement(100, 99, 100, 100), lost: 1},
		// A surplus of one stream must not hide the loss of the other.
		"one lost, one too many": {m: measurement(100, 99, 100, 101), lost: 1, excess: 1, testerLost: true, generator: true},
		"sent less":              {m: measurement(90, 90, 100, 100), unsent: true, generator: true},
		"sent less and lost":     {m: measurement(90, 80, 100, 100), unsent: true, lost: 10},
		"sent nothing":           {m: measurement(0, 0, 0, 0), unsent: true, generator: true, silent: "p1,p2"},
		"one direction is dead":  {m: measurement(100, 0, 100, 100), lost: 100, silent: "p2"},
		"sent late": {m: measurement(100, 100, 100, 100), unsent: true, generator: true,
			change: func(m *traffic.Measurement) { m.TxTime = 1011 * time.Millisecond }},
		"sent a little late": {m: measurement(100, 100, 100, 100), passed: true,
			change: func(m *traffic.Measurement) { m.TxTime = 1010 * time.Millisecond }},
		"the tester dropped": {m: measurement(100, 99, 100, 100), lost: 1, generator: true, testerLost: true,
			change: func(m *traffic.Measurement) {
				m.Notes = []traffic.Note{{Kind: traffic.NoteReceiver, Text: "p2 dropped 1"}}
			}},
		// A frame of LLDP that the port does not know is none of the test.
		"the tester dropped a frame of others": {m: measurement(100, 100, 100, 100), passed: true,
			change: func(m *traffic.Measurement) { m.Dropped = map[string]uint64{"p2": 1} }},
		"the tester dropped a tenth of the lost": {m: measurement(100, 90, 100, 100), lost: 10, generator: true, testerLost: true,
			change: func(m *traffic.Measurement) { m.Dropped = map[string]uint64{"p2": 1} }},
		"the tester dropped fewer than were lost": {m: measurement(100, 80, 100, 100), lost: 20,
			change: func(m *traffic.Measurement) { m.Dropped = map[string]uint64{"p2": 1} }},
		"the tester dropped at another port": {m: measurement(100, 99, 100, 100), lost: 1,
			change: func(m *traffic.Measurement) { m.Dropped = map[string]uint64{"p1": 50} }},
		"the device held the tester back": {m: measurement(60, 60, 100, 100), unsent: true,
			change: func(m *traffic.Measurement) { m.Notes = []traffic.Note{{Kind: traffic.NoteHeldBack}} }},
		"lost as many as the tester caught up with": {m: measurement(1000, 848, 1000, 1000), lost: 152, generator: true,
			change: func(m *traffic.Measurement) {
				m.Pacing = map[string]traffic.Pacing{"p1": {MaxBurst: 65, CaughtUp: 82}, "p2": {MaxBurst: 70, CaughtUp: 70}}
			}},
		"lost more than the tester caught up with": {m: measurement(1000, 929, 1000, 1000), lost: 71,
			change: func(m *traffic.Measurement) {
				m.Pacing = map[string]traffic.Pacing{"p1": {MaxBurst: 70, CaughtUp: 70}}
			}},
		"the tester caught up in short bursts": {m: measurement(100, 95, 100, 100), lost: 5,
			change: func(m *traffic.Measurement) {
				m.Pacing = map[string]traffic.Pacing{"p1": {MaxBurst: 64, CaughtUp: 90}}
			}},
		"the tester caught up, and nothing was lost": {m: measurement(100, 100, 100, 100), passed: true,
			change: func(m *traffic.Measurement) { m.Pacing = map[string]traffic.Pacing{"p1": {MaxBurst: 90, CaughtUp: 90}} }},
		"a card did not send a frame": {m: measurement(100, 99, 100, 100), unsent: true, generator: true,
			change: func(m *traffic.Measurement) { m.Unsent = map[string]uint64{"p1": 1} }},
		"a card did not send fewer than were lost": {m: measurement(100, 97, 100, 100), unsent: true, lost: 2,
			change: func(m *traffic.Measurement) { m.Unsent = map[string]uint64{"p1": 1} }},
		"another port's card did not send frames": {m: measurement(100, 97, 100, 100), lost: 3,
			change: func(m *traffic.Measurement) { m.Unsent = map[string]uint64{"p2": 3} }},
		"a card counted wrong": {m: measurement(100, 100, 100, 100), passed: true,
			change: func(m *traffic.Measurement) { m.Unsent = map[string]uint64{"p1": 3} }},
		"frames at the wrong port": {m: measurement(100, 0, 100, 100), lost: 100, silent: "p2",
			change: func(m *traffic.Measurement) {
				m.Rx[traffic.RxKey{Stream: 0, Port: "p1"}] = traffic.RxCount{Received: 100}
			}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.change != nil {
				tc.change(&tc.m)
			}
			trial := NewTrial(twoWay(), plan.Bytes(64), 500_000, time.Second, tc.m)
			if trial.Passed() != tc.passed || trial.GeneratorBound() != tc.generator || trial.Unsent() != tc.unsent || trial.TesterLost() != tc.testerLost {
				t.Errorf("passed %v, generator-bound %v, unsent %v, tester lost %v", trial.Passed(), trial.GeneratorBound(), trial.Unsent(), trial.TesterLost())
			}
			if trial.Lost != tc.lost || trial.Excess != tc.excess || strings.Join(trial.Silent, ",") != tc.silent {
				t.Errorf("lost %d, excess %d, silent %v", trial.Lost, trial.Excess, trial.Silent)
			}
		})
	}
}

// A burst of the tester explains as many lost frames as were sent in such bursts. Where the
// device's own counters have lost frames, it dropped them, and the burst is why it may have.
func TestStallsExplainNoMoreThanTheyCan(t *testing.T) {
	const burst = "the tester fell up to 30ms behind its schedule on p1 and sent up to 70 frames in a row to catch up: "
	for name, tc := range map[string]struct {
		lost    uint64
		allowed []int64
		notes   []traffic.Note
		want    string
	}{
		"all":                            {lost: 71, want: burst + "the 71 lost frames can be due to that"},
		"those that decide a search":     {lost: 250, allowed: []int64{100_000}, want: burst + "120 of the 250 lost frames can be due to that"},
		"what the device has dropped":    {lost: 71, notes: []traffic.Note{{Kind: traffic.NoteDeviceDropped, Text: "71"}}, want: burst + "a device can drop frames of such a burst that it forwards at a constant load"},
		"fewer than the device has lost": {lost: 121},
	} {
		t.Run(name, func(t *testing.T) {
			m := measurement(1000, 1000-tc.lost, 1000, 1000)
			m.Notes, m.Pacing = tc.notes, map[string]traffic.Pacing{"p1": {MaxLag: 30 * time.Millisecond, MaxBurst: 70, CaughtUp: 120}}
			trial := NewTrial(twoWay(), plan.Bytes(64), 500_000, time.Second, m)
			trial.faults.allowed = tc.allowed
			if got := strings.Join(trial.Stalls(), "; "); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// A frame of a burst that many ports should receive can be lost at each of them.
func TestAStallLosesFramesOfAllReceivers(t *testing.T) {
	p := plan.Plan{
		Ports:   []plan.Port{{Name: "p1"}, {Name: "p2"}, {Name: "p3"}, {Name: "p4"}},
		Streams: []plan.Stream{{ID: 0, Tx: 0, Rx: []int{1, 2, 3}, Part: 1}},
	}
	for lost, stalled := range map[uint64]bool{100: true, 101: false} {
		m := traffic.Measurement{
			Tx: map[uint16]traffic.TxCount{0: {Intended: 1000, Sent: 1000}}, Rx: map[traffic.RxKey]traffic.RxCount{}, TxTime: time.Second,
			Pacing: map[string]traffic.Pacing{"p1": {MaxLag: time.Millisecond, MaxBurst: 100, CaughtUp: 100}},
		}
		for _, port := range []string{"p2", "p3", "p4"} {
			m.Rx[traffic.RxKey{Stream: 0, Port: port}] = traffic.RxCount{Received: 1000 - lost}
		}
		if trial := NewTrial(p, plan.Bytes(64), 500_000, time.Second, m); trial.Stalled() != stalled {
			t.Errorf("%d frames lost at each of three ports after a burst of 100: stalled %v", lost, trial.Stalled())
		}
	}
}

func TestShortSendingNamesThePortThatFellBehind(t *testing.T) {
	trial := NewTrial(twoWay(), plan.Bytes(64), 500_000, time.Second, measurement(95, 95, 60, 60))
	if got, want := trial.ShortSending(), "the tester sent 155 of the 200 frames that 50% asks for in 1s, and fell behind most on p2"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	m := measurement(100, 100, 100, 100)
	m.TxTime = 2*time.Second + 123_456_789
	trial = NewTrial(twoWay(), plan.Bytes(64), 500_000, time.Second, m)
	if got := trial.ShortSending(); !strings.Contains(got, "took 2.123s to send the 200 frames of 1s") {
		t.Error(got)
	}
	if got := trial.OfferedRate().FloatString(1); got != "94.2" {
		t.Errorf("offered %s frames/s, want 200 in 2.123 s", got)
	}
	trial = NewTrial(twoWay(), plan.Bytes(64), 1, time.Second, traffic.Measurement{})
	if got := trial.ShortSending(); !strings.Contains(got, "0.0001% is less than one frame") {
		t.Error(got)
	}
}

func TestLatencyOfAllStreams(t *testing.T) {
	m := measurement(100, 2, 100, 3)
	// Sums that together do not fit 64 bits, as 256 ports make them in a day.
	m.Rx[traffic.RxKey{Stream: 0, Port: "p2"}] = traffic.RxCount{Received: 2, Latency: traffic.Latency{
		Count: 2, MinNs: 50, MaxNs: 900, SumNs: 1 << 63, JitterCount: 1, JitterMaxNs: 5, JitterSumNs: 5, Buckets: map[uint32]uint64{7: 2}}}
	m.Rx[traffic.RxKey{Stream: 1, Port: "p1"}] = traffic.RxCount{Received: 3, Latency: traffic.Latency{
		Count: 3, MinNs: 10, MaxNs: 700, SumNs: 1 << 63, JitterCount: 2, JitterMaxNs: 8, JitterSumNs: 9, Buckets: map[uint32]uint64{7: 1, 1 << 30: 2}}}
	l := NewTrial(twoWay(), plan.Bytes(64), 1, time.Second, m).Counters.Latency()
	if l.Count != 5 || l.MinNs != 10 || l.MaxNs != 900 || l.SumNs.String() != "18446744073709551616" {
		t.Errorf("latency %+v", l)
	}
	if l.JitterCount != 3 || l.JitterMaxNs != 8 || l.JitterSumNs.Int64() != 14 {
		t.Errorf("jitter %+v", l)
	}
	if l.Buckets[7] != 3 || l.Buckets[traffic.BucketCount-1] != 2 {
		t.Error("buckets were not added up")
	}
}

// What the tester dropped matters to a search when it decides the verdict: a device that
// lost a single frame more than that did not pass.
func TestTesterLossThatDecidesASearch(t *testing.T) {
	ndr, ndrAndPDR := []int64{0}, []int64{0, 50_000}
	for name, tc := range map[string]struct {
		allowed       []int64
		lost, dropped uint64
		want          bool
	}{
		"all of the lost":                          {ndr, 3, 3, true},
		"more than the lost":                       {ndr, 3, 5, true},
		"one of two":                               {ndr, 2, 1, false},
		"one of nineteen":                          {ndr, 19, 1, false},
		"all but one":                              {ndr, 19, 18, false},
		"few, within a loss that is allowed":       {ndrAndPDR, 5, 1, false},
		"those beyond a loss that is allowed":      {ndrAndPDR, 12, 2, true},
		"some of those beyond what is allowed":     {ndrAndPDR, 12, 1, false},
		"all, within a loss that is allowed":       {ndrAndPDR, 5, 5, true},
		"none where the loss is the figure itself": {nil, 21, 1, false},
		"a tenth of the figure":                    {nil, 10, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := measurement(100, 100-tc.lost, 100, 100)
			m.Dropped = map[string]uint64{"p2": tc.dropped}
			trial := NewTrial(twoWay(), plan.Bytes(64), 500_000, time.Second, m)
			trial.faults.allowed = tc.allowed
			if got := trial.TesterLost(); got != tc.want {
				t.Errorf("%d of %d lost frames dropped by the tester: decides %v, want %v", tc.dropped, tc.lost, got, tc.want)
			}
			m.Dropped, m.Pacing = nil, map[string]traffic.Pacing{"p1": {MaxBurst: HarmlessBurst + 1, CaughtUp: tc.dropped}}
			trial = NewTrial(twoWay(), plan.Bytes(64), 500_000, time.Second, m)
			if trial.faults.allowed = tc.allowed; tc.allowed != nil && trial.Stalled() != tc.want {
				t.Errorf("%d of %d lost frames after a stall: decides %v, want %v", tc.dropped, tc.lost, trial.Stalled(), tc.want)
			}
		})
	}
}

// Lost frames that arrived damaged at a card disturb a trial: the cable may be bad. Damaged
// frames do not matter where none is lost.
func TestWireErrorsDisturbATrial(t *testing.T) {
	for name, tc := range map[string]struct {
		received uint64
		port     string
		want     bool
	}{
		"lost there":     {98, "p2", true},
		"lost elsewhere": {98, "p1", false},
		"nothing lost":   {100, "p2", false},
	} {
		t.Run(name, func(t *testing.T) {
			m := measurement(100, tc.received, 100, 100)
			m.WireErrors = map[string]uint64{tc.port: 2}
			trial := NewTrial(twoWay(), plan.Bytes(64), 500_000, time.Second, m)
			if got := trial.Disturbed(); got != tc.want || (trial.void() != "") != tc.want {
				t.Errorf("disturbed %v, void %q, want %v", got, trial.void(), tc.want)
			}
		})
	}
}

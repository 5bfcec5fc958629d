package method

import (
	"context"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/search"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

// shaken is a fake generator that changes what some of its trials measured.
type shaken struct {
	traffic.Generator
	trials int
	when   func(trial int, framesPerSecond uint64) bool
	change func(*traffic.Measurement)
}

func (s *shaken) Read(ctx context.Context) (traffic.Measurement, error) {
	m, err := s.Generator.Read(ctx)
	if tx := m.Tx[0]; m.TxTime >= time.Second { // not while learning
		if s.trials++; s.when(s.trials, tx.Sent/uint64(m.TxTime/time.Second)) {
			s.change(&m)
		}
	}
	return m, err
}

// lose makes n frames lost from p1 to p2, with a note.
func lose(n uint64, kind traffic.NoteKind, text string) func(*traffic.Measurement) {
	return func(m *traffic.Measurement) {
		key := traffic.RxKey{Stream: 0, Port: "p2"}
		rx := m.Rx[key]
		rx.Received -= n
		m.Rx[key] = rx
		m.Notes = append(m.Notes, traffic.Note{Kind: kind, Text: text})
	}
}

// What may not be the device's doing makes a failing trial void.
var doubts = map[string]struct {
	change func(*traffic.Measurement)
	// named reports whether a trial failed for that reason.
	named func(*trials.Trial) bool
}{
	"a link went down":        {lose(1, traffic.NoteCounter, "the link of p2 went down"), (*trials.Trial).Disturbed},
	"others used a processor": {lose(1, traffic.NoteForeignLoad, "others used processor 1"), func(t *trials.Trial) bool { return t.Notes.Contended() }},
	"the tester stalled": {func(m *traffic.Measurement) {
		lose(300, traffic.NoteUnsent, "")(m)
		m.Pacing = map[string]traffic.Pacing{"p1": {MaxLag: time.Millisecond, MaxBurst: 300, CaughtUp: 300}}
	}, (*trials.Trial).Stalled},
	"the tester dropped": {func(m *traffic.Measurement) {
		lose(7, traffic.NoteUnsent, "")(m)
		m.Dropped = map[string]uint64{"p2": 7}
	}, (*trials.Trial).TesterLost},
}

// One such trial is run again: the device is found as it is.
func TestADoubtfulFailureIsVoid(t *testing.T) {
	for name, doubt := range doubts {
		t.Run(name, func(t *testing.T) {
			p := testPlan(t)
			gen := &shaken{
				Generator: simulate(t, header+"\n64,33.3333,1,2,3\n", p), change: doubt.change,
				when: func(n int, _ uint64) bool { return n%4 == 1 },
			}
			first, repeated := 0, 0
			out := mustRun(t, open(t, gen, p, func(e trials.Event) {
				switch {
				case e.Finished != nil:
				case e.Repeats == "":
					first++
				default:
					repeated++
				}
			}), p.Steps[0])
			if out.LoadPPM != 333_333 || out.Limit != nil || out.Trial.Doubtful() {
				t.Errorf("found %d ppm with the limit %+v, want the device's 333333", out.LoadPPM, out.Limit)
			}
			if repeated == 0 || repeated >= first {
				t.Errorf("%d trials say that they repeat one, and %d that they do not", repeated, first)
			}
		})
	}
}

// One that comes again and again above a load is not the device's limit without
// doubt: the trial that ended the search is kept, for the verdict.
func TestASearchThatADoubtEnded(t *testing.T) {
	for name, doubt := range doubts {
		t.Run(name, func(t *testing.T) {
			p := testPlan(t)
			// 20 % of 10G in frames of 64 bytes are 2.98 million frames/s.
			gen := &shaken{
				Generator: simulate(t, header+"\n64,33.3333,1,2,3\n", p), change: doubt.change,
				when: func(_ int, rate uint64) bool { return rate > 3_000_000 },
			}
			out := mustRun(t, open(t, gen, p, nil), p.Steps[0])
			if out.LoadPPM >= 333_333 || out.Limit == nil || !doubt.named(out.Limit) || out.Limit.LoadPPM != out.Bracket.FailedPPM {
				t.Errorf("found %d ppm with the limit %+v, want one that the doubt is named of", out.LoadPPM, out.Limit)
			}
		})
	}
}

// Where goals with several loss ratios end at one load, each is explained by a trial that
// lost more than it allows.
func TestATrialThatFailedTheGoal(t *testing.T) {
	p := testPlan(t)
	// 5 % of the first trial at half of line rate are lost, and a few frames of the second.
	gen := &shaken{Generator: simulate(t, ideal, p), when: func(int, uint64) bool { return true }}
	gen.change = func(m *traffic.Measurement) {
		n := m.Tx[0].Sent / 1500
		if gen.trials == 1 {
			n = m.Tx[0].Sent / 20
		}
		lose(n, traffic.NoteDeviceDropped, "the device counted them")(m)
	}
	tester := open(t, gen, p, nil)
	if err := tester.Configure(t.Context(), p.Steps[0]); err != nil {
		t.Fatal(err)
	}
	for _, order := range [][]int{{1, 2}, {2, 1}} {
		m := newSearchTrials(tester, p.Steps[0])
		for _, trial := range order {
			gen.trials = trial - 1
			if _, err := m.Measure(t.Context(), 500_000, time.Minute); err != nil {
				t.Fatal(err)
			}
		}
		for ratio, want := range map[int64]bool{0: false, 5000: true} {
			out := m.outcome(search.Result{}, search.GoalResult{Goal: search.Goal{LossRatioPPM: ratio}, LowerPPM: 333_333, UpperPPM: 500_000}, nil)
			if out.Failed == nil || want && !search.Exceeds(out.Failed.Lost, out.Failed.Expected, ratio) {
				t.Errorf("trials %v: the goal of %d ppm is explained by a trial that does not fail it, or by none", order, ratio)
			}
		}
		out := m.outcome(search.Result{}, search.GoalResult{Goal: search.Goal{LossRatioPPM: 100_000}, LowerPPM: 333_333, UpperPPM: 500_000}, nil)
		if out.Failed != nil {
			t.Errorf("trials %v: no trial lost a tenth, and %d lost frames explain it", order, out.Failed.Lost)
		}
	}
}

// A trial without a doubt at the load that ended the search settles what another one
// there left in doubt, whichever came first.
func TestATrialThatSettlesADoubt(t *testing.T) {
	for name, when := range map[string]func(int, uint64) bool{
		"before":  func(n int, _ uint64) bool { return n > 1 },
		"after":   func(n int, _ uint64) bool { return n <= 2 }, // which are the trial and its repetition
		"neither": func(int, uint64) bool { return true },
	} {
		t.Run(name, func(t *testing.T) {
			p := testPlan(t)
			gen := &shaken{Generator: simulate(t, header+"\n64,33.3333,1,2,3\n", p), change: lose(1, traffic.NoteForeignLoad, "others used processor 1"), when: when}
			tester := open(t, gen, p, nil)
			if err := tester.Configure(t.Context(), p.Steps[0]); err != nil {
				t.Fatal(err)
			}
			m := newSearchTrials(tester, p.Steps[0])
			for range 2 {
				if _, err := m.Measure(t.Context(), 500_000, time.Minute); err != nil {
					t.Fatal(err)
				}
			}
			out := m.outcome(search.Result{}, search.GoalResult{LowerPPM: 333_333, UpperPPM: 500_000}, nil)
			if (out.Limit != nil) != (name == "neither") {
				t.Errorf("the limit is %+v", out.Limit)
			}
		})
	}
}

// A device that holds the tester back is the limit itself, and the message says so.
func TestASearchThatTheDeviceHeldBack(t *testing.T) {
	p := testPlan(t)
	gen := &shaken{
		Generator: simulate(t, header+"\n64,100,1,2,3\n", p),
		when:      func(_ int, rate uint64) bool { return rate > 3_000_000 },
		change: func(m *traffic.Measurement) {
			key := traffic.RxKey{Stream: 0, Port: "p2"}
			tx, rx := m.Tx[0], m.Rx[key]
			tx.Sent, rx.Received = tx.Sent/2, rx.Received/2
			m.Tx[0], m.Rx[key] = tx, rx
			m.Notes = append(m.Notes, traffic.Note{Kind: traffic.NoteHeldBack, Text: "the device held p1 back with 9 pause frames"})
		},
	}
	out := mustRun(t, open(t, gen, p, nil), p.Steps[0])
	if out.LoadPPM < 201_000 || out.LoadPPM > 202_000 || out.Limit != nil || !strings.Contains(out.Message, "the device held p1 back with 9 pause frames") {
		t.Errorf("found %d ppm with the limit %+v: %s", out.LoadPPM, out.Limit, out.Message)
	}
}

// An engine that ends its trials late by itself finds the device's limit, and the
// load that counts is the offered one. One that did not declare it is the limit.
func TestAnEngineThatIsLateByItself(t *testing.T) {
	p := testPlan(t)
	late := func(step int, declared time.Duration) trials.Outcome {
		gen := &shaken{
			Generator: simulate(t, header+"\n64,33.3333,1,2,3\n", p), when: func(int, uint64) bool { return true },
			change: func(m *traffic.Measurement) { m.TxTime += 200 * time.Millisecond },
		}
		tester := open(t, gen, p, nil)
		trials.WithLateness(declared)(tester)
		return mustRun(t, tester, p.Steps[step])
	}
	out := late(0, 250*time.Millisecond)
	// 60 s of sending took 60.2 s: 332,225 ppm were offered.
	if out.LoadPPM != 333_333 || out.Limit != nil || !out.Trial.EndedLate() || out.Trial.OfferedPPM() != 332_225 {
		t.Errorf("found %d ppm, offered %d, late %v, with the limit %+v", out.LoadPPM, out.Trial.OfferedPPM(), out.Trial.EndedLate(), out.Limit)
	}
	row := rowOf(p, out)
	// Rounding down to one part in a million leaves out up to 60 frames/s of four ports.
	if below := row.Frames.OfferedFramesPerSecond - row.Frames.FramesPerSecond; below < 0 || below > 60 || row.Frames.LineRatePPM != 332_225 || !strings.Contains(row.Message, "took 1m0.2s for a trial of 1m0s at 33.3333%") || row.Validity != v1alpha1.ValiditySimulated {
		t.Errorf("%+v, %s %q", row.Frames, row.Validity, row.Message)
	}
	if out := late(0, 0); out.Limit == nil || !out.Limit.Unsent() {
		t.Errorf("found %d ppm with the limit %+v, want the tester as the limit", out.LoadPPM, out.Limit)
	}
	// At a load of its own the row has the offered load next to the intended one.
	for declared, limited := range map[time.Duration]bool{0: true, 250 * time.Millisecond: false} {
		if out := late(1, declared); (out.Limit != nil) != limited || out.LoadPPM != 500_000 {
			t.Errorf("latency at %d ppm with the limit %+v, lateness %s", out.LoadPPM, out.Limit, declared)
		}
	}
}

// unsteady is a fake generator that catches up with its schedule in every trial.
type unsteady struct {
	*sim.Engine
	caughtUp uint64
}

func (u unsteady) Read(ctx context.Context) (traffic.Measurement, error) {
	m, err := u.Engine.Read(ctx)
	m.Pacing = map[string]traffic.Pacing{"p1": {MaxLag: time.Millisecond, MaxBurst: u.caughtUp, CaughtUp: u.caughtUp}}
	return m, err
}

// The few frames that a trial loses until it is ended early can be due to bursts of
// the tester. A trial of full length tells: the device loses on.
func TestALossThatCanBeTheTestersIsGivenItsTime(t *testing.T) {
	p := testPlan(t)
	gen := unsteady{simulate(t, header+"\n64,33.3333,1,2,3\n", p), 100}
	out := mustRun(t, open(t, gen, p, nil), p.Steps[0])
	if out.LoadPPM != 333_333 || out.Limit != nil {
		t.Errorf("found %d ppm with the limit %+v, want the device's 333333", out.LoadPPM, out.Limit)
	}
}

// A frame of LLDP in the counter of drops does not end a search for another reason than
// the device, which lost many.
func TestAForeignFrameDoesNotEndASearch(t *testing.T) {
	p := testPlan(t)
	gen := &shaken{
		Generator: simulate(t, header+"\n64,33.3333,1,2,3\n", p),
		change: func(m *traffic.Measurement) {
			lose(2, traffic.NoteUnsent, "")(m)
			m.Dropped = map[string]uint64{"p2": 1}
		},
		when: func(_ int, rate uint64) bool { return rate > 3_000_000 },
	}
	out := mustRun(t, open(t, gen, p, nil), p.Steps[0])
	if out.Limit != nil || out.Failed == nil || out.LoadPPM >= 333_333 {
		t.Errorf("found %d ppm with the limit %+v, want the device's own", out.LoadPPM, out.Limit)
	}
}

package method

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

// fakeSilent is an engine that does not report the progress of a trial.
type fakeSilent struct{ traffic.Generator }

// fakeReporter is an engine whose report of a running trial is changed.
type fakeReporter struct {
	*sim.Engine
	change func(p traffic.Progress, err error) (traffic.Progress, error)
	asked  int
}

func (f *fakeReporter) Progress(ctx context.Context, age time.Duration) (traffic.Progress, error) {
	f.asked++
	return f.change(f.Engine.Progress(ctx, age))
}

// trialsOf runs the only search of a plan and returns all its trials.
func trialsOf(t *testing.T, gen traffic.Generator, p plan.Plan) (trials.Outcome, []*trials.Trial) {
	t.Helper()
	var all []*trials.Trial
	out := mustRun(t, open(t, gen, p, func(e trials.Event) {
		if e.Finished != nil {
			all = append(all, e.Finished)
		}
	}), p.Steps[0])
	return out, all
}

var everySearch = []v1alpha1.SearchMethod{v1alpha1.SearchBinary, v1alpha1.SearchMLRsearch, v1alpha1.SearchInformed}

func TestOnlyTrialsThatLoseEndEarly(t *testing.T) {
	for _, name := range everySearch {
		t.Run(string(name), func(t *testing.T) {
			p := searchPlan(t, v1alpha1.ThroughputTest{Search: name}, 64)
			want, _ := trialsOf(t, fakeSilent{simulate(t, limited, p)}, p)
			out, trials := trialsOf(t, simulate(t, limited, p), p)
			if out.LoadPPM != want.LoadPPM || out.Bracket != want.Bracket {
				t.Errorf("found %d %+v, without an early end %d %+v", out.LoadPPM, out.Bracket, want.LoadPPM, want.Bracket)
			}
			early := 0
			for _, trial := range trials {
				switch {
				case trial.Passed() && (trial.Ended > 0 || trial.TxTime != trial.Duration):
					t.Errorf("passed at %d ppm after %s of %s", trial.LoadPPM, trial.TxTime, trial.Duration)
				case trial.Ended > 0:
					early++
					if trial.Lost == 0 || trial.Ended >= trial.Duration || trial.TxTime != trial.Ended || trial.Sent != trial.Intended || trial.GeneratorBound() {
						t.Errorf("ended early: %+v", trial)
					}
				case trial.Lost > 0 && trial.Duration > 2*time.Second:
					t.Errorf("lost %d frames at %d ppm and took %s", trial.Lost, trial.LoadPPM, trial.TxTime)
				}
			}
			if early == 0 && name != v1alpha1.SearchInformed {
				t.Error("no trial ended early")
			}
			if out.Elapsed >= want.Elapsed || out.Search.TrialMilliseconds > want.Search.TrialMilliseconds {
				t.Errorf("took %s and sent %d ms, without an early end %s and %d ms", out.Elapsed, out.Search.TrialMilliseconds, want.Elapsed, want.Search.TrialMilliseconds)
			}
		})
	}
}

// A device that reorders frames, duplicates them or holds them up loses none.
func TestOddDevicesEndNoTrial(t *testing.T) {
	model := header + ",reordered_ppm,duplicate_ppm\n64,100,1,2,5000,200000,100\n"
	p := searchPlan(t, v1alpha1.ThroughputTest{Search: v1alpha1.SearchMLRsearch}, 64)
	out, trials := trialsOf(t, simulate(t, model, p), p)
	if out.LoadPPM != 1_000_000 || out.Trial.Reordered == 0 || out.Trial.Duplicate == 0 {
		t.Errorf("found %+v", out)
	}
	for _, trial := range trials {
		if trial.Ended > 0 || trial.TxTime != trial.Duration {
			t.Errorf("ended early: %+v", trial)
		}
	}
}

// Frames that come back late were not lost: the trial runs again in full, and no
// other trial of the search ends early.
func TestAnEarlyEndThatWasWrongCostsATrial(t *testing.T) {
	p := searchPlan(t, v1alpha1.ThroughputTest{}, 64)
	gen := &fakeReporter{Engine: simulate(t, header+"\n64,100,1,2,3\n", p), change: func(r traffic.Progress, err error) (traffic.Progress, error) {
		r.Lost, r.Received = 7, r.Received-7
		return r, err
	}}
	out, trials := trialsOf(t, gen, p)
	if out.LoadPPM != 1_000_000 || out.Trial.Lost != 0 || out.Trial.Duration != time.Minute || out.Trial.TxTime != time.Minute {
		t.Errorf("found %+v", out)
	}
	if trials[0].Ended == 0 || trials[1].LoadPPM != trials[0].LoadPPM || trials[1].TxTime != trials[1].Duration {
		t.Errorf("first %+v, then %+v", trials[0], trials[1])
	}
	for _, trial := range trials[1:] {
		if trial.Ended > 0 {
			t.Errorf("ended early again: %+v", trial)
		}
	}
}

// A report that fails says nothing about the trial.
func TestAReportThatFailsEndsNoTrial(t *testing.T) {
	p := searchPlan(t, v1alpha1.ThroughputTest{}, 64)
	want, _ := trialsOf(t, fakeSilent{simulate(t, limited, p)}, p)
	gen := &fakeReporter{Engine: simulate(t, limited, p), change: func(traffic.Progress, error) (traffic.Progress, error) {
		return traffic.Progress{}, errors.New("no answer")
	}}
	out, trials := trialsOf(t, gen, p)
	if out.LoadPPM != want.LoadPPM || out.Trials != want.Trials || out.Elapsed != want.Elapsed || gen.asked == 0 {
		t.Errorf("found %+v, want %+v; asked %d times", out, want, gen.asked)
	}
	for _, trial := range trials {
		if trial.Ended > 0 {
			t.Errorf("ended early: %+v", trial)
		}
	}
}

// An engine that sees no gaps still sees that what was sent long ago did not come.
func TestWhatIsMissingAfterTheSettlingTimeIsLost(t *testing.T) {
	p := searchPlan(t, v1alpha1.ThroughputTest{}, 64)
	gen := &fakeReporter{Engine: simulate(t, limited, p), change: func(r traffic.Progress, err error) (traffic.Progress, error) {
		r.Lost = 0
		return r, err
	}}
	_, trials := trialsOf(t, gen, p)
	if first := trials[0]; first.Lost == 0 || first.Ended == 0 || first.Ended > 4*time.Second {
		t.Errorf("first trial %+v", first)
	}
}

// With partial drop rates a trial goes on as long as one of the goals may hold.
func TestATrialThatAGoalMayTakeGoesOn(t *testing.T) {
	p := searchPlan(t, v1alpha1.ThroughputTest{Search: v1alpha1.SearchMLRsearch, LossRatios: []v1alpha1.LossRatio{"0%", "0.5%"}}, 64)
	out, trials := trialsOf(t, simulate(t, limited, p), p)
	for _, trial := range trials {
		if lossy := trial.Lost*200 > trial.Expected; trial.Ended > 0 && !lossy {
			t.Errorf("ended early: %+v", trial)
		}
	}
	if out.LoadPPM > 200_000 || out.LoadPPM < 199_000 {
		t.Errorf("found %+v", out)
	}
}

// The trial at the lowest load makes the row when nothing passes, and runs in full.
func TestTheLowestLoadRunsInFull(t *testing.T) {
	p := searchPlan(t, v1alpha1.ThroughputTest{MinLoad: "30%"}, 64)
	out, trials := trialsOf(t, simulate(t, limited, p), p)
	if last := trials[len(trials)-1]; out.LoadPPM != 0 || last.LoadPPM != 300_000 || last.Ended > 0 || last.TxTime != last.Duration {
		t.Errorf("found %+v, last trial %+v", out, last)
	}
}

// What comes through while frames are lost is known to the search, also when buffers
// hid the overload for a while.
func TestASearchLearnsWhatADeviceForwardsUnderOverload(t *testing.T) {
	// 20 % of line rate at 10G and 64 B, and a buffer of a second of it.
	model := header + ",buffer_frames\n64,20,1,2,3,2976190\n"
	p := searchPlan(t, v1alpha1.ThroughputTest{Search: v1alpha1.SearchInformed}, 64)
	out, trials := trialsOf(t, simulate(t, model, p), p)
	known := 0
	for _, trial := range trials {
		if trial.Ended == 0 {
			continue
		}
		known++
		// What arrives fills the buffer first, which a trial that was not overloaded for
		// long shows.
		if forwarded := trial.LoadPPM * trial.Saturated / v1alpha1.PPM; forwarded < 199_000 || forwarded > trial.LoadPPM {
			t.Errorf("ended after %s at %d ppm, and forwarded %d", trial.Ended, trial.LoadPPM, forwarded)
		}
	}
	// In a minute the buffer takes a sixtieth of the capacity more.
	if least := int64(200_000 + 200_000/60); known == 0 || out.LoadPPM > least || out.LoadPPM < least-1000 || out.Search.Forgiven != 0 {
		t.Errorf("found %+v %+v with %d trials that ended early", out, out.Search, known)
	}
	if len(trials) > 12 {
		t.Errorf("%d trials", len(trials))
	}
}

// fakeDisturbed is an engine of which one trial loses three frames for no reason of
// the device.
type fakeDisturbed struct {
	*sim.Engine
	trial, disturbed int
}

func (f *fakeDisturbed) Read(ctx context.Context) (traffic.Measurement, error) {
	m, err := f.Engine.Read(ctx)
	if f.trial++; f.trial == f.disturbed {
		for key, rx := range m.Rx {
			rx.Received -= 3
			m.Rx[key] = rx
		}
	}
	return m, err
}

// What a search took back is in the row.
func TestWhatASearchForgaveIsInTheRow(t *testing.T) {
	p := searchPlan(t, v1alpha1.ThroughputTest{Search: v1alpha1.SearchInformed}, 64)
	found := map[int32]int{}
	for disturbed := range 5 {
		gen := &fakeDisturbed{Engine: simulate(t, limited, p), disturbed: disturbed}
		out, _ := trialsOf(t, gen, p)
		found[out.Search.Forgiven]++
		if said := strings.Contains(out.Message, "taken back"); said != (out.Search.Forgiven > 0) {
			t.Errorf("trial %d disturbed: forgiven %d, message %q", disturbed, out.Search.Forgiven, out.Message)
		}
		if out.LoadPPM > 200_000 || out.LoadPPM < 198_000 {
			t.Errorf("trial %d disturbed: found %d", disturbed, out.LoadPPM)
		}
	}
	if found[0] == 0 || found[1] == 0 {
		t.Errorf("searches by what they forgave: %v", found)
	}
}

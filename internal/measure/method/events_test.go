package method

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/search"
	"nodrop.dev/nodrop/internal/traffic"
)

// Events of a trial run side by side, each at its time: a slow one delays no other,
// and the stamps come in the order of the actions.
func TestEventsRunSideBySide(t *testing.T) {
	test := v1alpha1.Test{Name: "soak", Soak: &v1alpha1.SoakTest{Load: "50%"}}
	tester, _, step := labFor(t, test, 0, nil)
	if err := tester.Configure(t.Context(), step); err != nil {
		t.Fatal(err)
	}
	var order []trials.EventKind
	note := func(kind trials.EventKind, at, takes time.Duration) trials.Action {
		return trials.Timed(kind, at, func(ctx context.Context) (traffic.Moments, error) {
			order = append(order, kind)
			return traffic.Moments{"p1": uint64(at)}, tester.Generator.Sleep(ctx, takes)
		})
	}
	trial, err := tester.Trial(t.Context(), step, 500_000, 10*time.Second, search.Bracket{},
		note(trials.EventLeave, 5*time.Second, 0), note(trials.EventReset, 2*time.Second, 4*time.Second), note(trials.EventJoin, 3*time.Second, time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if want := []trials.EventKind{trials.EventReset, trials.EventJoin, trials.EventLeave}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
	for i, want := range []trials.Stamp{
		{Kind: trials.EventLeave, Due: 5 * time.Second, Began: 5 * time.Second, Ended: 5 * time.Second},
		{Kind: trials.EventReset, Due: 2 * time.Second, Began: 2 * time.Second, Ended: 6 * time.Second},
		{Kind: trials.EventJoin, Due: 3 * time.Second, Began: 3 * time.Second, Ended: 4 * time.Second},
	} {
		got := trial.Stamps[i]
		if got.Ports["p1"] != uint64(want.Due) {
			t.Errorf("port p1 at %v", got.Ports)
		}
		if got.Ports = nil; got.Kind != want.Kind || got.Due != want.Due || got.Began != want.Began || got.Ended != want.Ended {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if trial.TxTime != 10*time.Second || trial.Lost != 0 {
		t.Errorf("sent for %s, lost %d", trial.TxTime, trial.Lost)
	}
}

// An event that outlasts the sending is waited for before counters are read, and one
// that fails ends the trial and the other events.
func TestEventsEndWithTheirTrial(t *testing.T) {
	test := v1alpha1.Test{Name: "soak", Soak: &v1alpha1.SoakTest{Load: "50%"}}
	tester, e, step := labFor(t, test, 0, nil)
	if err := tester.Configure(t.Context(), step); err != nil {
		t.Fatal(err)
	}
	trial, err := tester.Trial(t.Context(), step, 500_000, time.Second, search.Bracket{},
		trials.Timed(trials.EventReset, 500*time.Millisecond, func(ctx context.Context) (traffic.Moments, error) {
			return nil, tester.Generator.Sleep(ctx, time.Minute)
		}))
	if err != nil || trial.Stamps[0].Ended != time.Minute+500*time.Millisecond {
		t.Errorf("%+v, %v", trial, err)
	}

	refused, late := errors.New("no such command"), 0
	start := e.Clock().Now()
	_, err = tester.Trial(t.Context(), step, 500_000, time.Hour, search.Bracket{},
		trials.Timed(trials.EventReset, time.Second, func(context.Context) (traffic.Moments, error) { return nil, refused }),
		trials.Timed(trials.EventJoin, time.Minute, func(context.Context) (traffic.Moments, error) {
			late++
			return nil, nil
		}))
	if !errors.Is(err, refused) || late != 0 {
		t.Errorf("error %v, %d later events", err, late)
	}
	// Rest, three attempts and the pauses between them, with learning.
	if took := e.Clock().Now().Sub(start); took > 5*time.Minute {
		t.Errorf("gave up after %s, want that no attempt went on to its end", took)
	}
}

// wallClock is a fake generator that lives in real time and sends in no time.
type wallClock struct{ traffic.Generator }

func (wallClock) Clock() traffic.Clock       { return traffic.RealClock{} }
func (wallClock) Wait(context.Context) error { return nil }

// An event that never ends ends the trial a minute after sending has ended.
func TestAnEventThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := testPlan(t)
		tester := open(t, wallClock{simulate(t, ideal, p)}, p, nil)
		tester.Size = p.Steps[0].Size
		if err := tester.ConfigureStreams(t.Context()); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		_, _, err := tester.Generator.Run(t.Context(), traffic.Trial{Duration: time.Second}, 0, trials.Timed(trials.EventReset, time.Second, func(ctx context.Context) (traffic.Moments, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}))
		var overdue *trials.OverdueError
		if !errors.As(err, &overdue) || err.Error() != "the events of the trial ([Reset]) had not ended 1m0s after the end of sending" || time.Since(begin) != trials.Grace {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
	})
}

package labsim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/lab/past"
	"nodrop.dev/nodrop/internal/lab/queue"
	"nodrop.dev/nodrop/internal/lab/share"
)

// estimator asks a simulation for expected starts when parts of its benchmarks have begun.
type estimator struct {
	moments []float64
	// lasts returns for how long a benchmark is expected to have a bed; nil if that is known well.
	lasts    func(l *simulation, j *job, bed string) time.Duration
	promises []promise
	unknown  int
}

// promise is the expected start of a benchmark, and when it was computed.
type promise struct {
	key         queue.Key
	made, start time.Duration
}

// look has the signature of simulation.look.
func (e *estimator) look(l *simulation, s queue.Snapshot) {
	begun := float64(len(l.jobs)-len(l.waiting)) / float64(len(l.jobs))
	if len(e.moments) == 0 || begun < e.moments[0] {
		return
	}
	e.moments = e.moments[1:]
	lasts := func(j *job, bed string) time.Duration {
		if e.lasts == nil {
			return j.Expected
		}
		return e.lasts(l, j, bed)
	}
	o := queue.Outlook{
		Ends: map[string]queue.End{}, Most: len(l.waiting),
		Lasts: func(entry *queue.Entry, bed string) time.Duration { return lasts(l.jobs[entry.Key], bed) },
	}
	if f, is := l.decider.(*fair); is {
		o.Sharing = carried(f.sharing, s.Now)
		s.Aging = f.aging
	}
	for name, j := range l.running {
		end := queue.End{Run: queue.Run{Account: share.Account{Team: j.Team}, Since: begin.Add(j.start), Expected: j.Expected}}
		if d := lasts(j, name); d > 0 {
			end.At = s.Now.Add(past.Left(d, l.now-j.start))
		}
		o.Ends[name] = end
	}
	starts := l.queue.Expect(s, o)
	for key := range l.waiting {
		if at, known := starts[key]; known {
			e.promises = append(e.promises, promise{key, l.now, at.At.Sub(begin)})
		} else {
			e.unknown++
		}
	}
}

// carried returns shares that begin with what teams were due and have had, in whole seconds, as
// they can be read from the status of a LabPolicy.
func carried(h queue.Sharing, now time.Time) *queue.Sharing {
	c := &queue.Sharing{Book: share.NewBook(h.Book.Window()), Weights: h.Weights}
	for _, a := range h.Book.Accounts() {
		u := h.Book.Use(a)
		c.Book.Carry(a, share.Use{Due: u.Due.Round(time.Second), Had: u.Had.Round(time.Second)}, now)
	}
	return c
}

// accuracy contains the relative errors of expected starts, and their sum with signs.
type accuracy struct {
	errors       []float64
	sum          float64
	unknown, few int
}

// add compares promises with what happened. Waits below a minute are only counted.
func (a *accuracy) add(e *estimator, l *simulation) {
	a.unknown += e.unknown
	for _, p := range e.promises {
		j := l.jobs[p.key]
		wait := j.start - p.made
		if wait < time.Minute {
			a.few++
			continue
		}
		of := float64(p.start-j.start) / float64(wait)
		a.errors, a.sum = append(a.errors, math.Abs(of)), a.sum+of
	}
}

// quantile returns the error that a share of the estimates does not exceed.
func (a *accuracy) quantile(share float64) float64 {
	slices.Sort(a.errors)
	return a.errors[int(share*float64(len(a.errors)-1))]
}

func (a *accuracy) String() string {
	return fmt.Sprintf("%d estimates: median error %.1f %%, 90 %% within %.1f %%, bias %.1f %%; %d not known, %d waits below a minute",
		len(a.errors), 100*a.quantile(0.5), 100*a.quantile(0.9), 100*a.sum/float64(len(a.errors)), a.unknown, a.few)
}

// estimate simulates labs with changed traces, and returns the accuracy of the estimates when parts
// of the benchmarks have begun.
func estimate(p Policy, moments []float64, change func(*trace, *rand.Rand), lasts func() func(*simulation, *job, string) time.Duration) *accuracy {
	a := &accuracy{}
	for seed := range uint64(2) {
		c := small(seed)
		c.Benchmarks = 400
		t := newTrace(c)
		change(t, rand.New(rand.NewPCG(seed, 7)))
		l := newSimulation(c, t, newDecider(p, c, t.weights))
		e := &estimator{moments: moments}
		if lasts != nil {
			e.lasts = lasts()
		}
		l.look = e.look
		l.run()
		a.add(e, l)
	}
	return a
}

// allAtOnce lets all benchmarks wait from the begin.
func allAtOnce(t *trace, _ *rand.Rand) {
	for _, j := range t.jobs {
		j.arrival, j.Created = 0, begin
	}
}

// ofKinds lets all benchmarks wait from the begin, and each team measure five things again and again,
// which take as long each time give or take a tenth.
func ofKinds(t *trace, r *rand.Rand) {
	allAtOnce(t, r)
	took := map[string]time.Duration{}
	for _, j := range t.jobs {
		kind := kindOf(j)
		if took[kind] == 0 {
			took[kind] = j.run
		}
		j.run = time.Duration(float64(took[kind]) * (0.9 + 0.2*r.Float64()))
		j.Expected = took[kind]
		j.Hold = holdFor(deadline * j.Expected)
	}
}

// kindOf names what a benchmark measures.
func kindOf(j *job) string { return fmt.Sprint(j.Team, " ", j.Name[len(j.Name)-1]%5) }

// fromPast knows only what has ended, and what that took.
func fromPast() func(*simulation, *job, string) time.Duration {
	record, added := past.NewRecord(), map[queue.Key]bool{}
	return func(l *simulation, j *job, bed string) time.Duration {
		for _, other := range l.trace.jobs {
			if other.start < 0 || other.end > l.now || added[other.Key] {
				continue
			}
			added[other.Key] = true
			record.Add(past.Run{Work: kindOf(other), Bed: other.bed, Created: other.Created, From: begin.Add(other.start), Until: begin.Add(other.end), Length: other.run})
		}
		if d := record.Length(kindOf(j), "", bed); d > 0 {
			return d
		}
		var held time.Duration
		for _, other := range l.running {
			held += l.now - other.start
		}
		return record.Average(func(string) bool { return true }, held)
	}
}

// TestEstimates compares expected starts with what happens, in labs in which no further
// benchmarks come.
func TestEstimates(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		policy  Policy
		moments []float64
		change  func(*trace, *rand.Rand)
		lasts   func() func(*simulation, *job, string) time.Duration
		// open reports whether the errors are only shown.
		open bool
	}{
		"first come, durations known within a tenth":            {FIFO, []float64{0.1, 0.3, 0.5}, allAtOnce, nil, false},
		"shares, durations known within a tenth":                {Fair, []float64{0.1, 0.3, 0.5}, allAtOnce, nil, false},
		"first come, durations of the past, a third begun":      {FIFO, []float64{0.35, 0.5}, ofKinds, fromPast, false},
		"shares, durations of the past, a third begun":          {Fair, []float64{0.35, 0.5}, ofKinds, fromPast, false},
		"first come, durations of a past with few of the kinds": {FIFO, []float64{0.15}, ofKinds, fromPast, true},
		"shares, durations of a past with few of the kinds":     {Fair, []float64{0.15}, ofKinds, fromPast, true},
	} {
		t.Run(name, func(t *testing.T) {
			got := estimate(tc.policy, tc.moments, tc.change, tc.lasts)
			t.Logf("%s: %s", name, got)
			if !tc.open && (len(got.errors) < 500 || got.quantile(0.5) > 0.10 || got.quantile(0.9) > 0.30) {
				t.Errorf("want a median error of at most 10 %%, and 90 %% within 30 %%: %s", got)
			}
		})
	}
}

package labsim

import (
	"container/heap"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/lab/queue"
	"nodrop.dev/nodrop/internal/lab/share"
)

// simulation contains the state of a simulated lab.
type simulation struct {
	trace   *trace
	queue   *queue.Queue
	decider decider
	jobs    map[queue.Key]*job
	running map[string]*job
	waiting map[queue.Key]*job
	ends    ends
	now     time.Duration
	decided time.Duration
	// watch has what is due to the teams, for the report.
	watch *watch
	// spent is the processor time of each decision that had a bed to give.
	spent []time.Duration
	// look is called after each decision with the state that it led to; nil without an observer.
	look func(*simulation, queue.Snapshot)
}

// newSimulation returns a simulation at the beginning of a trace.
func newSimulation(c Config, t *trace, d decider) *simulation {
	l := &simulation{
		trace: t, queue: queue.New(), decider: d, watch: newWatch(c, t),
		jobs: map[queue.Key]*job{}, running: map[string]*job{}, waiting: map[queue.Key]*job{},
	}
	for _, j := range l.trace.jobs {
		l.jobs[j.Key] = j
	}
	return l
}

// run simulates a policy on the trace of a configuration.
func run(p Policy, c Config) *simulation {
	t := newTrace(c)
	l := newSimulation(c, t, newDecider(p, c, t.weights))
	l.run()
	return l
}

// run lets time pass until every benchmark has ended.
func (l *simulation) run() {
	boundaries := l.trace.boundaries()
	arrivals := l.trace.jobs
	for len(arrivals) > 0 || l.queue.Len() > 0 || len(l.running) > 0 {
		l.now = next(arrivals, l.ends, boundaries)
		for len(boundaries) > 0 && boundaries[0] <= l.now {
			boundaries = boundaries[1:]
		}
		for len(l.ends) > 0 && l.ends[0].end <= l.now {
			j := heap.Pop(&l.ends).(*job)
			delete(l.running, j.bed)
		}
		for len(arrivals) > 0 && arrivals[0].arrival <= l.now {
			l.queue.Set(arrivals[0].Entry)
			l.decider.arrive(arrivals[0].Entry)
			l.waiting[arrivals[0].Key] = arrivals[0]
			arrivals = arrivals[1:]
		}
		l.decide()
	}
}

// next returns the time of the next event.
func next(arrivals []*job, running ends, boundaries []time.Duration) time.Duration {
	at := time.Duration(1<<63 - 1)
	if len(arrivals) > 0 {
		at = min(at, arrivals[0].arrival)
	}
	if len(running) > 0 {
		at = min(at, running[0].end)
	}
	if len(boundaries) > 0 {
		at = min(at, boundaries[0])
	}
	return at
}

func (l *simulation) snapshot() queue.Snapshot {
	s := queue.Snapshot{Beds: make(map[string]queue.Bed, len(l.trace.beds)), Now: begin.Add(l.now)}
	for name, b := range l.trace.beds {
		for len(b.Reserved) > 0 && !b.Reserved[0].Until.After(s.Now) {
			b.Reserved = b.Reserved[1:]
		}
		l.trace.beds[name] = b
		b.Leased = l.running[name] != nil
		s.Beds[name] = b
	}
	return s
}

func (l *simulation) runs() []queue.Run {
	runs := make([]queue.Run, 0, len(l.running))
	for _, j := range l.running {
		runs = append(runs, queue.Run{Account: share.Account{Team: j.Team}, Since: begin.Add(j.start), Expected: j.Expected})
	}
	return runs
}

// recount is the interval between computations of the teams' shares while no bed is free.
const recount = time.Minute

func (l *simulation) decide() {
	if len(l.running) == len(l.trace.beds) && l.now-l.decided < recount {
		l.watch.see(l, nil)
		return
	}
	l.decided = l.now
	s, runs := l.snapshot(), l.runs()
	began := time.Now()
	decisions := l.decider.decide(l.queue, s, runs)
	if len(decisions) > 0 {
		l.spent = append(l.spent, time.Since(began))
	}
	for _, d := range decisions {
		j := l.jobs[d.Entry.Key]
		j.start, j.end, j.bed = l.now, l.now+j.run, d.Bed
		l.running[d.Bed] = j
		l.queue.Remove(j.Key)
		delete(l.waiting, j.Key)
		heap.Push(&l.ends, j)
	}
	if len(decisions) > 0 {
		l.decider.leased(l.queue, l.snapshot(), l.runs())
	}
	l.watch.see(l, &s)
	if l.look != nil {
		l.look(l, l.snapshot())
	}
}

// boundaries are all begins and ends of reservations, in order.
func (t *trace) boundaries() []time.Duration {
	var all []time.Duration
	for _, b := range t.beds {
		for _, s := range b.Reserved {
			all = append(all, s.From.Sub(begin), s.Until.Sub(begin))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ends is a heap of the running benchmarks, the one that ends first on top.
type ends []*job

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i].end < e[j].end }
func (e ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }

// Push adds a benchmark.
func (e *ends) Push(x any) { *e = append(*e, x.(*job)) }

// Pop removes the last one.
func (e *ends) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

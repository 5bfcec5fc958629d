package labsim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/lab/queue"
)

// Config is the size of a lab, and what its teams do.
type Config struct {
	// Beds, Teams and Benchmarks are their numbers, each at least 1.
	Beds, Teams, Benchmarks int
	// Load is the work of the trace as a share of what the beds can do while benchmarks
	// arrive; above 1 benchmarks queue up.
	Load float64
	// Run is the median time for which a benchmark has its bed.
	Run time.Duration
	// Window over which shares are kept and reported.
	Window time.Duration
	// Aging of what waits.
	Aging queue.Aging
	// Seed of the random trace. The same seed makes the same trace.
	Seed uint64
}

// job is one benchmark of a trace.
type job struct {
	queue.Entry
	// run is the time for which it has its bed; the queue does not know it.
	run time.Duration
	// arrival, start and end, counted from the begin of the trace; start is negative until
	// it has a bed.
	arrival, start, end time.Duration
	bed                 string
	preemptible         bool
}

// trace contains the beds, the jobs and the teams of a simulated lab.
type trace struct {
	beds    map[string]queue.Bed
	jobs    []*job
	weights map[string]float64
	teams   []string
}

// begin of simulated time.
var begin = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

const (
	racks = 8
	// spread of the times that benchmarks take: sigma of the logarithm.
	spread = 0.7
	// deadline of a benchmark as a multiple of what it is expected to take.
	deadline = 4
)

// newTrace makes the trace of a configuration. Nightly crowds of each team come on top of
// benchmarks that come all the time. Most can use every bed, some those of two racks, and a
// tenth one bed by its name. Weights are 1 to 4.
func newTrace(c Config) *trace {
	r := rand.New(rand.NewPCG(c.Seed, 1))
	t := &trace{beds: map[string]queue.Bed{}, weights: map[string]float64{}}
	var names []string
	for i := range c.Beds {
		name := fmt.Sprintf("bed-%03d", i)
		names = append(names, name)
		t.beds[name] = queue.Bed{Name: name, Open: true}
	}
	for i := range c.Teams {
		team := fmt.Sprintf("team-%02d", i)
		t.teams = append(t.teams, team)
		t.weights[team] = float64(1 + i%4)
	}
	mean := float64(c.Run) * math.Exp(spread*spread/2)
	length := time.Duration(float64(c.Benchmarks) * mean / float64(c.Beds) / c.Load)
	total := 0.0
	for _, w := range t.weights {
		total += w
	}
	for i := range c.Benchmarks {
		// Each team makes work in proportion to its weight, give or take.
		pick, team := r.Float64()*total, 0
		for ; pick >= t.weights[t.teams[team]] && team < c.Teams-1; team++ {
			pick -= t.weights[t.teams[team]]
		}
		t.jobs = append(t.jobs, newJob(r, c, i, t.teams[team], team, names, length))
	}
	slices.SortStableFunc(t.jobs, func(a, b *job) int { return a.Created.Compare(b.Created) })
	t.reserve(r, names, 4*length)
	return t
}

func newJob(r *rand.Rand, c Config, i int, name string, team int, beds []string, length time.Duration) *job {
	run := time.Duration(float64(c.Run) * math.Exp(spread*r.NormFloat64())).Round(time.Second)
	run = max(run, time.Minute)
	arrival := time.Duration(r.Float64() * float64(length))
	if r.IntN(2) == 0 {
		// A nightly crowd: at the full hour of the team, within five minutes.
		day := time.Duration(r.IntN(max(int(length/(24*time.Hour)), 1))) * 24 * time.Hour
		arrival = day + time.Duration(team%6)*time.Hour + time.Duration(r.IntN(300))*time.Second
	}
	j := &job{run: run, arrival: arrival.Truncate(time.Second), start: -1, preemptible: r.IntN(2) == 0}
	// What was learnt of earlier runs is right within a tenth.
	expected := time.Duration(float64(run) * (0.9 + 0.2*r.Float64()))
	j.Entry = queue.Entry{
		Key: queue.Key{Namespace: name, Name: fmt.Sprintf("b-%05d", i)}, Team: name, Created: begin.Add(j.arrival),
		Expected: expected, Hold: holdFor(deadline * expected),
	}
	switch p := r.IntN(20); {
	case p == 0:
		j.Priority, j.Preempts = 200, true
	case p < 4:
		j.Priority = 100
	}
	switch p := r.IntN(10); {
	case p == 0:
		j.Beds = []string{beds[r.IntN(len(beds))]}
	case p < 3:
		a, b := r.IntN(racks), r.IntN(racks)
		for k, bed := range beds {
			if k%racks == a || k%racks == b {
				j.Beds = append(j.Beds, bed)
			}
		}
	default:
		j.Beds = beds
	}
	return j
}

// reserve reserves every twentieth bed for two hours a day, and closes one rack at a time for
// an hour each night.
func (t *trace) reserve(r *rand.Rand, names []string, length time.Duration) {
	for i, name := range names {
		var slices []queue.Slice
		person := r.IntN(20) == 0
		for day := time.Duration(0); day < length; day += 24 * time.Hour {
			at := begin.Add(day)
			if person {
				from := at.Add(9 * time.Hour)
				slices = append(slices, queue.Slice{Reservation: queue.Key{Namespace: t.teams[i%len(t.teams)], Name: "hands-on"}, From: from, Until: from.Add(2 * time.Hour)})
			}
			if int(day/(24*time.Hour))%racks == i%racks {
				from := at.Add(22 * time.Hour)
				slices = append(slices, queue.Slice{Reservation: queue.Key{Namespace: "lab", Name: "maintenance"}, Maintenance: true, From: from, Until: from.Add(time.Hour)})
			}
		}
		b := t.beds[name]
		b.Reserved = slices
		t.beds[name] = b
	}
}

// holdFor is the deadline that a team gives to a benchmark: 1, 2, 4, 8 or 16 hours.
func holdFor(d time.Duration) time.Duration {
	hold := time.Hour
	for hold < d && hold < 16*time.Hour {
		hold *= 2
	}
	return hold
}

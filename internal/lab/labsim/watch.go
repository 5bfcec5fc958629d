package labsim

import (
	"slices"
	"sort"
	"time"

	"nodrop.dev/nodrop/internal/lab/queue"
	"nodrop.dev/nodrop/internal/lab/share"
)

// watch records what each team is due and has, from one event to the next.
type watch struct {
	window time.Duration
	teams  map[string]*record
	since  time.Duration
	// counted is the time at which the teams' shares were last computed.
	counted time.Duration
	state   map[string]holding
	// kept is the time for which reservations have kept each benchmark from all of its beds.
	kept map[*job]time.Duration
	// keeps are the benchmarks that they keep at the moment.
	keeps []*job
}

// holding contains the number of beds that a team has and that it is due at a moment.
type holding struct {
	running, due float64
	// waits reports whether it has benchmarks that wait for beds that they could have.
	waits bool
}

// record contains the bed time that a team has had and was due until each event, and the time
// in which it had no waiting benchmarks.
type record struct {
	at             []time.Duration
	had, due, idle []time.Duration
}

func newWatch(c Config, t *trace) *watch {
	w := &watch{window: c.Window, teams: map[string]*record{}, kept: map[*job]time.Duration{}}
	for _, team := range t.teams {
		w.teams[team] = &record{at: []time.Duration{0}, had: []time.Duration{0}, due: []time.Duration{0}, idle: []time.Duration{0}}
	}
	return w
}

// see adds up what has held until now, and takes over what holds from now on. What teams are
// due is computed again once a minute; without a snapshot it stays as it is.
func (w *watch) see(l *simulation, s *queue.Snapshot) {
	w.addUp(l.now)
	running := map[share.Account]int{}
	for _, j := range l.running {
		running[share.Account{Team: j.Team}]++
	}
	if s != nil && (w.state == nil || l.now-w.counted >= recount) {
		w.count(l, *s, running)
	}
	for team, h := range w.state {
		h.running = float64(running[share.Account{Team: team}])
		w.state[team] = h
	}
}

func (w *watch) addUp(now time.Duration) {
	passed := now - w.since
	w.since = now
	for team, r := range w.teams {
		i, h := len(r.at)-1, w.state[team]
		had := r.had[i] + time.Duration(h.running*float64(passed))
		due := r.due[i] + time.Duration(h.due*float64(passed))
		idle := r.idle[i]
		if !h.waits {
			idle += passed
		}
		r.at, r.had, r.due, r.idle = append(r.at, now), append(r.had, had), append(r.due, due), append(r.idle, idle)
	}
	for _, j := range w.keeps {
		w.kept[j] += passed
	}
}

// count computes what teams are due, and which benchmarks reservations keep from their beds.
func (w *watch) count(l *simulation, s queue.Snapshot, running map[share.Account]int) {
	w.counted = l.now
	w.keeps = w.keeps[:0]
	for _, j := range l.waiting {
		if !slices.ContainsFunc(j.Beds, func(bed string) bool { return endsBefore(j.Hold, s.Beds[bed].Reserved, s.Now) }) {
			w.keeps = append(w.keeps, j)
		}
	}
	state := share.State{Loads: l.queue.Loads(s, running), Beds: map[string]int{"": len(s.Beds)}, Weights: l.trace.weights}
	due := state.Due()
	w.state = map[string]holding{}
	for team := range w.teams {
		a := share.Account{Team: team}
		load := state.Loads[a]
		w.state[team] = holding{due: due[a], waits: load.Wants > load.Running}
	}
}

// of interpolates a sum at a time.
func (r *record) of(sums []time.Duration, t time.Duration) time.Duration {
	i := sort.Search(len(r.at), func(i int) bool { return r.at[i] > t })
	if i == len(r.at) {
		return sums[i-1]
	}
	if i == 0 {
		return 0
	}
	span := r.at[i] - r.at[i-1]
	return sums[i-1] + time.Duration(float64(sums[i]-sums[i-1])*float64(t-r.at[i-1])/float64(span))
}

// deviations are, for each window in which a team had benchmarks waiting all the time, by how
// much what it has had differs from what it was due, as a share of the latter. Windows begin
// every half hour.
func (w *watch) deviations() []float64 {
	var all []float64
	for _, team := range sortedKeys(w.teams) {
		r := w.teams[team]
		last := r.at[len(r.at)-1]
		for from := time.Duration(0); from+w.window <= last; from += 30 * time.Minute {
			until := from + w.window
			if r.of(r.idle, until)-r.of(r.idle, from) > 0 {
				continue
			}
			due := r.of(r.due, until) - r.of(r.due, from)
			had := r.of(r.had, until) - r.of(r.had, from)
			all = append(all, float64(had-due)/float64(due))
		}
	}
	slices.Sort(all)
	return all
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

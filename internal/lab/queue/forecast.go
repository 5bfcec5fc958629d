package queue

import (
	"container/heap"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/lab/share"
)

// Start is the time at which an entry is expected to get a bed, and the bed.
type Start struct {
	At  time.Time
	Bed string
}

// End describes when a bed that is in use is expected to be returned.
type End struct {
	// At is the time; zero if it is not known.
	At time.Time
	// Keys of the limits under which its holder counts.
	Keys []string
	// Run of its holder.
	Run Run
}

// forecastAhead is the time for which a forecast looks ahead.
const forecastAhead = 7 * 24 * time.Hour

// Outlook contains the assumptions of a forecast.
type Outlook struct {
	// Ends of the beds that are in use.
	Ends map[string]End
	// Lasts returns how long it takes from the lease of a bed for an entry until the next entry can have
	// it; 0 if that is not known. If nil, it is the time that the entry is expected to take.
	Lasts func(e *Entry, bed string) time.Duration
	// Sharing determines the standings of teams; nil without shares.
	Sharing *Sharing
	// Most is the number of entries for which a start is wanted.
	Most int
	// boundaries are the begins and ends of the reservations of the snapshot, if they are known.
	boundaries []time.Time
}

// Forecast returns when entries are expected to get a bed, for those that come first. It decides as
// Decide does, again and again, at the times at which beds are expected to be returned and
// reservations begin and end. A bed without a time of its end is not expected to be returned, and an
// entry for which it is not known how long it lasts keeps its bed. Queue, snapshot and outlook do not
// change.
func (q *Queue) Forecast(s Snapshot, o Outlook) map[Key]Start { return q.Clone().forecast(s, o).starts }

// forecast does what Forecast does, and uses the queue meanwhile.
func (q *Queue) forecast(s Snapshot, o Outlook) *forecast {
	f := &forecast{
		Outlook: o, queue: q, s: s, begun: s.Now, size: q.size(), expected: q.expected(), starts: map[Key]Start{}, runs: map[share.Account][]Run{},
		learned: map[string]time.Duration{}, unknown: map[string][]string{},
	}
	f.s.Beds, f.s.Running = maps.Clone(s.Beds), maps.Clone(s.Running)
	if f.s.Running == nil {
		f.s.Running = map[string]int{}
	}
	if f.Ends = maps.Clone(o.Ends); f.Ends == nil {
		f.Ends = map[string]End{}
	}
	for bed, end := range f.Ends {
		f.begin(bed, end)
	}
	if f.Sharing != nil {
		f.Sharing = f.Sharing.clone()
		f.s.Standings, f.s.stand = nil, func(a share.Account) Standing { return f.Sharing.standingWith(a, f.runs[a], f.s.Now) }
	}
	f.Lasts = o.lasts()
	boundaries := o.boundaries
	if boundaries == nil {
		boundaries = boundariesOf(s)
	}
	f.lists = newBedLists(f.s)
	for f.queue.Len() > 0 && len(f.starts) < f.Most {
		f.decide()
		next, found := f.next(boundaries)
		if !found || next.Sub(s.Now) > forecastAhead {
			break
		}
		f.advance(next)
	}
	for _, e := range f.started {
		q.Set(e)
	}
	return f
}

const (
	// variations is the number of forecasts of which Expect returns the median. They are more for up to shortQueue entries, where
	// each costs little.
	variations      = 5
	variationsShort = 9
	shortQueue      = 500
	// variation is the part by which durations differ in them at most.
	variation = 0.1
)

// Expect returns what Forecast does, as the median of several forecasts in which everything takes up to
// a tenth more or less time. A bed that is free a second earlier can go to another team, which changes
// all later starts, so that a single forecast can be far off.
func (q *Queue) Expect(s Snapshot, o Outlook) map[Key]Start {
	starts, own, forecasts := map[Key][]Start{}, q.Clone(), variations
	if q.Len() <= shortQueue {
		forecasts = variationsShort
	}
	o.boundaries = boundariesOf(s)
	for n := range forecasts {
		for key, start := range own.forecast(s, o.vary(n)).starts {
			starts[key] = append(starts[key], start)
		}
	}
	median := make(map[Key]Start, len(starts))
	for key, all := range starts {
		slices.SortFunc(all, func(a, b Start) int { return a.At.Compare(b.At) })
		median[key] = all[len(all)/2]
	}
	return median
}

// vary returns an outlook in which everything takes longer or shorter, by a random factor that depends on
// n and the name. It is the outlook itself for 0, and what takes longer for 1 takes shorter for 2.
func (o Outlook) vary(n int) Outlook {
	if n == 0 {
		return o
	}
	factor := func(name string) float64 {
		h := fnv.New32a()
		fmt.Fprintf(h, "%d %s", (n+1)/2, name)
		by := variation * (2*float64(h.Sum32())/math.MaxUint32 - 1)
		if n%2 == 0 {
			by = -by
		}
		return 1 + by
	}
	lasts, ends := o.lasts(), o.Ends
	o.Lasts = func(e *Entry, bed string) time.Duration {
		return time.Duration(float64(lasts(e, bed)) * factor(e.String()))
	}
	o.Ends = make(map[string]End, len(ends))
	for bed, end := range ends {
		if !end.At.IsZero() {
			end.At = end.Run.Since.Add(time.Duration(float64(end.At.Sub(end.Run.Since)) * factor(bed)))
		}
		o.Ends[bed] = end
	}
	return o
}

// lasts returns Lasts, or its default.
func (o *Outlook) lasts() func(e *Entry, bed string) time.Duration {
	if o.Lasts != nil {
		return o.Lasts
	}
	return func(e *Entry, _ string) time.Duration { return e.Expected }
}

// forecast is one in progress.
type forecast struct {
	Outlook
	queue *Queue
	s     Snapshot
	// begun is the time at which it begins, and size and expected describe the queue then.
	begun    time.Time
	size     int
	expected time.Duration
	starts   map[Key]Start
	started  []Entry
	// lists are the beds that the next decision looks at.
	lists  bedLists
	memory scratch
	// returns are the beds that are expected to be returned.
	returns returns
	// runs are the entries that have a bed.
	runs map[share.Account][]Run
	// learned are the times for which the first entry of a work has had a bed, if that was not known at the begin, and unknown are
	// the beds of entries whose work is not known yet.
	learned map[string]time.Duration
	unknown map[string][]string
	// compared is the number of comparisons of all decisions.
	compared int
}

const (
	// forecastCounting is the interval per group, and per bed of a shape, after which a forecast counts what teams want again, up to
	// a part of the time that entries have a bed, or of the time that the forecast looks ahead: in a large lab an entry more or less
	// does not change what teams are due.
	forecastCounting = 10 * time.Millisecond
	partOfExpected   = 30
	partOfForecast   = 20
)

// size is the number of groups, and of the beds of shapes.
func (q *Queue) size() int {
	n := len(q.groups)
	for s := range q.shapes {
		n += len(s.beds)
	}
	return n
}

// expected returns the average time that entries are expected to have a bed; one for which it is not known counts as 0.
func (q *Queue) expected() time.Duration { return q.sum / time.Duration(max(len(q.of), 1)) }

// counting is the interval after which the forecast counts what teams want.
func (f *forecast) counting() time.Duration {
	return min(time.Duration(f.size)*forecastCounting, max(time.Second, f.expected/partOfExpected, f.s.Now.Sub(f.begun)/partOfForecast))
}

func (f *forecast) decide() {
	if f.Sharing != nil {
		f.Sharing.count(f.queue, &f.s, f.runs, f.counting())
	}
	r := f.lists.round(f.s, &f.memory)
	decisions := f.queue.decide(r)
	f.compared += r.compared
	for _, d := range decisions {
		e := d.Entry
		f.starts[e.Key] = Start{At: f.s.Now, Bed: d.Bed}
		f.started = append(f.started, e)
		f.queue.Remove(e.Key)
		b := f.s.Beds[d.Bed]
		b.Leased = true
		f.s.Beds[d.Bed] = b
		if i, is := slices.BinarySearch(f.lists.free, d.Bed); is {
			f.lists.free = slices.Delete(f.lists.free, i, i+1)
		}
		end := End{Run: Run{Account: share.Account{Team: e.Team, Pool: b.Pool}, Since: f.s.Now, Expected: e.Expected, Work: e.Work}}
		if e.Expected == 0 {
			end.Run.Expected = f.learned[e.Work]
		}
		for _, l := range e.Limits {
			if l.Bed == "" || l.Bed == d.Bed {
				f.s.Running[l.Key]++
				end.Keys = append(end.Keys, l.Key)
			}
		}
		if lasts := f.Lasts(&e, d.Bed); lasts > 0 {
			end.At = f.s.Now.Add(lasts)
		}
		f.Ends[d.Bed] = end
		f.begin(d.Bed, end)
	}
}

// returned is a bed at the time at which it is expected to be returned.
type returned struct {
	at  time.Time
	bed string
}

// returns is a heap of beds, the one that is returned next on top.
type returns []returned

func (r returns) Len() int           { return len(r) }
func (r returns) Less(i, j int) bool { return r[i].at.Before(r[j].at) }
func (r returns) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }

// Push adds a bed.
func (r *returns) Push(x any) { *r = append(*r, x.(returned)) }

// Pop removes the last bed.
func (r *returns) Pop() any {
	last := (*r)[len(*r)-1]
	*r = (*r)[:len(*r)-1]
	return last
}

// next returns the time at which the next bed is returned, or a reservation begins or ends.
func (f *forecast) next(boundaries []time.Time) (next time.Time, found bool) {
	if len(f.returns) > 0 {
		next, found = f.returns[0].at, true
	}
	i, _ := slices.BinarySearchFunc(boundaries, f.s.Now, func(b, now time.Time) int {
		if b.After(now) {
			return 1
		}
		return -1
	})
	if i < len(boundaries) && (!found || boundaries[i].Before(next)) {
		next, found = boundaries[i], true
	}
	return next, found
}

// advance goes on to a time, at which beds are given back.
func (f *forecast) advance(to time.Time) {
	if to.After(f.s.Now) {
		f.s.Now = to
	}
	for len(f.returns) > 0 && !f.returns[0].at.After(f.s.Now) {
		name := heap.Pop(&f.returns).(returned).bed
		end := f.Ends[name]
		delete(f.Ends, name)
		of := f.runs[end.Run.Account]
		if i := slices.Index(of, end.Run); len(of) > 1 {
			f.runs[end.Run.Account] = slices.Delete(of, i, i+1)
		} else {
			delete(f.runs, end.Run.Account)
		}
		f.learn(end.Run)
		b := f.s.Beds[name]
		b.Leased, b.Lease = false, nil
		f.s.Beds[name] = b
		if i, is := slices.BinarySearch(f.lists.free, name); !is && b.Open {
			f.lists.free = slices.Insert(f.lists.free, i, name)
		}
		for _, k := range end.Keys {
			f.s.Running[k]--
		}
	}
}

// learn notes how long the first entry of a work has had its bed. From then on, teams are charged less for entries of this
// work, as by the operator.
func (f *forecast) learn(first Run) {
	if first.Expected > 0 || first.Work == "" {
		return
	}
	took := f.s.Now.Sub(first.Since)
	f.learned[first.Work] = took
	for _, bed := range f.unknown[first.Work] {
		end, leased := f.Ends[bed]
		if !leased || end.Run.Expected > 0 || end.Run.Work != first.Work {
			continue
		}
		of := f.runs[end.Run.Account]
		at := slices.Index(of, end.Run)
		end.Run.Expected = took
		f.Ends[bed], of[at] = end, end.Run
	}
	delete(f.unknown, first.Work)
}

// begin notes that an entry has a bed.
func (f *forecast) begin(bed string, end End) {
	f.runs[end.Run.Account] = append(f.runs[end.Run.Account], end.Run)
	if end.Run.Expected == 0 && end.Run.Work != "" {
		f.unknown[end.Run.Work] = append(f.unknown[end.Run.Work], bed)
	}
	if !end.At.IsZero() {
		heap.Push(&f.returns, returned{end.At, bed})
	}
}

// boundariesOf are all begins and ends of reservations, in order, once for beds that have the
// same slices.
func boundariesOf(s Snapshot) []time.Time {
	var all []time.Time
	seen := map[*Slice]bool{}
	for _, b := range s.Beds {
		if len(b.Reserved) == 0 || seen[&b.Reserved[0]] {
			continue
		}
		seen[&b.Reserved[0]] = true
		for i := range b.Reserved {
			all = append(all, b.Reserved[i].From, b.Reserved[i].Until)
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	return all
}

// Clone returns a queue with the same entries, which another goroutine can use.
func (q *Queue) Clone() *Queue {
	c := New()
	c.sum, c.known = q.sum, q.known
	for s := range q.shapes {
		copied := *s
		copied.round, copied.can = nil, nil
		copied.groups = make([]*group, 0, len(s.groups))
		c.addShape(&copied)
		for _, g := range s.groups {
			key := g.groupKey
			key.shape = &copied
			same := &group{groupKey: key, line: c.lineOf(key), entries: slices.Clone(g.entries)}
			c.groups[key] = same
			copied.groups = append(copied.groups, same)
			for _, e := range same.entries {
				c.of[e.Key] = member{same, e}
				c.joinGang(e.Key)
			}
		}
	}
	return c
}

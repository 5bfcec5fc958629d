package queue

import (
	"cmp"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/lab/share"
)

// Key identifies an entry.
type Key struct {
	Namespace, Name string
}

// String returns namespace/name.
func (k Key) String() string { return k.Namespace + "/" + k.Name }

// Entry is one benchmark that waits for a bed.
type Entry struct {
	// Key of the benchmark.
	Key
	// Team for which the benchmark runs.
	Team string
	// Priority orders the queue, the highest first.
	Priority int32
	// Created orders entries of one priority, the oldest first.
	Created time.Time
	// Beds that the entry can use, by name. An entry without any only waits.
	Beds []string
	// Limits that the entry has to keep.
	Limits []Limit
	// Reservation in whose time the entry runs; without one it runs outside of all.
	Reservation Key
	// Hold is the longest time for which the entry has a bed, and Expected is for how long
	// it is expected to have it; 0 where that is not known.
	Hold, Expected time.Duration
	// Work identifies what the entry measures: entries of the same work are expected to have a bed for the
	// same time. It may be empty.
	Work string
	// Pools are the pools of its beds, sorted; an empty list means that all beds are one pool.
	Pools []string
	// Preempts reports whether the entry may have a bed that a benchmark of lower priority holds
	// and gives back.
	Preempts bool
	// Gang to which the entry belongs: its entries get their beds together. It is zero without
	// a gang. Missing is the number of its entries that have no bed yet.
	Gang    Key
	Missing int
}

// Limit bounds how many benchmarks run at once under one key, such as a grant of a
// bed to a team.
type Limit struct {
	// Bed on which the entry counts under the key; empty means every bed.
	Bed string
	// Key under which benchmarks are counted.
	Key string
	// Max is the largest number of benchmarks that run at once under the key.
	Max int
}

// Bed is one bed of a snapshot.
type Bed struct {
	// Name of the bed.
	Name string
	// Open reports whether the bed takes benchmarks: it is ready, and not closed.
	Open bool
	// Leased reports whether a benchmark has the bed.
	Leased bool
	// Lease is the lease of the bed; nil if the bed is free, or if a lease is only about to be
	// written.
	Lease *Lease
	// Promised is the entry in whose favor the bed was taken from another one; zero without
	// one.
	Promised Key
	// Pool of beds that replace each other.
	Pool string
	// Conflicts are the names of beds that share an interface with this one. The
	// relation is symmetric.
	Conflicts []string
	// Reserved are the times in which the bed is kept for reservations, in order; they do
	// not overlap.
	Reserved []Slice
}

// Snapshot is everything else that a decision depends on.
type Snapshot struct {
	// Beds by name.
	Beds map[string]Bed
	// Running counts the benchmarks that have a bed, by the key of a limit.
	Running map[string]int
	// Standings of teams in pools. A team that is not there is neither behind nor ahead.
	Standings map[share.Account]Standing
	// stand returns standings where they are computed when they are needed; nil if Standings has them.
	stand func(share.Account) Standing
	// Spent are the teams that have used up their bed-hours.
	Spent map[string]bool
	// Aging raises the priority of those that wait long.
	Aging Aging
	// Now is the time of the snapshot.
	Now time.Time
}

// Decision assigns a bed to an entry.
type Decision struct {
	// Entry that gets the bed.
	Entry Entry
	// Bed that it gets.
	Bed string
}

// Compare orders entries: priority from high to low, then first come, then
// namespace and name, so that the order is total.
func Compare(a, b Entry) int { return compare(&a, &b) }

// shape contains what decides which beds an entry can have when.
type shape struct {
	hash uint64
	// beds and their pools are sorted. poolsName is unique for the pools.
	beds, pools []string
	poolsName   string
	limits      []Limit
	// limitsOn are the indices of the limits of each bed. The empty name has the limits of every bed.
	limitsOn map[string][]int
	// bounds are the different limits, whatever their beds.
	bounds      []Limit
	reservation Key
	hold        time.Duration
	// groups that have the shape.
	groups []*group
	// can are the beds that the shape could be given at the begin of a round, and round is the last one in which something was
	// known of it.
	can   []string
	round *round
}

// groupKey identifies a group.
type groupKey struct {
	*shape
	team     string
	priority int32
	preempts bool
	// gang of all entries; missing is how many of it have no bed yet.
	gang    Key
	missing int
}

// group is the set of entries of one team, priority and shape.
type group struct {
	groupKey
	// line identifies the groups whose team has the same score for them.
	line *lineOf
	// entries are sorted.
	entries []*Entry
}

// at returns the index of an entry of the group.
func (g *group) at(e *Entry) int {
	i, _ := slices.BinarySearchFunc(g.entries, e, compare)
	return i
}

// compare does what Compare does, without copies of the entries: large queues call it very often.
func compare(a, b *Entry) int {
	if c := cmp.Compare(b.Priority, a.Priority); c != 0 {
		return c
	}
	if c := a.Created.Compare(b.Created); c != 0 {
		return c
	}
	if c := cmp.Compare(a.Namespace, b.Namespace); c != 0 {
		return c
	}
	return cmp.Compare(a.Name, b.Name)
}

// member is an entry and the group that it is in.
type member struct {
	group *group
	entry *Entry
}

// Queue holds the entries that wait. It is not safe for concurrent use.
type Queue struct {
	shapes map[*shape]bool
	byHash map[uint64][]*shape
	groups map[groupKey]*group
	of     map[Key]member
	// gangs are the entries of each gang.
	gangs map[Key]map[Key]member
	// lists are the shapes of lists that were seen before.
	lists map[lists]*shape
	// lines of the groups.
	lines map[lineName]*lineOf
	// sum is the sum of the times for which entries are expected to have a bed, and known is the number of entries where that is known.
	sum   time.Duration
	known int
	// byBed are the shapes that have a bed; nil until a decision needs them.
	byBed map[string][]*shape
}

// New returns a queue with these entries.
func New(entries ...Entry) *Queue {
	q := &Queue{shapes: map[*shape]bool{}, byHash: map[uint64][]*shape{}, groups: map[groupKey]*group{}, lines: map[lineName]*lineOf{}, of: map[Key]member{}, gangs: map[Key]map[Key]member{}, lists: map[lists]*shape{}}
	for _, e := range entries {
		q.Set(e)
	}
	return q
}

// Len returns the number of entries.
func (q *Queue) Len() int { return len(q.of) }

// Set adds an entry, or replaces the one with its key. The caller must not change the lists of the entry afterwards.
func (q *Queue) Set(e Entry) {
	q.Remove(e.Key)
	g := q.groupOf(&e)
	// The entries of a group share its lists.
	e.Beds, e.Limits, e.Pools = g.beds, g.limits, g.pools
	g.entries = slices.Insert(g.entries, g.at(&e), &e)
	q.of[e.Key] = member{g, &e}
	q.expect(&e, 1)
	q.joinGang(e.Key)
}

// expect adds an entry n times to the sum of expected times.
func (q *Queue) expect(e *Entry, n int) {
	if e.Expected > 0 {
		q.sum += time.Duration(n) * e.Expected
		q.known += n
	}
}

// groupOf returns the group of an entry, and creates it if it does not exist.
func (q *Queue) groupOf(e *Entry) *group {
	key := groupKey{q.shapeOf(e), e.Team, e.Priority, e.Preempts, e.Gang, e.Missing}
	g := q.groups[key]
	if g == nil {
		g = &group{groupKey: key, line: q.lineOf(key)}
		q.groups[key] = g
		g.groups = append(g.groups, g)
	}
	return g
}

// Remove removes the entry with this key, if there is one.
func (q *Queue) Remove(k Key) {
	m, found := q.of[k]
	if !found {
		return
	}
	delete(q.of, k)
	q.expect(m.entry, -1)
	g := m.group
	i := g.at(m.entry)
	g.entries = slices.Delete(g.entries, i, i+1)
	q.leaveGang(g.gang, k)
	if len(g.entries) > 0 {
		return
	}
	delete(q.groups, g.groupKey)
	q.leaveLine(g)
	i = slices.Index(g.groups, g)
	g.groups = slices.Delete(g.groups, i, i+1)
	if len(g.groups) == 0 {
		q.removeShape(g.shape)
	}
}

// Has reports whether an entry with this key waits.
func (q *Queue) Has(k Key) bool {
	_, found := q.of[k]
	return found
}

// Entries returns all entries in order.
func (q *Queue) Entries() []Entry {
	all := make([]Entry, 0, len(q.of))
	for _, m := range q.of {
		all = append(all, *m.entry)
	}
	slices.SortFunc(all, Compare)
	return all
}

// Line describes the entries that wait for a bed, or of a namespace.
type Line struct {
	// Length is the number of entries.
	Length int
	// Oldest is the time at which the oldest of them was created.
	Oldest time.Time
}

func (l *Line) add(n int, oldest time.Time) {
	if l.Length == 0 || oldest.Before(l.Oldest) {
		l.Oldest = oldest
	}
	l.Length += n
}

// Lines returns what waits, by the beds that it can use and by its namespace.
func (q *Queue) Lines() (ofBeds, ofNamespaces map[string]Line) {
	ofBeds, ofNamespaces = map[string]Line{}, map[string]Line{}
	add := func(lines map[string]Line, name string, n int, oldest time.Time) {
		l := lines[name]
		l.add(n, oldest)
		lines[name] = l
	}
	for _, g := range q.groups {
		var all Line
		for _, e := range g.entries {
			all.add(1, e.Created)
			add(ofNamespaces, e.Namespace, 1, e.Created)
		}
		for _, bed := range g.beds {
			add(ofBeds, bed, all.Length, all.Oldest)
		}
	}
	return ofBeds, ofNamespaces
}

// Waiting returns how many entries can use the bed.
func (q *Queue) Waiting(bed string) int {
	n := 0
	for _, g := range q.groups {
		if _, found := slices.BinarySearch(g.beds, bed); found {
			n += len(g.entries)
		}
	}
	return n
}

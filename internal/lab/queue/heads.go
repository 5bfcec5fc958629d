package queue

import "container/heap"

// head is the first entry of a group that has nothing yet, with what orders it within its line.
type head struct {
	group *group
	next  int
	// priority with what the entry gained by waiting, and the bonus of the entry.
	priority int32
	bonus    float64
}

func (r *round) head(g *group, next int) head {
	e := g.entries[next]
	return head{group: g, next: next, priority: r.aging.Priority(e.Priority, e.Created, r.now), bonus: r.bonus(g, e)}
}

func (h *head) entry() *Entry { return h.group.entries[h.next] }

// before orders heads that come with the same score.
func (h *head) before(than *head) bool {
	if h.priority != than.priority {
		return h.priority > than.priority
	}
	a, b := h.entry(), than.entry()
	if c := a.Created.Compare(b.Created); c != 0 {
		return c < 0
	}
	return compare(a, b) < 0
}

// line contains the groups of a team that has the same score for all of them, as a heap with the first one on top. Their order
// does not depend on the score, which changes with each bed that the team is given.
type line struct {
	round *round
	heads []head
	// score of the team.
	score float64
}

func (l *line) Len() int      { return len(l.heads) }
func (l *line) Swap(i, j int) { l.heads[i], l.heads[j] = l.heads[j], l.heads[i] }

// Less orders by the bonus, then as before does.
func (l *line) Less(i, j int) bool {
	l.round.compared++
	a, b := &l.heads[i], &l.heads[j]
	if a.bonus != b.bonus {
		return a.bonus > b.bonus
	}
	return a.before(b)
}

// Push adds a head.
func (l *line) Push(x any) { l.heads = append(l.heads, x.(head)) }

// Pop removes the last head.
func (l *line) Pop() any {
	last := len(l.heads) - 1
	l.heads = l.heads[:last]
	return nil
}

// lineName identifies a line.
type lineName struct {
	team, pools string
	preempts    bool
}

// lineOf is the line of groups in the last round, and its index there.
type lineOf struct {
	round *round
	at    int
	// groups is the number of groups in the line.
	groups int
}

// lineOf returns the line of a new group.
func (q *Queue) lineOf(g groupKey) *lineOf {
	name := lineName{g.team, g.poolsName, g.preempts}
	known := q.lines[name]
	if known == nil {
		known = &lineOf{}
		q.lines[name] = known
	}
	known.groups++
	return known
}

// leaveLine removes a group from its line.
func (q *Queue) leaveLine(g *group) {
	if g.line.groups--; g.line.groups == 0 {
		delete(q.lines, lineName{g.team, g.poolsName, g.preempts})
	}
}

// turns is the order in which entries have their turn: what preempts comes first; then what belongs to the team that is
// furthest behind; then the higher priority, and the older one. It is a heap of lines.
type turns struct {
	round *round
	lines []*line
}

// turns orders groups.
func (r *round) turns(groups []*group) *turns {
	sizes := []int{}
	for _, g := range groups {
		if g.line.round != r {
			g.line.round, g.line.at = r, len(sizes)
			sizes = append(sizes, 0)
		}
		sizes[g.line.at]++
	}
	if cap(r.scratch.heads) < len(groups) {
		r.scratch.heads = make([]head, len(groups))
	}
	t, lines, heads := &turns{round: r, lines: make([]*line, len(sizes))}, make([]line, len(sizes)), r.scratch.heads[:len(groups)]
	for i, n := range sizes {
		lines[i] = line{round: r, heads: heads[:0:n]}
		t.lines[i], heads = &lines[i], heads[n:]
	}
	for _, g := range groups {
		l := &lines[g.line.at]
		if len(l.heads) == 0 {
			l.score = r.score(g)
		}
		l.heads = append(l.heads, r.head(g, 0))
	}
	for _, l := range t.lines {
		heap.Init(l)
	}
	heap.Init(t)
	return t
}

func (t *turns) Len() int      { return len(t.lines) }
func (t *turns) Swap(i, j int) { t.lines[i], t.lines[j] = t.lines[j], t.lines[i] }

// Less compares the first heads of two lines.
func (t *turns) Less(i, j int) bool {
	t.round.compared++
	a, b := t.lines[i], t.lines[j]
	h, than := &a.heads[0], &b.heads[0]
	if h.group.preempts != than.group.preempts {
		return h.group.preempts
	}
	if x, y := a.score+h.bonus, b.score+than.bonus; x != y {
		return x > y
	}
	return h.before(than)
}

// Push is not used: all lines are there from the begin.
func (t *turns) Push(any) {}

// Pop removes the last line.
func (t *turns) Pop() any {
	t.lines = t.lines[:len(t.lines)-1]
	return nil
}

// first returns the head whose turn it is; nil when no head is left.
func (t *turns) first() *head {
	for len(t.lines) > 0 {
		l := t.lines[0]
		score := t.round.score(l.heads[0].group)
		if score == l.score {
			return &l.heads[0]
		}
		l.score = score // The team was given a bed.
		heap.Fix(t, 0)
	}
	return nil
}

// pass goes on to the next entry of the group whose turn it is.
func (t *turns) pass() {
	h := &t.lines[0].heads[0]
	if h.next+1 == len(h.group.entries) {
		t.drop()
		return
	}
	*h = t.round.head(h.group, h.next+1)
	heap.Fix(t.lines[0], 0)
	heap.Fix(t, 0)
}

// drop removes the group whose turn it is.
func (t *turns) drop() {
	l := t.lines[0]
	heap.Pop(l)
	if len(l.heads) == 0 {
		heap.Pop(t)
		return
	}
	heap.Fix(t, 0)
}

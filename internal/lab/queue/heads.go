package queue

// head is the first entry of a group that has nothing yet, with what it is ordered by.
type head struct {
	group *group
	next  int
	// priority with what the entry gained by waiting.
	priority int32
	// score of the team, with the bonus of the entry.
	score float64
}

// head returns the head of a group at one of its entries.
func (r *round) head(g *group, next int) head {
	e := g.entries[next]
	return head{group: g, next: next, priority: r.aging.Priority(e.Priority, e.Created, r.now), score: r.score(g) + r.bonus(g, e)}
}

// moved brings a head up to date, and reports whether it changed: its team was given a bed.
func (h *head) moved(r *round) bool {
	score := r.score(h.group) + r.bonus(h.group, h.entry())
	changed := score != h.score
	h.score = score
	return changed
}

func (h *head) entry() *Entry { return h.group.entries[h.next] }

// less orders: what preempts comes first; then what belongs to the team that is furthest
// behind; then the higher priority, and the older one.
func (h *head) less(than *head) bool {
	if h.group.preempts != than.group.preempts {
		return h.group.preempts
	}
	if h.score != than.score {
		return h.score > than.score
	}
	if h.priority != than.priority {
		return h.priority > than.priority
	}
	a, b := h.entry(), than.entry()
	if c := a.Created.Compare(b.Created); c != 0 {
		return c < 0
	}
	return compare(a, b) < 0
}

// heads is a heap of the groups, the one with the first entry on top.
type heads []head

func (h heads) Len() int           { return len(h) }
func (h heads) Less(i, j int) bool { return h[i].less(&h[j]) }
func (h heads) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push adds a head.
func (h *heads) Push(x any) { *h = append(*h, x.(head)) }

// Pop removes the last head.
func (h *heads) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

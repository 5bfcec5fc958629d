package queue

import (
	"cmp"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/lab/share"
)

// Standing is the position of a team in a pool of beds.
type Standing struct {
	// Behind is the bed time that the team is due, less the bed time that it has had and is
	// about to have.
	Behind time.Duration
	// Weight of the team, above 0.
	Weight float64
}

// score orders teams: the highest is served first.
func (s Standing) score() float64 {
	if s.Weight <= 0 {
		return float64(s.Behind)
	}
	return float64(s.Behind) / s.Weight
}

// Aging raises the priority of what waits, so that everything is served in the end.
type Aging struct {
	// Interval after which the priority of an entry that waits is raised; 0 means never.
	Interval time.Duration
	// Points by which it is raised each time.
	Points int32
	// Max is the highest priority to which it is raised.
	Max int32
}

// Priority is the priority that an entry has at a time.
func (a Aging) Priority(priority int32, created, now time.Time) int32 {
	if a.Interval <= 0 || a.Points <= 0 || priority >= a.Max || !now.After(created) {
		return priority
	}
	raised := int64(priority) + int64(now.Sub(created)/a.Interval)*int64(a.Points)
	return int32(min(raised, int64(a.Max)))
}

// poolsOf are the pools of a group.
func (g *group) poolsOf() []string {
	if len(g.pools) == 0 {
		return onePool
	}
	return g.pools
}

var onePool = []string{""}

// score returns the score of a group's team in the pool where it is highest.
func (r *round) score(g *group) float64 {
	best := 0.0
	for i, pool := range g.poolsOf() {
		a := share.Account{Team: g.team, Pool: pool}
		standing := r.standing(a)
		standing.Behind -= r.charged[a]
		if s := standing.score(); i == 0 || s > best {
			best = s
		}
	}
	return best
}

// standing returns the standing of a team before this decision.
func (r *round) standing(a share.Account) Standing {
	s, known := r.standings[a]
	if !known && r.stand != nil {
		s = r.stand(a)
		r.standings[a] = s
	}
	return s
}

const (
	// few is the share of the beds up to which an entry is bound to few of them.
	few = 0.25
	// boundAhead is the bed time for a weight of 1 by which the team of an entry that is bound
	// to few beds may be ahead of others for it, once it has waited four times as long. It is
	// at most this multiple of the time that entries are expected to have a bed on average, so
	// that shares hold over times of a few benchmarks.
	boundAhead  = 30 * time.Minute
	boundLeases = 2
)

// boundAhead returns the bed time by which a team may be ahead for an entry that is bound to few beds. It is the same for all
// entries, so that none comes before one of its team with a higher priority because it takes longer.
func (q *Queue) boundAhead() time.Duration {
	if q.known == 0 {
		return boundAhead
	}
	return min(boundLeases*q.sum/time.Duration(q.known), boundAhead)
}

// bonus returns the amount that an entry which is bound to few beds gains by waiting. When its
// bed becomes free, any team can use that, and the turn of its own team comes rarely: without
// a bonus it waits that many times longer than an entry that can use every bed. The bed counts
// for its team as every other one does, so that shares stay within the bonus. Without shares
// the bonus is 0.
func (r *round) bonus(g *group, e *Entry) float64 {
	if !r.bound(g.shape) {
		return 0
	}
	since := e.Created
	if lower, found := r.behind[g]; found && lower.Before(since) {
		since = lower
	}
	return float64(min(max(r.now.Sub(since), 0)/4, r.boundAhead))
}

// bound reports whether the entries of a shape are bound to few beds.
func (r *round) bound(s *shape) bool {
	return (r.stand != nil || len(r.standings) > 0) && float64(len(s.beds)) <= few*float64(len(r.beds))
}

// rank prepares the order of groups in a round.
func (q *Queue) rank(r *round, groups []*group) {
	r.boundAhead = q.boundAhead()
	r.findBehind(groups)
}

// findBehind lets no entry of the groups gain so much by waiting that it comes before one of its team with a higher priority: what
// a lower priority gains the higher one has, too.
func (r *round) findBehind(groups []*group) {
	r.behind = map[*group]time.Time{}
	seen := map[*shape]bool{}
	var all []*group // of one shape, by team and priority
	for _, g := range groups {
		if len(g.groups) < 2 || seen[g.shape] || !r.bound(g.shape) {
			continue
		}
		seen[g.shape] = true
		all = append(all[:0], g.groups...)
		slices.SortFunc(all, func(a, b *group) int {
			return cmp.Or(cmp.Compare(a.team, b.team), cmp.Compare(a.priority, b.priority))
		})
		for first := 0; first < len(all); {
			last := first + 1
			for last < len(all) && all[last].team == all[first].team {
				last++
			}
			r.findBehindIn(all[first:last])
			first = last
		}
	}
}

// findBehindIn does so for the groups of one team and shape, by priority.
func (r *round) findBehindIn(all []*group) {
	var lower, oldest time.Time // Of lower priorities, and of the priority in hand as well.
	for i, g := range all {
		if i > 0 && all[i-1].priority < g.priority {
			lower = oldest
		}
		if all[0].priority < g.priority {
			r.behind[g] = lower
		}
		if created := g.entries[0].Created; i == 0 || created.Before(oldest) {
			oldest = created
		}
	}
}

// charge lets a team stand as if a run of the entry had begun: what follows does not depend on how many beds are given in
// one decision.
func (r *round) charge(e *Entry, pool string) {
	run := Run{Account: share.Account{Team: e.Team, Pool: pool}, Since: r.now, Expected: e.Expected}
	r.charged[run.Account] += run.left(r.now)
}

package allocation

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/queue"
	"nodrop.dev/nodrop/internal/lab/share"
)

// Bounds of the lists in the status of the LabPolicy.
const (
	maxStandings = 256
	maxPools     = 32
)

// shares contains how the teams of the lab stand: what each of them has had of the beds, and what
// it was due.
type shares struct {
	// sharing keeps the accounts of the teams; nil without a LabPolicy.
	sharing *queue.Sharing
	// hours are the bed times of teams within a week, and computed is the time of that sum.
	hours    map[string]time.Duration
	computed time.Time

	// now is the operator's clock.
	now       func() time.Time
	inventory *inventory
	teams     *teams
	ended     *ended
	queue     *queue.Queue
}

// begin begins new accounts for a LabPolicy unless the current ones have its window. It ends them
// if there is no policy.
func (h *shares) begin(p *v1alpha1.LabPolicy) {
	switch {
	case p == nil:
		h.sharing = nil
	case h.sharing == nil || h.sharing.Book.Window() != p.Spec.Window.Duration:
		h.sharing = &queue.Sharing{Book: share.NewBook(p.Spec.Window.Duration)}
	}
}

// carry takes over the bed time that teams were due and have had from the status of a LabPolicy.
func (h *shares) carry(p *v1alpha1.LabPolicy, now time.Time) {
	if h.sharing == nil {
		return
	}
	for _, t := range p.Status.Teams {
		for _, pool := range t.Pools {
			h.sharing.Book.Carry(share.Account{Team: t.Name, Pool: pool.Pool}, share.Use{Due: pool.Due.Duration, Had: pool.Had.Duration}, now)
		}
	}
}

// stand adds the standings of teams to a snapshot.
func (h *shares) stand(s *queue.Snapshot) {
	if h.sharing == nil {
		return
	}
	h.sharing.Weights, s.Spent = map[string]float64{}, map[string]bool{}
	for name := range h.teams.namespaces {
		t := h.teams.teamOf(name)
		h.sharing.Weights[t.Name] = float64(t.Weight)
		if t.MaxBedHoursPerWeek > 0 && h.bedHours(s.Now)[t.Name].Hours() >= float64(t.MaxBedHoursPerWeek) {
			s.Spent[t.Name] = true
		}
	}
	h.sharing.Stand(h.queue, s, h.runs())
}

// runs returns the benchmarks that have a bed, without those that have ended and left nothing.
func (h *shares) runs() []queue.Run {
	var runs []queue.Run
	for _, seen := range h.inventory.beds {
		if seen.holder() != (queue.Key{}) && !h.ended.returned(seen) {
			runs = append(runs, h.runOf(seen))
		}
	}
	return runs
}

// runOf returns the benchmark that has a bed. One that has ended only returns its bed, so that it is over
// its time.
func (h *shares) runOf(seen *bedView) queue.Run {
	key := seen.holder()
	r := queue.Run{Account: share.Account{Team: h.teams.teamOf(key.Namespace).Name, Pool: h.teams.poolOf(seen.bed)}, Since: h.now()}
	l := seen.lease()
	if l != nil {
		r.Since = l.AcquireTime.Time
	}
	if w := h.inventory.benchmarks[key]; w != nil {
		r.Expected, r.Work = h.ended.expected(w), h.ended.unfinished(w).name()
	} else if until, ended := h.ended.until(l); ended {
		r.Expected = max(until.Sub(r.Since), time.Second)
	}
	return r
}

// standings returns the standings of the teams, in the order of their names.
func (h *shares) standings(s queue.Snapshot) []v1alpha1.TeamStanding {
	of := map[string]*v1alpha1.TeamStanding{}
	get := func(name string) *v1alpha1.TeamStanding {
		if of[name] == nil {
			of[name] = &v1alpha1.TeamStanding{Name: name, Weight: int32(max(h.sharing.Weights[name], 1))}
		}
		return of[name]
	}
	for _, account := range h.sharing.Book.Accounts() {
		t, use := get(account.Team), h.sharing.Book.Use(account)
		if len(t.Pools) < maxPools {
			t.Pools = append(t.Pools, v1alpha1.PoolStanding{
				Pool: account.Pool, Due: seconds(use.Due), Had: seconds(use.Had), Behind: seconds(s.Standings[account].Behind),
			})
		}
	}
	for _, r := range h.runs() {
		get(r.Team).Running++
	}
	_, lines := h.queue.Lines()
	for namespace, line := range lines {
		get(h.teams.teamOf(namespace).Name).Queued += int32(line.Length)
	}
	for name, d := range h.bedHours(s.Now) {
		get(name).BedHoursInWeek = int32(d / time.Hour)
	}
	all := make([]v1alpha1.TeamStanding, 0, len(of))
	for _, t := range of {
		all = append(all, *t)
	}
	slices.SortFunc(all, func(x, y v1alpha1.TeamStanding) int { return strings.Compare(x.Name, y.Name) })
	return all[:min(len(all), maxStandings)]
}

// accounted is the minimum interval between two sums of bed-hours.
const accounted = 10 * time.Second

// bedHours returns the bed time of each team within the last week.
func (h *shares) bedHours(now time.Time) map[string]time.Duration {
	now = now.Round(0) // Leases have times of day.
	if age := now.Sub(h.computed); h.hours != nil && age >= 0 && age < accounted {
		return h.hours
	}
	h.computed, h.hours = now, map[string]time.Duration{}
	h.ended.forget(now)
	names := map[string]string{}
	teamName := func(namespace string) string {
		name, known := names[namespace]
		if !known {
			name = h.teams.teamOf(namespace).Name
			names[namespace] = name
		}
		return name
	}
	for _, u := range h.ended.uses {
		h.hours[teamName(u.namespace)] += u.within(now)
	}
	for _, seen := range h.inventory.beds {
		if l := seen.bed.Status.Lease; l != nil {
			namespace := keyOf(l.Holder).Namespace
			u := use{until: now, length: max(now.Sub(l.AcquireTime.Time), 0)}
			h.hours[teamName(namespace)] += u.within(now)
		}
	}
	return h.hours
}

// seconds is a duration in whole seconds.
func seconds(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d.Round(time.Second)} }

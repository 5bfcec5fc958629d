package allocation

import (
	corev1 "k8s.io/api/core/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/queue"
	"nodrop.dev/nodrop/controllers/share"
	"nodrop.dev/nodrop/internal/preflight"
	"nodrop.dev/nodrop/internal/team"
)

// applyPolicy takes over a version of the LabPolicy; nil when it is gone.
func (a *Allocator) applyPolicy(name string, p *v1alpha1.LabPolicy) {
	if name != v1alpha1.LabPolicyName {
		return
	}
	before := a.policy
	a.policy = p
	if before != nil && p != nil && before.UID == p.UID && before.Generation == p.Generation {
		return
	}
	switch {
	case p == nil:
		a.sharing = nil
	case a.sharing == nil || a.sharing.Book.Window() != p.Spec.Window.Duration:
		a.sharing = &queue.Sharing{Book: share.NewBook(p.Spec.Window.Duration)}
	}
	for _, c := range a.classes {
		a.judge(c)
	}
}

// teamOf is the team of a namespace, also of one that is not known yet.
func (a *Allocator) teamOf(namespace string) team.Team {
	return team.OfName(a.policy, a.namespaces, namespace)
}

// limits of a benchmark on a bed: that of its grant, and that of its team.
func (a *Allocator) limits(bed *v1alpha1.TestBed, ns *corev1.Namespace, b *v1alpha1.Benchmark) []preflight.Limit {
	limits := preflight.Limits(bed, ns, preflight.NewRequest(a.policy, b))
	if t := team.Of(a.policy, ns); t.MaxRunning > 0 {
		limits = append(limits, preflight.Limit{Key: teamLimit + t.Name, Max: int(t.MaxRunning)})
	}
	return limits
}

// teamLimit begins the keys of limits of teams.
const teamLimit = "team/"

// poolOf is the pool of a bed.
func (a *Allocator) poolOf(bed *v1alpha1.TestBed) string {
	if a.policy == nil || a.policy.Spec.PoolLabel == "" {
		return ""
	}
	return bed.Labels[a.policy.Spec.PoolLabel]
}

// aging as the policy has it.
func (a *Allocator) aging() queue.Aging {
	if a.policy == nil || a.policy.Spec.Aging == nil {
		return queue.Aging{}
	}
	g := a.policy.Spec.Aging
	return queue.Aging{Interval: g.Interval.Duration, Points: g.Points, Max: g.MaxPriority}
}

// stand adds the standings of teams to a snapshot.
func (a *Allocator) stand(s *queue.Snapshot) {
	if a.sharing == nil {
		return
	}
	a.sharing.Weights, s.Spent = map[string]float64{}, map[string]bool{}
	for name := range a.namespaces {
		t := a.teamOf(name)
		a.sharing.Weights[t.Name] = float64(t.Weight)
		if t.MaxBedHoursPerWeek > 0 && a.bedHours(s.Now)[t.Name].Hours() >= float64(t.MaxBedHoursPerWeek) {
			s.Spent[t.Name] = true
		}
	}
	a.sharing.Stand(a.queue, s, a.runs())
}

// runs are the benchmarks that have a bed.
func (a *Allocator) runs() []queue.Run {
	var runs []queue.Run
	for _, view := range a.beds {
		key := view.holder()
		if key == (queue.Key{}) {
			continue
		}
		r := queue.Run{Account: share.Account{Team: a.teamOf(key.Namespace).Name, Pool: a.poolOf(view.bed)}, Since: a.Now()}
		if l := view.bed.Status.Lease; l != nil {
			r.Since = l.AcquireTime.Time
		}
		if w := a.benchmarks[key]; w != nil {
			r.Expected = a.expected(w)
		}
		runs = append(runs, r)
	}
	return runs
}

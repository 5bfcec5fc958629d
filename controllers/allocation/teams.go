package allocation

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/queue"
	"nodrop.dev/nodrop/internal/manifests/preflight"
	"nodrop.dev/nodrop/internal/manifests/team"
)

// teams contains the LabPolicy and the namespaces, which decide to which team a benchmark
// belongs, and what that team may have.
type teams struct {
	// policy is the LabPolicy that defines how teams share beds; nil without one.
	policy     *v1alpha1.LabPolicy
	namespaces map[string]*corev1.Namespace
}

func newTeams() *teams { return &teams{namespaces: map[string]*corev1.Namespace{}} }

// setNamespace takes over a version of a namespace; nil when it is gone. It reports whether
// anything changed that matters to teams and access.
func (t *teams) setNamespace(name string, ns *corev1.Namespace) (changed bool) {
	before := t.namespaces[name]
	if ns == nil {
		delete(t.namespaces, name)
		return true
	}
	t.namespaces[name] = ns
	return before == nil || !equality.Semantic.DeepEqual(before.Labels, ns.Labels)
}

// setPolicy takes over a version of the LabPolicy; nil when it is gone. It reports whether its
// specification changed.
func (t *teams) setPolicy(p *v1alpha1.LabPolicy) (changed bool) {
	before := t.policy
	t.policy = p
	return before == nil || p == nil || before.UID != p.UID || before.Generation != p.Generation
}

// teamOf returns the team of a namespace, also of one that is not known yet.
func (t *teams) teamOf(namespace string) team.Team {
	return team.OfName(t.policy, t.namespaces, namespace)
}

// limits returns the limits of a benchmark on a bed: that of its grant, and that of its team. It
// returns none while the namespace of the benchmark is not known.
func (t *teams) limits(bed *v1alpha1.TestBed, b *v1alpha1.Benchmark) []preflight.Limit {
	ns := t.namespaces[b.Namespace]
	if ns == nil {
		return nil
	}
	limits := preflight.Limits(bed, ns, preflight.NewRequest(t.policy, b))
	if own := team.Of(t.policy, ns); own.MaxRunning > 0 {
		limits = append(limits, preflight.Limit{Key: teamLimit + own.Name, Max: int(own.MaxRunning)})
	}
	return limits
}

// teamLimit begins the keys of limits of teams.
const teamLimit = "team/"

// poolOf returns the pool of a bed; empty without pools.
func (t *teams) poolOf(bed *v1alpha1.TestBed) string {
	if t.policy == nil || t.policy.Spec.PoolLabel == "" {
		return ""
	}
	return bed.Labels[t.policy.Spec.PoolLabel]
}

// aging returns the aging that the policy defines.
func (t *teams) aging() queue.Aging {
	if t.policy == nil || t.policy.Spec.Aging == nil {
		return queue.Aging{}
	}
	g := t.policy.Spec.Aging
	return queue.Aging{Interval: g.Interval.Duration, Points: g.Points, Max: g.MaxPriority}
}

// entryOf returns the entry of a benchmark in the queue, without beds and limits.
func (t *teams) entryOf(b *v1alpha1.Benchmark) queue.Entry {
	return queue.EntryOf(t.policy, t.namespaces, b)
}

// compare orders benchmarks by priority and age.
func (t *teams) compare(x, y *v1alpha1.Benchmark) int {
	return queue.Compare(t.entryOf(x), t.entryOf(y))
}

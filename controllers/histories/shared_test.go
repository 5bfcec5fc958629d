package histories

import (
	"context"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// teams are the namespaces of those who share the lab. The last one is in no team of the
// policy, so that it is one of its own.
var teams = []string{team, "team-switching", "team-optics"}

// namespaceOf returns the namespace of a benchmark: the benchmarks of a history belong to one
// team after the other.
func namespaceOf(name string) string {
	if i, err := strconv.Atoi(strings.TrimPrefix(name, "b")); err == nil {
		return teams[i%len(teams)]
	}
	return team
}

func keyOf(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: namespaceOf(name), Name: name}
}

// urgent is the class that preempts.
const urgent = "urgent"

// classOf is the priority class of a benchmark that is created.
func classOf(e event) string { return []string{"", "", "soon", urgent}[(e.much/2+e.which)%4] }

// policies are changes of the LabPolicy that histories begin with. Each has the classes that
// benchmarks name.
var policies = []func(*v1alpha1.LabPolicySpec){
	func(*v1alpha1.LabPolicySpec) {},
	func(s *v1alpha1.LabPolicySpec) { s.Teams[0].Weight, s.Teams[1].Weight = 1, 4 },
	func(s *v1alpha1.LabPolicySpec) { s.Teams[0].MaxRunning, s.Others.MaxRunning = 1, 1 },
	func(s *v1alpha1.LabPolicySpec) { s.Teams[1].MaxBedHoursPerWeek = 1 },
	func(s *v1alpha1.LabPolicySpec) { s.Aging = nil },
	func(s *v1alpha1.LabPolicySpec) { s.Window.Duration = 24 * time.Hour },
	func(s *v1alpha1.LabPolicySpec) { s.Teams = s.Teams[:1] },
}

// policy is one of policies.
func policy(which int) *v1alpha1.LabPolicy {
	p := &v1alpha1.LabPolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LabPolicyName}, Spec: v1alpha1.LabPolicySpec{
		Window: metav1.Duration{Duration: time.Hour},
		Teams: []v1alpha1.Team{
			{Name: "routing", Namespaces: teams[:1], TeamShare: v1alpha1.TeamShare{Weight: 2, MaxRunning: 2}},
			{Name: "switching", Namespaces: teams[1:2], TeamShare: v1alpha1.TeamShare{Weight: 1}},
		},
		Others:          v1alpha1.TeamShare{Weight: 1},
		PriorityClasses: []v1alpha1.PriorityClass{{Name: "soon", Value: 5}, {Name: urgent, Value: 50, Preempts: true}},
		Aging:           &v1alpha1.Aging{Interval: metav1.Duration{Duration: time.Minute}, Points: 1, MaxPriority: 10},
	}}
	policies[which%len(policies)](&p.Spec)
	return p
}

// changePolicy makes the policy another one. Every ninth time it is away meanwhile.
func (w *world) changePolicy(ctx context.Context, which int) {
	if which%9 == 8 {
		_ = w.Delete(ctx, policy(which))
		time.Sleep(time.Duration(which) * w.unit / 2)
	}
	for range 50 {
		p := &v1alpha1.LabPolicy{}
		err := w.Get(ctx, client.ObjectKey{Name: v1alpha1.LabPolicyName}, p)
		if apierrors.IsNotFound(err) {
			err = w.Create(ctx, policy(which))
		} else if err == nil {
			p.Spec = policy(which).Spec
			err = w.Update(ctx, p)
		}
		if err == nil {
			return
		}
	}
}

// seeAsking judges that the allocator takes a bed only for a benchmark of a class that preempts,
// from one that lets itself be preempted. The caller holds the lock.
func (c *checker) seeAsking(before, after *v1alpha1.TestBed) {
	lease := after.Status.Lease
	if lease == nil || lease.Preemption == nil || before == nil || before.Status.Lease == nil || before.Status.Lease.Preemption != nil {
		return
	}
	holder := c.specs[lease.UID]
	if by := c.named(lease.Preemption.By); by != nil && holder != nil {
		c.askedFor++
		if by.Spec.PriorityClassName != urgent || !holder.Preemptible || holder.PriorityClassName == urgent {
			c.violated("bed %s was taken from %s (class %q, preemptible %v) for %s of class %q",
				after.Name, lease.Holder, holder.PriorityClassName, holder.Preemptible, by.Name, by.Spec.PriorityClassName)
		}
	}
}

// named is the last version of a benchmark by namespace and name; nil for those that tests
// invent.
func (c *checker) named(key string) *v1alpha1.Benchmark {
	var found *v1alpha1.Benchmark
	for _, b := range c.last {
		if b.Namespace+"/"+b.Name == key && (found == nil || found.CreationTimestamp.Before(&b.CreationTimestamp)) {
			found = b
		}
	}
	return found
}

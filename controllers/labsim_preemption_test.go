package controllers_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/honestteams"
)

// labPreemptions creates benchmarks that preempt others in a simulated lab whose beds are all in use, one
// after the other, and notes how long it takes until a bed is taken from its holder for each, and
// until each has that bed.
type labPreemptions struct {
	admin client.Client
	beds  int
	want  int

	used            map[string]bool
	created         []time.Time
	marked, granted map[string]time.Time
}

func newLabPreemptions(admin client.Client, beds, want int) *labPreemptions {
	return &labPreemptions{admin: admin, beds: beds, want: want, used: map[string]bool{}, marked: map[string]time.Time{}, granted: map[string]time.Time{}}
}

// urgent is the name of a benchmark that preempts.
func (*labPreemptions) urgent(i int) string { return fmt.Sprintf("sim-team-00/urgent-%02d", i) }

func (p *labPreemptions) bed(b *v1alpha1.TestBed, now time.Time) {
	l := b.Status.Lease
	if l == nil {
		return
	}
	p.used[b.Name] = true
	if p.granted[l.Holder].IsZero() {
		p.granted[l.Holder] = now
	}
	if l.Preemption != nil && p.marked[l.Preemption.By].IsZero() {
		p.marked[l.Preemption.By] = now
	}
}

// look creates the next benchmark that preempts once the one before it has its bed.
func (p *labPreemptions) look(ctx context.Context, _ client.Client, _ int) (enough bool, _ error) {
	n := len(p.created)
	switch {
	case len(p.used) < p.beds || n > 0 && p.granted[p.urgent(n-1)].IsZero():
		return false, nil
	case n == p.want:
		return true, nil
	}
	b := benchmark(fmt.Sprintf("urgent-%02d", n), "")
	b.Namespace, b.Spec.PriorityClassName = "sim-team-00", "urgent"
	b.Spec.TestBedSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "rack", Operator: metav1.LabelSelectorOpExists}}}
	p.created = append(p.created, time.Now())
	if err := p.admin.Create(ctx, b); err != nil {
		return false, fmt.Errorf("creating %s: %w", b.Name, err)
	}
	return false, nil
}

// table prints the times since the creation.
func (p *labPreemptions) table() string {
	text := fmt.Sprintf("%-26s%8s%10s%10s%10s\n", "since the creation, s", "count", "p50", "longest", "first")
	for _, row := range []struct {
		name string
		at   map[string]time.Time
	}{{"a bed is taken for it", p.marked}, {"it has the bed", p.granted}} {
		var took []time.Duration
		for i, created := range p.created {
			if at := row.at[p.urgent(i)]; !at.IsZero() {
				took = append(took, at.Sub(created))
			}
		}
		first := honestteams.Quantile(took, 0) // It comes right after the start of the operator.
		slices.Sort(took)
		text += fmt.Sprintf("%-26s%8d%10.3f%10.3f%10.3f\n", row.name, len(took), honestteams.Quantile(took, 0.5), honestteams.Quantile(took, 1), first)
	}
	return text
}

// preempted runs a lab in which benchmarks preempt others, and returns what was noted.
func preempted(t *testing.T, admin, operator *rest.Config, size labSize, want int) *labPreemptions {
	t.Helper()
	size.policy, size.preemptible = true, true
	size.fill(t, admin)
	p := newLabPreemptions(newClient(t, admin), size.beds, want)
	if _, err := simulateOperator(t.Context(), operator, size, p); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestMeasurePreemption measures how long a benchmark that preempts waits for its bed in labs of the
// sizes that NODROP_LAB_PREEMPTION lists, such as 4000x20, in which every bed is in use and the others wait.
func TestMeasurePreemption(t *testing.T) {
	list := os.Getenv("NODROP_LAB_PREEMPTION")
	if list == "" {
		t.Skip("NODROP_LAB_PREEMPTION is not set: make lab-sim")
	}
	for _, size := range labSizes(t, list) {
		size.run = time.Hour
		s := launchServer(t)
		p := preempted(t, s.admin, s.operator, size, 10)
		t.Logf("%d benchmarks of %d namespaces on %d beds\n%s", size.benchmarks, size.namespaces, size.beds, p.table())
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	}
}

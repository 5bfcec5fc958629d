package controllers_test

import (
	"context"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/hostileteam"
	"nodrop.dev/nodrop/internal/testkit/honestteams"
)

// TestMeasureHostileTeam measures ten honest teams without and with hostile teams, alternating,
// each in a lab of its own and without pods. It is run by make hostile; a test of the same name
// in package e2e measures with pods.
func TestMeasureHostileTeam(t *testing.T) {
	plan := honestteams.ReadPlan(t)
	plan.Measure(t, func(t *testing.T, attacked bool, r *honestteams.Run) {
		l := newHostileLab(t, !plan.Unlimited, plan.Teams)
		teams := &honestteams.Teams{
			Lab: l.server.admin, Admin: l.admin, Waiting: honestWaiting, Patience: patience, ServerParent: os.Getpid(),
			Benchmark: func(namespace, name string) *v1alpha1.Benchmark {
				b := benchmark(name, "")
				b.Namespace, b.Spec.TestBedName, b.Spec.TestBedSelector = namespace, "", everyBed()
				return b
			},
		}
		attack := func(ctx context.Context) (hostileteam.Report, error) { return l.attack(ctx, plan.Teams, 10_000, 500) }
		if !attacked {
			attack = nil
		}
		l.Expect(teams.Measure(t.Context(), r, attack)).To(Succeed())
		r.Operator, r.Restarts = float64(l.memory.Load())/(1<<20), l.restarts.Load()
	})
}

// everyBed selects all beds.
func everyBed() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"kind": "modelled"}}
}

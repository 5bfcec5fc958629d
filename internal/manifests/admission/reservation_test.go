package admission_test

import (
	"fmt"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// reservesEveryBed reserves a pool as nodrop reserve -l does, in a lab without a LabPolicy.
func reservesEveryBed(s *server) {
	ctx := s.t.Context()
	s.Expect(client.IgnoreNotFound(s.c.Delete(ctx, &v1alpha1.LabPolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LabPolicyName}}))).To(Succeed())
	s.Expect(s.c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-honest"}})).To(Succeed())
	pool := map[string]string{v1alpha1.DefaultPoolLabel: "routers"}
	for i := range 4 {
		bed := objects.TestBed(fmt.Sprint("router-", i), objects.Labels(pool), objects.Simulated("nights-model", "device.csv"), objects.Sim(2, "10G"))
		bed.Spec.Access = []v1alpha1.AccessGrant{{Names: []string{"team-routing", "team-honest"}}}
		s.Expect(s.c.Create(ctx, bed)).To(Succeed())
	}
	now := time.Now().Truncate(time.Second)
	reserve := func(name string, from time.Duration, beds ...string) error {
		r := &v1alpha1.Reservation{ObjectMeta: metav1.ObjectMeta{Namespace: "team-routing", Name: name}}
		r.Spec = v1alpha1.ReservationSpec{TestBedNames: beds, From: metav1.NewTime(now.Add(from)), Until: metav1.NewTime(now.Add(from + 24*time.Hour))}
		if len(beds) == 0 {
			r.Spec.TestBedSelector = &metav1.LabelSelector{MatchLabels: pool}
		}
		return s.c.Create(ctx, r)
	}
	s.Expect(reserve("everything", 0)).To(MatchError(ContainSubstring(
		`the reservations of team namespace/team-routing would keep 4 of the 4 beds of pool "routers" that other teams may use (namespace/team-honest), and may keep 2: reserve fewer beds`)))
	s.warnings.texts = nil
	s.Expect(reserve("half", 0, "router-0", "router-1")).To(Succeed())
	s.Expect(s.warnings.texts).To(ConsistOf(ContainSubstring(`keeps 2 of the 4 beds of pool "routers" from other teams (namespace/team-honest)`)))
	s.Expect(reserve("one-more", time.Hour, "router-2")).To(MatchError(ContainSubstring("would keep 3 of the 4 beds")))
	s.Expect(reserve("nothing", 0, "router-0")).To(MatchError(ContainSubstring("the reservation would hold no bed at any of its times: reservation team-routing/half has bed router-0")))
	for i := range v1alpha1.DefaultMaxReservations + 1 {
		err := reserve(fmt.Sprint("many-", i), time.Duration(25*(i+2))*time.Hour, "router-3")
		if err != nil {
			s.Expect(err).To(MatchError(ContainSubstring("team namespace/team-routing of namespace team-routing has 50 reservations that have not ended, and may have 50")))
			return
		}
	}
	s.t.Errorf("a team made %d reservations", v1alpha1.DefaultMaxReservations+1)
}

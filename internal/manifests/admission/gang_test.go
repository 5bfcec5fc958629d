package admission_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/manifests/admission"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// TestGangMembers compares a member of a gang with those that are there.
func TestGangMembers(t *testing.T) {
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	member := func(name, role, bed string, members int32) *v1alpha1.Benchmark {
		return objects.Benchmark("team", name,
			objects.BedName(bed), objects.ProfileName("pairs"), objects.Deadline(3600),
			objects.Tests(v1alpha1.Test{Name: "loss", FrameLoss: &v1alpha1.FrameLossTest{MaxLoad: "100%", Step: "10%"}}),
			objects.BenchmarkFunc(func(b *v1alpha1.Benchmark) { b.Spec.Gang = &v1alpha1.Gang{Name: "ring", Role: role, Members: members} }),
		)
	}
	ended := member("before", "right", "bed", 2)
	ended.Status.Phase = v1alpha1.PhasePassed
	profile := objects.TrafficProfile("team", "pairs", objects.IPv4Pairs(64))
	for name, tc := range map[string]struct {
		b    *v1alpha1.Benchmark
		want string
	}{
		"another role":             {member("b", "right", "bed", 2), ""},
		"the same role":            {member("b", "left", "bed", 2), `spec.gang.role: Invalid value: "left": benchmark a of gang ring has this role and is not finished: choose another role, wait until that one has ended, or choose another name of the gang`},
		"another number":           {member("b", "right", "bed", 3), `spec.gang.members: Invalid value: 3: benchmark a of gang ring says 2: give the same number in all members`},
		"the bed of another":       {member("b", "right", "other", 2), `spec.testBedName: Invalid value: "other": benchmark a of gang ring names this bed too, and a bed has one benchmark at a time: name another bed`},
		"the one that it replaces": {member("a", "left", "bed", 2), ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}, profile, bedFor("team"), member("a", "left", "other", 2), ended).Build()
			_, err := (&admission.Benchmarks{Cache: c, Live: c}).ValidateCreate(t.Context(), tc.b)
			if tc.want != "" {
				kubetest.Refused(t, err, tc.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

package admission_test

import (
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	webhook "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/manifests/admission"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// TestAcceptancesAreNotForged checks that a user accepts a level in the own name and at the
// present time only, and that a schedule hands its acceptance on.
func TestAcceptancesAreNotForged(t *testing.T) {
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	accepted := func(user string, at time.Time) []v1alpha1.Gate {
		return []v1alpha1.Gate{{Name: "as-usual", Test: "throughput", Metric: "Throughput", Relative: &v1alpha1.RelativeBound{
			MaxDecrease: new(v1alpha1.Tolerance("5%")),
			Baseline: v1alpha1.GateBaseline{Trend: &v1alpha1.TrendBaseline{MinRuns: 3, Accepted: &v1alpha1.BaselineAcceptance{
				User: user, Time: metav1.NewTime(at), Reason: "release 24.2 encrypts",
			}}},
		}}}
	}
	scheduled := func(gates []v1alpha1.Gate) *v1alpha1.BenchmarkSchedule {
		s := &v1alpha1.BenchmarkSchedule{ObjectMeta: metav1.ObjectMeta{Name: "nightly", Namespace: "team"}}
		s.Spec.BenchmarkTemplate.Spec.Gates = gates
		return s
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}
	longAgo := now.Add(-1000 * time.Hour)
	for name, tc := range map[string]struct {
		gates    []v1alpha1.Gate
		user     string
		schedule *v1alpha1.BenchmarkSchedule
		refused  string
	}{
		"by the user, now":           {gates: accepted("alice", now.Add(-time.Minute)), user: "alice"},
		"in another name":            {gates: accepted("alice", now), user: "mallory", refused: `spec.gates[0].relative.baseline.trend.accepted.user: Invalid value: "alice": a level is accepted by the user who applies it, which is "mallory"`},
		"back-dated":                 {gates: accepted("alice", longAgo), user: "alice", refused: "accepted.time: Invalid value"},
		"in the future":              {gates: accepted("alice", now.Add(time.Hour)), user: "alice", refused: "accepted.time: Invalid value"},
		"handed on by a schedule":    {gates: accepted("alice", longAgo), user: "operator", schedule: scheduled(accepted("alice", longAgo))},
		"not what the schedule has":  {gates: accepted("bob", longAgo), user: "operator", schedule: scheduled(accepted("alice", longAgo)), refused: "accepted.user"},
		"of a schedule that is gone": {gates: accepted("alice", longAgo), user: "operator", refused: "accepted.user"},
	} {
		t.Run(name, func(t *testing.T) {
			builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(namespace)
			if tc.schedule != nil {
				builder = builder.WithObjects(tc.schedule)
			}
			c := builder.Build()
			b := objects.Benchmark("team", "b", objects.Labels(map[string]string{v1alpha1.LabelSchedule: "nightly"}))
			b.Spec.Gates = tc.gates
			ctx := webhook.NewContextWithRequest(t.Context(), webhook.Request{AdmissionRequest: admissionv1.AdmissionRequest{UserInfo: authenticationv1.UserInfo{Username: tc.user}}})
			v := &admission.Benchmarks{Cache: c, Live: c, Now: func() time.Time { return now }}
			// The benchmark is refused for more: only the acceptance matters here.
			_, err := v.ValidateCreate(ctx, b)
			said := err != nil && strings.Contains(err.Error(), "trend.accepted")
			if said != (tc.refused != "") || tc.refused != "" && !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("%v\nwant %q", err, tc.refused)
			}
		})
	}
	// A change of a schedule is judged by what changes.
	v := &admission.Schedules{Benchmarks: &admission.Benchmarks{Now: func() time.Time { return now }}, Now: func() time.Time { return now }}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(namespace).Build()
	v.Benchmarks.Cache, v.Benchmarks.Live = c, c
	ctx := webhook.NewContextWithRequest(t.Context(), webhook.Request{AdmissionRequest: admissionv1.AdmissionRequest{UserInfo: authenticationv1.UserInfo{Username: "bob"}}})
	before, after := scheduled(accepted("alice", longAgo)), scheduled(accepted("alice", longAgo))
	after.Spec.BenchmarkTemplate.Spec.HistoryName = "other"
	if _, err := v.ValidateUpdate(ctx, before, after); err != nil && strings.Contains(err.Error(), "trend.accepted") {
		t.Errorf("an acceptance that stays: %v", err)
	}
	after.Spec.BenchmarkTemplate.Spec.Gates = accepted("alice", now)
	if _, err := v.ValidateUpdate(ctx, before, after); err == nil || !strings.Contains(err.Error(), `"bob"`) {
		t.Errorf("a new acceptance in the name of another: %v", err)
	}
}

package controllers_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
)

// condition is a condition of a benchmark with a reason of its own.
func condition(kind, reason string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: "a <b> & \"c\"", LastTransitionTime: metav1.NewTime(time.Unix(1e9, 0))}
}

// TestPatchStatus lets others write a benchmark between the read and the write of a status, on a
// real API server: what the write depends on makes it fail, and nothing else does.
func TestPatchStatus(t *testing.T) {
	server := startServer(t)
	c := newClient(t, server.admin)
	const merge, json = types.MergePatchType, types.JSONPatchType
	decide := func(s *v1alpha1.BenchmarkStatus) {
		s.Outcome, s.Phase, s.Message = v1alpha1.PhaseInvalid, v1alpha1.PhaseCleaningUp, "the deadline has passed"
		meta.SetStatusCondition(&s.Conditions, condition(v1alpha1.ConditionMeasured, v1alpha1.ReasonDeadlineExceeded))
	}
	for name, tc := range map[string]struct {
		// fresh benchmarks have no status when they are read.
		fresh bool
		// kind and body are the other write, to the status or to the rest.
		kind     types.PatchType
		body     string
		status   bool
		change   func(*v1alpha1.BenchmarkStatus)
		conflict bool
		// keeps is a condition that the other has written, and that stays.
		keeps string
	}{
		"no other writer":         {change: decide, kind: merge, body: `{}`},
		"the first status":        {change: decide, kind: merge, body: `{"metadata":{"labels":{"a":"b"}}}`, fresh: true},
		"two first statuses":      {change: decide, kind: merge, body: `{"status":{"phase":"Queued"}}`, status: true, fresh: true, conflict: true},
		"the team writes labels":  {change: decide, kind: merge, body: `{"metadata":{"labels":{"a":"b"},"annotations":{"a":"b"},"finalizers":["a/b"]}}`},
		"the team aborts":         {change: decide, kind: merge, body: `{"spec":{"abort":true}}`},
		"another outcome":         {change: decide, kind: merge, body: `{"status":{"outcome":"Aborted"}}`, status: true, conflict: true},
		"the next attempt":        {change: decide, kind: merge, body: `{"status":{"attempt":1}}`, status: true, conflict: true},
		"another bed":             {change: decide, kind: merge, body: `{"status":{"testBedName":"other"}}`, status: true, conflict: true},
		"another phase":           {change: decide, kind: merge, body: `{"status":{"phase":"Queued"}}`, status: true, conflict: true},
		"a preemption":            {change: decide, kind: merge, body: `{"status":{"preemption":{"by":"a/b","time":"2026-01-01T00:00:00Z"}}}`, status: true, conflict: true},
		"progress":                {change: decide, kind: merge, body: `{"status":{"progress":{"trial":"64 B"},"message":"trials run"}}`, status: true},
		"the same field":          {change: func(s *v1alpha1.BenchmarkStatus) { s.Variant = "on" }, kind: merge, body: `{"status":{"variant":"off"}}`, status: true, conflict: true},
		"a field that is removed": {change: func(s *v1alpha1.BenchmarkStatus) { s.StartTime = nil }, kind: merge, body: `{}`},
		"the same condition": {
			change: decide, kind: json, body: `[{"op":"replace","path":"/status/conditions/1/reason","value":"Other"}]`, status: true, conflict: true,
		},
		"the admission by Kueue": {
			change: func(s *v1alpha1.BenchmarkStatus) { s.Variant = "on" }, kind: json,
			body: `[{"op":"replace","path":"/status/conditions/0/status","value":"True"}]`, status: true, conflict: true,
		},
		"another condition is added": {
			change: decide, kind: json, status: true, keeps: "Regression",
			body: `[{"op":"add","path":"/status/conditions/-","value":{"type":"Regression","status":"False","reason":"A","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}}]`,
		},
		"the same condition is added": {
			change: func(s *v1alpha1.BenchmarkStatus) {
				meta.SetStatusCondition(&s.Conditions, condition("Regression", "B"))
			}, kind: json, status: true, conflict: true,
			body: `[{"op":"add","path":"/status/conditions/-","value":{"type":"Regression","status":"False","reason":"A","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}}]`,
		},
		"a condition before it is removed": {change: decide, kind: json, body: `[{"op":"remove","path":"/status/conditions/0"}]`, status: true, conflict: true},
		"a condition is removed": {change: func(s *v1alpha1.BenchmarkStatus) {
			meta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionMeasured)
			meta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionBedLeased)
			meta.SetStatusCondition(&s.Conditions, condition(v1alpha1.ConditionCleanedUp, "A"))
		}, kind: merge, body: `{}`},
		"values in another form": {
			change: func(s *v1alpha1.BenchmarkStatus) { decide(s); s.Results.Rows = 2 }, kind: merge,
			body: `{"status":{"attempt":0,"results":{"discardedParts":0}}}`, status: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, ctx := NewWithT(t), t.Context()
			b := benchmark("b", "sim")
			g.Expect(c.Create(ctx, b)).To(Succeed())
			t.Cleanup(func() { remove(t, c, b) })
			if !tc.fresh {
				b.Status = v1alpha1.BenchmarkStatus{
					Phase: v1alpha1.PhaseRunning, TestBedName: "sim", StartTime: &metav1.Time{Time: time.Unix(1e9, 0)}, Results: &v1alpha1.ResultSummary{Rows: 1},
					Conditions: []metav1.Condition{
						condition(v1alpha1.ConditionQuotaReserved, "A"), condition(v1alpha1.ConditionMeasured, "A"),
						condition(v1alpha1.ConditionDeviceReady, "A"), condition(v1alpha1.ConditionBedLeased, "A"),
					},
				}
				g.Expect(c.Status().Update(ctx, b)).To(Succeed())
			}
			g.Expect(c.Get(ctx, client.ObjectKeyFromObject(b), b)).To(Succeed())
			other := kit.Named(&v1alpha1.Benchmark{}, b)
			if tc.status {
				g.Expect(c.Status().Patch(ctx, other, client.RawPatch(tc.kind, []byte(tc.body)))).To(Succeed())
			} else {
				g.Expect(c.Patch(ctx, other, client.RawPatch(tc.kind, []byte(tc.body)))).To(Succeed())
			}
			after := b.DeepCopy()
			tc.change(&after.Status)
			want := after.DeepCopy()
			err := kit.PatchStatus(ctx, c, c, b, after)
			now := &v1alpha1.Benchmark{}
			g.Expect(c.Get(ctx, client.ObjectKeyFromObject(b), now)).To(Succeed())
			if tc.conflict {
				g.Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
				g.Expect(now.ResourceVersion).To(Equal(other.ResourceVersion), "nothing was written")
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(now.Status.Outcome).To(Equal(want.Status.Outcome))
			g.Expect(now.Status.Message).To(Equal(want.Status.Message))
			g.Expect(now.Status.StartTime).To(Equal(want.Status.StartTime))
			g.Expect(now.Labels).To(Equal(other.Labels))
			for _, c := range want.Status.Conditions {
				g.Expect(meta.FindStatusCondition(now.Status.Conditions, c.Type)).To(HaveValue(HaveField("Reason", c.Reason)))
			}
			if tc.keeps == "" {
				g.Expect(now.Status.Conditions).To(HaveLen(len(want.Status.Conditions)))
			} else {
				g.Expect(meta.FindStatusCondition(now.Status.Conditions, tc.keeps)).NotTo(BeNil())
			}
			g.Expect(after.ResourceVersion).To(Equal(now.ResourceVersion), "the answer is taken over")
		})
	}
}

// TestPatchRecreated stores nothing in a benchmark that was deleted and made again.
func TestPatchRecreated(t *testing.T) {
	server := startServer(t)
	c, g, ctx := newClient(t, server.admin), NewWithT(t), t.Context()
	first := benchmark("b", "sim")
	create(t, c, first)
	g.Expect(c.Delete(ctx, first)).To(Succeed())
	second := benchmark("b", "sim")
	create(t, c, second)
	t.Cleanup(func() { remove(t, c, second) })
	after := first.DeepCopy()
	after.Status.Outcome = v1alpha1.PhaseAborted
	g.Expect(apierrors.IsConflict(kit.PatchStatus(ctx, c, c, first, after))).To(BeTrue())
	g.Expect(apierrors.IsConflict(kit.HoldForArchive(ctx, c, first))).To(BeTrue())
}

// TestFinalizerPatches adds and removes finalizers while others write metadata.
func TestFinalizerPatches(t *testing.T) {
	server := startServer(t)
	c, g, ctx := newClient(t, server.admin), NewWithT(t), t.Context()
	b := benchmark("b", "sim")
	create(t, c, b)
	t.Cleanup(func() { remove(t, c, b) })
	write := func(body string) {
		g.Expect(c.Patch(ctx, benchmark("b", "sim"), client.RawPatch(types.MergePatchType, []byte(body)))).To(Succeed())
	}
	write(`{"metadata":{"labels":{"a":"b"}}}`)
	before := b.DeepCopy()
	write(`{"metadata":{"finalizers":["team/a"]}}`)
	g.Expect(kit.HoldForArchive(ctx, c, b)).To(Succeed())
	g.Expect(kit.HoldForArchive(ctx, c, before)).To(Succeed(), "another operator added it")
	write(`{"metadata":{"labels":{"a":"c"}}}`)
	g.Expect(c.Get(ctx, client.ObjectKeyFromObject(b), b)).To(Succeed())
	g.Expect(b.Finalizers).To(ConsistOf("team/a", v1alpha1.FinalizerArchive))
	write(`{"metadata":{"finalizers":["team/b","team/a","` + v1alpha1.FinalizerArchive + `"]}}`)
	g.Expect(apierrors.IsConflict(kit.RemoveFinalizer(ctx, c, b, v1alpha1.FinalizerArchive, ""))).To(BeTrue(), "others moved it")
	g.Expect(c.Get(ctx, client.ObjectKeyFromObject(b), b)).To(Succeed())
	g.Expect(kit.RemoveFinalizer(ctx, c, b, v1alpha1.FinalizerArchive, "a")).To(Succeed())
	g.Expect(c.Get(ctx, client.ObjectKeyFromObject(b), b)).To(Succeed())
	g.Expect(b.Finalizers).To(Equal([]string{"team/b", "team/a"}))
	g.Expect(b.Labels).NotTo(HaveKey("a"))
}

// remove removes a benchmark with its finalizers.
func remove(t *testing.T, c client.Client, b *v1alpha1.Benchmark) {
	t.Helper()
	ctx := context.Background()
	_ = c.Patch(ctx, kit.Named(&v1alpha1.Benchmark{}, b), kit.MergePatch(map[string]any{"metadata": map[string]any{"finalizers": nil}}))
	if err := c.Delete(ctx, kit.Named(&v1alpha1.Benchmark{}, b)); client.IgnoreNotFound(err) != nil {
		t.Error(err)
	}
}

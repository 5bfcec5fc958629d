package controllers_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/controllers/quotas"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// TestKueue has the real Kueue admit benchmarks, with the quota of config/kueue.
func TestKueue(t *testing.T) {
	t.Parallel()
	kueue := testserver.NewKueue(t)
	server := launchServer(t, func(env *envtest.Environment) { kueue.Install(t, env) })
	t.Cleanup(func() {
		if err := server.stop(); err != nil {
			t.Error(err)
		}
	})
	kueue.Run(t)
	admin := newClient(t, server.admin)
	for _, o := range kubetest.Objects(t, filepath.Join(kubetest.Root(t), "config", "kueue", "queues.yaml")) {
		create(t, admin, o)
	}
	kubetest.Grant(t, admin, chartRole(t, "kueue.yaml", "nodrop-operator-kueue")...)
	for name, tc := range map[string]func(*world){
		"one after the other":                oneAfterTheOther,
		"evicted while it waits for a bed":   evictedWhileItWaits,
		"preempted while it waits for a bed": preemptedWhileItWaits,
		"evicted while it runs":              evictedWhileItRuns,
		"a priority class of the lab":        classOfTheLab,
		"suspended at first":                 suspendedAtFirst,
		"aborted and deleted while it waits": leavesTheQueue,
		"an operator without Kueue":          withoutKueue,
		"Kueue and the operator are away":    func(w *world) { kueueAway(w, kueue) },
		"a workload that is deleted":         workloadDeleted,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, server, func(w *world) {
				w.kueue = true
				w.t.Cleanup(w.wipeQueues)
				w.t.Cleanup(w.showWorkloads)
			})
			tc(w)
		})
	}
}

// chartRole binds the operator to rules that the chart has in a file.
func chartRole(t *testing.T, file, name string) []client.Object {
	t.Helper()
	var rules []rbacv1.PolicyRule
	text, err := os.ReadFile(filepath.Join(kubetest.Root(t), "charts", "nodrop", "files", "rbac", file))
	if err == nil {
		err = yaml.UnmarshalStrict(text, &rules)
	}
	if err != nil {
		t.Fatal(err)
	}
	return []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "nodrop-operator", Namespace: operator.DefaultNamespace}},
		},
	}
}

// quotaOf is the message of the condition QuotaReserved.
func (w *world) quotaOf(name string) string {
	if c := meta.FindStatusCondition(w.benchmark(name).Status.Conditions, v1alpha1.ConditionQuotaReserved); c != nil {
		return c.Message
	}
	return ""
}

func byQueue(b *v1alpha1.Benchmark) {
	b.Labels = map[string]string{v1alpha1.LabelQueueName: "beds"}
}

// twoBeds makes two beds that every benchmark by selector can use.
func (w *world) twoBeds() {
	w.t.Helper()
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("one"), modelled("two"), profile())
	w.Ready("one")
	w.Ready("two")
}

func (w *world) workloads() []unstructured.Unstructured {
	w.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(quotas.NewWorkload().GroupVersionKind())
	w.Expect(w.c.List(context.Background(), list)).To(Succeed())
	return list.Items
}

// workload reads the Workload of a benchmark.
func (w *world) workload(name string) *unstructured.Unstructured {
	w.t.Helper()
	var found *unstructured.Unstructured
	uid := w.benchmark(name).UID
	w.Eventually(func() *unstructured.Unstructured {
		for _, wl := range w.workloads() {
			if owners := wl.GetOwnerReferences(); len(owners) == 1 && owners[0].UID == uid {
				found = &wl
			}
		}
		return found
	}).ShouldNot(BeNil(), "workload of %s", name)
	return found
}

// isSo reports whether a condition of the Workload of a benchmark is true.
func (w *world) isSo(name, kind string) bool {
	w.t.Helper()
	conditions, _, _ := unstructured.NestedSlice(w.workload(name).Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == kind {
			return c["status"] == "True"
		}
	}
	return false
}

// activate sets spec.active of the Workload of a benchmark, as kueuectl stop and resume do.
func (w *world) activate(name string, active bool) {
	w.t.Helper()
	wl := w.workload(name)
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec": {"active": %t}}`, active))
	w.Expect(w.c.Patch(w.t.Context(), wl, patch)).To(Succeed())
}

// quota sets how many beds the quota has.
func (w *world) quota(beds int64) {
	w.t.Helper()
	q := &unstructured.Unstructured{}
	q.SetAPIVersion("kueue.x-k8s.io/v1beta2")
	q.SetKind("ClusterQueue")
	w.Eventually(func(g Gomega) {
		g.Expect(w.c.Get(context.Background(), client.ObjectKey{Name: "lab"}, q)).To(Succeed())
		groups, _, err := unstructured.NestedSlice(q.Object, "spec", "resourceGroups")
		g.Expect(err).NotTo(HaveOccurred())
		flavor := groups[0].(map[string]any)["flavors"].([]any)[0].(map[string]any)
		flavor["resources"].([]any)[0].(map[string]any)["nominalQuota"] = beds
		g.Expect(unstructured.SetNestedSlice(q.Object, groups, "spec", "resourceGroups")).To(Succeed())
		g.Expect(w.c.Update(context.Background(), q)).To(Succeed())
	}).Should(Succeed())
}

// showWorkloads logs what Kueue knows when a case failed.
func (w *world) showWorkloads() {
	if !w.t.Failed() {
		return
	}
	for _, wl := range w.workloads() {
		text, err := yaml.Marshal(map[string]any{"priority": wl.Object["spec"].(map[string]any)["priority"], "status": wl.Object["status"]})
		w.t.Logf("workload %s: %v\n%s", wl.GetName(), err, text)
	}
}

// wipeQueues removes what a case left in Kueue; there is no garbage collector.
func (w *world) wipeQueues() {
	for _, wl := range w.workloads() {
		w.Expect(client.IgnoreNotFound(w.c.Delete(context.Background(), &wl))).To(Succeed())
	}
	w.quota(1)
}

// finishes lets a benchmark that runs measure all, and end.
func (w *world) finishes(name string) {
	w.t.Helper()
	w.runners.report(w.reaches(name, v1alpha1.PhaseRunning), measured(row(64)))
	w.reaches(name, v1alpha1.PhaseMeasured)
}

func oneAfterTheOther(w *world) {
	w.twoBeds()
	create(w.t, w.c, benchmark("first", "", bySelector, byQueue))
	w.reaches("first", v1alpha1.PhaseRunning)
	w.says("first", v1alpha1.ConditionQuotaReserved, v1alpha1.ReasonQuotaReserved)

	// The other bed is free, and the quota is not.
	create(w.t, w.c, benchmark("second", "", bySelector, byQueue))
	w.Eventually(func() string { return w.quotaOf("second") }).Should(ContainSubstring("insufficient unused quota for nodrop.dev/bed"))
	second := w.benchmark("second")
	w.Expect(second.Status.Phase).To(Equal(v1alpha1.PhasePending))
	w.Expect(meta.FindStatusCondition(second.Status.Conditions, v1alpha1.ConditionBedLeased)).To(HaveField("Reason", v1alpha1.ReasonWaitsForQuota))
	// One without a queue waits for beds as usual, and has none ahead of it.
	create(w.t, w.c, benchmark("other", "", bySelector))
	w.reaches("other", v1alpha1.PhaseRunning)
	for _, bed := range []string{"one", "two"} {
		w.Expect(w.bed(bed).Status.Queued).To(BeZero())
	}
	w.finishes("other")
	w.Expect(w.benchmark("second").Status.TestBedName).To(BeEmpty())

	w.finishes("first")
	w.Eventually(func() bool { return w.isSo("first", "Finished") }).Should(BeTrue())
	w.finishes("second")
	w.Eventually(func() bool { return w.isSo("second", "Finished") }).Should(BeTrue())
	w.Expect(w.workloads()).To(HaveLen(2))
}

// waitingAdmitted has a benchmark that runs on the only bed, and one that Kueue has admitted and
// that waits for the bed.
func (w *world) waitingAdmitted() {
	w.quota(2)
	w.modelledBed()
	create(w.t, w.c, benchmark("running", "sim", byQueue))
	w.reaches("running", v1alpha1.PhaseRunning)
	create(w.t, w.c, benchmark("waiting", "sim", byQueue))
	w.says("waiting", v1alpha1.ConditionBedLeased, v1alpha1.ReasonQueued)
	w.Eventually(func() int32 { return w.bed("sim").Status.Queued }).Should(Equal(int32(1)))
}

func evictedWhileItWaits(w *world) {
	w.waitingAdmitted()
	w.activate("waiting", false)
	w.says("waiting", v1alpha1.ConditionQuotaReserved, v1alpha1.ReasonWaitsForQuota)
	w.Eventually(func() bool { return w.isSo("waiting", "QuotaReserved") }).Should(BeFalse(), "the quota was given back")
	w.Eventually(func() int32 { return w.bed("sim").Status.Queued }).Should(BeZero())
	w.finishes("running")
	w.bedIsClean("sim")
	w.Expect(w.benchmark("waiting").Status.Phase).To(Equal(v1alpha1.PhasePending))

	w.activate("waiting", true)
	w.finishes("waiting")
}

func preemptedWhileItWaits(w *world) {
	w.waitingAdmitted()
	// Kueue prefers to preempt what runs on no bed.
	w.Eventually(func() int64 { return w.priority("running") }).Should(BeNumerically(">", 1000))
	create(w.t, w.c, modelled("other"))
	w.Ready("other")
	create(w.t, w.c, benchmark("urgent", "other", byQueue, objects.Priority(50)))
	w.reaches("urgent", v1alpha1.PhaseRunning)
	w.Eventually(func() string { return w.quotaOf("waiting") }).Should(ContainSubstring("Kueue evicted the benchmark before it had a bed (Preempted)"))
	w.Expect(w.benchmark("running").Status.Phase).To(Equal(v1alpha1.PhaseRunning))

	// It is admitted again by itself when there is quota.
	w.finishes("urgent")
	w.says("waiting", v1alpha1.ConditionBedLeased, v1alpha1.ReasonQueued)
	w.finishes("running")
	w.finishes("waiting")
}

// priority returns the priority of the Workload of a benchmark.
func (w *world) priority(name string) int64 {
	priority, _, _ := unstructured.NestedInt64(w.workload(name).Object, "spec", "priority")
	return priority
}

// classOfTheLab has Kueue preempt by a class of the LabPolicy, and follow its value.
func classOfTheLab(w *world) {
	policy := &v1alpha1.LabPolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LabPolicyName}}
	policy.Spec.PriorityClasses = []v1alpha1.PriorityClass{{Name: "release", Value: 50}, {Name: "idle", Value: -10}}
	create(w.t, w.c, policy)
	w.quota(2)
	w.modelledBed()
	create(w.t, w.c, benchmark("running", "sim", byQueue))
	w.reaches("running", v1alpha1.PhaseRunning)
	w.Eventually(func() int64 { return w.priority("running") }).Should(BeNumerically(">", 1000))
	create(w.t, w.c, benchmark("waiting", "sim", byQueue, inClass("idle")))
	w.says("waiting", v1alpha1.ConditionBedLeased, v1alpha1.ReasonQueued)
	w.Eventually(func() int64 { return w.priority("waiting") }).Should(BeEquivalentTo(-10))

	create(w.t, w.c, modelled("other"))
	w.Ready("other")
	create(w.t, w.c, benchmark("urgent", "other", byQueue, inClass("release")))
	w.reaches("urgent", v1alpha1.PhaseRunning)
	w.Eventually(func() string { return w.quotaOf("waiting") }).Should(ContainSubstring("Kueue evicted the benchmark before it had a bed (Preempted)"))
	w.Expect(w.benchmark("running").Status.Phase).To(Equal(v1alpha1.PhaseRunning))

	before := policy.DeepCopy()
	policy.Spec.PriorityClasses[0].Value, policy.Spec.PriorityClasses[1].Value = 80, 70
	w.Expect(w.c.Patch(w.t.Context(), policy, client.MergeFrom(before))).To(Succeed())
	w.Eventually(func() int64 { return w.priority("waiting") }).Should(BeEquivalentTo(70), "the Workload follows its class")
	w.Expect(w.priority("urgent")).To(BeNumerically(">", 1000), "it has a bed")
	w.finishes("urgent")
	w.says("waiting", v1alpha1.ConditionBedLeased, v1alpha1.ReasonQueued)
	w.finishes("running")
	w.finishes("waiting")
}

func evictedWhileItRuns(w *world) {
	w.modelledBed()
	create(w.t, w.c, benchmark("running", "sim", byQueue))
	w.reaches("running", v1alpha1.PhaseRunning)
	w.activate("running", false)
	c := w.says("running", v1alpha1.ConditionQuotaReserved, v1alpha1.ReasonEvicted)
	w.Expect(c.Status).To(Equal(metav1.ConditionTrue))
	w.Expect(c.Message).To(ContainSubstring("the benchmark keeps it with bed sim until it ends"))
	w.Expect(w.isSo("running", "QuotaReserved")).To(BeTrue(), "Kueue counts the bed for as long as it is used")
	w.finishes("running")
	w.Eventually(func() bool { return w.isSo("running", "Finished") }).Should(BeTrue())
}

func suspendedAtFirst(w *world) {
	w.modelledBed()
	for name, change := range map[string]func(*v1alpha1.Benchmark){"by-kueue": byQueue, "by-hand": func(*v1alpha1.Benchmark) {}} {
		create(w.t, w.c, benchmark(name, "sim", change, func(b *v1alpha1.Benchmark) { b.Spec.Suspend = true }))
		w.says(name, v1alpha1.ConditionBedLeased, v1alpha1.ReasonSuspended)
		w.Expect(w.workloads()).To(BeEmpty(), "a suspended benchmark asks for no quota")
		w.Expect(w.bed("sim").Status.Queued).To(BeZero())
	}
	for _, name := range []string{"by-kueue", "by-hand"} {
		w.edit(w.benchmark(name), func(b *v1alpha1.Benchmark) { b.Spec.Suspend = false })
		w.finishes(name)
	}
}

func leavesTheQueue(w *world) {
	w.modelledBed()
	create(w.t, w.c, benchmark("first", "sim", byQueue))
	w.reaches("first", v1alpha1.PhaseRunning)
	create(w.t, w.c, benchmark("aborted", "sim", byQueue), benchmark("deleted", "sim", byQueue))
	w.says("aborted", v1alpha1.ConditionQuotaReserved, v1alpha1.ReasonWaitsForQuota)
	w.says("deleted", v1alpha1.ConditionQuotaReserved, v1alpha1.ReasonWaitsForQuota)
	w.edit(w.benchmark("aborted"), func(b *v1alpha1.Benchmark) { b.Spec.Abort = true })
	w.reaches("aborted", v1alpha1.PhaseAborted)
	w.Eventually(func() bool { return w.isSo("aborted", "Finished") }).Should(BeTrue())
	deleted := w.benchmark("deleted")
	w.Expect(w.c.Delete(w.t.Context(), deleted)).To(Succeed())
	w.vanishes(deleted)
	w.finishes("first")
}

func withoutKueue(w *world) {
	w.stop()
	w.kueue = false
	w.start()
	w.modelledBed()
	create(w.t, w.c, benchmark("first", "sim", byQueue))
	w.reaches("first", v1alpha1.PhaseRunning)
	w.says("first", v1alpha1.ConditionQuotaReserved, v1alpha1.ReasonKueueDisabled)
	w.Expect(w.workloads()).To(BeEmpty())
	w.finishes("first")
}

func kueueAway(w *world, kueue *testserver.Kueue) {
	w.modelledBed()
	kueue.Stop()
	create(w.t, w.c, benchmark("first", "sim", byQueue))
	create(w.t, w.c, benchmark("unqueued", "sim"))
	w.reaches("unqueued", v1alpha1.PhaseRunning)
	w.Expect(w.benchmark("first").Status.TestBedName).To(BeEmpty())
	w.stop()
	kueue.Resume()
	w.start()
	w.says("first", v1alpha1.ConditionBedLeased, v1alpha1.ReasonQueued)
	w.stop()
	w.start()
	w.finishes("unqueued")
	w.finishes("first")
	w.Eventually(func() bool { return w.isSo("first", "Finished") }).Should(BeTrue())
}

func workloadDeleted(w *world) {
	w.modelledBed()
	create(w.t, w.c, benchmark("first", "sim", byQueue))
	w.reaches("first", v1alpha1.PhaseRunning)
	create(w.t, w.c, benchmark("second", "sim", byQueue))
	w.says("second", v1alpha1.ConditionQuotaReserved, v1alpha1.ReasonWaitsForQuota)
	wl := w.workload("second")
	w.Expect(w.c.Delete(w.t.Context(), wl)).To(Succeed())
	w.finishes("first")
	w.finishes("second")
	w.Expect(w.workload("second").GetUID()).NotTo(Equal(wl.GetUID()), "it was made again")
}

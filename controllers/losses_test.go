package controllers_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// TestLosses takes pods away in the middle of a measurement.
func TestLosses(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"the runner's pod is deleted":              runnerDeleted,
		"the runner's pod is evicted":              runnerEvicted,
		"the runner's pod does not end":            runnerStuck,
		"the runner's pod is lost again and again": runnerLostForGood,
		"the runner does not answer for a while":   runnerSilent,
		"the runner does not answer any more":      runnerGivenUp,
		"a traffic pod is deleted":                 agentDeleted,
		"the runner's pod is evicted at the start": evictedAtStart("runner"),
		"a traffic pod is evicted at the start":    evictedAtStart("agent-0"),
		"a traffic pod gets another address":       agentMoves,
		"the runner's secret is deleted":           runnerSecretDeleted,
		"the device's secret is deleted":           deviceSecretDeleted,
		"the lab's namespace is deleted":           labNamespaceDeleted,
		"the operator's rights in the lab go":      labRightsRemoved,
		"these rights come back":                   labRightsBack,
		"a runner measures without these rights":   measuresWithoutRights,
		"the lease is taken away by force":         leaseTaken,
	} {
		t.Run(name, func(t *testing.T) { tc(newWorld(t, server)) })
	}
}

// deviceSecretDeleted deletes the Secret of a device that runs: it goes once the device is stopped.
func deviceSecretDeleted(w *world) {
	w.kubelet.hold("device-down")
	create(w.t, w.c, configMap("router", "topology.clab.yaml", "name: router"), virtual("frr"), profile(), benchmark("b", "frr"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	sec := &corev1.Secret{}
	sec.Namespace, sec.Name = labNamespace, labobjects.DeviceSecretName(labobjects.RunOf(b))
	w.Expect(w.c.Delete(w.t.Context(), sec)).To(Succeed())
	w.runners.report(b, measured(row(64)))
	w.appears("b", "device-down")
	w.Expect(w.c.Get(w.t.Context(), client.ObjectKeyFromObject(sec), sec)).To(Succeed(), "the secret while its device may be up")
	w.letGo("b", "device-down")
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.bedIsClean("frr")
	w.Expect(w.c.Get(w.t.Context(), client.ObjectKeyFromObject(sec), sec)).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
}

// labNamespaceDeleted deletes the namespace of the lab while a device runs, and follows the remedy of
// docs/guides/operations.md.
func labNamespaceDeleted(w *world) {
	w.impatient(shortCleanUp)
	create(w.t, w.c, configMap("router", "topology.clab.yaml", "name: router"), virtual("frr"), profile(), benchmark("b", "frr"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	sec := &corev1.Secret{}
	sec.Namespace, sec.Name = labNamespace, labobjects.DeviceSecretName(labobjects.RunOf(b))
	w.Expect(w.c.Delete(w.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: labNamespace}})).To(Succeed())
	// As the controller of namespaces, which the tests do not run.
	giveBack := w.takeRights()
	w.runners.silence(true)
	for _, kind := range []client.Object{&corev1.Pod{}, &corev1.ConfigMap{}, &corev1.Secret{}} {
		w.Expect(w.c.DeleteAllOf(w.t.Context(), kind, client.InNamespace(labNamespace), client.GracePeriodSeconds(0))).To(Succeed())
	}
	w.reaches("b", v1alpha1.PhaseError)
	w.Eventually(func() metav1.ConditionStatus { return w.quarantined().Status }).Should(Equal(metav1.ConditionTrue))
	w.Expect(w.c.Get(w.t.Context(), client.ObjectKeyFromObject(sec), sec)).To(Succeed(), "the topology of a device that nothing has stopped")
	w.Expect(sec.Annotations[labobjects.AnnotationNode]).NotTo(BeEmpty())
	w.Expect(sec.Data).To(HaveKey("topology.clab.yaml"))

	sec.Finalizers = nil // once the device is stopped on that node
	w.Expect(w.c.Update(w.t.Context(), sec)).To(Succeed())
	w.remade(labNamespace)
	giveBack()
	w.runners.silence(false)
	create(w.t, w.c, configMap("router", "topology.clab.yaml", "name: router"))
	w.releaseQuarantine("frr")
	w.bedIsCleanEventually("frr")
	create(w.t, w.c, benchmark("next", "frr"))
	w.reaches("next", v1alpha1.PhaseRunning)
}

// labRightsRemoved removes the roles of the operator in the lab while a device runs, and then the pods: the benchmark ends, and
// its bed is quarantined, as nothing shows that it is clean. It is cleaned up once the roles exist again.
func labRightsRemoved(w *world) {
	w.impatient(shortCleanUp)
	create(w.t, w.c, configMap("router", "topology.clab.yaml", "name: router"), virtual("frr"), profile(), benchmark("b", "frr"))
	w.reaches("b", v1alpha1.PhaseRunning)
	giveBack := w.takeRights()
	w.runners.silence(true)
	w.Expect(w.c.DeleteAllOf(w.t.Context(), &corev1.Pod{}, client.InNamespace(labNamespace), client.GracePeriodSeconds(0))).To(Succeed())
	b := w.reaches("b", v1alpha1.PhaseError)
	w.Expect(b.Status.Message).To(And(ContainSubstring("the API server has refused the operator for "), ContainSubstring(`cannot list resource "pods"`)))
	w.says("b", v1alpha1.ConditionMeasured, v1alpha1.ReasonLabRefused)
	w.Eventually(func() metav1.ConditionStatus { return w.quarantined().Status }).Should(Equal(metav1.ConditionTrue))
	w.Expect(w.leftovers()).NotTo(BeEmpty())

	giveBack()
	w.runners.silence(false)
	w.releaseQuarantine("frr")
	w.bedIsCleanEventually("frr")
	create(w.t, w.c, benchmark("next", "frr"))
	w.reaches("next", v1alpha1.PhaseRunning)
}

// labRightsBack gives the roles back before the benchmark has waited too long for them: it continues.
func labRightsBack(w *world) {
	b := w.measuringOnModel()
	giveBack := w.takeRights()
	old := w.pod("b", "runner")
	w.runners.silence(true)
	w.Expect(w.c.Delete(w.t.Context(), old)).To(Succeed())
	w.Eventually(func() string { return w.benchmark("b").Status.Message }).Should(And(
		HavePrefix("the API server refuses the operator: "), ContainSubstring(`cannot list resource "pods"`)))
	giveBack()
	w.runners.silence(false)
	w.replaced(old)
	w.beginsWith(b, 1)
	w.runners.report(b, measured(row(64), row(128)))
	w.Expect(w.rows(w.reaches("b", v1alpha1.PhaseMeasured))).To(HaveLen(2))
	w.bedIsClean("sim")
}

// measuresWithoutRights removes the roles while the runner measures: its rows are stored, and its outcome is the benchmark's.
func measuresWithoutRights(w *world) {
	w.impatient(shortCleanUp)
	b := w.measuringOnModel()
	giveBack := w.takeRights()
	w.runners.report(b, measuring(row(64), row(128)))
	w.Eventually(func() []v1alpha1.ResultRow { return w.rows(w.benchmark("b")) }).Should(HaveLen(2))
	// For longer than the rights of a benchmark without a runner would be waited for.
	w.Consistently(func() v1alpha1.BenchmarkPhase { return w.benchmark("b").Status.Phase }).WithTimeout(3 * short).Should(Equal(v1alpha1.PhaseRunning))
	w.runners.report(b, measured(row(64), row(128)))
	w.reaches("b", v1alpha1.PhaseMeasured)
	giveBack()
	w.releaseQuarantine("sim")
	w.bedIsCleanEventually("sim")
}

// takeRights removes all roles in the lab, and returns a function that makes them again, which the end of the case does otherwise:
// other cases have the same API server.
func (w *world) takeRights() (giveBack func()) {
	w.t.Helper()
	var roles rbacv1.RoleList
	var bindings rbacv1.RoleBindingList
	for _, list := range []client.ObjectList{&roles, &bindings} {
		w.Expect(w.c.List(w.t.Context(), list, client.InNamespace(labNamespace))).To(Succeed())
	}
	for _, kind := range []client.Object{&rbacv1.RoleBinding{}, &rbacv1.Role{}} {
		w.Expect(w.c.DeleteAllOf(w.t.Context(), kind, client.InNamespace(labNamespace))).To(Succeed())
	}
	given := false
	giveBack = func() {
		if given {
			return
		}
		given = true
		for i := range roles.Items {
			roles.Items[i].ResourceVersion, roles.Items[i].UID = "", ""
			w.Expect(w.c.Create(context.Background(), &roles.Items[i])).To(Succeed())
		}
		for i := range bindings.Items {
			bindings.Items[i].ResourceVersion, bindings.Items[i].UID = "", ""
			w.Expect(w.c.Create(context.Background(), &bindings.Items[i])).To(Succeed())
		}
	}
	w.t.Cleanup(giveBack)
	return giveBack
}

// measuringOnModel gets a benchmark to Running with one row.
func (w *world) measuringOnModel() *v1alpha1.Benchmark {
	w.t.Helper()
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("sim"), profile(), benchmark("b", "sim"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.runners.report(b, measuring(row(64)))
	w.Eventually(func() []v1alpha1.ResultRow { return w.rows(w.benchmark("b")) }).Should(HaveLen(1))
	return b
}

// replaced waits for another runner pod than the given one.
func (w *world) replaced(old *corev1.Pod) *corev1.Pod {
	w.t.Helper()
	var pod *corev1.Pod
	w.Eventually(func() bool {
		pod = w.pod("b", "runner")
		return pod != nil && pod.UID != old.UID
	}).Should(BeTrue(), "another runner pod")
	return pod
}

func runnerDeleted(w *world) {
	b := w.measuringOnModel()
	old := w.pod("b", "runner")
	w.Expect(w.c.Delete(w.t.Context(), old)).To(Succeed())
	w.replaced(old)
	w.beginsWith(b, 1)
	w.says("b", v1alpha1.ConditionTrafficReady, v1alpha1.ReasonTrafficReady)
	w.Expect(w.benchmark("b").Status.Phase).To(Equal(v1alpha1.PhaseRunning))

	w.runners.report(b, measured(row(64), row(128)))
	b = w.reaches("b", v1alpha1.PhaseMeasured)
	w.Expect(w.rows(b)).To(HaveLen(2))
	w.bedIsClean("sim")
}

func runnerEvicted(w *world) {
	b := w.measuringOnModel()
	old := w.pod("b", "runner")
	failed(old, "The node was low on resource: memory")
	w.Expect(w.c.Status().Update(w.t.Context(), old)).To(Succeed())
	w.replaced(old)
	w.runners.report(b, measured(row(64), row(128)))
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.bedIsClean("sim")
}

func runnerStuck(w *world) {
	w.measuringOnModel()
	pod := w.pod("b", "runner")
	pod.Finalizers = []string{"example.com/hold"}
	w.Expect(w.c.Update(w.t.Context(), pod)).To(Succeed())
	w.Expect(w.c.Delete(w.t.Context(), pod)).To(Succeed())
	w.says("b", v1alpha1.ConditionTrafficReady, v1alpha1.ReasonRunnerRestarting)
	w.impatient(shortRunner)
	w.says("b", v1alpha1.ConditionMeasured, v1alpha1.ReasonRunnerFailed)
	w.Expect(w.benchmark("b").Status.Message).To(ContainSubstring("its pod " + pod.Name + " does not end"))

	// Nor does it end for the clean-up: the bed is not leased again.
	w.reaches("b", v1alpha1.PhaseCleaningUp)
	w.impatient(shortCleanUp)
	w.reaches("b", v1alpha1.PhaseError)
	w.Expect(w.says("b", v1alpha1.ConditionCleanedUp, v1alpha1.ReasonCleanUpFailed).Message).To(ContainSubstring("bed sim is quarantined"))
}

func runnerLostForGood(w *world) {
	w.measuringOnModel()
	pod := w.pod("b", "runner")
	for range 3 {
		w.says("b", v1alpha1.ConditionTrafficReady, v1alpha1.ReasonTrafficReady)
		w.Expect(w.c.Delete(w.t.Context(), pod)).To(Succeed())
		pod = w.replaced(pod)
	}
	w.says("b", v1alpha1.ConditionTrafficReady, v1alpha1.ReasonTrafficReady)
	w.Expect(w.c.Delete(w.t.Context(), pod)).To(Succeed())
	b := w.reaches("b", v1alpha1.PhaseError)
	w.Expect(b.Status.Message).To(And(ContainSubstring("the runner was lost 4 times"), ContainSubstring("1 finished row is kept")))
	w.Expect(w.rows(b)).To(HaveLen(1))
	w.bedIsClean("sim")
}

func runnerSilent(w *world) {
	b := w.measuringOnModel()
	pod := w.pod("b", "runner")
	w.runners.silence(true)
	c := w.says("b", v1alpha1.ConditionTrafficReady, v1alpha1.ReasonRunnerUnreachable)
	w.Expect(c.Message).To(ContainSubstring("connection refused"))
	w.runners.silence(false)
	w.says("b", v1alpha1.ConditionTrafficReady, v1alpha1.ReasonTrafficReady)
	w.Expect(w.pod("b", "runner").UID).To(Equal(pod.UID), "a container that starts again keeps its pod")
	w.runners.report(b, measured(row(64), row(128)))
	w.reaches("b", v1alpha1.PhaseMeasured)
}

func runnerGivenUp(w *world) {
	w.measuringOnModel()
	pod := w.pod("b", "runner")
	w.runners.silence(true)
	w.says("b", v1alpha1.ConditionTrafficReady, v1alpha1.ReasonRunnerUnreachable)
	w.impatient(shortRunner)
	w.replaced(pod)
	w.Expect(w.rows(w.benchmark("b"))).To(HaveLen(1))
}

func agentDeleted(w *world) {
	create(w.t, w.c, configMap("router", "topology.clab.yaml", "name: router"), virtual("frr"), profile(), benchmark("b", "frr"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.runners.report(b, measuring(row(64)))
	w.Eventually(func() []v1alpha1.ResultRow { return w.rows(w.benchmark("b")) }).Should(HaveLen(1))
	w.Expect(w.c.Delete(w.t.Context(), w.pod("b", "agent-0"))).To(Succeed())
	b = w.reaches("b", v1alpha1.PhaseError)
	w.Expect(b.Status.Message).To(And(
		ContainSubstring("agent-0 on node node1 disappeared during the measurement"), ContainSubstring("1 finished row is kept")))
	w.Expect(w.says("b", v1alpha1.ConditionMeasured, v1alpha1.ReasonAgentLost)).NotTo(BeNil())
	w.Expect(w.rows(b)).To(HaveLen(1))
	w.bedIsClean("frr")
}

// evictedAtStart lets a pod end before the measurement begins: another one is made.
func evictedAtStart(role string) func(*world) {
	return func(w *world) {
		w.kubelet.hold(role)
		create(w.t, w.c, configMap("router", "topology.clab.yaml", "name: router"), virtual("frr"), profile(), benchmark("b", "frr"))
		old := w.appears("b", role)
		failed(old, "The node was low on resource: memory")
		w.Expect(w.c.Status().Update(w.t.Context(), old)).To(Succeed())
		w.Eventually(func() bool {
			pod := w.pod("b", role)
			return pod != nil && pod.UID != old.UID
		}).Should(BeTrue(), "another pod")
		w.letGo("b", role)
		b := w.reaches("b", v1alpha1.PhaseRunning)
		w.runners.report(b, measured(row(64)))
		w.reaches("b", v1alpha1.PhaseMeasured)
		w.bedIsClean("frr")
	}
}

// agentMoves gives an agent another address while the runner starts, which needs it. The agent is older than the runner
// by a second at least, the unit of creation times.
func agentMoves(w *world) {
	w.kubelet.hold("agent-0", "runner")
	create(w.t, w.c, configMap("router", "topology.clab.yaml", "name: router"), virtual("frr"), profile(), benchmark("b", "frr"))
	agent := w.appears("b", "agent-0")
	w.Eventually(func() time.Duration { return time.Since(agent.CreationTimestamp.Time) }).Should(BeNumerically(">", 2*time.Second))
	w.Eventually(func() error {
		pod := w.pod("b", "agent-0")
		ready(pod)
		return w.c.Status().Update(w.t.Context(), pod)
	}).Should(Succeed())
	w.appears("b", "runner")
	w.Expect(w.runnerConfig("b").Agents[0].Address).To(Equal("10.1.2.3:7443"))
	w.Eventually(func() error {
		pod := w.pod("b", "agent-0")
		pod.Status.PodIP, pod.Status.PodIPs = "10.1.2.4", []corev1.PodIP{{IP: "10.1.2.4"}}
		return w.c.Status().Update(w.t.Context(), pod)
	}).Should(Succeed())
	w.Eventually(func() string {
		sec := &corev1.Secret{}
		key := client.ObjectKey{Namespace: labNamespace, Name: labobjects.RunOf(w.benchmark("b")).RunnerName()}
		if err := w.c.Get(w.t.Context(), key, sec); err != nil {
			return err.Error()
		}
		cfg, _, err := labobjects.RunnerConfig(sec)
		if err != nil {
			return err.Error()
		}
		return cfg.Agents[0].Address
	}).Should(Equal("10.1.2.4:7443"))
	w.letGo("b", "runner")
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.runners.report(b, measured(row(64)))
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.bedIsClean("frr")
}

func runnerSecretDeleted(w *world) {
	w.measuringOnModel()
	sec := &corev1.Secret{}
	sec.Namespace, sec.Name = labNamespace, w.pod("b", "runner").Name
	w.Expect(w.c.Delete(w.t.Context(), sec)).To(Succeed())
	b := w.reaches("b", v1alpha1.PhaseError)
	w.Expect(b.Status.Message).To(ContainSubstring("the runner's secret was deleted"))
	w.bedIsClean("sim")
}

func leaseTaken(w *world) {
	w.measuringOnModel()
	w.Eventually(func() error {
		bed := w.bed("sim")
		bed.Status.Lease = nil
		return w.c.Status().Update(w.t.Context(), bed)
	}).Should(Succeed())
	b := w.reaches("b", v1alpha1.PhaseError)
	w.Expect(b.Status.Message).To(ContainSubstring("bed sim was taken away"))
	w.bedIsClean("sim")
}

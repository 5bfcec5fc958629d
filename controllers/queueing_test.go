package controllers_test

import (
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// TestQueueing has several benchmarks want the same beds.
func TestQueueing(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"one after the other, by priority":     priorityOrder,
		"a selector takes the free bed":        selectorTakesFree,
		"a bed whose ConfigMap is missing":     unknownConfigMap,
		"a bed whose table cannot be read":     brokenTable,
		"a bed whose node is missing":          unknownNode,
		"a bed that no longer allows the team": noLongerAllowed,
		"a bed that is deleted while leased":   deletedWhileLeased,
		"a bed that is closed":                 closedForAWhile,
		"a bed and a profile that come later":  replacedForAWhile,
		"a bed that a run leaves as it is":     untouched,
	} {
		t.Run(name, func(t *testing.T) { tc(newWorld(t, server)) })
	}
}

func priorityOrder(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("sim"), profile(), benchmark("first", "sim"))
	first := w.reaches("first", v1alpha1.PhaseRunning)
	create(w.t, w.c, benchmark("ordinary", "sim"))
	w.waitsBecause(named("ordinary"), v1alpha1.ReasonQueued, "waits for bed sim, which team-routing/first has; comes next")
	w.Eventually(func() string { return w.benchmark("ordinary").Status.Message }).
		Should(Equal("waits for bed sim; kubectl nodrop queue shows its place, and when it is expected to start"))
	written := w.benchmark("ordinary").ResourceVersion
	create(w.t, w.c, benchmark("urgent", "sim", objects.Priority(100)))
	w.waitsBecause(named("ordinary"), v1alpha1.ReasonQueued, "waits for bed sim, which team-routing/first has; 1 benchmark comes first")
	w.says("urgent", v1alpha1.ConditionBedLeased, v1alpha1.ReasonQueued)
	w.Eventually(func() int32 { return w.bed("sim").Status.Queued }).Should(Equal(int32(2)))

	w.runners.report(first, measured(row(64)))
	w.reaches("first", v1alpha1.PhaseMeasured)
	urgent := w.reaches("urgent", v1alpha1.PhaseRunning)
	w.Expect(w.benchmark("ordinary").Status.Phase).To(Equal(v1alpha1.PhaseQueued))
	w.Expect(w.benchmark("ordinary").ResourceVersion).To(Equal(written), "others that come and go cause no write")
	w.Expect(w.bed("sim").Status.Lease.Holder).To(Equal("team-routing/urgent"))

	w.runners.report(urgent, measured(row(64)))
	w.reaches("urgent", v1alpha1.PhaseMeasured)
	ordinary := w.reaches("ordinary", v1alpha1.PhaseRunning)
	w.Eventually(func() int32 { return w.bed("sim").Status.Queued }).Should(BeZero())
	w.runners.report(ordinary, measured(row(64)))
	w.reaches("ordinary", v1alpha1.PhaseMeasured)
	w.bedIsClean("sim")
}

func bySelector(b *v1alpha1.Benchmark) {
	b.Spec.TestBedName = ""
	b.Spec.TestBedSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"kind": "modelled"}}
}

func selectorTakesFree(w *world) {
	foreign := modelled("aaa")
	foreign.Spec.Access[0].Names = []string{"team-other"}
	create(w.t, w.c, configMap("model", "model.csv", table), foreign, modelled("bbb"), modelled("ccc"), profile())
	for _, name := range []string{"aaa", "bbb", "ccc"} {
		w.Eventually(func() bool {
			return meta.IsStatusConditionTrue(w.bed(name).Status.Conditions, v1alpha1.ConditionReady)
		}).Should(BeTrue(), "%s is ready", name)
	}
	// The allocator learns of beds in the order of their changes: once it leases this one, it knows that the others are ready.
	later := modelled("later")
	later.Labels = nil
	create(w.t, w.c, later, benchmark("before", "later"))
	w.reaches("before", v1alpha1.PhaseRunning)
	create(w.t, w.c, benchmark("first", "", bySelector))
	w.reaches("first", v1alpha1.PhaseRunning)
	create(w.t, w.c, benchmark("second", "", bySelector))
	w.reaches("second", v1alpha1.PhaseRunning)
	create(w.t, w.c, benchmark("third", "", bySelector))
	third := w.reaches("third", v1alpha1.PhaseQueued)
	w.Expect([]string{w.benchmark("first").Status.TestBedName, w.benchmark("second").Status.TestBedName}).
		To(Equal([]string{"bbb", "ccc"}))
	w.Expect(third.Status.TestBedName).To(BeEmpty())
	w.Expect(w.bed("aaa").Status.Lease).To(BeNil())

	w.runners.report(w.benchmark("second"), measured(row(64)))
	w.Eventually(func() string { return w.benchmark("third").Status.TestBedName }).Should(Equal("ccc"))
}

func unknownConfigMap(w *world) {
	create(w.t, w.c, modelled("sim"), profile(), benchmark("b", "sim"))
	c := w.says("b", v1alpha1.ConditionBedLeased, v1alpha1.ReasonBedNotReady)
	w.Eventually(func() string { return w.says("b", v1alpha1.ConditionBedLeased, v1alpha1.ReasonBedNotReady).Message }).
		Should(ContainSubstring("ConfigMap model is not in the lab's namespace nodrop-lab: apply it there"), c.Message)

	create(w.t, w.c, configMap("model", "other.csv", table))
	w.Eventually(func() string { return w.benchmark("b").Status.Message }).
		Should(ContainSubstring("ConfigMap model in namespace nodrop-lab has no key model.csv"))

	config := configMap("model", "model.csv", table)
	w.Expect(w.c.Update(w.t.Context(), config)).To(Succeed())
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.runners.report(b, measured(row(64)))
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.bedIsClean("sim")
}

func brokenTable(w *world) {
	bed := modelled("sim")
	bed.Spec.Device.Simulated.JitterAverageByLoad = &v1alpha1.ModelSource{ConfigMapRef: reference("jitter", "average.csv")}
	jitter := configMap("jitter", "average.csv", "frame_size_bytes,load_10_percent_us\n64,much\n")
	create(w.t, w.c, configMap("model", "model.csv", table), jitter, bed, profile(), benchmark("b", "sim"))
	w.Eventually(func() string { return w.benchmark("b").Status.Message }).Should(ContainSubstring(
		`spec.device.simulated.jitterAverageByLoad: ConfigMap jitter, key average.csv: jitter table line 2, column load_10_percent_us: "much" is not a number`))

	jitter.Data["average.csv"] = "frame_size_bytes,load_10_percent_us\n64,0.01\n"
	w.Expect(w.c.Update(w.t.Context(), jitter)).To(Succeed())
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.Expect(w.runnerConfig("b").JitterAverageByLoad).To(Equal(jitter.Data["average.csv"]))
	w.runners.report(b, measured(row(64)))
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.bedIsClean("sim")
}

func unknownNode(w *world) {
	bed := virtual("frr")
	bed.Spec.Ports[0].Node, bed.Spec.Ports[1].Node = "node9", "node9"
	create(w.t, w.c, configMap("router", "topology.clab.yaml", "name: router"), bed, profile(), benchmark("b", "frr"))
	w.Eventually(func() string { return w.benchmark("b").Status.Message }).
		Should(ContainSubstring(`spec.ports[0].node: the cluster has no node "node9"`))
}

func noLongerAllowed(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("sim"), profile(), benchmark("first", "sim"))
	first := w.reaches("first", v1alpha1.PhaseRunning)
	create(w.t, w.c, benchmark("b", "sim"))
	w.reaches("b", v1alpha1.PhaseQueued)
	w.Eventually(func() error {
		bed := w.bed("sim")
		bed.Spec.Access[0].Names = []string{"team-other"}
		return w.c.Update(w.t.Context(), bed)
	}).Should(Succeed())
	b := w.reaches("b", v1alpha1.PhasePending)
	w.Expect(b.Status.Message).To(ContainSubstring("this TestBed does not allow namespace team-routing"))
	w.says("b", v1alpha1.ConditionAccepted, v1alpha1.ReasonNotAccepted)

	// The benchmark that has the bed already keeps it.
	w.runners.report(first, measured(row(64)))
	w.reaches("first", v1alpha1.PhaseMeasured)
	w.bedIsClean("sim")

	w.changeBed("sim", func(bed *v1alpha1.TestBed) { bed.Spec.Access[0].Names = []string{"team-other", team} })
	w.runners.report(w.reaches("b", v1alpha1.PhaseRunning), measured(row(64)))
	w.reaches("b", v1alpha1.PhaseMeasured)
}

// changeBed edits a bed as its owner would.
func (w *world) changeBed(name string, change func(*v1alpha1.TestBed)) {
	w.t.Helper()
	w.Eventually(func() error {
		bed := w.bed(name)
		change(bed)
		return w.c.Update(w.t.Context(), bed)
	}).Should(Succeed())
}

// closedForAWhile cordons a bed: its holder finishes, and others continue to wait.
func closedForAWhile(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("sim"), profile(), benchmark("first", "sim"))
	first := w.reaches("first", v1alpha1.PhaseRunning)
	w.changeBed("sim", func(bed *v1alpha1.TestBed) { bed.Spec.Unschedulable = true })
	create(w.t, w.c, benchmark("b", "sim"))
	c := w.says("b", v1alpha1.ConditionBedLeased, v1alpha1.ReasonBedUnschedulable)
	w.Expect(c.Message).To(ContainSubstring("bed sim, which takes no new benchmarks (spec.unschedulable)"))
	w.runners.report(first, measured(row(64)))
	w.reaches("first", v1alpha1.PhaseMeasured)
	w.bedIsClean("sim")
	w.Consistently(func() *v1alpha1.BedLease { return w.bed("sim").Status.Lease }).WithTimeout(300 * time.Millisecond).Should(BeNil())

	w.changeBed("sim", func(bed *v1alpha1.TestBed) { bed.Spec.Unschedulable = false })
	w.reaches("b", v1alpha1.PhaseRunning)
}

// replacedForAWhile removes and makes again all that a waiting benchmark refers to.
func replacedForAWhile(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), benchmark("b", "sim"))
	b := w.reaches("b", v1alpha1.PhasePending)
	w.Expect(b.Status.Message).To(And(ContainSubstring("has no TrafficProfile of this name"), ContainSubstring("there is no TestBed of this name")))
	w.Expect(b.Finalizers).To(BeEmpty())
	closed := modelled("sim")
	closed.Spec.Unschedulable = true
	create(w.t, w.c, profile(), closed)
	w.reaches("b", v1alpha1.PhaseQueued)

	w.Expect(w.c.Delete(w.t.Context(), closed)).To(Succeed())
	w.reaches("b", v1alpha1.PhasePending)
	w.Eventually(func() error { return w.c.Create(w.t.Context(), relabelled(modelled("sim"))) }).Should(Succeed())
	w.reaches("b", v1alpha1.PhaseRunning)
}

func relabelled(bed *v1alpha1.TestBed) *v1alpha1.TestBed {
	bed.Labels = map[string]string{"kind": "other"}
	return bed
}

// untouched reads the spec of a bed, as bytes, before and after a run.
func untouched(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), profile())
	written := &unstructured.Unstructured{Object: map[string]any{}}
	text, err := yaml.Marshal(virtual("frr"))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(yaml.Unmarshal(text, &written.Object)).To(Succeed())
	written.SetAPIVersion("nodrop.dev/v1alpha1")
	written.SetKind("TestBed")
	access := []any{map[string]any{"names": []any{team}, "maxDuration": "720h", "maxPriority": int64(100)}}
	w.Expect(unstructured.SetNestedSlice(written.Object, access, "spec", "access")).To(Succeed())
	create(w.t, w.c, configMap("router", "topology.clab.yaml", "name: router"), written, benchmark("b", "frr"))
	before, err := json.Marshal(written.Object["spec"])
	w.Expect(err).NotTo(HaveOccurred())

	w.runners.report(w.reaches("b", v1alpha1.PhaseRunning), measured(row(64)))
	w.reaches("b", v1alpha1.PhaseMeasured)
	after := &unstructured.Unstructured{}
	after.SetGroupVersionKind(written.GroupVersionKind())
	w.Expect(w.c.Get(w.t.Context(), client.ObjectKey{Name: "frr"}, after)).To(Succeed())
	spec, err := json.Marshal(after.Object["spec"])
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(string(spec)).To(Equal(string(before)))
	w.Expect(after.GetGeneration()).To(Equal(int64(1)))
	for _, m := range after.GetManagedFields() {
		if m.Subresource == "" && m.Operation == metav1.ManagedFieldsOperationUpdate && m.Manager != written.GetManagedFields()[0].Manager {
			w.Expect(m.FieldsV1.GetRawString()).NotTo(ContainSubstring("f:spec"), "fields of %s", m.Manager)
		}
	}
}

func deletedWhileLeased(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("sim"), profile(), benchmark("first", "sim"))
	first := w.reaches("first", v1alpha1.PhaseRunning)
	create(w.t, w.c, benchmark("b", "sim"))
	w.reaches("b", v1alpha1.PhaseQueued)
	w.Expect(w.c.Delete(w.t.Context(), w.bed("sim"))).To(Succeed())
	w.Eventually(func() string { return w.benchmark("b").Status.Message }).Should(ContainSubstring("the bed is being deleted"))

	w.runners.report(first, measured(row(64)))
	w.reaches("first", v1alpha1.PhaseMeasured)
	b := w.reaches("b", v1alpha1.PhasePending)
	w.Expect(b.Status.Message).To(ContainSubstring("there is no TestBed of this name"))
	w.Expect(w.leftovers()).To(BeEmpty())
}

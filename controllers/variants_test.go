package controllers_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// TestVariants runs benchmarks through the variants of a device.
func TestVariants(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"every variant has its own topology":           variantsOfATopology,
		"every variant has its own model":              variantsOfAModel,
		"an image and frame sizes of the benchmark":    imageAndFrameSizes,
		"a variant that forwards nothing":              variantForwardsNothing,
		"a lab that fails in a variant":                variantFails,
		"aborted between two variants":                 variantAborted,
		"a variant that is not removed in its time":    variantStays,
		"a variant that the bed does not have":         variantUnknown,
		"variants of a device that cannot be prepared": variantsOfHardware,
		"a model of a variant that is not there":       variantWithoutModel,
		"files that are too large":                     variantTooLarge,
	} {
		t.Run(name, func(t *testing.T) { tc(newWorld(t, server)) })
	}
}

// beginsWith waits until the runner of a benchmark has begun with so many rows that it
// need not measure.
func (w *world) beginsWith(b *v1alpha1.Benchmark, rows int) {
	w.t.Helper()
	w.Eventually(func() int {
		given, begun := w.runners.given(b)
		if !begun {
			return -1
		}
		return len(given)
	}).Should(Equal(rows), "rows that the runner begins with")
}

func withVariants(names ...v1alpha1.VariantName) func(*v1alpha1.Benchmark) {
	return func(b *v1alpha1.Benchmark) { b.Spec.Variants = names }
}

func rowOf(variant v1alpha1.VariantName, size int32) v1alpha1.ResultRow {
	r := row(size)
	r.Variant = variant
	return r
}

// virtualInTwo is a router that is plain, or has another topology.
func virtualInTwo() *v1alpha1.TestBed {
	bed := virtual("frr")
	bed.Spec.Device.Variants = []v1alpha1.DeviceVariant{
		{Name: "plain"},
		{Name: "acl", Containerlab: &v1alpha1.ContainerlabVariant{
			Topology: &v1alpha1.TopologySource{ConfigMapRef: reference("router-acl", "acl.clab.yaml")},
		}},
	}
	return bed
}

// modelOff and modelOn are the models of the two variants of a modeled device.
const (
	modelOff = table
	modelOn  = table + "128,60,1,2,3\n"
)

func modelledInTwo() *v1alpha1.TestBed {
	bed := modelled("sim")
	bed.Spec.Device.Variants = []v1alpha1.DeviceVariant{
		{Name: "off"},
		{Name: "on", Simulated: &v1alpha1.SimulatedVariant{Model: &v1alpha1.ModelSource{ConfigMapRef: reference("model-on", "model.csv")}}},
	}
	return bed
}

// onModels creates a benchmark of two modeled variants and waits for the first.
func (w *world) onModels() *v1alpha1.Benchmark {
	w.t.Helper()
	create(w.t, w.c, configMap("model", "model.csv", modelOff), configMap("model-on", "model.csv", modelOn), modelledInTwo(), profile(),
		benchmark("b", "sim", withVariants("off", "on")))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.Expect(b.Status.Variant).To(BeEquivalentTo("off"))
	return b
}

// succeeds ends a held pod of the device, and holds all others still.
func (w *world) succeeds(role string) {
	w.t.Helper()
	pod := w.appears("b", role)
	pod.Status.Phase = corev1.PodSucceeded
	w.Expect(w.c.Status().Update(w.t.Context(), pod)).To(Succeed())
}

// The operator dies in the middle of the first device's end and of the second
// one's beginning, and the second runner is killed: no row is lost, and none is
// measured again.
func variantsOfATopology(w *world) {
	w.kubelet.hold("device-up", "device-down")
	create(w.t, w.c, configMap("router", "topology.clab.yaml", "name: router"), configMap("router-acl", "acl.clab.yaml", "name: router-acl"),
		virtualInTwo(), profile(), benchmark("b", "frr", withVariants("plain", "acl")))
	first := w.appears("b", "device-up")
	w.Expect(first.Spec.Containers[0].Args).To(ContainElements("up", "/etc/nodrop/topology/topology.clab.yaml", "dut"))
	w.succeeds("device-up")
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.Expect(b.Status.Variant).To(BeEquivalentTo("plain"))
	w.Expect(w.runnerConfig("b").Variant).To(BeEquivalentTo("plain"))
	oldRunner, oldAgent := w.pod("b", "runner"), w.pod("b", "agent-0")

	plain := []v1alpha1.ResultRow{rowOf("plain", 64), rowOf("plain", 128)}
	w.runners.report(b, measured(plain...))
	w.appears("b", "device-down")
	b = w.reaches("b", v1alpha1.PhasePreparing)
	w.Expect(w.rows(b)).To(HaveLen(2), "rows are stored before anything is removed")
	w.Expect(b.Status.Variant).To(BeEquivalentTo("plain"), "the variant that is being removed")
	w.Expect(b.Status.Outcome).To(BeEmpty())
	w.Expect(w.bed("frr").Status.Lease.UID).To(BeEquivalentTo(b.UID), "the bed stays leased")
	w.Expect(w.pod("b", "runner")).To(BeNil(), "a runner while its device is stopped")
	w.Expect(w.pod("b", "agent-0")).To(BeNil())

	w.stop()
	w.succeeds("device-down")
	w.start()
	var second *corev1.Pod
	w.Eventually(func() bool {
		second = w.pod("b", "device-up")
		return second != nil && second.UID != first.UID
	}).Should(BeTrue(), "the second device")
	w.Expect(second.Spec.Containers[0].Args).To(ContainElements("up", "/etc/nodrop/topology/acl.clab.yaml", "dut"))
	sec := &corev1.Secret{}
	key := client.ObjectKey{Namespace: labNamespace, Name: labobjects.DeviceSecretName(labobjects.RunOf(b))}
	w.Expect(w.c.Get(w.t.Context(), key, sec)).To(Succeed())
	w.Expect(sec.Data).To(HaveKeyWithValue("acl.clab.yaml", []byte("name: router-acl")))

	w.stop()
	w.runners.report(b, measuring(plain...))
	w.succeeds("device-up")
	w.start()
	b = w.reaches("b", v1alpha1.PhaseRunning)
	w.Expect(b.Status.Variant).To(BeEquivalentTo("acl"))
	runner := w.pod("b", "runner")
	w.Expect(runner.UID).NotTo(Equal(oldRunner.UID))
	w.Expect(w.pod("b", "agent-0").UID).NotTo(Equal(oldAgent.UID))
	w.Expect(w.runnerConfig("b").Variant).To(BeEquivalentTo("acl"))
	w.beginsWith(b, 2)

	w.runners.report(b, measuring(append(plain, rowOf("acl", 64))...))
	w.Eventually(func() []v1alpha1.ResultRow { return w.rows(w.benchmark("b")) }).Should(HaveLen(3))
	w.Expect(w.c.Delete(w.t.Context(), runner)).To(Succeed())
	w.replaced(runner)
	w.beginsWith(b, 3)
	w.Expect(w.runnerConfig("b").Variant).To(BeEquivalentTo("acl"))

	w.runners.report(b, measured(append(plain, rowOf("acl", 64), rowOf("acl", 128))...))
	w.succeeds("device-down")
	b = w.reaches("b", v1alpha1.PhaseMeasured)
	w.Expect(w.rows(b)).To(HaveLen(4))
	for _, c := range []string{v1alpha1.ConditionMeasured, v1alpha1.ConditionCleanedUp} {
		w.Expect(meta.IsStatusConditionTrue(b.Status.Conditions, c)).To(BeTrue(), c)
	}
	for _, c := range []string{v1alpha1.ConditionDeviceReady, v1alpha1.ConditionTrafficReady} {
		w.Expect(meta.IsStatusConditionFalse(b.Status.Conditions, c)).To(BeTrue(), c)
	}
	w.bedIsClean("frr")
}

func variantsOfAModel(w *world) {
	b := w.onModels()
	cfg := w.runnerConfig("b")
	w.Expect(cfg.Model).To(Equal(modelOff))
	w.Expect(cfg.Bed.Spec.Device.Variants).To(HaveLen(2), "the bed is as its owner wrote it")

	old := w.pod("b", "runner")
	w.kubelet.hold("runner")
	w.runners.report(b, measured(rowOf("off", 64)))
	w.replaced(old)
	w.Expect(w.runnerConfig("b").Model).To(Equal(modelOn))
	w.runners.report(b, measured(rowOf("off", 64), rowOf("on", 64)))
	w.letGo("b", "runner")
	w.beginsWith(b, 1)
	b = w.reaches("b", v1alpha1.PhaseMeasured)
	w.Expect(w.rows(b)).To(HaveLen(2))
	w.bedIsClean("sim")
}

// The other variants are measured anyway.
func variantForwardsNothing(w *world) {
	b := w.onModels()
	old := w.pod("b", "runner")
	w.kubelet.hold("runner")
	nothing := measured(rowOf("off", 64))
	nothing.Outcome, nothing.Reason, nothing.Message = v1alpha1.PhaseFailed, v1alpha1.ReasonNothingForwarded, "the device forwarded nothing"
	w.runners.report(b, nothing)
	w.replaced(old)
	nothing.Rows = append(nothing.Rows, rowOf("on", 64))
	w.runners.report(b, nothing)
	w.letGo("b", "runner")
	b = w.reaches("b", v1alpha1.PhaseFailed)
	w.Expect(w.rows(b)).To(HaveLen(2))
	w.bedIsClean("sim")
}

func variantFails(w *world) {
	b := w.onModels()
	s := measured(rowOf("off", 64))
	s.Outcome, s.Reason, s.Message = v1alpha1.PhaseError, v1alpha1.ReasonRunnerFailed, "the generator failed 3 times"
	w.runners.report(b, s)
	b = w.reaches("b", v1alpha1.PhaseError)
	w.Expect(b.Status.Variant).To(BeEquivalentTo("off"), "no other one is begun")
	w.Expect(w.rows(b)).To(HaveLen(1))
	w.bedIsClean("sim")
}

func variantAborted(w *world) {
	b := w.onModels()
	old := w.pod("b", "runner")
	w.kubelet.hold("runner")
	w.runners.report(b, measured(rowOf("off", 64)))
	w.replaced(old)
	b = w.benchmark("b")
	before := b.DeepCopy()
	b.Spec.Abort = true
	w.Expect(w.c.Patch(w.t.Context(), b, client.MergeFrom(before))).To(Succeed())
	b = w.reaches("b", v1alpha1.PhaseAborted)
	w.Expect(b.Status.Message).To(ContainSubstring("1 finished row is kept"))
	w.bedIsClean("sim")
}

// A bed on which a variant cannot be removed is not leased again.
func variantStays(w *world) {
	b := w.onModels()
	pod := w.pod("b", "runner")
	pod.Finalizers = []string{"example.com/hold"}
	w.Expect(w.c.Update(w.t.Context(), pod)).To(Succeed())
	w.runners.report(b, measured(rowOf("off", 64)))
	w.says("b", v1alpha1.ConditionDeviceReady, v1alpha1.ReasonVariantMeasured)
	w.impatient(shortCleanUp)
	b = w.reaches("b", v1alpha1.PhaseError)
	w.Expect(b.Status.Message).To(ContainSubstring("variant off was not removed"))
	w.says("b", v1alpha1.ConditionDeviceReady, v1alpha1.ReasonCleanUpFailed)
	w.Expect(w.says("b", v1alpha1.ConditionCleanedUp, v1alpha1.ReasonCleanUpFailed).Message).To(ContainSubstring("bed sim is quarantined"))
	w.Expect(w.rows(b)).To(HaveLen(1))
}

func variantUnknown(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", modelOff), configMap("model-on", "model.csv", modelOn), modelledInTwo(), profile(),
		benchmark("b", "sim", withVariants("off", "fast")))
	b := w.reaches("b", v1alpha1.PhasePending)
	w.Expect(b.Status.Message).To(And(ContainSubstring(`spec.variants[1]: Invalid value: "fast"`), ContainSubstring("the device of test bed sim has off, on")))
	w.changeBed("sim", func(bed *v1alpha1.TestBed) { bed.Spec.Device.Variants[1].Name = "fast" })
	w.reaches("b", v1alpha1.PhaseRunning)
}

// A bed is not ready before everything that its variants refer to is there.
func variantWithoutModel(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", modelOff), modelledInTwo())
	readiness := func() string {
		c := meta.FindStatusCondition(w.bed("sim").Status.Conditions, v1alpha1.ConditionReady)
		if c == nil {
			return ""
		}
		return c.Reason + ": " + c.Message
	}
	w.Eventually(readiness).Should(And(HavePrefix(v1alpha1.ReasonBedInvalid), ContainSubstring("ConfigMap model-on is not in the lab's namespace")))
	create(w.t, w.c, configMap("model-on", "model.csv", modelOn))
	w.Eventually(readiness).Should(HavePrefix(v1alpha1.ReasonBedReady))
}

// A bed is not ready when what its variants refer to does not fit into the objects of a
// run.
func variantTooLarge(w *world) {
	large := strings.Repeat("# a comment\n", 16<<10)
	create(w.t, w.c, configMap("model", "model.csv", modelOff), configMap("model-on", "model.csv", large), modelledInTwo(),
		configMap("router", "topology.clab.yaml", "name: router"), configMap("router-acl", "acl.clab.yaml", large), virtualInTwo())
	for bed, message := range map[string]string{
		"sim": "ConfigMap model-on, key model.csv has 192 KiB, and a table may have at most 48 KiB",
		"frr": "ConfigMap router-acl has 193 KiB in all keys, and a topology may have at most 176 KiB",
	} {
		w.Eventually(func() string {
			c := meta.FindStatusCondition(w.bed(bed).Status.Conditions, v1alpha1.ConditionReady)
			if c == nil {
				return ""
			}
			return c.Reason + ": " + c.Message
		}).Should(And(HavePrefix(v1alpha1.ReasonBedInvalid), ContainSubstring(message)))
	}
}

// The device is started from the image that the benchmark chooses, and sent the frames that it
// gives; both are in what is kept of the run.
func imageAndFrameSizes(w *world) {
	w.kubelet.hold("device-up")
	bed := virtual("frr")
	bed.Spec.Device.Containerlab.AllowedImages = []string{"router:*"}
	create(w.t, w.c, configMap("router", "topology.clab.yaml", "topology: {nodes: {dut: {image: router:1}}}"), bed, profile(),
		benchmark("b", "frr", func(b *v1alpha1.Benchmark) {
			b.Spec.DeviceImage, b.Spec.FrameSizes = "router:2", []v1alpha1.FrameSize{256}
		}))
	w.appears("b", "device-up")
	b := w.benchmark("b")
	sec := &corev1.Secret{}
	w.Expect(w.c.Get(w.t.Context(), client.ObjectKey{Namespace: labNamespace, Name: labobjects.DeviceSecretName(labobjects.RunOf(b))}, sec)).To(Succeed())
	w.Expect(string(sec.Data["topology.clab.yaml"])).To(And(ContainSubstring("router:2"), Not(ContainSubstring("router:1"))))
	w.succeeds("device-up")
	w.reaches("b", v1alpha1.PhaseRunning)
	cfg := w.runnerConfig("b")
	w.Expect(cfg.Profile.Spec.FrameSizes).To(Equal([]int32{256}))
	w.Expect(cfg.Benchmark.Spec.DeviceImage).To(BeEquivalentTo("router:2"))
	w.Expect(w.c.Create(w.t.Context(), benchmark("other", "frr", func(b *v1alpha1.Benchmark) { b.Spec.DeviceImage = "no image" }))).
		To(MatchError(ContainSubstring(`"no image" is not the reference of an image`)))
}

// The API server itself refuses what its rules refuse.
func variantsOfHardware(w *world) {
	bed := virtual("switch")
	bed.Spec.Device = v1alpha1.Device{
		Physical: &v1alpha1.PhysicalDevice{Vendor: "acme", Model: "switch"},
		Variants: []v1alpha1.DeviceVariant{{Name: "fec-on"}},
	}
	w.Expect(w.c.Create(w.t.Context(), bed)).To(MatchError(And(
		ContainSubstring("device.variants has fec-on, and NoDrop cannot configure a physical device"), ContainSubstring("kubectl nodrop compare"))))
	bed = modelled("sim")
	bed.Spec.Device.Variants = virtualInTwo().Spec.Device.Variants
	w.Expect(w.c.Create(w.t.Context(), bed)).To(MatchError(ContainSubstring("device.variants gives containerlab, and the device is not of containerlab")))

	create(w.t, w.c, modelledInTwo(), profile())
	w.Expect(w.c.Create(w.t.Context(), benchmark("b", "sim", withVariants("off", "off")))).To(MatchError(ContainSubstring("variants has off more than once")))
}

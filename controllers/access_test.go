package controllers_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// TestAccess runs benchmarks that exceed the grants of beds, or send frames that they do
// not allow, as happens when access or policy change after admission.
func TestAccess(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"as many at once as the grant allows":        asManyAtOnce,
		"a grant with a lower priority":              lowerPriority,
		"a tag that neither bed nor lab allows":      tagNotAllowed,
		"a tag that the default policy does allow":   tagOfTheLab,
		"a policy that changes during a run":         policyChanges,
		"a profile that is replaced after the lease": replacedAfterLease,
	} {
		t.Run(name, func(t *testing.T) { tc(newWorld(t, server)) })
	}
}

// tagged is the profile of the others with a VLAN tag.
func tagged() *v1alpha1.TrafficProfile {
	p := profile()
	p.Spec.FrameSizes = []int32{128}
	p.Spec.Packet.VLAN = &v1alpha1.VLANTag{ID: 100}
	return p
}

func asManyAtOnce(w *world) {
	objects := []string{"one", "two", "three"}
	create(w.t, w.c, configMap("model", "model.csv", table), profile())
	for _, name := range objects {
		bed := modelled(name)
		if name != "three" {
			bed.Spec.Access[0].MaxRunning = 1
		}
		create(w.t, w.c, bed)
	}
	create(w.t, w.c, benchmark("a", "one"))
	first := w.reaches("a", v1alpha1.PhaseRunning)
	create(w.t, w.c, benchmark("b", "two"), benchmark("c", "three"))
	w.waitsBecause(named("b"), v1alpha1.ReasonLimitReached, "of which its namespace may have 1 at once")
	w.reaches("c", v1alpha1.PhaseRunning) // Its bed does not bound how many run.
	w.Expect(w.bed("two").Status.Lease).To(BeNil())

	w.runners.report(first, measured(row(64)))
	w.reaches("a", v1alpha1.PhaseMeasured)
	w.reaches("b", v1alpha1.PhaseRunning)
}

func lowerPriority(w *world) {
	bed := modelled("sim")
	bed.Spec.Unschedulable = true
	create(w.t, w.c, configMap("model", "model.csv", table), profile(), bed, benchmark("urgent", "sim", objects.Priority(50)))
	w.reaches("urgent", v1alpha1.PhaseQueued)
	w.changeBed("sim", func(bed *v1alpha1.TestBed) { bed.Spec.Access[0].MaxPriority = 10; bed.Spec.Unschedulable = false })
	c := w.says("urgent", v1alpha1.ConditionAccepted, v1alpha1.ReasonNotAccepted)
	w.Expect(c.Message).To(ContainSubstring("spec.priority: Invalid value: 50: the grant of namespace team-routing on TestBed sim has a priority up to 10"))
	w.changeBed("sim", func(bed *v1alpha1.TestBed) { bed.Spec.Access[0].MaxPriority = 50 })
	w.reaches("urgent", v1alpha1.PhaseRunning)
}

func tagNotAllowed(w *world) {
	create(w.t, w.c, configMap("router", "topology.clab.yaml", "name: router"), virtual("frr"), tagged(), benchmark("b", "frr"))
	c := w.says("b", v1alpha1.ConditionAccepted, v1alpha1.ReasonNotAccepted)
	w.Expect(c.Message).To(ContainSubstring("TrafficProfile/ipv4-pairs.spec.packet.vlan.id: Invalid value: 100: the built-in default policy, which holds on TestBed frr, allows no VLAN tags"))
	w.changeBed("frr", func(bed *v1alpha1.TestBed) {
		bed.Spec.Policy = &v1alpha1.TrafficPolicy{VLANs: []v1alpha1.VLANRange{{First: 100}}}
	})
	w.says("b", v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted)
}

func tagOfTheLab(w *world) {
	w.stop()
	w.defaultPolicy = &v1alpha1.TrafficPolicy{VLANs: []v1alpha1.VLANRange{{First: 1, Last: 99}}}
	w.start()
	create(w.t, w.c, configMap("router", "topology.clab.yaml", "name: router"), virtual("frr"), tagged(), benchmark("b", "frr"))
	c := w.says("b", v1alpha1.ConditionAccepted, v1alpha1.ReasonNotAccepted)
	w.Expect(c.Message).To(ContainSubstring("the default policy of the lab, which holds on TestBed frr, allows VLANs 1 to 99"))
	w.stop()
	w.defaultPolicy.VLANs[0].Last = 100
	w.start()
	w.says("b", v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted)
}

// replacedAfterLease leaves a bed leased to a benchmark whose profile has got a tag since
// it was judged, as an operator leaves it that stops in between.
func replacedAfterLease(w *world) {
	bed := virtual("frr")
	bed.Spec.Unschedulable = true
	create(w.t, w.c, configMap("router", "topology.clab.yaml", "name: router"), bed, profile(), benchmark("b", "frr"))
	b := w.reaches("b", v1alpha1.PhaseQueued)
	w.stop()
	w.Expect(w.c.Delete(w.t.Context(), profile())).To(Succeed())
	create(w.t, w.c, tagged())
	leased := w.bed("frr")
	leased.Finalizers = append(leased.Finalizers, v1alpha1.FinalizerLeased)
	w.Expect(w.c.Update(w.t.Context(), leased)).To(Succeed())
	leased.Status.Lease = &v1alpha1.BedLease{Holder: team + "/b", UID: string(b.UID), AcquireTime: metav1.Now()}
	w.Expect(w.c.Status().Update(w.t.Context(), leased)).To(Succeed())
	w.start()
	b = w.reaches("b", v1alpha1.PhaseInvalid)
	w.Expect(b.Status.Message).To(And(ContainSubstring("changed after the benchmark was accepted"), ContainSubstring("spec.packet.vlan.id: Invalid value: 100")))
	w.bedIsClean("frr")
}

func policyChanges(w *world) {
	bed := modelled("sim")
	bed.Spec.Policy = &v1alpha1.TrafficPolicy{VLANs: []v1alpha1.VLANRange{{First: 100}}}
	create(w.t, w.c, configMap("model", "model.csv", table), bed, tagged(), benchmark("first", "sim"))
	first := w.reaches("first", v1alpha1.PhaseRunning)
	create(w.t, w.c, benchmark("b", "sim"))
	w.reaches("b", v1alpha1.PhaseQueued)
	w.changeBed("sim", func(bed *v1alpha1.TestBed) { bed.Spec.Policy.VLANs = []v1alpha1.VLANRange{} })
	w.says("b", v1alpha1.ConditionAccepted, v1alpha1.ReasonNotAccepted)

	// The benchmark that has the bed keeps it.
	w.runners.report(first, measured(row(128)))
	w.reaches("first", v1alpha1.PhaseMeasured)
	w.bedIsClean("sim")
}

package controllers_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestResources has beds on nodes that do not offer what their pods request.
func TestResources(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"a node without what TRex needs": unequippedNode,
		"a claim without its template":   unknownTemplate,
	} {
		t.Run(name, func(t *testing.T) { tc(newWorld(t, server)) })
	}
}

// equipped is a bed with the engine trex on cards of node spare-1.
func equipped(name string) *v1alpha1.TestBed {
	bed := virtual(name)
	bed.Spec.Device = v1alpha1.Device{Physical: &v1alpha1.PhysicalDevice{Vendor: "acme", Model: "X1"}}
	bed.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineTRex, TRex: &v1alpha1.TRexEngine{
		Image: "trex:test", HugePages: &v1alpha1.TRexHugePages{PageSize: "1Gi", Total: resource.MustParse("4Gi")},
	}}
	for i, r := range []string{"intel.com/dut_p1", "intel.com/dut_p2"} {
		bed.Spec.Ports[i].Node = "spare-1"
		bed.Spec.Ports[i].Attachment = &v1alpha1.Attachment{SRIOV: &v1alpha1.SRIOVAttachment{ResourceName: r}}
	}
	return bed
}

// newNode makes a node that is removed with the case.
func (w *world) newNode(name string) *corev1.Node {
	node := &corev1.Node{}
	node.Name = name
	create(w.t, w.c, node)
	w.t.Cleanup(func() { w.Expect(w.c.Delete(context.Background(), node)).To(Succeed()) })
	return node
}

// offers sets the allocatable resources of a node, as its kubelet does.
func (w *world) offers(node *corev1.Node, pairs ...string) {
	node.Status.Allocatable = corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		node.Status.Allocatable[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	node.Status.Capacity = node.Status.Allocatable
	w.Expect(w.c.Status().Update(w.t.Context(), node)).To(Succeed())
}

// lacks waits until a bed is not ready because of missing resources, and its benchmark shows
// the reason.
func (w *world) lacks(bed, benchmark, want string) {
	w.t.Helper()
	w.Eventually(func() string {
		c := meta.FindStatusCondition(w.bed(bed).Status.Conditions, v1alpha1.ConditionReady)
		if c == nil || c.Status != metav1.ConditionFalse || c.Reason != v1alpha1.ReasonResourcesMissing {
			return ""
		}
		return c.Message
	}).Should(ContainSubstring(want))
	w.says(benchmark, v1alpha1.ConditionBedLeased, v1alpha1.ReasonBedNotReady)
	w.Eventually(func() string { return w.benchmark(benchmark).Status.Message }).
		Should(And(HavePrefix("waits for bed "+bed+", which is not ready: "), ContainSubstring(want)))
}

func (w *world) Ready(bed string) {
	w.t.Helper()
	w.Eventually(func() bool {
		return meta.IsStatusConditionTrue(w.bed(bed).Status.Conditions, v1alpha1.ConditionReady)
	}).Should(BeTrue(), "%s is ready", bed)
}

// unequippedNode adds what is missing one after the other: the bed reports what is left,
// and becomes ready without a change to it.
func unequippedNode(w *world) {
	node := w.newNode("spare-1")
	create(w.t, w.c, equipped("cards"), profile(), benchmark("b", "cards"))
	w.lacks("cards", "b", "node spare-1 offers no intel.com/dut_p1: install the SR-IOV network device plugin")
	w.offers(node, "intel.com/dut_p1", "1", "intel.com/dut_p2", "1", "cpu", "8")
	w.lacks("cards", "b", "node spare-1 has 0 in huge pages of 1Gi, and TRex needs 4Gi")
	w.offers(node, "intel.com/dut_p1", "1", "intel.com/dut_p2", "1", "cpu", "4", "hugepages-1Gi", "4Gi")
	w.lacks("cards", "b", "node spare-1 has 4 processors for pods, and the traffic pod needs 4.9")
	w.offers(node, "intel.com/dut_p1", "1", "intel.com/dut_p2", "1", "cpu", "8", "hugepages-1Gi", "4Gi")
	w.Ready("cards")
}

func unknownTemplate(w *world) {
	w.offers(w.newNode("spare-1"), "cpu", "2")
	bed := equipped("claims")
	bed.Spec.Engine.TRex = &v1alpha1.TRexEngine{Image: "trex:test", Software: &v1alpha1.TRexSoftware{}}
	for i := range bed.Spec.Ports {
		bed.Spec.Ports[i].Attachment = &v1alpha1.Attachment{ResourceClaim: &v1alpha1.ResourceClaimAttachment{TemplateName: "dut"}}
	}
	create(w.t, w.c, bed, profile(), benchmark("b", "claims"))
	w.lacks("claims", "b", "spec.ports[0].attachment.resourceClaim.templateName: ResourceClaimTemplate dut is not in the lab's namespace nodrop-lab: apply it there")

	template := &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: "dut", Namespace: labNamespace},
		Spec: resourcev1.ResourceClaimTemplateSpec{Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
			Requests: []resourcev1.DeviceRequest{{Name: "port", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "dut-ports"}}},
		}}},
	}
	create(w.t, w.c, template)
	w.t.Cleanup(func() { w.Expect(w.c.Delete(context.Background(), template)).To(Succeed()) })
	w.Ready("claims")
}

package controllers_test

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// onCards is a bed with TRex on eight virtual functions of two nodes, of which one on
// each node has a network of the owner's.
func onCards(name string) *v1alpha1.TestBed {
	bed := objects.TestBed(name,
		objects.Physical("example", "one"),
		objects.TRex(&v1alpha1.TRexEngine{
			Image: "trex:test", HugePages: &v1alpha1.TRexHugePages{PageSize: "1Gi", Total: resource.MustParse("4Gi")},
		}),
		objects.Access(v1alpha1.AccessGrant{Names: []string{team}, MaxPriority: 100}),
	)
	for i := 1; i <= 8; i++ {
		a := &v1alpha1.SRIOVAttachment{ResourceName: fmt.Sprintf("intel.com/dut_p%d", i)}
		if i%4 == 1 {
			a.NetworkName = fmt.Sprintf("dut-p%d", i)
		}
		bed.Spec.Ports = append(bed.Spec.Ports, v1alpha1.Port{
			Name: fmt.Sprintf("p%d", i), Node: fmt.Sprintf("cards-%d", (i+3)/4), Speed: "100G",
			Addresses: []string{fmt.Sprintf("198.18.%d.2/24", i)}, Gateways: []string{fmt.Sprintf("198.18.%d.1", i)},
			Attachment: &v1alpha1.Attachment{SRIOV: a},
		})
	}
	return bed
}

// cardNode is a node that offers what such a bed needs: the API server takes the
// status of a node that is made with one.
func cardNode(name string) *corev1.Node {
	offers := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("64Gi"), "hugepages-1Gi": resource.MustParse("16Gi")}
	for i := 1; i <= 8; i++ {
		offers[corev1.ResourceName(fmt.Sprintf("intel.com/dut_p%d", i))] = resource.MustParse("1")
	}
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Capacity: offers, Allocatable: offers}}
}

// networkFor is a network of the lab's own for a resource.
func networkFor(name, resource string) *unstructured.Unstructured {
	n := &unstructured.Unstructured{}
	n.SetGroupVersionKind(labobjects.NetworkGVK)
	n.SetNamespace(labNamespace)
	n.SetName(name)
	n.SetAnnotations(map[string]string{labobjects.AnnotationResource: resource})
	return n
}

// TestTRex runs benchmarks on beds with TRex through their phases.
func TestTRex(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"two nodes with four virtual functions each": passCards,
		"the lab may not hold interfaces":            labIsBaseline,
		"what the API server refuses":                refused,
		"the server does not start":                  serverFails,
		"nodrop's image is not there":                installerWaits,
	} {
		t.Run(name, func(t *testing.T) { tc(newWorld(t, server)) })
	}
}

// cards makes the bed, what it refers to, and a benchmark on it.
func (w *world) cards(change ...func(*v1alpha1.TestBed)) {
	w.t.Helper()
	bed := onCards("switch")
	for _, c := range change {
		c(bed)
	}
	create(w.t, w.c, networkFor("dut-p1", "intel.com/dut_p1"), networkFor("dut-p5", "intel.com/dut_p5"), bed, profile(), benchmark("b", "switch"))
}

func passCards(w *world) {
	w.cards()
	b := w.reaches("b", v1alpha1.PhaseRunning)
	for i, want := range []string{"cards-1", "cards-2"} {
		pod := w.pod("b", fmt.Sprintf("agent-%d", i))
		w.Expect(pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0].Values).To(Equal([]string{want}))
		w.Expect(pod.Annotations["k8s.v1.cni.cncf.io/networks"]).To(ContainSubstring(fmt.Sprintf(`{"name":"dut-p%d","interface":"p%d"}`, 4*i+1, 4*i+1)))
		w.Expect(pod.Spec.Containers[1].Image).To(Equal("trex:test"))
	}
	w.Expect(w.networksOf(b)).To(HaveLen(6), "networks that are made for the run")
	w.Expect(w.runnerConfig("b").Agents).To(HaveLen(2))
	w.runners.report(b, measured(row(64)))
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.bedIsClean("switch")
	w.Expect(w.c.Get(w.t.Context(), client.ObjectKey{Namespace: labNamespace, Name: "dut-p1"}, networkFor("", ""))).To(Succeed(), "the owner's network was removed")
}

func (w *world) networksOf(b *v1alpha1.Benchmark) []unstructured.Unstructured {
	w.t.Helper()
	list := networks()
	w.Expect(w.c.List(w.t.Context(), list, client.InNamespace(labNamespace), client.MatchingLabels(labobjects.RunOf(b).Selector()))).To(Succeed())
	return list.Items
}

func labIsBaseline(w *world) {
	w.level("baseline")
	w.t.Cleanup(func() { w.level("privileged") })
	w.cards()
	b := w.reaches("b", v1alpha1.PhaseError)
	w.Expect(b.Status.Message).To(And(ContainSubstring(`violates PodSecurity "baseline`),
		ContainSubstring("kubectl label --overwrite namespace nodrop-lab pod-security.kubernetes.io/enforce=privileged")))
	w.bedIsClean("switch")
}

// level changes the level of the lab's namespace.
func (w *world) level(level string) {
	ns := &corev1.Namespace{}
	w.Expect(w.c.Get(context.Background(), client.ObjectKey{Name: labNamespace}, ns)).To(Succeed())
	ns.Labels[levelLabel] = level
	w.Expect(w.c.Update(context.Background(), ns)).To(Succeed())
}

func refused(w *world) {
	w.cards(func(bed *v1alpha1.TestBed) { bed.Spec.Engine.TRex.Image = "trex:test " })
	b := w.reaches("b", v1alpha1.PhaseError)
	w.Expect(b.Status.Message).To(And(ContainSubstring("the bed asks for what the API server refuses"), ContainSubstring("spec.containers[1].image")))
	w.bedIsClean("switch")
}

func serverFails(w *world) {
	w.kubelet.hold("agent-0", "agent-1")
	w.cards()
	pod := w.appears("b", "agent-0")
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{
		{Name: "agent", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
		{
			Name:                 "trex",
			State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 10s restarting failed container=trex"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: "port p1 has no card"}},
		},
	}
	w.Expect(w.c.Status().Update(w.t.Context(), pod)).To(Succeed())
	w.Late("agent-0: CrashLoopBackOff: port p1 has no card")
}

func installerWaits(w *world) {
	w.kubelet.hold("agent-0", "agent-1")
	w.cards()
	pod := w.appears("b", "agent-0")
	waiting := func(name, reason, message string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
	}
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{waiting("install", "ErrImageNeverPull", "nodrop:test is not present")}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{waiting("agent", "PodInitializing", ""), waiting("trex", "PodInitializing", "")}
	w.Expect(w.c.Status().Update(w.t.Context(), pod)).To(Succeed())
	w.Late("agent-0: ErrImageNeverPull: nodrop:test is not present")
}

// Late lets the time for the traffic pods pass, and expects the reason in the status.
func (w *world) Late(words string) {
	w.t.Helper()
	w.Eventually(func() string {
		return w.says("b", v1alpha1.ConditionTrafficReady, v1alpha1.ReasonTrafficStarting).Message
	}).Should(ContainSubstring(words))
	w.impatient(shortTraffic)
	w.Expect(w.reaches("b", v1alpha1.PhaseError).Status.Message).To(ContainSubstring(words))
	w.bedIsClean("switch")
}

// TestBedsWithCards expects what a bed lacks in its status before a benchmark waits for it.
func TestBedsWithCards(t *testing.T) {
	w := newWorld(t, startServer(t))
	bed := onCards("switch")
	bed.Spec.Engine.TRex.Image = ""
	create(t, w.c, bed)
	message := func() string {
		c := meta.FindStatusCondition(w.bed("switch").Status.Conditions, v1alpha1.ConditionReady)
		if c == nil || c.Status == metav1.ConditionUnknown {
			return ""
		}
		return string(c.Status) + ": " + c.Message
	}
	w.Eventually(message).Should(And(HavePrefix("False: spec.ports[0].attachment.sriov.networkName: "),
		ContainSubstring("NetworkAttachmentDefinition dut-p1 is not in the lab's namespace nodrop-lab: apply it there")))

	create(t, w.c, networkFor("dut-p1", "intel.com/dut_p1"), networkFor("dut-p5", "intel.com/another"))
	w.Eventually(message).Should(And(HavePrefix("False: spec.ports[4].attachment.sriov.networkName: "),
		ContainSubstring(`has "intel.com/another" as annotation k8s.v1.cni.cncf.io/resourceName, and the port has resourceName intel.com/dut_p5: make them the same`)))

	w.Expect(w.c.Delete(t.Context(), networkFor("dut-p5", ""))).To(Succeed())
	create(t, w.c, networkFor("dut-p5", "intel.com/dut_p5"))
	w.Eventually(message).Should(Equal("False: spec.engine.trex.image: the operator was installed without an image of TRex: set engine.trex.image or the chart's trexImage"))

	w.Eventually(func() error {
		bed := w.bed("switch")
		bed.Spec.Engine.TRex.Image = "trex:test"
		return w.c.Update(t.Context(), bed)
	}).Should(Succeed())
	w.Eventually(message).Should(Equal("True: benchmarks can lease the bed"))
}

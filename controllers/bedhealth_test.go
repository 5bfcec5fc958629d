package controllers_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/bedprobe"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// TestBedHealth has beds whose interfaces are probed.
func TestBedHealth(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"an interface that does not exist":       missingInterface,
		"an interface that goes away":            vanishingInterface,
		"a leased bed":                           leasedBed,
		"a probe without an answer":              silentProbe,
		"an interface that another bed uses":     usedInterface,
		"a bed whose device is started":          startedDevice,
		"traffic pods that do not come up":       doubtedBed,
		"links, speeds and clocks":               worseThanDescribed,
		"an edit of the ports, and of the rest":  editedBed,
		"an edit during a lease":                 editedWhileLeased,
		"a pod that the API server refuses":      refusedProbe,
		"a bed that is deleted while it is read": deletedBed,
		"a node that is not ready":               unreadyNode,
	} {
		t.Run(name, func(t *testing.T) { tc(newWorld(t, server, probing)) })
	}
}

// probing lets the operators of a case probe beds.
func probing(w *world) {
	w.change = func(o *kit.Options) { o.ProbeEvery = 15 * time.Minute }
}

// physical is a bed with a switch at interfaces of node1.
func physical(name string, change ...func(*v1alpha1.TestBed)) *v1alpha1.TestBed {
	bed := virtual(name)
	bed.Spec.Device = v1alpha1.Device{Physical: &v1alpha1.PhysicalDevice{Vendor: "acme", Model: "one"}}
	for i, iface := range []string{"eth1", "eth2"} {
		bed.Spec.Ports[i].Attachment = objects.HostDevice(iface)
	}
	for _, c := range change {
		c(bed)
	}
	return bed
}

// closed waits until a bed is not ready for a reason, and returns the message.
func (w *world) closed(bed, reason string) string {
	w.t.Helper()
	var message string
	w.Eventually(func() string {
		c := meta.FindStatusCondition(w.bed(bed).Status.Conditions, v1alpha1.ConditionReady)
		if c == nil || c.Status != metav1.ConditionFalse {
			return ""
		}
		message = c.Message
		return c.Reason
	}).Should(Equal(reason), "why %s is not ready", bed)
	return message
}

// healthy returns state and reason of the condition Healthy of a bed.
func (w *world) healthy(bed string) string {
	c := meta.FindStatusCondition(w.bed(bed).Status.Conditions, v1alpha1.ConditionHealthy)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason
}

// probePods returns the names of the pods that probe beds.
func (w *world) probePods() (names []string) {
	var pods corev1.PodList
	w.Expect(w.c.List(w.t.Context(), &pods, client.InNamespace(labNamespace), client.MatchingLabels{labobjects.LabelRole: labobjects.RoleProbe})).To(Succeed())
	for i := range pods.Items {
		names = append(names, pods.Items[i].Name)
	}
	return names
}

// missingInterface closes a bed before its first lease, and opens it once the interface exists.
func missingInterface(w *world) {
	w.kubelet.link("eth2", bedprobe.Link{})
	create(w.t, w.c, physical("switch"), profile(), benchmark("b", "switch"))
	message := w.closed("switch", v1alpha1.ReasonInterfaceMissing)
	w.Expect(message).To(Equal("node node1 has no interface eth2: correct spec.ports[1].attachment.hostDevice.interface, or repair the card; ip link on the node lists its interfaces"))
	w.Expect(w.healthy("switch")).To(Equal("False InterfaceMissing"))
	w.says("b", v1alpha1.ConditionBedLeased, v1alpha1.ReasonBedNotReady)
	w.Eventually(func() string { return w.benchmark("b").Status.Message }).Should(Equal("waits for bed switch, which is not ready: " + message))
	w.Expect(w.bed("switch").Status.Lease).To(BeNil())

	w.kubelet.link("eth2")
	w.pass(5 * time.Minute)
	w.reaches("b", v1alpha1.PhaseRunning)
	w.Expect(w.healthy("switch")).To(Equal("True Healthy"))
	w.Expect(w.bed("switch").Status.Health.Failures).To(BeZero())
	w.Expect(w.probePods()).To(BeEmpty())
}

// vanishingInterface closes a bed that was healthy, by the schedule.
func vanishingInterface(w *world) {
	create(w.t, w.c, physical("switch"))
	w.Ready("switch")
	w.kubelet.link("eth1", bedprobe.Link{})
	w.pass(16 * time.Minute)
	w.Expect(w.closed("switch", v1alpha1.ReasonInterfaceMissing)).To(HavePrefix("node node1 has no interface eth1: "))
	w.Expect(w.bed("switch").Status.Health.Failures).To(BeEquivalentTo(1))
}

// leasedBed is not probed before the benchmark has returned it.
func leasedBed(w *world) {
	create(w.t, w.c, physical("switch"), profile(), benchmark("b", "switch", func(b *v1alpha1.Benchmark) { b.Spec.ActiveDeadlineSeconds = 36000 }))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	probed := w.bed("switch").Status.Health.ProbeTime
	w.kubelet.link("eth1", bedprobe.Link{})
	w.Eventually(func() int64 {
		w.pass(time.Minute)
		return w.bed("switch").Status.Lease.ActiveSeconds
	}).Should(BeNumerically(">=", 20*60), "the bed was not checked")
	bed := w.bed("switch")
	w.Expect(bed.Status.Health.ProbeTime).To(Equal(probed))
	w.Expect(bed.Status.Health.StartTime).To(BeNil())
	w.Expect(w.probePods()).To(BeEmpty())
	w.Expect(meta.IsStatusConditionTrue(bed.Status.Conditions, v1alpha1.ConditionReady)).To(BeTrue())

	w.runners.report(b, measured(row(64)))
	w.closed("switch", v1alpha1.ReasonInterfaceMissing)
}

// silentProbe keeps a bed closed for a bounded time.
func silentProbe(w *world) {
	w.kubelet.hold("probe-0")
	create(w.t, w.c, physical("switch"), profile(), benchmark("b", "switch"))
	w.closed("switch", v1alpha1.ReasonProbing)
	w.Eventually(w.probePods).Should(HaveLen(1))
	w.Expect(w.bed("switch").Status.Lease).To(BeNil())
	w.pass(2 * time.Minute)
	w.reaches("b", v1alpha1.PhaseRunning)
	c := meta.FindStatusCondition(w.bed("switch").Status.Conditions, v1alpha1.ConditionHealthy)
	w.Expect(c.Reason).To(Equal(v1alpha1.ReasonProbeFailed))
	w.Expect(c.Message).To(Equal("the interfaces of the bed could not be read: no answer within 1m0s: node node1 has not run the pod"))
	w.Expect(w.probePods()).To(BeEmpty())
}

// usedInterface has two beds with the same interfaces, which are in the pod of the one's benchmark when
// the other is probed.
func usedInterface(w *world) {
	create(w.t, w.c, physical("first"), profile(), benchmark("b", "first"))
	w.reaches("b", v1alpha1.PhaseRunning)
	w.kubelet.link("eth1", bedprobe.Link{})
	w.kubelet.link("eth2", bedprobe.Link{})
	create(w.t, w.c, physical("second"))
	w.Eventually(func() string { return w.healthy("second") }).Should(Equal("True Healthy"))
	w.Ready("second")
}

// startedDevice is leased at once: its interfaces are made with the device.
func startedDevice(w *world) {
	w.kubelet.hold("probe-0")
	create(w.t, w.c, configMap("router", "topology.clab.yaml", "name: router"), virtual("router"), profile(), benchmark("b", "router"))
	w.reaches("b", v1alpha1.PhaseRunning)
	w.Expect(w.bed("router").Status.Health).To(BeNil())
	w.Expect(w.healthy("router")).To(BeEmpty())
	w.Expect(w.probePods()).To(BeEmpty())
}

// doubtedBed is probed before the next benchmark gets it, which waits meanwhile.
func doubtedBed(w *world) {
	w.impatient(shortTraffic)
	w.kubelet.hold("agent-0")
	create(w.t, w.c, physical("switch"), profile(), benchmark("b", "switch"))
	w.reaches("b", v1alpha1.PhasePreparing)
	create(w.t, w.c, benchmark("c", "switch"))
	w.kubelet.link("eth1", bedprobe.Link{})
	w.reaches("b", v1alpha1.PhaseError)
	w.closed("switch", v1alpha1.ReasonInterfaceMissing)
	w.says("c", v1alpha1.ConditionBedLeased, v1alpha1.ReasonBedNotReady)
	w.Expect(w.bed("switch").Status.Lease).To(BeNil())
	w.Expect(w.benchmark("c").Finalizers).To(BeEmpty(), "c had the bed")
}

// worseThanDescribed closes a bed for each other reason.
func worseThanDescribed(w *world) {
	w.kubelet.link("eth1", bedprobe.Link{Exists: true, Up: true})
	create(w.t, w.c, physical("switch"))
	w.Expect(w.closed("switch", v1alpha1.ReasonLinkDown)).To(Equal("interface eth1 of node node1 is up and has no link: check the cable of port p1, and the device at its other end"))

	w.kubelet.link("eth1", bedprobe.Link{Exists: true, Up: true, Carrier: true, Megabits: 100})
	w.pass(5 * time.Minute)
	w.Expect(w.closed("switch", v1alpha1.ReasonSpeedTooLow)).To(Equal("interface eth1 of node node1 runs at 100 Mbit/s, and spec.ports[0].speed is 1000 Mbit/s: correct it, or the cable, the module or the settings of the device"))

	w.kubelet.link("eth1")
	w.kubelet.slow(time.Hour)
	w.pass(5 * time.Minute)
	w.Expect(w.closed("switch", v1alpha1.ReasonClockWrong)).To(MatchRegexp(`^the clock of node node1 is [0-9hms]+ behind, and certificates`))

	w.kubelet.slow(0)
	w.pass(5 * time.Minute)
	w.Ready("switch")
}

// editedBed is probed again if its interfaces change, and only then.
func editedBed(w *world) {
	create(w.t, w.c, physical("switch"))
	w.Ready("switch")
	w.kubelet.link("eth9", bedprobe.Link{})
	bed := w.bed("switch")
	probed := bed.Status.Health.ProbeTime
	bed.Spec.Access[0].MaxPriority = 200
	w.Expect(w.c.Update(w.t.Context(), bed)).To(Succeed())
	w.Eventually(func() bool { return kit.IsOpen(w.bed("switch")) }).Should(BeTrue())
	w.Expect(w.bed("switch").Status.Health.ProbeTime).To(Equal(probed))

	bed = w.bed("switch")
	bed.Spec.Ports[0].Attachment = objects.HostDevice("eth9")
	w.Expect(w.c.Update(w.t.Context(), bed)).To(Succeed())
	w.Expect(w.closed("switch", v1alpha1.ReasonInterfaceMissing)).To(HavePrefix("node node1 has no interface eth9: "))
}

// editedWhileLeased probes the new interfaces before the benchmark that waits gets the bed.
func editedWhileLeased(w *world) {
	create(w.t, w.c, physical("switch"), profile(), benchmark("b", "switch"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	create(w.t, w.c, benchmark("c", "switch"))
	w.says("c", v1alpha1.ConditionBedLeased, v1alpha1.ReasonQueued)
	w.kubelet.link("eth9", bedprobe.Link{})
	bed := w.bed("switch")
	bed.Spec.Ports[0].Attachment = objects.HostDevice("eth9")
	w.Expect(w.c.Update(w.t.Context(), bed)).To(Succeed())
	w.Eventually(func() bool { return w.bed("switch").Status.Health.Doubted }).Should(BeTrue())
	w.Expect(w.bed("switch").Status.Lease).NotTo(BeNil())

	w.runners.report(b, measured(row(64)))
	w.closed("switch", v1alpha1.ReasonInterfaceMissing)
	w.says("c", v1alpha1.ConditionBedLeased, v1alpha1.ReasonBedNotReady)
	w.Expect(w.benchmark("c").Finalizers).To(BeEmpty(), "c had the bed")
}

// refusedProbe leaves a bed open that nothing speaks against.
func refusedProbe(w *world) {
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none", Namespace: labNamespace}}
	quota.Spec.Hard = corev1.ResourceList{"count/pods": resource.MustParse("0")}
	create(w.t, w.c, quota)
	w.t.Cleanup(func() { w.Expect(w.c.Delete(context.Background(), quota)).To(Succeed()) })
	quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: corev1.ResourceList{"count/pods": resource.MustParse("0")}}
	w.Expect(w.c.Status().Update(w.t.Context(), quota)).To(Succeed())
	create(w.t, w.c, physical("switch"))
	w.Ready("switch")
	c := meta.FindStatusCondition(w.bed("switch").Status.Conditions, v1alpha1.ConditionHealthy)
	w.Expect(c.Reason).To(Equal(v1alpha1.ReasonProbeFailed))
	w.Expect(c.Message).To(ContainSubstring("exceeded quota: none"))
}

func deletedBed(w *world) {
	w.kubelet.hold("probe-0")
	create(w.t, w.c, physical("switch"))
	w.Eventually(w.probePods).Should(HaveLen(1))
	bed := w.bed("switch")
	w.Expect(w.c.Delete(w.t.Context(), bed)).To(Succeed())
	w.Eventually(func() bool {
		return apierrors.IsNotFound(w.c.Get(w.t.Context(), client.ObjectKeyFromObject(bed), &v1alpha1.TestBed{}))
	}).Should(BeTrue())
	w.Expect(w.probePods()).To(BeEmpty())
}

func unreadyNode(w *world) {
	node := w.newNode("spare-1")
	state := func(is corev1.ConditionStatus, reason string) {
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: is, Reason: reason}}
		w.offers(node, "cpu", "2")
	}
	state(corev1.ConditionUnknown, "NodeStatusUnknown")
	create(w.t, w.c, physical("switch", func(bed *v1alpha1.TestBed) { bed.Spec.Ports[0].Node, bed.Spec.Ports[1].Node = "spare-1", "spare-1" }))
	w.Expect(w.closed("switch", v1alpha1.ReasonNodeNotReady)).To(Equal("node spare-1 is not ready (NodeStatusUnknown), and starts no pods: repair it; the bed opens when it is ready"))
	w.Expect(w.probePods()).To(BeEmpty())
	state(corev1.ConditionTrue, "KubeletReady")
	w.Ready("switch")
}

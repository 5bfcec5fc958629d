//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// nodeAddress is the address of the node, which pods reach.
const nodeAddress = "172.31.99.1"

// configured is a router that the lab reaches by SSH only.
type configured struct {
	*sshrouter.Router
	// base is its configuration before the first benchmark.
	base string
	bed  string
}

// newConfigured makes a bed with an FRR router that is cabled to the node. Its variant open is the base, and
// in closed it has no address at its second port. A third one has a line that FRR rejects.
func (l *lab) newConfigured(t *testing.T, name string, net int, change ...func(*v1alpha1.TestBed)) *configured {
	t.Helper()
	g := NewWithT(t)
	r := &configured{Router: sshrouter.StartAt(t, nodeAddress), bed: name}
	second := fmt.Sprintf(" ip address 198.18.%d.1/24\n", net+1)
	for i, port := range []string{"e1", "e2"} {
		r.Cable(fmt.Sprintf("nd-%s%d", name, i+1), port)
		r.Enter("configure terminal", "interface "+port, fmt.Sprintf("ip address 198.18.%d.1/24", net+i))
	}
	r.base = r.Running()
	g.Expect(r.base).To(ContainSubstring(second))
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: labNamespace, Name: name}, Data: map[string]string{
		"base.conf": r.base, "closed.conf": strings.Replace(r.base, second, "", 1), "wrong.conf": r.base + "ip route 198.18.300.0/24 198.18.1.9\n",
	}}
	bed := objects.TestBed(name, objects.Engine(v1alpha1.EngineXDP), objects.Access(v1alpha1.AccessGrant{Names: []string{teamNamespace}}))
	bed.Spec.Device = v1alpha1.Device{
		Physical: &v1alpha1.PhysicalDevice{Vendor: "FRRouting", Model: "FRR", Management: objects.Managed(name, r.Address, "base.conf")},
		Variants: []v1alpha1.DeviceVariant{{Name: "open"}},
	}
	for _, variant := range []v1alpha1.VariantName{"closed", "wrong"} {
		ref := v1alpha1.ConfigMapKeyReference{Name: name, Key: string(variant) + ".conf"}
		bed.Spec.Device.Variants = append(bed.Spec.Device.Variants, v1alpha1.DeviceVariant{
			Name: variant, Physical: &v1alpha1.PhysicalVariant{Configuration: v1alpha1.DeviceConfigurationSource{ConfigMapRef: ref}},
		})
	}
	for i := range 2 {
		bed.Spec.Ports = append(bed.Spec.Ports, v1alpha1.Port{
			Name: fmt.Sprintf("p%d", i+1), Node: "node1", Speed: "1G", Attachment: objects.HostDevice(fmt.Sprintf("nd-%s%d", name, i+1)),
			Addresses: []string{fmt.Sprintf("198.18.%d.2/24", net+i)}, Gateways: []string{fmt.Sprintf("198.18.%d.1", net+i)},
		})
	}
	for _, c := range change {
		c(bed)
	}
	profile := objects.TrafficProfile(teamNamespace, name, objects.IPv4Pairs(512))
	l.createManaged(t, r.HostKey, bed, config, profile)
	return r
}

// createManaged makes objects, among them a bed whose device has a host key, and the Secret by which the device is reached.
func (l *lab) createManaged(t *testing.T, hostKey []byte, bed *v1alpha1.TestBed, others ...client.Object) {
	t.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: labNamespace, Name: bed.Spec.Device.Management().SecretName}, Type: v1alpha1.DeviceAccessSecretType,
		Data: map[string][]byte{"user": []byte(sshrouter.User), "password": []byte(sshrouter.Password), "hostKeys": hostKey},
	}
	for _, o := range append([]client.Object{secret, bed}, others...) {
		NewWithT(t).Expect(l.Create(t.Context(), o)).To(Succeed())
		t.Cleanup(func() { l.discard(t, o) })
	}
}

// measure starts a benchmark of the bed in variants.
func (l *lab) measure(t *testing.T, r *configured, name string, variants ...v1alpha1.VariantName) client.ObjectKey {
	t.Helper()
	b := objects.Benchmark(teamNamespace, name,
		objects.BedName(r.bed), objects.ProfileName(r.bed), objects.Pauses(200*time.Millisecond, 0),
		objects.Tests(v1alpha1.Test{Name: "latency", Latency: &v1alpha1.LatencyTest{
			Loads: []v1alpha1.Load{"1%", "2%"}, TrialDuration: metav1.Duration{Duration: time.Second},
		}}),
		objects.BenchmarkFunc(func(b *v1alpha1.Benchmark) { b.Spec.Variants = variants }),
	)
	NewWithT(t).Expect(l.Create(t.Context(), b)).To(Succeed())
	t.Cleanup(func() { l.remove(t, b) })
	return client.ObjectKeyFromObject(b)
}

// TestConfiguredRouter measures a router that a pod configures over SSH, and finds it as it was, whatever happens to
// the pod.
func TestConfiguredRouter(t *testing.T) {
	together(t)
	l, g := newLab(t), NewWithT(t)
	r := l.newConfigured(t, "leaf", 30, describeReset)

	b := l.finish(t, l.measure(t, r, "leaf-variants", "open", "closed"))
	g.Expect(b.Status.Phase).To(Equal(v1alpha1.PhaseFailed), b.Status.Message)
	received := map[v1alpha1.VariantName]int64{}
	for _, row := range l.rows(t, b) {
		g.Expect(row.Frames.Sent).To(BeNumerically(">", 0))
		received[row.Variant] += row.Frames.Received
	}
	g.Expect(received).To(And(HaveLen(2), HaveKeyWithValue(v1alpha1.VariantName("open"), BeNumerically(">", 0)), HaveKeyWithValue(v1alpha1.VariantName("closed"), BeZero())))
	g.Expect(r.Running()).To(Equal(r.base))
	given := l.environment(t, b).Configurations()
	g.Expect(given).To(HaveLen(2))
	g.Expect(given["open"].Commands).To(BeZero(), "it had its base")
	g.Expect(given["closed"].Commands).To(BeNumerically(">", 0))
	g.Expect(given["closed"].Before).To(Equal(given["open"].Digest))
	g.Expect(given["closed"].Digest).NotTo(Equal(given["open"].Digest))
	l.expectClean(t, b)

	if !testing.Short() { // TestConfigure of cmd/nodrop, and TestManagement of controllers.
		b = l.finish(t, l.measure(t, r, "leaf-wrong", "wrong"))
		g.Expect(b.Status.Phase).To(Equal(v1alpha1.PhaseError))
		g.Expect(b.Status.Message).To(ContainSubstring(`the device rejected "ip route 198.18.300.0/24 198.18.1.9"`))
		g.Expect(r.Running()).To(Equal(r.base))
		l.expectClean(t, b)
	}
	l.expectReset(t, r, "leaf-reset")
	l.expectNoSecret(t)
	l.expectRestored(t, r)
}

// expectRestored changes the router by hand. The bed is closed with the difference, until a person asks for
// the base.
func (l *lab) expectRestored(t *testing.T, r *configured) {
	t.Helper()
	g := NewWithT(t)
	r.Enter("configure terminal", "ip route 198.18.200.0/24 198.18.1.9")
	var bed v1alpha1.TestBed
	change := func(change func()) {
		g.Eventually(func() error {
			if err := l.Get(t.Context(), client.ObjectKey{Name: r.bed}, &bed); err != nil {
				return err
			}
			change()
			return l.Update(t.Context(), &bed)
		}, time.Minute, poll).Should(Succeed())
	}
	ready := func(g Gomega) string {
		g.Expect(l.Get(t.Context(), client.ObjectKey{Name: r.bed}, &bed)).To(Succeed())
		c := meta.FindStatusCondition(bed.Status.Conditions, v1alpha1.ConditionReady)
		g.Expect(c).NotTo(BeNil())
		return c.Reason + ": " + c.Message
	}
	change(func() { bed.Spec.Ports[0].Speed = "2G" }) // A bed that is edited is probed at once.
	g.Eventually(ready, 2*time.Minute, poll).Should(HavePrefix(`ConfigurationDiffers: the device differs from its base: ["+ ip route 198.18.200.0/24 198.18.1.9"]; to restore it: kubectl annotate`))
	change(func() { metav1.SetMetaDataAnnotation(&bed.ObjectMeta, v1alpha1.AnnotationRestoreBase, "yes") })
	g.Eventually(ready, 2*time.Minute, poll).Should(HavePrefix(v1alpha1.ReasonBedReady))
	g.Expect(r.Running()).To(Equal(r.base))
}

// expectNoSecret looks for the password of the device where people and other programs read.
func (l *lab) expectNoSecret(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	for _, list := range []client.ObjectList{
		&v1alpha1.BenchmarkList{}, &v1alpha1.BenchmarkResultList{}, &v1alpha1.BenchmarkSnapshotList{}, &v1alpha1.TestBedList{}, &corev1.PodList{}, &corev1.EventList{}, &corev1.ConfigMapList{},
	} {
		g.Expect(l.List(t.Context(), list)).To(Succeed())
		text, err := json.Marshal(list)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(strings.Contains(string(text), sshrouter.Password)).To(BeFalse(), "%T has the password", list)
	}
	out, err := l.kubectl(t, "", "-n", operatorNamespace, "logs", "-l", "app.kubernetes.io/component=operator", "--tail=-1")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(strings.Contains(out, sshrouter.Password)).To(BeFalse(), "the log of the operator has the password")
}

// TestConfiguredRouterKilled kills the operator and the pods that configure the router, at every step.
func TestConfiguredRouterKilled(t *testing.T) {
	long(t)
	l, g := newLab(t), NewWithT(t)
	r := l.newConfigured(t, "spine", 40)
	operator := func(t *testing.T, l *lab, _ *v1alpha1.Benchmark) { l.killOperator(t) }
	pod := func(t *testing.T, l *lab, b *v1alpha1.Benchmark) {
		g.Eventually(func() []corev1.Pod { return l.podsOf(t, b, "configure") }, time.Minute, 50*time.Millisecond).ShouldNot(BeEmpty())
		for _, p := range l.podsOf(t, b, "configure") {
			g.Expect(client.IgnoreNotFound(l.Delete(t.Context(), &p, client.GracePeriodSeconds(0)))).To(Succeed())
		}
	}
	for i, k := range []kill{
		{"operator", v1alpha1.PhasePreparing, operator},
		{"pod that configures", v1alpha1.PhasePreparing, pod},
		{"operator", v1alpha1.PhaseRunning, operator},
		{"operator", v1alpha1.PhaseCleaningUp, operator},
		{"pod that restores", v1alpha1.PhaseCleaningUp, pod},
	} {
		t.Run(fmt.Sprintf("%s in %s", k.name, k.phase), func(t *testing.T) {
			key := l.measure(t, r, fmt.Sprintf("spine-%d", i), "closed", "open")
			k.do(t, l, l.inPhase(t, key, k.phase, 0))
			b := l.finish(t, key)
			t.Logf("%s: %s", b.Status.Phase, b.Status.Message)
			g.Expect(r.Running()).To(Equal(r.base))
			l.expectClean(t, b)
		})
	}
}

//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/devicesample"
)

// TestConfiguredScale has the pod with the credentials give Linux lists of more and more entries. The runner is killed while the device has one,
// and the next one finds the device as the run wants it. Afterwards the device has its base.
func TestConfiguredScale(t *testing.T) {
	long(t) // TestRunConfigurationScale searches on the same device in make frames, and TestScales has the pod.
	l, g, c := newLab(t), NewWithT(t), devicesample.AccessListScale
	s, device := c.Prepared(t, nodeAddress, "nd-"+c.Sample[:2])
	base := device.Running()
	devicesample.AddLists(&s.Bed)
	for _, o := range []client.Object{&s.Profile, &s.Benchmark} {
		o.SetNamespace(teamNamespace)
	}
	s.Configurations.Namespace = labNamespace
	s.Bed.Spec.Access = []v1alpha1.AccessGrant{{Names: []string{teamNamespace}, Scales: []v1alpha1.ScaleGrant{{Name: "acl"}, {Name: "gap"}, {Name: "elsewhere"}}}}
	l.createManaged(t, device.HostKey, &s.Bed, &s.Configurations, &s.Profile)
	g.Expect(l.Create(t.Context(), &s.Benchmark)).To(Succeed())
	t.Cleanup(func() { l.remove(t, &s.Benchmark) })
	g.Eventually(func() int { return strings.Count(device.Running(), "ip saddr 198.19.") }, runTimeout, poll).Should(BeNumerically(">", 0), "the device has a list")
	var pods []corev1.Pod
	g.Eventually(func() []corev1.Pod { pods = l.podsOf(t, &s.Benchmark, "runner"); return pods }, time.Minute, poll).ShouldNot(BeEmpty())
	g.Expect(client.IgnoreNotFound(l.Delete(t.Context(), &pods[0], client.GracePeriodSeconds(0)))).To(Succeed())
	b := l.finish(t, client.ObjectKeyFromObject(&s.Benchmark))
	g.Expect(b.Status.Phase).NotTo(Equal(v1alpha1.PhaseError), b.Status.Message)
	rows := l.rows(t, b)
	g.Expect(rows).To(HaveLen(len(s.Benchmark.Spec.Tests)), b.Status.Message)
	c.Check(t, rows)
	g.Expect(device.Running()).To(Equal(base))
	l.expectNoSecret(t)
	l.expectClean(t, b)
}

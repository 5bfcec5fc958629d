//go:build e2e

package e2e

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// describeReset describes a reset of a router: a port goes down and up, and the router has a route that its configuration does not have.
func describeReset(bed *v1alpha1.TestBed) {
	bed.Spec.Device.Physical.Management.SSH.Resets = []v1alpha1.DeviceReset{{
		Name: "flap", Kind: v1alpha1.ResetHardware,
		Commands: []string{"configure terminal", "interface e2", "shutdown", "no shutdown", "exit", "ip route 198.18.200.0/24 198.18.1.9", "end"},
	}}
}

// expectReset resets the router in a trial by the pod that has its credentials. The runner is killed meanwhile, and the next one finds
// the router as the run wants it.
func (l *lab) expectReset(t *testing.T, r *configured, name string) {
	t.Helper()
	g := NewWithT(t)
	reset := v1alpha1.ResetTest{Kind: v1alpha1.ResetHardware, Trigger: v1alpha1.ResetByDevice, Method: v1alpha1.ResetByTimestamp, Load: "1%"}
	reset.LeadTime, reset.TrialDuration = metav1.Duration{Duration: time.Second}, metav1.Duration{Duration: 10 * time.Second}
	b := objects.Benchmark(teamNamespace, name, objects.BedName(r.bed), objects.ProfileName(r.bed), objects.Pauses(200*time.Millisecond, 0), objects.Tests(v1alpha1.Test{Name: "flap", Reset: &reset}))
	g.Expect(l.Create(t.Context(), b)).To(Succeed())
	t.Cleanup(func() { l.remove(t, b) })
	g.Eventually(r.Running, runTimeout, poll).Should(ContainSubstring("198.18.200.0/24"), "it was reset")
	var pods []corev1.Pod
	g.Eventually(func() []corev1.Pod { pods = l.podsOf(t, b, "runner"); return pods }, time.Minute, poll).ShouldNot(BeEmpty())
	g.Expect(client.IgnoreNotFound(l.Delete(t.Context(), &pods[0], client.GracePeriodSeconds(0)))).To(Succeed())
	b = l.finish(t, client.ObjectKeyFromObject(b))
	rows := l.rows(t, b)
	g.Expect(rows).To(HaveLen(1), b.Status.Message)
	g.Expect(rows[0].Reset).NotTo(BeNil(), rows[0].Message)
	g.Expect(rows[0].Reset.Name).To(Equal("flap"))
	g.Expect(rows[0].Reset.AvgNs).To(BeNumerically(">", 0))
	g.Expect(rows[0].Message).To(ContainSubstring("after the reset the device did not have the configuration of the run, and got it again"))
	g.Expect(r.Running()).To(Equal(r.base))
	l.expectClean(t, b)
}

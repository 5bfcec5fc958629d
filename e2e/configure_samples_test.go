//go:build e2e

package e2e

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/devicesample"
)

// TestConfiguredSamples measures the samples whose devices are configured, with Linux behind an OpenSSH server as the
// device, each also with a fault of the device that rows have to show. No other test runs at the same time: frames lost for
// another reason would be taken for the fault. Afterwards the device has its base.
func TestConfiguredSamples(t *testing.T) {
	long(t) // TestConfiguredRouter has such a device in the cluster, and nodrop run measures these samples in make frames.
	l := newLab(t)
	for _, c := range []devicesample.Case{devicesample.AccessLists, devicesample.NAT, devicesample.Mirror, devicesample.Filters, devicesample.Classes} {
		t.Run(c.Sample, func(t *testing.T) {
			g := NewWithT(t)
			s, device := c.Prepared(t, nodeAddress, "nd-"+c.Sample[:2])
			base := device.Running()
			for _, o := range []client.Object{&s.Profile, &s.Benchmark} {
				o.SetNamespace(teamNamespace)
			}
			s.Configurations.Namespace = labNamespace
			s.Bed.Spec.Access = []v1alpha1.AccessGrant{{Names: []string{teamNamespace}}}
			l.createManaged(t, device.HostKey, &s.Bed, &s.Configurations, &s.Profile)
			g.Expect(l.Create(t.Context(), &s.Benchmark)).To(Succeed())
			t.Cleanup(func() { l.remove(t, &s.Benchmark) })
			b := l.finish(t, client.ObjectKeyFromObject(&s.Benchmark))
			g.Expect(b.Status.Phase).NotTo(Equal(v1alpha1.PhaseError), b.Status.Message)
			rows := l.rows(t, b)
			g.Expect(rows).To(HaveLen(len(s.Benchmark.Spec.Variants)*len(s.Benchmark.Spec.Tests)), b.Status.Message)
			c.Check(t, rows)
			c.CheckReadings(t, rows)
			g.Expect(l.environment(t, b).DeviceFacts).To(HaveField("Description", HavePrefix("Linux ")))
			g.Expect(device.Running()).To(Equal(base))
			l.expectClean(t, b)
		})
	}
}

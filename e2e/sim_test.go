//go:build e2e

package e2e

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestSimulatedChassis runs the sample with 256 simulated ports through the
// cluster: the published throughput of the model comes back. It is alone: the recorder of other tests, which samples
// every 100 ms of simulated time, makes it slow.
func TestSimulatedChassis(t *testing.T) {
	l := newLab(t)
	l.apply(t, "config", "samples", "sim")
	key := client.ObjectKey{Namespace: teamNamespace, Name: "nexus9508-ipv4"}
	b := l.finish(t, key)
	g := NewWithT(t)
	g.Expect(b.Status.Phase).To(Equal(v1alpha1.PhaseMeasured), b.Status.Message)
	for _, row := range l.rows(t, b) {
		if row.Method == v1alpha1.MethodThroughput && row.FrameSize == 64 {
			g.Expect(row.Frames.LineRatePPM).To(BeEquivalentTo(696_875))
			g.Expect(row.Frames.FramesPerSecond).To(BeEquivalentTo(26_547_619_048))
			l.expectClean(t, b)
			return
		}
	}
	t.Fatal("no throughput row for 64 B")
}

//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// TestVariants measures a router as it is and with forwarding turned off: each
// variant is another topology, and what comes back shows which one was up. The topology of
// the second has an image that does not exist; the benchmark chooses one that the bed allows.
func TestVariants(t *testing.T) {
	long(t) // TestVariants of controllers, and TestConfiguredRouter with real variants.
	together(t)
	alone(t, &theRouter)
	l := newLab(t)
	g := NewWithT(t)
	var topology corev1.ConfigMap
	g.Expect(l.Get(t.Context(), client.ObjectKey{Namespace: labNamespace, Name: "frr-router"}, &topology)).To(Succeed())
	const forwards, key = "net.ipv4.ip_forward: 1", "topology.clab.yaml"
	g.Expect(topology.Data[key]).To(ContainSubstring(forwards))
	closed := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: labNamespace, Name: "frr-closed"}, Data: topology.Data}
	closed.Data[key] = strings.Replace(closed.Data[key], forwards, "net.ipv4.ip_forward: 0", 1)
	const image = "localhost/nodrop-frr:8.4"
	g.Expect(closed.Data[key]).To(ContainSubstring(image))
	closed.Data[key] = strings.Replace(closed.Data[key], image, "localhost/nodrop-frr:none", 1)
	g.Expect(l.Create(t.Context(), closed)).To(Succeed())

	var router v1alpha1.TestBed
	g.Expect(l.Get(t.Context(), client.ObjectKey{Name: bedName}, &router)).To(Succeed())
	bed := objects.TestBed("frr-variants", objects.BedSpec(*router.Spec.DeepCopy()))
	bed.Spec.Device.Variants = []v1alpha1.DeviceVariant{{Name: "open"}, {Name: "closed", Containerlab: &v1alpha1.ContainerlabVariant{
		Topology: &v1alpha1.TopologySource{ConfigMapRef: v1alpha1.ConfigMapKeyReference{Name: closed.Name, Key: key}},
	}}}
	bed.Spec.Device.Containerlab.AllowedImages = []string{"localhost/nodrop-frr:*"}
	g.Expect(l.Create(t.Context(), bed)).To(Succeed())

	benchmark := objects.Benchmark(teamNamespace, "variants",
		objects.BedName(bed.Name), objects.ProfileName("ipv4-jumbo"), objects.Pauses(200*time.Millisecond, 0),
		objects.Tests([]v1alpha1.Test{
			{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{
				Resolution: "5%", MinLoad: "0.5%", MaxLoad: "10%",
				TrialDuration: metav1.Duration{Duration: 500 * time.Millisecond}, SearchTrialDuration: metav1.Duration{Duration: 300 * time.Millisecond},
			}},
			{Name: "latency", Latency: &v1alpha1.LatencyTest{Loads: []v1alpha1.Load{"10%"}, TrialDuration: metav1.Duration{Duration: time.Second}}},
		}...),
		objects.BenchmarkFunc(func(b *v1alpha1.Benchmark) {
			b.Spec.DeviceImage = image
			b.Spec.Variants = []v1alpha1.VariantName{"open", "closed"}
		}),
	)
	g.Expect(l.Create(t.Context(), benchmark)).To(Succeed())
	b := l.finish(t, client.ObjectKeyFromObject(benchmark))
	g.Expect(b.Status.Phase).To(Equal(v1alpha1.PhaseFailed), b.Status.Message)
	g.Expect(b.Status.Message).To(ContainSubstring("test throughput (closed)"))
	received := map[v1alpha1.VariantName]int64{}
	for _, row := range l.rows(t, b) {
		g.Expect(row.Frames.Sent).To(BeNumerically(">", 0))
		received[row.Variant] += row.Frames.Received
	}
	g.Expect(received).To(And(HaveLen(2), HaveKeyWithValue(v1alpha1.VariantName("open"), BeNumerically(">", 0)), HaveKeyWithValue(v1alpha1.VariantName("closed"), BeZero())))
	l.expectClean(t, b)
	l.remove(t, b)
	g.Expect(l.Delete(t.Context(), bed)).To(Succeed())
	g.Expect(l.Delete(t.Context(), closed)).To(Succeed())
}

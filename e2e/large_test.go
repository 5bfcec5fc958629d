//go:build e2e

package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// largeResult is a soak over 64 frame sizes with ten samples per second: its rows
// with their series are larger than one object of the API server may be.
const largeResult = `
apiVersion: v1
kind: ConfigMap
metadata: {name: large-model, namespace: nodrop-lab}
data:
  device.csv: |
    frame_size_bytes,line_rate_percent,latency_min_us,latency_avg_us,latency_max_us,loss_ppm
MODEL---
apiVersion: nodrop.dev/v1alpha1
kind: TestBed
metadata: {name: large}
spec:
  device: {simulated: {model: {configMapRef: {name: large-model, key: device.csv}}}}
  engine: {kind: sim, sim: {ports: {count: 4, speed: 10G}}}
  access:
  - names: [team-routing]
---
apiVersion: nodrop.dev/v1alpha1
kind: TrafficProfile
metadata: {name: large, namespace: team-routing}
spec:
  frameSizes: [SIZES]
  pattern: {pairs: {}}
  packet: {ipv4: {}}
---
apiVersion: nodrop.dev/v1alpha1
kind: Benchmark
metadata: {name: large, namespace: team-routing}
spec:
  testBedName: large
  trafficProfileName: large
  tests:
  - name: soak
    soak: {load: 50%, duration: 60s, samplingInterval: 100ms}
`

// TestLargeResult measures more than one object of the API server can hold. The
// benchmark passes, and rows, report and archive are complete.
func TestLargeResult(t *testing.T) {
	together(t)
	const sizes = 64
	l := newLab(t)
	g := NewWithT(t)
	var model strings.Builder
	var list []string
	for i := range sizes {
		size := 64 + 23*i
		fmt.Fprintf(&model, "    %d,99.9940,1.510,2.377,4.240,1\n", size)
		list = append(list, strconv.Itoa(size))
	}
	text := strings.NewReplacer("MODEL", model.String(), "SIZES", strings.Join(list, ", ")).Replace(largeResult)
	if out, err := l.kubectl(t, text, "apply", "-f", "-"); err != nil {
		t.Fatalf("applying the benchmark: %v\n%s", err, out)
	}
	key := client.ObjectKey{Namespace: teamNamespace, Name: "large"}
	b := l.finish(t, key)
	g.Expect(b.Status.Phase).To(Equal(v1alpha1.PhaseMeasured), b.Status.Message)
	rows := l.rows(t, b)
	g.Expect(rows).To(HaveLen(sizes))
	for i, row := range rows {
		g.Expect(row.FrameSize).To(BeEquivalentTo(64 + 23*i))
		g.Expect(row.Series).NotTo(BeNil())
		g.Expect(row.Series.Samples).To(BeEquivalentTo(600))
	}
	g.Expect(b.Status.Results.Rows).To(BeEquivalentTo(sizes))
	g.Expect(b.Status.Results.Digest).NotTo(BeEmpty())
	l.expectClean(t, b)

	live, err := l.kubectl(t, "", "nodrop", "report", "large", "-n", teamNamespace, "-o", "json")
	g.Expect(err).NotTo(HaveOccurred(), live)
	g.Eventually(func(g Gomega) {
		b = l.benchmark(g, key)
		g.Expect(b.Status.Results.Archive).NotTo(BeNil())
	}, time.Minute, poll).Should(Succeed())
	t.Logf("%d rows in %d objects, %d bytes in the archive at %s", b.Status.Results.Rows, b.Status.Results.Parts, b.Status.Results.Archive.Bytes, b.Status.Results.Archive.URL)
}

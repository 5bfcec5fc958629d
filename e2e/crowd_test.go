//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// crowdBeds is the number of beds that TestCrowd fills.
const crowdBeds = 20

// crowdSize is the number of benchmarks of TestCrowd: 60, or what the environment
// variable NODROP_E2E_CROWD says. The case that once stalled the operator had 400.
func crowdSize(t *testing.T) int {
	t.Helper()
	text := os.Getenv("NODROP_E2E_CROWD")
	if text == "" {
		return 60
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("NODROP_E2E_CROWD is %q: give a positive number of benchmarks", text)
	}
	return n
}

// TestCrowd queues many benchmarks for a few beds that are chosen by a selector.
// All pass, no bed is quarantined, and the test prints what a benchmark costs the
// API server.
func TestCrowd(t *testing.T) {
	long(t)
	together(t)
	l := newLab(t)
	g := NewWithT(t)
	n := crowdSize(t)
	l.crowdLab(t)
	before := l.requests(t)
	begin := time.Now()
	for i := range n {
		b := objects.Benchmark(teamNamespace, fmt.Sprintf("crowd-%03d", i),
			objects.Labels(map[string]string{"crowd": "yes"}), objects.BedLabels(map[string]string{"crowd": "yes"}),
			objects.ProfileName("crowd"), objects.Tests(objects.Throughput(v1alpha1.ThroughputTest{})),
		)
		g.Expect(l.Create(t.Context(), b)).To(Succeed())
	}
	t.Logf("%d benchmarks were created in %s", n, time.Since(begin).Round(time.Second))
	t.Cleanup(func() {
		_ = l.DeleteAllOf(context.Background(), &v1alpha1.Benchmark{}, client.InNamespace(teamNamespace), client.MatchingLabels{"crowd": "yes"})
	})

	phases := map[v1alpha1.BenchmarkPhase]int{}
	g.Eventually(func(g Gomega) {
		var all v1alpha1.BenchmarkList
		g.Expect(l.List(t.Context(), &all, client.InNamespace(teamNamespace), client.MatchingLabels{"crowd": "yes"})).To(Succeed())
		clear(phases)
		finished := 0
		for _, b := range all.Items {
			phases[b.Status.Phase]++
			if b.Status.Phase.Finished() {
				finished++
			}
			g.Expect(b.Status.Phase).NotTo(BeElementOf(v1alpha1.PhaseError, v1alpha1.PhaseInvalid, v1alpha1.PhaseFailed, v1alpha1.PhaseAborted), "%s: %s", b.Name, b.Status.Message)
		}
		g.Expect(finished).To(Equal(n), "%v", phases)
	}, 20*time.Minute, 2*time.Second).Should(Succeed())
	g.Expect(phases).To(Equal(map[v1alpha1.BenchmarkPhase]int{v1alpha1.PhaseMeasured: n}))

	elapsed := time.Since(begin)
	after := l.requests(t)
	t.Logf("%d benchmarks on %d beds took %s: %.1f/s", n, crowdBeds, elapsed.Round(time.Second), float64(n)/elapsed.Seconds())
	total := 0
	for verb, count := range after {
		t.Logf("requests of the operator to the API server per benchmark: %-6s %.1f", verb, float64(count-before[verb])/float64(n))
		total += count - before[verb]
	}
	t.Logf("requests of the operator to the API server per benchmark: all    %.1f", float64(total)/float64(n))

	var beds v1alpha1.TestBedList
	g.Expect(l.List(t.Context(), &beds, client.MatchingLabels{"crowd": "yes"})).To(Succeed())
	g.Expect(beds.Items).To(HaveLen(crowdBeds))
	for _, bed := range beds.Items {
		g.Expect(bed.Status.Lease).To(BeNil(), bed.Name)
		g.Expect(meta.IsStatusConditionTrue(bed.Status.Conditions, v1alpha1.ConditionQuarantined)).To(BeFalse(), bed.Name)
	}
}

// crowdLab applies the beds and the profile of TestCrowd.
func (l *lab) crowdLab(t *testing.T) {
	t.Helper()
	var text strings.Builder
	text.WriteString(`
apiVersion: v1
kind: ConfigMap
metadata: {name: crowd-model, namespace: nodrop-lab}
data:
  device.csv: |
    frame_size_bytes,line_rate_percent,latency_min_us,latency_avg_us,latency_max_us
    64,69.6875,1.510,2.377,4.240
---
apiVersion: nodrop.dev/v1alpha1
kind: TrafficProfile
metadata: {name: crowd, namespace: team-routing}
spec:
  frameSizes: [64]
  pattern: {pairs: {}}
  packet: {ipv4: {}}
`)
	for i := range crowdBeds {
		fmt.Fprintf(&text, `---
apiVersion: nodrop.dev/v1alpha1
kind: TestBed
metadata: {name: crowd-%02d, labels: {crowd: "yes"}}
spec:
  device: {simulated: {model: {configMapRef: {name: crowd-model, key: device.csv}}}}
  engine: {kind: sim, sim: {ports: {count: 2, speed: 10G}}}
  access:
  - names: [team-routing]
`, i)
	}
	if out, err := l.kubectl(t, text.String(), "apply", "-f", "-"); err != nil {
		t.Fatalf("applying the beds: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := l.kubectl(t, text.String(), "delete", "--wait=false", "-f", "-"); err != nil {
			t.Errorf("deleting the beds: %v\n%s", err, out)
		}
	})
}

// requests returns the number of requests of the operator to the API server since its start,
// by HTTP method.
func (l *lab) requests(t *testing.T) map[string]int {
	t.Helper()
	g := NewWithT(t)
	var pods corev1.PodList
	g.Expect(l.List(t.Context(), &pods, client.InNamespace(operatorNamespace), client.MatchingLabels{"app.kubernetes.io/component": "operator"})).To(Succeed())
	g.Expect(pods.Items).To(HaveLen(1))
	page := l.metrics(t, pods.Items[0].Status.PodIP)
	counts := map[string]int{}
	lines := bufio.NewScanner(strings.NewReader(page))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		labels, found := strings.CutPrefix(lines.Text(), "rest_client_requests_total{")
		if !found {
			continue
		}
		_, method, _ := strings.Cut(labels, `method="`)
		method, _, _ = strings.Cut(method, `"`)
		value, err := strconv.ParseFloat(labels[strings.LastIndex(labels, " ")+1:], 64)
		g.Expect(err).NotTo(HaveOccurred())
		counts[method] += int(value)
	}
	g.Expect(lines.Err()).NotTo(HaveOccurred())
	g.Expect(counts).NotTo(BeEmpty(), "the operator serves no metrics of its requests")
	return counts
}

// metrics reads the operator's metrics as Prometheus does: with the token of an account that
// may, and the authority from the Secret of the webhooks.
func (l *lab) metrics(t *testing.T, address string) string {
	t.Helper()
	g := NewWithT(t)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "e2e-metrics-"}}
	g.Expect(l.Create(t.Context(), account)).To(Succeed())
	defer func() { g.Expect(l.Delete(context.WithoutCancel(t.Context()), account)).To(Succeed()) }()
	may := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "nodrop-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}
	g.Expect(l.Create(t.Context(), may)).To(Succeed())
	defer func() { g.Expect(l.Delete(context.WithoutCancel(t.Context()), may)).To(Succeed()) }()
	token := &authenticationv1.TokenRequest{}
	g.Expect(l.SubResource("token").Create(t.Context(), account, token)).To(Succeed())
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		RootCAs: l.webhookRoots(t), ServerName: operator.WebhookService + "." + operatorNamespace + ".svc",
	}}}
	var page []byte
	// The API server's authorizer learns of the binding a moment later, and the operator
	// keeps a refusal for 30 s.
	g.Eventually(func(g Gomega) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+":8443/metrics", nil)
		g.Expect(err).NotTo(HaveOccurred())
		request.Header.Set("Authorization", "Bearer "+token.Status.Token)
		answer, err := c.Do(request)
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { _ = answer.Body.Close() }()
		page, err = io.ReadAll(answer.Body)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(answer.StatusCode).To(Equal(http.StatusOK))
	}).WithTimeout(2 * time.Minute).WithPolling(time.Second).Should(Succeed())
	return string(page)
}

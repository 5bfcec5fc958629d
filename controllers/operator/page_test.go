package operator_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/testkit/freeport"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
)

// scraper reads the metrics of an operator, as Prometheus does.
type scraper struct {
	rotation *rotation
	port     int
}

// page reads the metrics with a token. The certificate is checked with the authority of
// the webhooks.
func (s scraper) page(token string) (status int, text string, err error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.rotation.bundle())
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		RootCAs: roots, ServerName: operator.WebhookService + "." + operator.DefaultNamespace + ".svc",
	}}}
	request, err := http.NewRequestWithContext(s.rotation.t.Context(), http.MethodGet, fmt.Sprintf("https://localhost:%d/metrics", s.port), nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := c.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(body), err
}

// token is one of a new ServiceAccount.
func (r *rotation) token(name string) string {
	r.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	r.Expect(r.admin.Create(r.t.Context(), account)).To(Succeed())
	request := &authenticationv1.TokenRequest{}
	r.Expect(r.admin.SubResource("token").Create(r.t.Context(), account, request)).To(Succeed())
	return request.Status.Token
}

// bind gives a ClusterRole to a ServiceAccount.
func (r *rotation) bind(role, namespace, account string) {
	r.t.Helper()
	kubetest.Grant(r.t, r.admin, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
	})
}

// TestMetrics runs the whole operator, follows a benchmark from its bed to the archive, and
// reads that on the metrics page. Only who may get /metrics can.
func TestMetrics(t *testing.T) {
	r := newRotation(t)
	for _, o := range kubetest.Objects(t, filepath.Join(kubetest.Root(t), "charts", "nodrop", "files", "rbac", "metrics.yaml")) {
		r.Expect(r.admin.Create(t.Context(), o)).To(Succeed())
	}
	port, page := freeport.Get(t), freeport.Get(t)
	r.installWebhooks(port)
	mgr, err := operator.New(r.replicas, operator.Config{
		Namespace:   operator.DefaultNamespace,
		Lab:         labobjects.Settings{Namespace: operator.DefaultLabNamespace, Image: "i", DeviceImage: "d", PullPolicy: corev1.PullNever},
		WebhookHost: "localhost", WebhookPort: port, MetricsAddress: fmt.Sprintf("localhost:%d", page), HealthAddress: "0",
		ArchiveURL: "file://" + t.TempDir(),
	})
	r.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the operator ended: %v", err)
		}
	})
	r.Eventually(r.judged).Should(Succeed())

	s := scraper{r, page}
	stranger, prometheus := r.token("stranger"), r.token("prometheus")
	// The operator may review access only if the chart enables metrics.
	status, _, err := s.page(prometheus)
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(status).To(Equal(http.StatusInternalServerError))
	r.bind("nodrop-metrics-auth", operator.DefaultNamespace, "nodrop-operator")
	r.bind("nodrop-metrics-reader", "default", "prometheus")
	// Of a token that it cannot read, the API server says that it is an error.
	for token, want := range map[string]int{"": http.StatusUnauthorized, "nonsense": http.StatusInternalServerError, stranger: http.StatusForbidden, prometheus: http.StatusOK} {
		r.Eventually(func() (int, error) {
			status, _, err := s.page(token)
			return status, err
		}).Should(Equal(want))
	}
	has := func(lines ...string) {
		t.Helper()
		for _, line := range lines {
			r.Eventually(func() (string, error) {
				_, text, err := s.page(prometheus)
				return text, err
			}).Should(ContainSubstring("\n"+line), line)
		}
	}
	has("nodrop_webhook_certificate_expiration_timestamp_seconds 1.", `nodrop_admission_duration_seconds_count{decision="refused",kind="TestBed"} `, "controller_runtime_reconcile_errors_total")

	r.namespace("team-routing")
	for _, file := range []string{"1-testbed.yaml", "2-profile.yaml", "3-benchmark.yaml"} {
		for _, o := range kubetest.Objects(t, filepath.Join(kubetest.Root(t), "config", "samples", "sim", file)) {
			r.Expect(r.admin.Create(t.Context(), o)).To(Succeed())
		}
	}
	has(`nodrop_bed_leased{bed="nexus9508"} 1`, `nodrop_bed_ready{bed="nexus9508"} 1`, `nodrop_benchmark_phase_duration_seconds_count{phase="Queued"} 1`)
	b := &v1alpha1.Benchmark{}
	r.Expect(r.admin.Get(t.Context(), client.ObjectKey{Namespace: "team-routing", Name: "nexus9508-ipv4"}, b)).To(Succeed())
	r.Expect(r.admin.Patch(t.Context(), b, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"abort":true}}`)))).To(Succeed())
	has(`nodrop_benchmarks_finished_total{outcome="Aborted"} 1`, `nodrop_clean_ups_total{result="done"} 1`, `nodrop_bed_leased{bed="nexus9508"} 0`,
		`nodrop_archive_writes_total{result="stored"} 1`, `nodrop_archive_waiting_benchmarks 0`)
	_, text, err := s.page(prometheus)
	r.Expect(err).NotTo(HaveOccurred())
	if strings.Contains(text, "nexus9508-ipv4") {
		t.Error("a metric names the benchmark")
	}
}

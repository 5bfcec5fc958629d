package operator_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/manifests/admission"
	"nodrop.dev/nodrop/internal/testkit/freeport"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
)

const patience = 2 * time.Minute

// rotation is the API server, which calls the webhooks of two replicas of the operator by
// their Service, as in a cluster. Replicas have the rights of config/rbac only.
type rotation struct {
	*WithT
	t        *testing.T
	admin    client.Client
	replicas *rest.Config
	// ahead is the time by which the operators' clock is ahead of the real clock, which the
	// API server uses.
	ahead atomic.Int64
}

func newRotation(t *testing.T) *rotation {
	t.Helper()
	startServer(t)
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(server.admin, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	r := &rotation{WithT: NewWithT(t), t: t, admin: admin, replicas: server.operator}
	r.SetDefaultEventuallyTimeout(patience)
	r.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	t.Cleanup(r.wipe)
	for _, file := range []string{"manager/namespace.yaml", "rbac/role.yaml", "rbac/role_binding.yaml", "webhook/secret.yaml"} {
		for _, o := range manifests(t, file) {
			if o.GetKind() == "Namespace" {
				r.Expect(client.IgnoreAlreadyExists(admin.Create(t.Context(), o))).To(Succeed())
				continue
			}
			r.Expect(admin.Create(t.Context(), o)).To(Succeed())
		}
	}
	return r
}

// manifests reads the objects of a file in config.
func manifests(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	return kubetest.Objects(t, filepath.Join(kubetest.Root(t), "config", file))
}

// installWebhooks creates the webhook configuration and a Service that leads the API
// server to a port of this machine.
func (r *rotation) installWebhooks(port int) {
	r.t.Helper()
	r.Expect(r.admin.Create(r.t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: operator.DefaultNamespace, Name: operator.WebhookService},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	})).To(Succeed())
	for _, o := range manifests(r.t, "webhook/manifests.yaml") {
		webhooks, _, err := unstructured.NestedSlice(o.Object, "webhooks")
		r.Expect(err).NotTo(HaveOccurred())
		for _, w := range webhooks {
			r.Expect(unstructured.SetNestedField(w.(map[string]any), int64(port), "clientConfig", "service", "port")).To(Succeed())
		}
		r.Expect(unstructured.SetNestedSlice(o.Object, webhooks, "webhooks")).To(Succeed())
		r.Expect(r.admin.Create(r.t.Context(), o)).To(Succeed())
	}
}

// replica runs an operator until the test ends.
func (r *rotation) replica(port int) {
	r.t.Helper()
	mgr, err := operator.NewManager(r.replicas, operator.Config{
		Namespace: operator.DefaultNamespace, Lab: labobjects.Settings{Namespace: operator.DefaultLabNamespace},
		WebhookHost: "localhost", WebhookPort: port, MetricsAddress: "0", HealthAddress: "0", LeaderElect: true,
		WebhookCertInterval: 50 * time.Millisecond,
		Now:                 func() time.Time { return time.Now().Add(time.Duration(r.ahead.Load())) },
	})
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(admission.SetupWithManager(mgr, operator.DefaultLabNamespace, nil, nil)).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	r.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("a replica ended: %v", err)
		}
	})
}

// bundle returns the CA bundle that the API server trusts. It checks that all webhooks have
// the same one.
func (r *rotation) bundle() []byte {
	r.t.Helper()
	var c admissionv1.ValidatingWebhookConfiguration
	r.Expect(r.admin.Get(r.t.Context(), client.ObjectKey{Name: operator.WebhookConfiguration}, &c)).To(Succeed())
	r.Expect(c.Webhooks).NotTo(BeEmpty())
	for _, w := range c.Webhooks {
		r.Expect(w.ClientConfig.CABundle).To(Equal(c.Webhooks[0].ClientConfig.CABundle))
	}
	return c.Webhooks[0].ClientConfig.CABundle
}

func (r *rotation) authorities() int { return bytes.Count(r.bundle(), []byte("BEGIN CERTIFICATE")) }

// served is the serial number of what a replica serves; the handshake fails when the
// webhook configuration does not trust it.
func (r *rotation) served(port int) (string, error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(r.bundle())
	dialer := &tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: roots, ServerName: operator.WebhookService + "." + operator.DefaultNamespace + ".svc"}}
	connection, err := dialer.DialContext(r.t.Context(), "tcp", fmt.Sprintf("localhost:%d", port))
	if err != nil {
		return "", err
	}
	defer func() { _ = connection.Close() }()
	return connection.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.String(), nil
}

// judged is nil when the API server asks the webhook about a bed and gets its answer.
func (r *rotation) judged() error {
	port := func(name string) any {
		return map[string]any{
			"name": name, "node": "node1", "speed": "10G", "addresses": []any{"198.18.1.2/24"},
			"attachment": map[string]any{"hostDevice": map[string]any{"interface": "nd-" + name}},
		}
	}
	bed := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "nodrop.dev/v1alpha1", "kind": "TestBed", "metadata": map[string]any{"name": "twice"},
		"spec": map[string]any{
			"device": map[string]any{"physical": map[string]any{"vendor": "example", "model": "switch"}},
			"engine": map[string]any{"kind": "xdp"},
			"ports":  []any{port("p1"), port("p2")},
		},
	}}
	err := r.admin.Create(r.t.Context(), bed, client.DryRunAll)
	if err == nil {
		return errors.New("a bed with one address on two ports was accepted")
	}
	if !strings.Contains(err.Error(), "198.18.1.2") || strings.Contains(err.Error(), "failed calling webhook") {
		return err
	}
	return nil
}

// TestCertificateRotates goes through a whole rotation with a real API server, real
// calls of the webhooks and two replicas, none of which is restarted.
func TestCertificateRotates(t *testing.T) {
	r := newRotation(t)
	first, second := freeport.Get(t), freeport.Get(t)
	r.installWebhooks(first)
	r.Eventually(r.judged).Should(MatchError(ContainSubstring("failed calling webhook")))
	// The API server's clock is the real one: the first certificate was made 61 days ago.
	r.ahead.Store(int64(-61 * 24 * time.Hour))
	r.replica(first)
	r.replica(second)
	r.Eventually(r.judged).Should(Succeed())
	r.Eventually(func(g Gomega) {
		a, err := r.served(first)
		g.Expect(err).NotTo(HaveOccurred())
		b, err := r.served(second)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(b).To(Equal(a), "the replicas have different certificates")
	}).Should(Succeed())
	r.Expect(r.authorities()).To(Equal(1))
	before, err := r.served(first)
	r.Expect(err).NotTo(HaveOccurred())

	// It is due. The API server trusts both, and the one before is still served.
	r.ahead.Store(0)
	r.Eventually(r.authorities).Should(Equal(2))
	r.Expect(r.judged()).To(Succeed())
	for _, port := range []int{first, second} {
		r.Expect(r.served(port)).To(Equal(before))
	}

	// The overlap has passed: the next one is served.
	r.ahead.Store(int64(20 * time.Minute))
	for _, port := range []int{first, second} {
		r.Eventually(func() (string, error) { return r.served(port) }).ShouldNot(Equal(before))
	}
	r.Expect(r.judged()).To(Succeed())
	r.Expect(r.authorities()).To(Equal(2))
	after, err := r.served(first)
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(r.served(second)).To(Equal(after))

	// The one before has expired and is not trusted any longer. With another bundle the
	// API server connects anew.
	r.ahead.Store(int64(31 * 24 * time.Hour))
	r.Eventually(r.authorities).Should(Equal(1))
	r.Expect(r.judged()).To(Succeed())
	r.Expect(r.served(second)).To(Equal(after))

	// Both are emptied: a new certificate is served and trusted.
	r.ahead.Store(0)
	secret := &corev1.Secret{}
	r.Expect(r.admin.Get(t.Context(), client.ObjectKey{Namespace: operator.DefaultNamespace, Name: operator.WebhookSecret}, secret)).To(Succeed())
	secret.Data = nil
	r.Expect(r.admin.Update(t.Context(), secret)).To(Succeed())
	for _, port := range []int{first, second} {
		r.Eventually(func() (string, error) { return r.served(port) }).ShouldNot(BeElementOf("", before, after))
	}
	r.Eventually(r.judged).Should(Succeed())
}

package testserver

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"nodrop.dev/nodrop/internal/testkit/kubetest"
)

// Kueue is Kueue for one API server. Stop kills its manager, and Resume starts it again.
type Kueue struct {
	// Policy is the part of its configuration that says how it admits. By default nothing is
	// admitted while a workload that was does not say that it has started.
	Policy string

	binary, manifests string
	env               *envtest.Environment
	Process
}

// NewKueue skips the test where Kueue was not built.
func NewKueue(t testing.TB) *Kueue {
	t.Helper()
	binary := Binary(t, "kueue", "Kueue", "hack/kueue/build")
	return &Kueue{Policy: "waitForPodsReady: {timeout: 10m, blockAdmission: true}", binary: binary, manifests: filepath.Join(filepath.Dir(binary), "kueue-config")}
}

// Install adds Kueue's definitions, and the webhooks for its own kinds, to an API server that
// is not started yet.
func (k *Kueue) Install(t testing.TB, env *envtest.Environment) {
	t.Helper()
	k.env = env
	env.CRDDirectoryPaths = append(env.CRDDirectoryPaths, filepath.Join(k.manifests, "crd", "bases"))
	for _, o := range kubetest.Objects(t, filepath.Join(k.manifests, "webhook", "manifests.yaml")) {
		switch o.GetKind() {
		case "MutatingWebhookConfiguration":
			c := &admissionv1.MutatingWebhookConfiguration{}
			convert(t, o, c)
			c.Webhooks = slices.DeleteFunc(c.Webhooks, func(w admissionv1.MutatingWebhook) bool { return !own(w.ClientConfig) })
			env.WebhookInstallOptions.MutatingWebhooks = append(env.WebhookInstallOptions.MutatingWebhooks, c)
		case "ValidatingWebhookConfiguration":
			c := &admissionv1.ValidatingWebhookConfiguration{}
			convert(t, o, c)
			c.Webhooks = slices.DeleteFunc(c.Webhooks, func(w admissionv1.ValidatingWebhook) bool { return !own(w.ClientConfig) })
			env.WebhookInstallOptions.ValidatingWebhooks = append(env.WebhookInstallOptions.ValidatingWebhooks, c)
		}
	}
}

// own reports whether a webhook is for a kind of Kueue, and not for jobs of others.
func own(c admissionv1.WebhookClientConfig) bool {
	return c.Service != nil && c.Service.Path != nil && strings.Contains(*c.Service.Path, "-kueue-x-k8s-io-")
}

func convert(t testing.TB, o *unstructured.Unstructured, into any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into); err != nil {
		t.Fatalf("reading %s %s: %v", o.GetKind(), o.GetName(), err)
	}
}

// Run runs Kueue's manager until the test ends, with the rights of an administrator. The API
// server must be started.
func (k *Kueue) Run(t testing.TB) {
	t.Helper()
	dir, health := t.TempDir(), FreeAddress(t)
	kubeconfig, config := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "config.yaml")
	webhooks := k.env.WebhookInstallOptions
	text := fmt.Sprintf(`apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
health: {healthProbeBindAddress: %q}
metrics: {bindAddress: "0"}
webhook: {host: %q, port: %d, certDir: %q}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
integrations: {frameworks: [batch/job]}
%s
`, health, webhooks.LocalServingHost, webhooks.LocalServingPort, webhooks.LocalServingCertDir, k.Policy)
	// Kueue reads the certificate of its metrics from /etc/kueue, whatever its configuration says,
	// so that it gets an /etc of its own.
	etc := filepath.Join(dir, "etc")
	certificates := filepath.Join(etc, "kueue", "metrics", "certs")
	if err := os.CopyFS(certificates, os.DirFS(webhooks.LocalServingCertDir)); err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string][]byte{kubeconfig: k.env.KubeConfig, config: []byte(text)} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := []string{"unshare", "--mount"}
	if os.Geteuid() != 0 {
		command = append(command, "--map-root-user")
	}
	command = append(command, "sh", "-c", `mount --bind "$0" /etc && exec "$@"`, etc, k.binary,
		"--config="+config, "--kubeconfig="+kubeconfig, "--feature-gates=VisibilityOnDemand=false", "--zap-log-level=error")
	k.Process = Process{
		What: "Kueue", Command: command, Env: []string{"HOME=" + dir}, Health: "http://" + health + "/readyz", Status: http.StatusOK,
	}
	k.Start(t)
}

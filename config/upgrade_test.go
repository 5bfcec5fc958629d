package config

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"nodrop.dev/nodrop/internal/kubetest"
)

// TestUpgradeKeepsTheCertificate installs the chart on a real API server, and
// upgrades it: running operators and the API server go on trusting each other.
func TestUpgradeKeepsTheCertificate(t *testing.T) {
	helm := tool(t, "helm")
	// The definitions come with the chart.
	cfg, env := kubetest.Start(t, func(env *envtest.Environment) { env.CRDDirectoryPaths = nil })
	user, err := env.AddUser(envtest.User{Name: "lab-owner", Groups: []string{"system:masters"}}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := user.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cfg, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	install := func(args ...string) (ca, certificate string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), helm, append([]string{
			"upgrade", "--install", "nodrop", filepath.Join("..", "charts", "nodrop"),
			"--kubeconfig", file, "--namespace", "nodrop-system", "--create-namespace",
		}, args...)...)
		cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+t.TempDir(), "HELM_CONFIG_HOME="+t.TempDir(), "HELM_DATA_HOME="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		var secret corev1.Secret
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "nodrop-system", Name: "nodrop-webhook-tls"}, &secret); err != nil {
			t.Fatal(err)
		}
		var webhooks admissionv1.ValidatingWebhookConfiguration
		if err := c.Get(t.Context(), client.ObjectKey{Name: "nodrop"}, &webhooks); err != nil {
			t.Fatal(err)
		}
		for _, w := range webhooks.Webhooks {
			if string(w.ClientConfig.CABundle) != string(secret.Data["ca.crt"]) {
				t.Errorf("webhook %s does not trust the authority of the certificate", w.Name)
			}
		}
		return string(secret.Data["ca.crt"]), string(secret.Data["tls.crt"])
	}
	ca, certificate := install()
	ca2, certificate2 := install("--set", "image.tag=v2")
	if ca == "" || certificate == "" {
		t.Error("there is no certificate")
	}
	if ca != ca2 || certificate != certificate2 {
		t.Error("the upgrade made another certificate")
	}
}

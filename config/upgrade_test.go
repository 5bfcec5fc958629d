package config

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"nodrop.dev/nodrop/internal/kubetest"
	"nodrop.dev/nodrop/internal/operator"
	"nodrop.dev/nodrop/internal/webhookcert"
)

// helmOn returns a function that runs helm against a real API server, and a client of
// it. The definitions come with the chart.
func helmOn(t *testing.T) (helm func(args ...string), c client.Client) {
	t.Helper()
	program := tool(t, "helm")
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
	c, err = client.New(cfg, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	homes := []string{"HELM_CACHE_HOME=" + t.TempDir(), "HELM_CONFIG_HOME=" + t.TempDir(), "HELM_DATA_HOME=" + t.TempDir()}
	return func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, append(args, "--kubeconfig", file)...)
		cmd.Env = append(os.Environ(), homes...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("helm %v: %v\n%s", args, err, out)
		}
	}, c
}

// TestUpgradeKeepsTheCertificate installs the chart on a real API server, lets the
// keeper of the certificate do its work, and upgrades: what the operator wrote stays, so
// that API server and operator go on trusting each other.
func TestUpgradeKeepsTheCertificate(t *testing.T) {
	helm, c := helmOn(t)
	keeper := webhookcert.New(webhookcert.Options{
		Secret:        client.ObjectKey{Namespace: operator.DefaultNamespace, Name: operator.WebhookSecret},
		Configuration: operator.WebhookConfiguration, Names: []string{"nodrop-webhook.nodrop-system.svc"},
		Reader: c, Writer: c, Now: time.Now,
	})
	written := func() (certificate string, bundles []string) {
		t.Helper()
		var secret corev1.Secret
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: operator.DefaultNamespace, Name: operator.WebhookSecret}, &secret); err != nil {
			t.Fatal(err)
		}
		var webhooks admissionv1.ValidatingWebhookConfiguration
		if err := c.Get(t.Context(), client.ObjectKey{Name: operator.WebhookConfiguration}, &webhooks); err != nil {
			t.Fatal(err)
		}
		for _, w := range webhooks.Webhooks {
			bundles = append(bundles, string(w.ClientConfig.CABundle))
		}
		return string(secret.Data["tls.crt"]), bundles
	}
	install := []string{"upgrade", "--install", "nodrop", filepath.Join("..", "charts", "nodrop"), "--namespace", "nodrop-system"}
	helm(append(install, "--create-namespace")...)
	if err := keeper.Keep(t.Context()); err != nil {
		t.Fatal(err)
	}
	certificate, bundles := written()
	if certificate == "" || len(bundles) == 0 || bundles[0] == "" {
		t.Fatal("the keeper wrote nothing")
	}
	for name, args := range map[string][]string{
		"client-side": {"--set", "image.tag=v2", "--server-side=false"},
		"server-side": {"--set", "image.tag=v3,webhook.timeoutSeconds=5", "--server-side=true", "--force-conflicts"},
	} {
		helm(append(install, args...)...)
		again, bundlesAgain := written()
		if again != certificate || !slices.Equal(bundlesAgain, bundles) {
			t.Errorf("%s: the upgrade changed what the operator wrote", name)
		}
	}
}

// TestOperatorIsAdmitted: the API server admits the operator's pod, as chart and
// kustomizations have it, into a namespace at level restricted.
func TestOperatorIsAdmitted(t *testing.T) {
	cfg, _ := kubetest.Start(t, nil)
	c, err := client.New(cfg, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	charted, err := chart(t, "--set", "webhook.certManager=true,metrics.enabled=true")
	if err != nil {
		t.Fatal(err)
	}
	namespace := find(t, kustomization(t, "default"), "Namespace", operator.DefaultNamespace)
	if err := c.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	for name, objects := range map[string][]object{"chart": charted, "kustomization": kustomization(t, "default"), "cert-manager": kustomization(t, "cert-manager")} {
		var deployment appsv1.Deployment
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(find(t, objects, "Deployment", "nodrop-operator").Object, &deployment); err != nil {
			t.Fatal(err)
		}
		pod := &corev1.Pod{Spec: deployment.Spec.Template.Spec}
		pod.Namespace, pod.Name = deployment.Namespace, "operator"
		if err := c.Create(t.Context(), pod, client.DryRunAll); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		pod.Spec.HostNetwork = true
		if err := c.Create(t.Context(), pod, client.DryRunAll); !apierrors.IsForbidden(err) {
			t.Errorf("%s: the namespace admits a pod with the node's network: %v", name, err)
		}
	}
}

// TestInstallAgain: the namespace of the lab and the definitions stay when the chart is
// uninstalled, and a release in another namespace can take them over, as docs/upgrade.md
// says.
func TestInstallAgain(t *testing.T) {
	helm, c := helmOn(t)
	chart := filepath.Join("..", "charts", "nodrop")
	helm("install", "nodrop", chart, "--namespace", "before", "--create-namespace")
	helm("uninstall", "nodrop", "--namespace", "before")
	var lab corev1.Namespace
	if err := c.Get(t.Context(), client.ObjectKey{Name: operator.DefaultLabNamespace}, &lab); err != nil || lab.DeletionTimestamp != nil {
		t.Fatalf("the lab's namespace did not stay: %v", err)
	}
	helm("install", "nodrop", chart, "--namespace", operator.DefaultNamespace, "--create-namespace", "--take-ownership")
	var secret corev1.Secret
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: operator.DefaultNamespace, Name: operator.WebhookSecret}, &secret); err != nil {
		t.Error(err)
	}
}

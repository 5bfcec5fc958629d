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
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/lab/webhookcert"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// cluster is a real API server into which helm installs the chart.
type cluster struct {
	client.Client
	config *rest.Config
	helm   func(t *testing.T, args ...string)
}

// TestOnAServer goes through installation, upgrade and rights on one API server.
func TestOnAServer(t *testing.T) {
	c := newCluster(t)
	t.Run("install again", c.installAgain)
	t.Run("upgrade keeps the certificate", c.upgradeKeepsTheCertificate)
	t.Run("operator is admitted", c.operatorIsAdmitted)
	t.Run("who may do what", c.whoMayDoWhat)
	t.Run("quarantine is released", c.quarantineIsReleased)
	t.Run("InfluxDB and Grafana", c.bundle)
}

// newCluster starts an API server; the definitions come with the chart.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	program := tool(t, "helm")
	cfg, env := testserver.StartAPIServer(t, func(env *envtest.Environment) { env.CRDDirectoryPaths = nil })
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
	homes := []string{"HELM_CACHE_HOME=" + t.TempDir(), "HELM_CONFIG_HOME=" + t.TempDir(), "HELM_DATA_HOME=" + t.TempDir()}
	return &cluster{Client: c, config: cfg, helm: func(t *testing.T, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, append(args, "--kubeconfig", file)...)
		cmd.Env = append(os.Environ(), homes...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("helm %v: %v\n%s", args, err, out)
		}
	}}
}

// upgradeKeepsTheCertificate lets the keeper of the certificate do its work, and
// upgrades: what the operator wrote stays, so that API server and operator go on trusting
// each other.
func (c *cluster) upgradeKeepsTheCertificate(t *testing.T) {
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
	upgrade := []string{"upgrade", "nodrop", filepath.Join("..", "charts", "nodrop"), "--namespace", operator.DefaultNamespace, "--reuse-values"}
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
		c.helm(t, append(upgrade, args...)...)
		again, bundlesAgain := written()
		if again != certificate || !slices.Equal(bundlesAgain, bundles) {
			t.Errorf("%s: the upgrade changed what the operator wrote", name)
		}
	}
}

// operatorIsAdmitted: the API server admits the operator's pod, as chart and
// kustomizations have it, into a namespace at level restricted.
func (c *cluster) operatorIsAdmitted(t *testing.T) {
	charted, err := chart(t, "--set", "webhook.certManager=true,metrics.enabled=true")
	if err != nil {
		t.Fatal(err)
	}
	namespace := find(t, kustomization(t, "default"), "Namespace", operator.DefaultNamespace)
	if err := c.Patch(t.Context(), namespace, client.Merge); err != nil {
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

// installAgain: the namespace of the lab and the definitions stay when the chart is
// uninstalled, and a release in another namespace can take them over, as docs/upgrade.md
// says.
func (c *cluster) installAgain(t *testing.T) {
	chart := filepath.Join("..", "charts", "nodrop")
	c.helm(t, "install", "nodrop", chart, "--namespace", "before", "--create-namespace")
	c.helm(t, "uninstall", "nodrop", "--namespace", "before")
	var lab corev1.Namespace
	if err := c.Get(t.Context(), client.ObjectKey{Name: operator.DefaultLabNamespace}, &lab); err != nil || lab.DeletionTimestamp != nil {
		t.Fatalf("the lab's namespace did not stay: %v", err)
	}
	c.helm(t, "install", "nodrop", chart, "--namespace", operator.DefaultNamespace, "--create-namespace", "--take-ownership",
		"--set-json", `rbac.labOwners=[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"owner"}]`)
	var secret corev1.Secret
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: operator.DefaultNamespace, Name: operator.WebhookSecret}, &secret); err != nil {
		t.Error(err)
	}
}

package config

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"nodrop.dev/nodrop/cmd/nodrop/inpod"
	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
)

// tool finds a program next to the API server's, or in PATH.
func tool(t *testing.T, name string) string {
	t.Helper()
	for _, dir := range []string{os.Getenv("KUBEBUILDER_ASSETS"), filepath.Join(kubetest.Root(t), ".cache", "k8s", "bin")} {
		if path := filepath.Join(dir, name); dir != "" {
			if _, err := os.Stat(path); err == nil {
				return path
			}
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		const hint = "build the local cluster's programs (make cluster-assets), or install it"
		if os.Getenv("CI") == "true" {
			t.Fatalf("no %s for this test: %v: %s", name, err, hint)
		}
		t.Skipf("no %s for this test: %v: %s", name, err, hint)
	}
	return path
}

type object = unstructured.Unstructured

// chart renders the chart as helm would for a fresh cluster, but without the definitions: they are nearly all of its text, and
// helm takes twice as long with them.
func chart(t *testing.T, args ...string) ([]object, error) {
	t.Helper()
	return chartWithDefinitions(t, append([]string{"--set", "crds.install=false"}, args...)...)
}

// chartWithDefinitions renders all of the chart.
func chartWithDefinitions(t *testing.T, args ...string) ([]object, error) {
	t.Helper()
	return render(t, exec.CommandContext(t.Context(), tool(t, "helm"),
		append([]string{"template", "nodrop", filepath.Join("..", "charts", "nodrop"), "--namespace", "nodrop-system"}, args...)...))
}

func render(t *testing.T, cmd *exec.Cmd) ([]object, error) {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, errors.New(stderr.String())
	}
	return parse(t, out), nil
}

// parse returns the objects of a text in YAML.
func parse(t *testing.T, text []byte) []object {
	t.Helper()
	var objects []object
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var o object
		if err := decoder.Decode(&o); errors.Is(err, io.EOF) {
			return objects
		} else if err != nil {
			t.Fatal(err)
		}
		if len(o.Object) > 0 {
			objects = append(objects, o)
		}
	}
}

func find(t *testing.T, objects []object, kind, name string) *object {
	t.Helper()
	i := slices.IndexFunc(objects, func(o object) bool { return o.GetKind() == kind && o.GetName() == name })
	if i < 0 {
		t.Fatalf("no %s %s", kind, name)
	}
	return &objects[i]
}

// TestChartAndKustomizationAgree compares the two ways to install: the same objects,
// which differ only in labels and annotations, and in how the operator's images are
// named.
func TestChartAndKustomizationAgree(t *testing.T) {
	for directory, values := range map[string]string{"default": "webhook.certManager=false", "cert-manager": "webhook.certManager=true"} {
		t.Run(directory, func(t *testing.T) {
			kustomized := content(t, kustomization(t, directory))
			objects, err := chartWithDefinitions(t, "--set", values)
			if err != nil {
				t.Fatal(err)
			}
			charted := content(t, objects)
			// Helm creates the release's namespace.
			delete(kustomized, "Namespace /nodrop-system")
			const operator = "Deployment nodrop-system/nodrop-operator"
			for _, objects := range []map[string]map[string]any{kustomized, charted} {
				containers, _, err := unstructured.NestedSlice(objects[operator], "spec", "template", "spec", "containers")
				if err != nil || len(containers) != 1 {
					t.Fatalf("%s has the containers %v (%v)", operator, containers, err)
				}
				for _, field := range []string{"image", "imagePullPolicy", "args", "env"} {
					delete(containers[0].(map[string]any), field)
				}
				template := objects[operator]["spec"].(map[string]any)["template"].(map[string]any)
				delete(template, "metadata")
				template["spec"].(map[string]any)["containers"] = containers
			}
			if diff := cmp.Diff(kustomized, charted); diff != "" {
				t.Errorf("-kustomization +chart:\n%s", diff)
			}
		})
	}
}

// content returns objects without their metadata, by kind, namespace and name.
func content(t *testing.T, objects []object) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for _, o := range objects {
		key := o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
		if all[key] != nil {
			t.Errorf("%s is there twice", key)
		}
		all[key] = o.DeepCopy().Object
		delete(all[key], "metadata")
	}
	return all
}

// kustomized contains the text of each kustomization, which no test changes, by its directory.
var kustomized = map[string][]byte{}

// kustomization renders a directory of config.
func kustomization(t *testing.T, directory string) []object {
	t.Helper()
	text, found := kustomized[directory]
	if !found {
		cmd := exec.CommandContext(t.Context(), tool(t, "kubectl"), "kustomize", directory)
		cmd.Stderr = os.Stderr
		var err error
		if text, err = cmd.Output(); err != nil {
			t.Fatal(err)
		}
		kustomized[directory] = text
	}
	return parse(t, text)
}

// TestNamespaces checks which PodSecurity level each namespace enforces, and that the
// chart refuses to put the operator among privileged pods.
func TestNamespaces(t *testing.T) {
	const level = "pod-security.kubernetes.io/enforce"
	kustomized := kustomization(t, "default")
	charted, err := chart(t)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{
		"operator's, kustomization": find(t, kustomized, "Namespace", "nodrop-system").GetLabels()[level],
		"lab's, kustomization":      find(t, kustomized, "Namespace", "nodrop-lab").GetLabels()[level],
		"lab's, chart":              find(t, charted, "Namespace", "nodrop-lab").GetLabels()[level],
	} {
		want := "privileged"
		if strings.HasPrefix(name, "operator's") {
			want = "restricted"
		}
		if got != want {
			t.Errorf("namespace %s: level %q, want %q", name, got, want)
		}
	}
	if policy := find(t, charted, "Namespace", "nodrop-lab").GetAnnotations()["helm.sh/resource-policy"]; policy != "keep" {
		t.Errorf("the lab's namespace has the resource policy %q, want keep", policy)
	}
	renamed, err := chart(t, "--set", "lab.namespace=bench,lab.createNamespace=false")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range renamed {
		if o.GetKind() == "Namespace" || o.GetNamespace() == "nodrop-lab" {
			t.Errorf("%s %s/%s, want the lab in namespace bench, which is there already", o.GetKind(), o.GetNamespace(), o.GetName())
		}
	}
	if !slices.ContainsFunc(renamed, func(o object) bool { return o.GetKind() == "Role" && o.GetNamespace() == "bench" }) {
		t.Error("no Role in namespace bench")
	}
	if _, err := chart(t, "--set", "lab.namespace=nodrop-system"); err == nil || !strings.Contains(err.Error(), "a namespace of its own") {
		t.Errorf("operator and lab in one namespace: error %v", err)
	}
}

// TestDefinitionsSurviveUninstall: deleting a definition deletes all results.
func TestDefinitionsSurviveUninstall(t *testing.T) {
	objects, err := chartWithDefinitions(t)
	if err != nil {
		t.Fatal(err)
	}
	crd := find(t, objects, "CustomResourceDefinition", "benchmarks.nodrop.dev")
	if policy := crd.GetAnnotations()["helm.sh/resource-policy"]; policy != "keep" {
		t.Errorf("policy %q, want keep", policy)
	}
	without, err := chart(t)
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(without, func(o object) bool { return o.GetKind() == "CustomResourceDefinition" }) {
		t.Error("crds.install=false installs definitions")
	}
}

// TestOperatorIsRestricted: both ways to install run the operator as PodSecurity's
// level restricted wants it, with flags that it knows.
func TestOperatorIsRestricted(t *testing.T) {
	kustomized := kustomization(t, "default")
	charted, err := chart(t, "--set", "metrics.enabled=true,operator.verbose=true,image.tag=v9,deviceImage.repository=reg/dev,trexImage=reg/trex:v3.08")
	if err != nil {
		t.Fatal(err)
	}
	for name, objects := range map[string][]object{"kustomization": kustomized, "chart": charted} {
		deployment := find(t, objects, "Deployment", "nodrop-operator")
		containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
		if err != nil || len(containers) != 1 {
			t.Fatalf("%s: containers %v: %v", name, containers, err)
		}
		container := containers[0].(map[string]any)
		want := map[string]any{
			"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
			"capabilities": map[string]any{"drop": []any{"ALL"}},
		}
		if diff := cmp.Diff(want, container["securityContext"]); diff != "" {
			t.Errorf("%s: security context (-want +got):\n%s", name, diff)
		}
		pod, _, _ := unstructured.NestedMap(deployment.Object, "spec", "template", "spec", "securityContext")
		if pod["runAsNonRoot"] != true || cmp.Diff(map[string]any{"type": "RuntimeDefault"}, pod["seccompProfile"]) != "" {
			t.Errorf("%s: pod security context %v", name, pod)
		}
		knownFlags(t, name, container["args"].([]any))
	}
}

// knownFlags asks the command of the operator whether it knows its arguments.
func knownFlags(t *testing.T, name string, args []any) {
	t.Helper()
	var words []string
	for _, a := range args {
		words = append(words, a.(string))
	}
	var out bytes.Buffer
	program := &cobra.Command{Use: "nodrop"}
	program.AddCommand(inpod.NewOperatorCommand())
	program.SetOut(&out)
	program.SetErr(&out)
	program.SetArgs(append(words, "--help"))
	if err := program.Execute(); err != nil || !strings.Contains(out.String(), "Run the operator: ") {
		t.Errorf("%s: nodrop %v: %v\n%s", name, args, err, &out)
	}
}

// TestChartRefusesUnknownValues: a typo in a value is not passed over.
func TestChartRefusesUnknownValues(t *testing.T) {
	for _, value := range []string{"image.tga=x", "operator.replicas=0", "image.pullPolicy=Sometimes", "webhooks.certManager=true", "networkPolicy.apiServer.ports=443", "networkPolicy.metricsFrom=null", "lab.namespace=Lab"} {
		if _, err := chart(t, "--set", value); err == nil {
			t.Errorf("--set %s was accepted", value)
		}
	}
}

// TestCertificatesAreNotRendered: what the operator writes is not in the manifests,
// so that an upgrade does not take it away.
func TestCertificatesAreNotRendered(t *testing.T) {
	charted, err := chart(t)
	if err != nil {
		t.Fatal(err)
	}
	for name, objects := range map[string][]object{"chart": charted, "kustomization": kustomization(t, "default")} {
		secret := find(t, objects, "Secret", operator.WebhookSecret)
		if secret.GetNamespace() != operator.DefaultNamespace || secret.Object["data"] != nil || secret.Object["stringData"] != nil {
			t.Errorf("%s: Secret %s/%s has data", name, secret.GetNamespace(), secret.GetName())
		}
		webhooks, _, err := unstructured.NestedSlice(find(t, objects, "ValidatingWebhookConfiguration", operator.WebhookConfiguration).Object, "webhooks")
		if err != nil || len(webhooks) == 0 {
			t.Fatalf("%s: webhooks %v (%v)", name, webhooks, err)
		}
		for _, w := range webhooks {
			clientConfig := w.(map[string]any)["clientConfig"].(map[string]any)
			service := clientConfig["service"].(map[string]any)
			if clientConfig["caBundle"] != nil || service["name"] != operator.WebhookService || service["namespace"] != operator.DefaultNamespace {
				t.Errorf("%s: clientConfig %v", name, clientConfig)
			}
		}
		find(t, objects, "Service", operator.WebhookService)
	}
}

//go:build e2e

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// earlier is the tag of the images that TestUpgrade begins with.
const earlier = "earlier"

// newField is a field of a Benchmark's status that the definitions of the earlier chart do not
// have: one that no rule of the API server reads.
const newField = "wait"

// TestUpgrade upgrades the chart while a benchmark sends frames: definitions, image, flags and
// certificate of the operator change, and its pod is replaced. The benchmark goes on with the
// runner and the traffic pods that it has, and ends with every row once.
//
// Earlier is the commit that UPGRADE_FROM names (see hack/e2e). Without it, earlier is the same
// program under another tag, with other flags and with definitions that lack a field.
func TestUpgrade(t *testing.T) {
	l, g := newLab(t), NewWithT(t)
	chart, given := earlierChart(t, l)
	l.upgrade(t, chart, "--set", "image.tag="+earlier+",deviceImage.tag="+earlier+",webhook.timeoutSeconds=5,operator.verbose=true")
	if !given {
		g.Expect(l.definitionHas(t, newField)).To(BeFalse())
	}
	t.Cleanup(func() {
		if t.Failed() {
			l.upgrade(t, l.path("charts", "nodrop"), "--set", releaseValues)
		}
	})

	key := l.create(t, "upgrade", shortTrials...) // About a minute, three times as long as the upgrade.
	b := l.inPhase(t, key, v1alpha1.PhaseRunning, 1)
	before, runner, authority := l.operatorPod(t), l.pod(t, b, "runner"), l.authority(t)
	g.Expect(before.Spec.Containers[0].Image).To(HaveSuffix(":" + earlier))
	l.forgetCertificate(t)
	l.upgrade(t, l.path("charts", "nodrop"), "--set", releaseValues)

	after := l.operatorPod(t)
	g.Expect(after.UID).NotTo(Equal(before.UID))
	g.Expect(after.Spec.Containers[0].Image).NotTo(HaveSuffix(":" + earlier))
	g.Expect(after.Spec.Containers[0].Args).NotTo(ContainElement("--verbose"))
	g.Expect(l.authority(t)).NotTo(Equal(authority), "the certificate of the webhooks was made anew")
	g.Expect(l.definitionHas(t, newField)).To(BeTrue())
	g.Expect(l.benchmark(g, key).Status.Phase.Finished()).To(BeFalse(), "it ended before the operator was replaced")
	g.Expect(l.pod(t, b, "runner").UID).To(Equal(runner.UID))

	b = l.finish(t, key)
	expectAllMeasured(g, b)
	g.Expect(l.rows(t, b)).To(HaveLen(rowsOfSample))
	g.Expect(duplicateRows(l.rows(t, b))).To(BeEmpty())
	l.expectClean(t, b)
}

// releaseValues contains the values that differ from an earlier release.
const releaseValues = "image.tag=dev,deviceImage.tag=dev,webhook.timeoutSeconds=10,operator.verbose=false"

// earlierChart is the chart of the earlier release, whose images are on the node. It says
// whether they are of a commit that was given.
func earlierChart(t *testing.T, l *lab) (dir string, given bool) {
	t.Helper()
	if dir := os.Getenv("NODROP_EARLIER_CHART"); dir != "" {
		return dir, true
	}
	for _, name := range []string{"nodrop", "nodrop-device"} {
		tag(t, "localhost/"+name+":dev", "localhost/"+name+":"+earlier)
	}
	dir = filepath.Join(t.TempDir(), "nodrop")
	if err := os.CopyFS(dir, os.DirFS(l.path("charts", "nodrop"))); err != nil {
		t.Fatal(err)
	}
	edit(t, filepath.Join(dir, "Chart.yaml"), func(chart map[string]any) {
		chart["version"], chart["appVersion"] = "0.0.1", "0.0.1"
	})
	edit(t, filepath.Join(dir, "files", "crds", "nodrop.dev_benchmarks.yaml"), func(definition map[string]any) {
		fields := statusFields(t, definition)
		if fields[newField] == nil {
			t.Fatalf("a Benchmark has no status.%s any more: let this test take another field", newField)
		}
		delete(fields, newField)
	})
	return dir, false
}

// tag gives an image of the node a further name.
func tag(t *testing.T, image, name string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ctr", "--namespace", "k8s.io", "images", "tag", "--force", image, name).CombinedOutput()
	if err != nil {
		t.Fatalf("ctr images tag %s %s: %v\n%s", image, name, err, out)
	}
}

// edit changes a YAML file.
func edit(t *testing.T, file string, change func(map[string]any)) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	object := map[string]any{}
	if err := yaml.Unmarshal(text, &object); err != nil {
		t.Fatalf("reading %s: %v", file, err)
	}
	change(object)
	if text, err = yaml.Marshal(object); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// statusFields are the fields of the status that a definition has.
func statusFields(t *testing.T, definition map[string]any) map[string]any {
	t.Helper()
	versions, _, err := unstructured.NestedSlice(definition, "spec", "versions")
	if err != nil || len(versions) != 1 {
		t.Fatalf("a definition with %d versions: %v", len(versions), err)
	}
	at, _ := definition["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	for _, name := range []string{"schema", "openAPIV3Schema", "properties", "status", "properties"} {
		at, _ = at[name].(map[string]any)
	}
	return at
}

// definitionHas reports whether the cluster's definition of Benchmark has a field of the status.
func (l *lab) definitionHas(t *testing.T, field string) bool {
	t.Helper()
	definition := &unstructured.Unstructured{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	if err := l.Get(t.Context(), client.ObjectKey{Name: "benchmarks.nodrop.dev"}, definition); err != nil {
		t.Fatal(err)
	}
	return statusFields(t, definition.Object)[field] != nil
}

// upgrade upgrades the release to a chart with some values changed by flags of helm, and waits
// until its pods are ready and the operator admits. No test that runs at the same time is then
// under way.
func (l *lab) upgrade(t *testing.T, chart string, flags ...string) {
	t.Helper()
	defer upgrading(t)()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	args := append([]string{"upgrade", "nodrop", chart, "--namespace", operatorNamespace, "--reset-then-reuse-values", "--wait", "--timeout", "3m"}, flags...)
	out, err := exec.CommandContext(ctx, "helm", args...).CombinedOutput()
	if err != nil {
		t.Errorf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	l.admits(t)
}

// forgetCertificate empties the Secret of the webhooks, whose certificate the next operator
// makes anew, with another authority.
func (l *lab) forgetCertificate(t *testing.T) {
	t.Helper()
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: operatorNamespace, Name: "nodrop-webhook-certificate"}
	if err := l.Get(t.Context(), key, secret); err != nil {
		t.Fatal(err)
	}
	secret.Data = nil
	if err := l.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
}

// authority is the one that the API server checks the certificate of the webhooks with.
func (l *lab) authority(t *testing.T) string {
	t.Helper()
	out, err := l.kubectl(t, "", "get", "validatingwebhookconfiguration", "nodrop", "-o", "jsonpath={.webhooks[0].clientConfig.caBundle}")
	if err != nil || strings.TrimSpace(out) == "" {
		t.Fatalf("the authority of the webhooks: %v\n%s", err, out)
	}
	return out
}

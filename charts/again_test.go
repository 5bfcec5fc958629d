package charts_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"nodrop.dev/nodrop/internal/testkit/kubetest"
)

// again applies every sample twice with kubectl: the second time changes nothing. kubectl itself
// calls an object unchanged unless the API server has filled in defaults within its lists: kubectl
// then sends the whole list once more.
func again(t *testing.T, config *rest.Config, env *envtest.Environment) {
	kubectl := filepath.Join(env.BinaryAssetsDirectory, "kubectl")
	if _, err := os.Stat(kubectl); err != nil {
		t.Skipf("no kubectl for this test: %v: build the local cluster's programs (make cluster-assets)", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"nodrop-lab", "team-routing"} {
		ns := &corev1.Namespace{}
		ns.Name = name
		if err := c.Create(t.Context(), ns); err != nil {
			t.Fatal(err)
		}
	}
	samples := samples(t)
	for _, o := range samples {
		if namespaced, err := c.IsObjectNamespaced(o); err != nil {
			t.Fatal(err)
		} else if namespaced && o.GetNamespace() == "" {
			o.SetNamespace("default")
		}
	}
	apply := func() (words []string, live []*unstructured.Unstructured) {
		words = applyAll(t, kubectl, env.KubeConfig, samples)
		for _, o := range samples {
			stored := &unstructured.Unstructured{}
			stored.SetGroupVersionKind(o.GroupVersionKind())
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), stored); err != nil {
				t.Fatal(err)
			}
			// The API server stores the default of status with the first patch.
			stored.SetResourceVersion("")
			live = append(live, stored)
		}
		return words, live
	}
	_, before := apply()
	words, after := apply()
	for i, o := range samples {
		name := o.GetKind() + " " + o.GetName()
		if diff := cmp.Diff(before[i], after[i]); diff != "" {
			t.Errorf("%s is another one after it was applied again (-before +after):\n%s", name, diff)
		}
		same, filled := contained(o.Object["spec"], after[i].Object["spec"], false)
		if !same {
			t.Errorf("the API server has another spec of %s than its manifest", name)
		}
		want := "unchanged"
		if filled {
			want = "configured"
		}
		if words[i] != want {
			t.Errorf("%s is %s the second time, want %s", name, words[i], want)
		}
	}
}

// samples returns the samples of the API's kinds that are whole, each object once; every fifth with
// -short.
func samples(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(kubetest.Root(t), "config", "samples", "*", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files %v, %v", files, err)
	}
	var all []*unstructured.Unstructured
	seen := map[string]bool{}
	for _, file := range files {
		if filepath.Base(filepath.Dir(file)) == "broken" {
			continue
		}
		for _, o := range kubetest.Objects(t, file) {
			key := o.GetKind() + "/" + o.GetNamespace() + "/" + o.GetName()
			if o.GroupVersionKind().Group != "nodrop.dev" || seen[key] {
				continue
			}
			seen[key] = true
			if !testing.Short() || len(seen)%5 == 0 {
				all = append(all, o)
			}
		}
	}
	return all
}

// applyAll applies objects with kubectl, and returns its word about each.
func applyAll(t *testing.T, kubectl string, config []byte, objects []*unstructured.Unstructured) []string {
	t.Helper()
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, config, 0o600); err != nil {
		t.Fatal(err)
	}
	var manifests, stderr bytes.Buffer
	for _, o := range objects {
		text, err := json.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&manifests, "%s\n", text)
	}
	cmd := exec.CommandContext(t.Context(), kubectl, "apply", "--kubeconfig", kubeconfig, "--cache-dir", dir, "-f", "-")
	cmd.Stdin, cmd.Stderr = &manifests, &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kubectl apply: %v\n%s", err, stderr.String())
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(objects) {
		t.Fatalf("kubectl applied %d objects of %d:\n%s", len(lines), len(objects), out)
	}
	var words []string
	for _, line := range lines {
		words = append(words, line[strings.LastIndex(line, " ")+1:])
	}
	return words
}

// contained reports whether live has all of manifest with the same values, and whether it has
// more within lists.
func contained(manifest, live any, inList bool) (same, filled bool) {
	switch m := manifest.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok {
			return false, false
		}
		filled = inList && len(l) > len(m)
		for name, value := range m {
			s, f := contained(value, l[name], inList)
			if !s {
				return false, false
			}
			filled = filled || f
		}
		return true, filled
	case []any:
		l, ok := live.([]any)
		if !ok || len(l) != len(m) {
			return false, false
		}
		for i, value := range m {
			s, f := contained(value, l[i], true)
			if !s {
				return false, false
			}
			filled = filled || f
		}
		return true, filled
	}
	return reflect.DeepEqual(manifest, live), false
}

package config

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"nodrop.dev/nodrop/internal/reporting/apart"
)

// TestEveryContainerIsLimited goes through all pods that chart and kustomization
// install. TestEveryContainerIsLimited of internal/lab/labobjects goes through the operator's.
func TestEveryContainerIsLimited(t *testing.T) {
	charted, err := chart(t, append([]string{"--set", "metrics.enabled=true,webhook.certManager=true"}, withRecorder...)...)
	if err != nil {
		t.Fatal(err)
	}
	full, err := chart(t, bundled...)
	if err != nil {
		t.Fatal(err)
	}
	for name, objects := range map[string][]object{"chart": charted, "chart with InfluxDB and Grafana": full, "kustomization": kustomization(t, "default"), "cert-manager": kustomization(t, "cert-manager")} {
		seen := 0
		for _, o := range objects {
			template, found, err := unstructured.NestedMap(o.Object, "spec", "template", "spec")
			if err != nil || !found {
				continue
			}
			var pod corev1.PodSpec
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, &pod); err != nil {
				t.Fatal(err)
			}
			if o.GetName() == "nodrop-operator" {
				operatorFits(t, name, pod.Containers[0])
			}
			for _, c := range append(append([]corev1.Container(nil), pod.InitContainers...), pod.Containers...) {
				seen++
				r := c.Resources
				if r.Requests.Cpu().IsZero() || r.Requests.Memory().IsZero() || r.Limits.Memory().IsZero() || r.Limits.StorageEphemeral().IsZero() {
					t.Errorf("%s: container %s of %s %s has requests %v and limits %v, want CPU and memory requested, memory and storage limited", name, c.Name, o.GetKind(), o.GetName(), r.Requests, r.Limits)
				}
			}
		}
		if seen == 0 {
			t.Errorf("%s: no container was looked at", name)
		}
	}
}

// operatorFits checks that the limit of the operator's container holds the operator and its processes
// for large results: one for the lab page, and one for all else.
func operatorFits(t *testing.T, of string, c corev1.Container) {
	t.Helper()
	i := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "GOMEMLIMIT" })
	if i < 0 {
		t.Fatalf("%s: the operator has no GOMEMLIMIT", of)
	}
	own, err := resource.ParseQuantity(strings.TrimSuffix(c.Env[i].Value, "B"))
	if err != nil {
		t.Fatalf("%s: GOMEMLIMIT is %q: %v", of, c.Env[i].Value, err)
	}
	if all, limit := own.Value()+2*apart.Memory, c.Resources.Limits.Memory().Value(); all > limit {
		t.Errorf("%s: the operator and two processes for large results may have %d bytes, and the limit of the container is %d", of, all, limit)
	}
}

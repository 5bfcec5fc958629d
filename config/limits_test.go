package config

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
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
			for _, c := range append(append([]corev1.Container(nil), pod.InitContainers...), pod.Containers...) {
				seen++
				if c.Name == "operator" && !heedsItsLimit(c) {
					t.Errorf("%s: container %s of %s %s does not get its memory limit as GOMEMLIMIT, so that it is ended where it could have freed memory", name, c.Name, o.GetKind(), o.GetName())
				}
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

// heedsItsLimit reports whether the Go program in a container frees memory before it reaches the
// container's limit.
func heedsItsLimit(c corev1.Container) bool {
	return slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool {
		return e.Name == "GOMEMLIMIT" && e.ValueFrom != nil && e.ValueFrom.ResourceFieldRef != nil && e.ValueFrom.ResourceFieldRef.Resource == "limits.memory"
	})
}

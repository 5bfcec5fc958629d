package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/base/pki"
)

// withMetrics are values of a lab whose Prometheus reads operator and recorder.
var withMetrics = append(slices.Clone(withRecorder),
	"--set-json", `metrics={"enabled":true,"readers":[{"kind":"ServiceAccount","namespace":"monitoring","name":"prometheus"}]}`,
	"--set-json", `networkPolicy.metricsFrom=[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"monitoring"}}}]`)

// as converts an object of the chart.
func as[T any](t *testing.T, objects []object, kind, name string) *T {
	t.Helper()
	var typed T
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(find(t, objects, kind, name).Object, &typed, true); err != nil {
		t.Fatal(err)
	}
	return &typed
}

// TestMetrics checks what metrics.enabled adds: the right to ask who a reader is, and a role
// for readers. Without it there is neither.
func TestMetrics(t *testing.T) {
	without, err := chart(t, withRecorder...)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range without {
		if strings.Contains(o.GetName(), "metrics") {
			t.Errorf("%s %s is installed without metrics.enabled", o.GetKind(), o.GetName())
		}
	}
	objects, err := chart(t, withMetrics...)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]rbacv1.PolicyRule{
		"nodrop-metrics-auth": {
			{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"}},
			{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"}},
		},
		"nodrop-metrics-reader": {{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
	} {
		if got := as[rbacv1.ClusterRole](t, objects, "ClusterRole", name).Rules; !slices.EqualFunc(got, want, func(a, b rbacv1.PolicyRule) bool { return a.String() == b.String() }) {
			t.Errorf("%s has the rules %v", name, got)
		}
	}
	for name, want := range map[string]string{"nodrop-metrics-auth": "nodrop-system/nodrop-operator", "nodrop-metrics-reader": "monitoring/prometheus"} {
		binding := as[rbacv1.ClusterRoleBinding](t, objects, "ClusterRoleBinding", name)
		if s := binding.Subjects; binding.RoleRef.Name != name || len(s) != 1 || s[0].Namespace+"/"+s[0].Name != want {
			t.Errorf("%s is bound to %v", name, s)
		}
	}
	all := policiesOf(t, objects)
	prometheus, team := peer{namespace: "monitoring"}, peer{namespace: "team-routing"}
	for _, name := range []string{"nodrop-operator", operator.RecorderService} {
		deployment := as[appsv1.Deployment](t, objects, "Deployment", name)
		if !slices.Contains(deployment.Spec.Template.Spec.Containers[0].Args, "--metrics-bind-address=:8443") {
			t.Errorf("%s serves no metrics", name)
		}
		to := peerOf(deployment.Namespace, &deployment.Spec.Template)
		if !all.allow(prometheus, to, 8443) || all.allow(team, to, 8443) {
			t.Errorf("Prometheus does not reach %s, or others do", name)
		}
	}
}

// TestMonitoring checks what is for Prometheus Operator: the services, certificates and
// rules that exist, and nothing unless it is asked for.
func TestMonitoring(t *testing.T) {
	for _, values := range []string{"metrics.serviceMonitor.enabled=true", "metrics.prometheusRule.enabled=true"} {
		if _, err := chart(t, "--set", values); err == nil || !strings.Contains(err.Error(), "need metrics.enabled=true") {
			t.Errorf("%s without metrics: error %v", values, err)
		}
	}
	objects, err := chart(t, append(slices.Clone(withMetrics), "--set", "metrics.serviceMonitor.enabled=true,metrics.serviceMonitor.labels.release=p,metrics.prometheusRule.enabled=true")...)
	if err != nil {
		t.Fatal(err)
	}
	for name, secret := range map[string]string{"nodrop-operator": operator.WebhookSecret, operator.RecorderService: operator.RecorderSecret} {
		monitor := find(t, objects, "ServiceMonitor", name)
		if monitor.GetLabels()["release"] != "p" {
			t.Errorf("%s has the labels %v", name, monitor.GetLabels())
		}
		var spec struct {
			Selector  struct{ MatchLabels map[string]string }
			Endpoints []struct {
				Port, Scheme string
				TLSConfig    struct {
					ServerName string
					CA         struct{ Secret struct{ Name, Key string } }
				}
			}
		}
		text, err := json.Marshal(monitor.Object["spec"])
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &spec); err != nil {
			t.Fatal(err)
		}
		endpoint := spec.Endpoints[0]
		if endpoint.Scheme != "https" || endpoint.TLSConfig.CA.Secret.Name != secret || endpoint.TLSConfig.CA.Secret.Key != pki.CAFile {
			t.Errorf("%s checks the certificate with %+v", name, endpoint)
		}
		if name == operator.RecorderService && endpoint.TLSConfig.ServerName != pki.RecorderName || name != operator.RecorderService && endpoint.TLSConfig.ServerName != operator.WebhookService+".nodrop-system.svc" {
			t.Errorf("%s expects the name %s", name, endpoint.TLSConfig.ServerName)
		}
		// It selects one Service with that port, which selects the pods.
		services := slices.DeleteFunc(slices.Clone(objects), func(o object) bool {
			return o.GetKind() != "Service" || !selects(&metav1.LabelSelector{MatchLabels: spec.Selector.MatchLabels}, o.GetLabels())
		})
		if len(services) != 1 {
			t.Fatalf("%s selects %d Services", name, len(services))
		}
		service := as[corev1.Service](t, objects, "Service", services[0].GetName())
		pod := as[appsv1.Deployment](t, objects, "Deployment", name).Spec.Template
		if service.Spec.Ports[0].Name != endpoint.Port || !selects(&metav1.LabelSelector{MatchLabels: service.Spec.Selector}, pod.Labels) ||
			!slices.ContainsFunc(pod.Spec.Containers[0].Ports, func(p corev1.ContainerPort) bool {
				return p.Name == service.Spec.Ports[0].TargetPort.StrVal
			}) {
			t.Errorf("Service %s leads to no port of %s", service.Name, name)
		}
	}
	rule := find(t, objects, "PrometheusRule", "nodrop")
	file, err := os.ReadFile(filepath.Join("..", "charts", "nodrop", "files", "alerts", "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var rules map[string]any
	if err := yaml.Unmarshal(file, &rules); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(rule.Object["spec"], rules) {
		t.Error("the PrometheusRule is not what files/alerts/rules.yaml says")
	}
}

package config

import (
	"encoding/base64"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/reporting/metrics/recorder"
)

// bundled are values of a lab that has neither InfluxDB nor Grafana.
var bundled = []string{"--set", "recorder.enabled=true,influxdb.enabled=true,grafana.enabled=true"}

const (
	influxdbPort = 8086
	grafanaPort  = 3000
)

// TestInfluxDBAndGrafana checks what the chart brings along: nothing by default, and
// otherwise two pods that reach no more than they need, from images with versions.
func TestInfluxDBAndGrafana(t *testing.T) {
	without, err := chart(t, withRecorder...)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range without {
		if strings.Contains(o.GetName(), "influxdb") || strings.Contains(o.GetName(), "grafana") {
			t.Errorf("%s %s is installed by default", o.GetKind(), o.GetName())
		}
	}
	objects, err := chart(t, bundled...)
	if err != nil {
		t.Fatal(err)
	}
	peers := aRun(t)
	peers["team"] = peer{namespace: "team-routing"}
	peers["elsewhere"] = peer{address: "203.0.113.1"}
	for _, name := range []string{"operator", "recorder", "influxdb", "grafana"} {
		d := as[appsv1.Deployment](t, objects, "Deployment", "nodrop-"+name)
		peers[name] = peerOf(d.Namespace, &d.Spec.Template)
		peers[name+" of a team"] = peer{namespace: "team-routing", labels: d.Spec.Template.Labels}
		pod := d.Spec.Template.Spec
		if name == "operator" {
			continue
		}
		if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken || pod.ServiceAccountName != "" || d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
			t.Errorf("%s has rights, or two pods one volume: %+v", name, d.Spec)
		}
		if _, tag, _ := strings.Cut(pod.Containers[0].Image, ":"); tag == "" || tag == "latest" {
			t.Errorf("%s runs %s, which is no version", name, pod.Containers[0].Image)
		}
	}
	all := policiesOf(t, objects)
	for from := range peers {
		for to, ports := range map[string][]int32{"influxdb": {influxdbPort, 8088}, "grafana": {grafanaPort, 8443}, "recorder": {recorder.Port}, "elsewhere": {443, influxdbPort}} {
			for _, port := range ports {
				inside := from == "influxdb" || from == "grafana" || from == "recorder"
				if from == to || to == "elsewhere" && !inside {
					continue
				}
				want := to == "influxdb" && port == influxdbPort && (from == "recorder" || from == "grafana") ||
					to == "grafana" && port == grafanaPort && (from == "team" || strings.HasSuffix(from, " of a team")) ||
					to == "recorder" && (from == "operator" || from == "runner")
				if got := all.allow(peers[from], peers[to], port); got != want {
					t.Errorf("%s reaches port %d of %s: %t", from, port, to, got)
				}
			}
		}
	}
	var dashboards []string
	for _, v := range as[appsv1.Deployment](t, objects, "Deployment", "nodrop-grafana").Spec.Template.Spec.Volumes {
		if v.Projected == nil {
			continue
		}
		for _, s := range v.Projected.Sources {
			dashboards = append(dashboards, s.ConfigMap.Name)
			find(t, objects, "ConfigMap", s.ConfigMap.Name)
		}
	}
	if files, err := filepath.Glob("../charts/nodrop/files/dashboards/*-flux.json"); err != nil || len(files) != len(dashboards) {
		t.Errorf("Grafana gets %v of %v (%v)", dashboards, files, err)
	}
}

// TestPasswordsAreInSecretsOnly searches all other objects for what the Secrets hold.
func TestPasswordsAreInSecretsOnly(t *testing.T) {
	objects, err := chart(t, bundled...)
	if err != nil {
		t.Fatal(err)
	}
	again, err := chart(t, bundled...)
	if err != nil {
		t.Fatal(err)
	}
	for name, keys := range map[string]int{"nodrop-influxdb": 4, "nodrop-grafana": 1} {
		data, _, _ := unstructured.NestedStringMap(find(t, objects, "Secret", name).Object, "data")
		other, _, _ := unstructured.NestedStringMap(find(t, again, "Secret", name).Object, "data")
		if len(data) != keys {
			t.Errorf("%s has %d keys, want %d", name, len(data), keys)
		}
		for key, encoded := range data {
			password, err := base64.StdEncoding.DecodeString(encoded)
			if err != nil || len(password) < 40 || other[key] == encoded {
				t.Errorf("%s of %s has %d characters, or is no random one (%v)", key, name, len(password), err)
			}
			for _, o := range objects {
				text, err := o.MarshalJSON()
				if err != nil {
					t.Fatal(err)
				}
				if o.GetKind() != "Secret" && (strings.Contains(string(text), string(password)) || strings.Contains(string(text), encoded)) {
					t.Errorf("%s %s has the %s of %s", o.GetKind(), o.GetName(), key, name)
				}
			}
		}
	}
	own, err := chart(t, append(slices.Clone(bundled), "--set", "influxdb.existingSecret=a,grafana.existingSecret=b")...)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range own {
		if o.GetKind() == "Secret" && (strings.Contains(o.GetName(), "influxdb") || strings.Contains(o.GetName(), "grafana")) {
			t.Errorf("there is a Secret %s although there is one already", o.GetName())
		}
	}
}

func TestBundlesThatCannotBe(t *testing.T) {
	for name, tc := range map[string]struct{ values, want string }{
		"no recorder":      {"influxdb.enabled=true", "needs recorder.enabled=true"},
		"two databases":    {"recorder.enabled=true,influxdb.enabled=true,recorder.url=http://influxdb:8086", "leave recorder.url"},
		"a token, too":     {"recorder.enabled=true,influxdb.enabled=true,recorder.tokenSecret.name=a", "leave recorder.url"},
		"no data source":   {"grafana.enabled=true", "needs a data source"},
		"two data sources": {"recorder.enabled=true,influxdb.enabled=true,grafana.enabled=true,grafana.datasourceSecret=a", "leave it or influxdb.enabled"},
		"other namespace":  {"recorder.enabled=true,influxdb.enabled=true,grafana.enabled=true,grafana.dashboards.namespace=monitoring", "leave grafana.dashboards.namespace out"},
		"no version":       {"influxdb.image.tag=", "tag"},
		"any version":      {"grafana.image.tag=latest", "tag"},
	} {
		if _, err := chart(t, "--set", tc.values); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, tc.want)
		}
	}
	// A digest is a version, too, and Grafana alone has the data source of a Secret.
	objects, err := chart(t, "--set", "grafana.enabled=true,grafana.datasourceSecret=sources,grafana.image.tag=@sha256:abc")
	if err != nil {
		t.Fatal(err)
	}
	pod := as[appsv1.Deployment](t, objects, "Deployment", "nodrop-grafana").Spec.Template.Spec
	if got := pod.Containers[0].Image; got != "grafana/grafana@sha256:abc" {
		t.Errorf("the image is %s", got)
	}
	if !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Secret != nil && v.Secret.SecretName == "sources" }) {
		t.Errorf("the Secret is no volume: %+v", pod.Volumes)
	}
}

// bundle: the API server takes all objects, and the namespace at level restricted the pods. An
// upgrade keeps the passwords, and so does another installation after the chart was removed.
func (c *cluster) bundle(t *testing.T) {
	const namespace = "bundled"
	// The definitions are there: installAgain and upgradeKeepsTheCertificate install and upgrade them.
	release := filepath.Join("..", "charts", "nodrop")
	helm := func(command string, more ...string) {
		c.helm(t, slices.Concat([]string{command, "bundled", release, "--namespace", namespace, "--take-ownership", "--set", "crds.install=false"}, bundled, more)...)
	}
	helm("install", "--create-namespace")
	passwords := func() map[string]string {
		all := map[string]string{}
		for _, name := range []string{"nodrop-influxdb", "nodrop-grafana"} {
			var secret corev1.Secret
			if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &secret); err != nil {
				t.Fatal(err)
			}
			for key, value := range secret.Data {
				all[name+"/"+key] = string(value)
			}
		}
		return all
	}
	first := passwords()
	if first["nodrop-influxdb/recorder-token"] != "recorder:"+first["nodrop-influxdb/recorder-password"] {
		t.Error("the recorder's token is not that of its user")
	}
	same := func(when string) {
		for key, value := range passwords() {
			if value != first[key] {
				t.Errorf("%s changed %s", when, key)
			}
		}
	}
	helm("upgrade", "--set", "image.tag=v2")
	same("an upgrade")
	c.helm(t, "uninstall", "bundled", "--namespace", namespace)
	helm("install")
	same("another installation")

	restricted := &corev1.Namespace{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: namespace}, restricted); err != nil {
		t.Fatal(err)
	}
	restricted.Labels["pod-security.kubernetes.io/enforce"] = "restricted"
	if err := c.Update(t.Context(), restricted); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{operator.RecorderService, "nodrop-influxdb", "nodrop-grafana"} {
		var deployment appsv1.Deployment
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &deployment); err != nil {
			t.Fatal(err)
		}
		pod := &corev1.Pod{Spec: deployment.Spec.Template.Spec}
		pod.Namespace, pod.Name = namespace, name
		if err := c.Create(t.Context(), pod, client.DryRunAll); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		pod.Spec.HostNetwork = true
		if err := c.Create(t.Context(), pod, client.DryRunAll); !apierrors.IsForbidden(err) {
			t.Errorf("%s: the namespace admits a pod with the node's network: %v", name, err)
		}
	}
	c.helm(t, "uninstall", "bundled", "--namespace", namespace)
}

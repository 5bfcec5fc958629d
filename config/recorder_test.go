package config

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/reporting/metrics/recorder"
)

// withRecorder are values of a lab with a recorder.
var withRecorder = []string{"--set", "recorder.enabled=true,recorder.url=https://influxdb.monitoring:8086,recorder.org=net,recorder.bucket=lab,recorder.tokenSecret.name=influxdb,recorder.interval=500ms"}

// TestRecorder checks what the chart installs for metrics: nothing by default, and
// otherwise a pod that has the token of the database and no right in the cluster.
func TestRecorder(t *testing.T) {
	without, err := chart(t)
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(without, func(o object) bool { return strings.Contains(o.GetName(), "recorder") }) {
		t.Error("a recorder is installed by default")
	}
	objects, err := chart(t, withRecorder...)
	if err != nil {
		t.Fatal(err)
	}
	var deployment appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(find(t, objects, "Deployment", operator.RecorderService).Object, &deployment, true); err != nil {
		t.Fatal(err)
	}
	pod := deployment.Spec.Template.Spec
	args := strings.Join(pod.Containers[0].Args, " ")
	for _, want := range []string{"recorder --url=https://influxdb.monitoring:8086 --api=v2", "--org=net --bucket=lab", "--token-file=/etc/nodrop/token/token"} {
		if !strings.Contains(args, want) {
			t.Errorf("arguments %q lack %q", args, want)
		}
	}
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken || pod.ServiceAccountName != "" || deployment.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		t.Errorf("the pod has rights, or two of them one spool: %+v", deployment.Spec)
	}
	for _, v := range pod.Volumes {
		if v.Secret != nil && v.Secret.SecretName == operator.RecorderSecret && (len(v.Secret.Items) != 3 || slices.ContainsFunc(v.Secret.Items, func(k corev1.KeyToPath) bool { return k.Key == "ca.key" })) {
			t.Errorf("the pod gets %v of its certificate's Secret", v.Secret.Items)
		}
	}
	operators := find(t, objects, "Deployment", "nodrop-operator").Object
	var own appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(operators, &own); err != nil {
		t.Fatal(err)
	}
	if got := own.Spec.Template.Spec.Containers[0].Args; !slices.Contains(got, "--recorder") || !slices.Contains(got, "--recorder-interval=500ms") {
		t.Errorf("arguments of the operator: %q", got)
	}
	for _, kind := range []string{"Service", "PersistentVolumeClaim"} {
		find(t, objects, kind, operator.RecorderService)
	}
	if secret := find(t, objects, "Secret", operator.RecorderSecret); secret.Object["data"] != nil {
		t.Error("the chart sets data of the Secret that the operator writes")
	}
	all := policiesOf(t, objects)
	peers := aRun(t)
	to := peerOf(deployment.Namespace, &deployment.Spec.Template)
	peers["operator"] = peerOf(own.Namespace, &own.Spec.Template)
	peers["team"] = peer{namespace: "team-routing"}
	peers["runner of a team"] = peer{namespace: "team-routing", labels: peers["runner"].labels}
	for name, from := range peers {
		if got := all.allow(from, to, recorder.Port); got != (name == "runner" || name == "operator") {
			t.Errorf("%s reaches the recorder: %t", name, got)
		}
		for _, port := range []int32{labobjects.AgentPort, labobjects.RunnerPort, 9443} {
			if all.allow(to, from, port) {
				t.Errorf("the recorder reaches port %d of %s", port, name)
			}
		}
	}
	if database := (peer{address: "192.0.2.1"}); !all.allow(to, database, 8086) || all.allow(to, database, 22) {
		t.Error("the recorder does not reach the database's port, or others")
	}
}

func TestRecorderValuesThatCannotBe(t *testing.T) {
	for name, values := range map[string]string{
		"no URL":                "recorder.enabled=true",
		"a password in the URL": "recorder.enabled=true,recorder.url=http://a:secret@influxdb:8086",
		"an unknown API":        "recorder.enabled=true,recorder.url=http://influxdb:8086,recorder.api=v4",
		"an interval":           "recorder.interval=often",
	} {
		if _, err := chart(t, "--set", values); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

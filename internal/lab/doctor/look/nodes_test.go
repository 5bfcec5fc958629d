package look

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"nodrop.dev/nodrop/internal/lab/doctor"
)

// Kubelets answer by way of the API server, which puts its own words in between.
func TestKubelet(t *testing.T) {
	for name, tc := range map[string]struct {
		code int
		body string
		want doctor.Kubelet
		why  string
	}{
		"as kubelets answer": {200, `{"kubeletconfig":{"syncFrequency":"1m0s","cpuManagerPolicy":"static","topologyManagerPolicy":"restricted"}}`,
			doctor.Kubelet{CPUManagerPolicy: "static", TopologyManagerPolicy: "restricted"}, ""},
		"forbidden": {403, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no"}`,
			doctor.Kubelet{}, "you may not get nodes/proxy"},
		"dead":         {503, "Error trying to reach service: dial tcp: connection refused", doctor.Kubelet{}, "the kubelet did not return its configuration"},
		"another form": {200, `{"config":{}}`, doctor.Kubelet{}, "has an unknown format"},
		"no JSON":      {200, `<html>`, doctor.Kubelet{}, "has an unknown format"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/api/v1/nodes/node1/proxy/configz" {
					t.Errorf("%s was asked for", r.URL.Path)
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tc.code)
				_, _ = w.Write([]byte(tc.body))
			}))
			defer server.Close()
			c, err := New(&rest.Config{Host: server.URL}, nil, "nodrop-system", "nodrop-lab")
			if err != nil {
				t.Fatal(err)
			}
			got := c.kubelet(t.Context(), "node1")
			if got.Value != tc.want || !strings.Contains(got.Unknown.Why, tc.why) || got.IsKnown() != (tc.why == "") {
				t.Errorf("%+v", got)
			}
			if !got.IsKnown() && !strings.Contains(got.Unknown.Advice, "/var/lib/kubelet/config.yaml") {
				t.Errorf("advice %q", got.Unknown.Advice)
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	ready := func(status corev1.ConditionStatus) *corev1.Node {
		return &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionTrue},
			{Type: corev1.NodeReady, Status: status, Reason: "NodeStatusUnknown", Message: "Kubelet stopped posting node status."},
		}}}
	}
	for name, tc := range map[string]struct {
		node *corev1.Node
		want string
	}{
		"ready":      {ready(corev1.ConditionTrue), ""},
		"lost":       {ready(corev1.ConditionUnknown), "NodeStatusUnknown: Kubelet stopped posting node status."},
		"never seen": {&corev1.Node{}, "its kubelet never reported that it is ready"},
	} {
		if got := describe(tc.node); got.NotReady != tc.want || got.Probe.IsKnown() {
			t.Errorf("%s: %q, want %q", name, got.NotReady, tc.want)
		}
	}
}

// The probe pod must be admitted where nothing else is: at the pod security
// level restricted, on tainted nodes, and without the operator's image when another
// is named.
func TestProbePod(t *testing.T) {
	c := &Cluster{lab: "nodrop-lab"}
	if pod := c.probePod(Probe{}, "node1"); pod != nil {
		t.Errorf("a pod without an image: %v", pod)
	}
	pod := c.probePod(Probe{Image: "example.test/nodrop:1"}, "node1")
	if got := pod.Spec.Containers[0].Image; got != "example.test/nodrop:1" {
		t.Errorf("image %q", got)
	}
	if pod.Spec.ActiveDeadlineSeconds == nil || *pod.Spec.ActiveDeadlineSeconds < 1 || len(pod.Spec.Volumes) > 0 {
		t.Errorf("deadline %v, volumes %v", pod.Spec.ActiveDeadlineSeconds, pod.Spec.Volumes)
	}
}

func TestStateOfAPod(t *testing.T) {
	waiting := corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}}}}}
	unschedulable := corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "too many pods"}}}
	for want, status := range map[string]corev1.PodStatus{
		"Pending, ImagePullBackOff: no such image": waiting,
		"Pending, Unschedulable: too many pods":    unschedulable,
		"Pending":                                  {Phase: corev1.PodPending},
	} {
		if got := state(&corev1.Pod{Status: status}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

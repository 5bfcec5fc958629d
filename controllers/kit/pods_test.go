package kit

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestEndOf(t *testing.T) {
	terminated := func(message, reason string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: "device", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Message: message, Reason: reason, ExitCode: 3},
		}}
	}
	for name, tc := range map[string]struct {
		status corev1.PodStatus
		want   string
	}{
		"its own words": {
			status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{terminated("first line\nlast  line\n", "Error")}},
			want:   "first line last line",
		},
		"the end of many words": {
			status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{terminated(strings.Repeat("noise\n", 500)+"the reason", "Error")}},
			want:   "the reason",
		},
		"no words": {
			status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{terminated("", "OOMKilled")}},
			want:   "container device of pod p ended with OOMKilled, code 3",
		},
		"the kubelet's words": {
			status: corev1.PodStatus{Message: "The node was low on resource: memory"},
			want:   "pod p: The node was low on resource: memory",
		},
		"nothing at all": {want: "pod p ended without a message"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Status: tc.status}
			if got := EndOf(pod); !strings.HasSuffix(got, tc.want) || len(got) > maxOutput+len(tc.want) {
				t.Errorf("%q, want it to end with %q", got, tc.want)
			}
		})
	}
}

// TestNetworkFailureIsShort has what the kubelet reports when Multus cannot attach an interface, from
// a plugin that runs by itself and from one that asks a daemon.
func TestNetworkFailureIsShort(t *testing.T) {
	const sandbox = `Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "1f6a9e0c5f2b4d7d8c0e9a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d": plugin type="multus" name="multus-cni-network" failed (add): `
	const inner = `[nodrop-lab/nd-5a0f8f8e28-agent-0/0d1b5c1b-28a4-4c11-bb5e-5a0f8f8e3f90:nd-5a0f8f8e28-p1]: error adding container to network "nd-5a0f8f8e28-p1": failed to find host device: Link not found`
	const want = `network "nd-5a0f8f8e28-p1": failed to find host device: Link not found`
	for name, tc := range map[string]struct{ message, want string }{
		"by itself": {sandbox + inner, want},
		"by a daemon": {sandbox + `CmdAdd (shim): CNI request failed with status 400: 'ContainerID:"1f6a" Netns:"/var/run/netns/cni-1" IfName:"eth0" ERRORED: error configuring pod [nodrop-lab/nd-5a0f8f8e28-agent-0] networking: ` +
			inner + "\n': StdinData: {\"cniVersion\":\"1.0.0\"}", want},
		"another plugin": {`Failed to create pod sandbox: rpc error: plugin type="flannel" failed (add): no subnet`, `plugin type="flannel" failed (add): no subnet`},
		"no plugin":      {"Failed to pull image", "Failed to pull image"},
	} {
		if got := words(&corev1.Event{Reason: "FailedCreatePodSandBox", Message: tc.message}); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestSetConditionKeepsItsTransition(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var all []metav1.Condition
	set := func(at time.Time, status metav1.ConditionStatus, reason string) {
		SetCondition(&all, at, 7, metav1.Condition{Type: "Ready", Status: status, Reason: reason, Message: strings.Repeat("\u00fc", maxMessage)})
	}
	set(start, metav1.ConditionFalse, "Starting")
	set(start.Add(time.Minute), metav1.ConditionFalse, "StillStarting")
	if !all[0].LastTransitionTime.Time.Equal(start) {
		t.Errorf("another reason moved the transition to %s", all[0].LastTransitionTime)
	}
	if ReasonOf(all, "Ready") != "StillStarting" || all[0].ObservedGeneration != 7 {
		t.Errorf("condition %+v", all[0])
	}
	if m := all[0].Message; len(m) > maxMessage || len(m) < maxMessage-8 || !utf8.ValidString(m) || !strings.HasSuffix(m, "\u00fc ...") {
		t.Errorf("a message of %d bytes ends with %q", len(m), m[len(m)-8:])
	}
	set(start.Add(4*time.Minute), metav1.ConditionTrue, "Ready")
	if !all[0].LastTransitionTime.Time.Equal(start.Add(4 * time.Minute)) {
		t.Errorf("another status left the transition at %s", all[0].LastTransitionTime)
	}
}

package labobjects

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// aNode has the configurations of a node.
func aNode() *device.Node {
	return &device.Node{
		NodeConfiguration: *objects.NodeConfiguration(v1alpha1.NodePlatform(v1alpha1.PlatformNFTables), "lists", "201"),
		Wanted:            "flush ruleset\ntable inet a {\n}\n", Base: "flush ruleset\n",
	}
}

// nodeSecret is the secret of a device whose node is configured.
func nodeSecret() *corev1.Secret {
	sec := must(DeviceSecret(settings(), aRun(), aBed(), aTopology(), nil))
	if err := AddNodeConfiguration(sec, "frr-router", aNode()); err != nil {
		panic(err)
	}
	return sec
}

// The pod that starts the device reads the configuration from the secret, and reports.
func TestNodeIsConfigured(t *testing.T) {
	sec := nodeSecret()
	got := &device.Node{}
	if err := json.Unmarshal(must(runner.Decompress(sec.Data[configurationFile])), got); err != nil || !reflect.DeepEqual(got, aNode()) {
		t.Errorf("%+v, %v", got, err)
	}
	if !IsNodeConfigured(sec) || IsConfiguration(sec) {
		t.Error("it is read as another kind of secret")
	}
	delete(sec.Annotations, annotationPlaced)
	const want = "--report /dev/termination-log --configuration /etc/nodrop/topology/configuration.json.zst"
	if args := strings.Join(must(DeviceUpPod(settings(), aRun(), sec)).Spec.Containers[0].Args, " "); !strings.HasSuffix(args, want) {
		t.Errorf("%s, want %s", args, want)
	}
	large := must(DeviceSecret(settings(), aRun(), aBed(), aTopology(), nil))
	large.Data["large"] = make([]byte, maxFiles)
	if err := AddNodeConfiguration(large, "frr-router", aNode()); err == nil || !strings.HasPrefix(err.Error(), "the topology of bed frr-router and the configuration of its node have 177 KiB together") {
		t.Errorf("too much: %v", err)
	}
}

// The report is kept with the run, whatever happens to the pod.
func TestNodeReport(t *testing.T) {
	sec := nodeSecret()
	if _, err := NodeReport(sec); err == nil {
		t.Error("a report of nothing")
	}
	up := func(message string) *corev1.Pod {
		pod := &corev1.Pod{}
		pod.Name = "up"
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: message}}}}
		return pod
	}
	for message, want := range map[string]string{
		`{"tester":[0],"device":[1]}`: "pod up has configured the device, and did not report how",
		"device up: done":             "reading what pod up reported",
	} {
		if err := KeepNodeReport(sec, up(message)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", message, err, want)
		}
	}
	if err := KeepNodeReport(sec, &corev1.Pod{}); err == nil {
		t.Error("a pod that has not ended has reported")
	}
	const message = `{"tester":[0],"device":[1],"configuration":{"digest":"sha256:1","commands":1,"durationMs":7}}`
	if err := KeepNodeReport(sec, up(message)); err != nil {
		t.Fatal(err)
	}
	if got := must(NodeReport(sec)); !reflect.DeepEqual(got, &v1alpha1.DeviceConfiguration{Digest: "sha256:1", Commands: 1, DurationMs: 7}) {
		t.Errorf("%+v", got)
	}
	if got := DevicePlacement(up(message)); !reflect.DeepEqual(got, device.Placement{Tester: []int{0}, Device: []int{1}}) {
		t.Errorf("%+v", got)
	}
}

package labobjects

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
)

func TestDevicePlacement(t *testing.T) {
	for name, c := range map[string]struct {
		message string
		want    device.Placement
	}{
		"split":    {`{"tester":[0,1],"device":[2,3]}`, device.Placement{Tester: []int{0, 1}, Device: []int{2, 3}}},
		"together": {`{"tester":[0],"together":"one processor"}`, device.Placement{Tester: []int{0}, Together: "one processor"}},
		"silent":   {"", device.Placement{Together: silent}},
		"a log":    {"device up: done", device.Placement{Together: silent}},
		"neither":  {`{"tester":[0]}`, device.Placement{Together: silent}},
		"both":     {`{"device":[1],"together":"x"}`, device.Placement{Together: silent}},
	} {
		up := &corev1.Pod{}
		up.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: c.message}}}}
		if got := DevicePlacement(up); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	if got := DevicePlacement(&corev1.Pod{}); got.Together != silent {
		t.Errorf("a pod that is gone: %+v", got)
	}
}

// Only the engine xdp leaves the device's processors alone.
func TestDeviceIsPlacedForTheEngineXDP(t *testing.T) {
	for kind, want := range map[v1alpha1.EngineKind]bool{v1alpha1.EngineXDP: true, v1alpha1.EngineTRex: false} {
		bed := aBed()
		bed.Spec.Engine.Kind = kind
		up := must(DeviceUpPod(settings(), aRun(), must(DeviceSecret(settings(), aRun(), bed, aTopology(), nil))))
		if got := strings.Contains(strings.Join(up.Spec.Containers[0].Args, " "), "--report /dev/termination-log --own-processors"); got != want {
			t.Errorf("%s: args %q", kind, up.Spec.Containers[0].Args)
		}
	}
}

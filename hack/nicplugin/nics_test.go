package main

import (
	"context"
	"testing"
	"time"

	deviceplugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// TestDevices follows one interface on its way into a pod and back, and through
// what may go wrong with it.
func TestDevices(t *testing.T) {
	var here, used []string
	n := newNICs([]string{"nic"},
		func(context.Context) ([]string, error) { return used, nil },
		func() ([]string, error) { return here, nil })
	now := time.Unix(0, 0)
	for _, step := range []struct {
		what       string
		after      time.Duration
		here, used bool
		want       string
	}{
		{"not made yet", 0, false, false, deviceplugin.Unhealthy},
		{"made", time.Second, true, false, deviceplugin.Healthy},
		{"given to a container", time.Second, true, true, deviceplugin.Healthy},
		{"moved into the pod", time.Second, false, true, deviceplugin.Healthy},
		{"in the pod for an hour", time.Hour, false, true, deviceplugin.Healthy},
		{"on its way back", missingFor - 1, false, false, deviceplugin.Healthy},
		{"back", time.Second, true, false, deviceplugin.Healthy},
		{"gone", time.Second, false, false, deviceplugin.Healthy},
		{"gone for good", missingFor, false, false, deviceplugin.Unhealthy},
		{"made again", time.Second, true, false, deviceplugin.Healthy},
	} {
		now = now.Add(step.after)
		here, used = nil, nil
		if step.here {
			here = []string{"lo", "nic"}
		}
		if step.used {
			used = []string{"nic"}
		}
		devices, err := n.devices(t.Context(), now)
		if err != nil {
			t.Fatal(err)
		}
		if len(devices) != 1 || devices[0].ID != "nic" || devices[0].Health != step.want {
			t.Errorf("%s: %v, want nic %s", step.what, devices, step.want)
		}
	}
}

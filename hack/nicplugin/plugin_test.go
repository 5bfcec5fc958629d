package main

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	deviceplugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// TestPlugin registers with two kubelets, one after the other: each receives the
// devices and of their changes, and in the end nothing is left in its folder.
func TestPlugin(t *testing.T) {
	folder, err := os.MkdirTemp("", "nic") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	var here atomic.Pointer[[]string]
	here.Store(&[]string{"nic1"})
	changes := make(chan struct{}, 1)
	p := &plugin{resource: "test.nodrop.dev/nic", folder: folder, changes: changes, nics: newNICs([]string{"nic1", "nic2"},
		func(context.Context) ([]string, error) { return nil, nil },
		func() ([]string, error) { return *here.Load(), nil })}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.run(ctx) }()

	for _, health := range []struct{ before, after string }{
		{"nic1 Healthy, nic2 Unhealthy", "nic1 Healthy, nic2 Healthy"},
		{"nic1 Healthy, nic2 Healthy", ""},
	} {
		kubelet := startFakeKubelet(t, folder)
		request := within(t, kubelet.registered)
		if request.Version != "v1beta1" || request.ResourceName != "test.nodrop.dev/nic" {
			t.Errorf("registered as %v", request)
		}
		client, end := kubelet.dial(t, request)
		stream, err := client.ListAndWatch(t.Context(), &deviceplugin.Empty{})
		if err != nil {
			t.Fatal(err)
		}
		expectDevices(t, stream, health.before)
		if health.after != "" {
			here.Store(&[]string{"nic1", "nic2"})
			changes <- struct{}{}
			expectDevices(t, stream, health.after)
		}
		allocated, err := client.Allocate(t.Context(), &deviceplugin.AllocateRequest{ContainerRequests: []*deviceplugin.ContainerAllocateRequest{{DevicesIds: []string{"nic2", "nic1"}}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := allocated.ContainerResponses[0].Envs["PCIDEVICE_TEST_NODROP_DEV_NIC"]; got != "nic1,nic2" {
			t.Errorf("the container received %q, want nic1,nic2", got)
		}
		// It dies, and its folder is as it was.
		kubelet.server.Stop()
		end()
	}
	stop()
	if err := within(t, ended); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "*")); len(left) > 0 {
		t.Errorf("left in the folder: %v", left)
	}
}

// TestEndsWithoutKubelet ends a plugin that still tries to reach its kubelet.
func TestEndsWithoutKubelet(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	p := &plugin{resource: "test.nodrop.dev/nic", folder: t.TempDir()}
	ended := make(chan error, 1)
	go func() { ended <- p.run(ctx) }()
	stop()
	if err := within(t, ended); err != nil {
		t.Error(err)
	}
}

func expectDevices(t *testing.T, stream deviceplugin.DevicePlugin_ListAndWatchClient, want string) {
	t.Helper()
	response, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	if got := describe(response.Devices); got != want {
		t.Errorf("the kubelet received %q, want %q", got, want)
	}
}

// within takes what comes, or fails the test.
func within[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(30 * time.Second):
		t.Fatal("nothing came within 30 s")
		panic("not reached")
	}
}

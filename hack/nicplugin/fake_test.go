package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	deviceplugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// fakeKubelet registers device plugins as a kubelet does. It begins as one, by
// emptying its folder.
type fakeKubelet struct {
	deviceplugin.UnimplementedRegistrationServer
	folder     string
	registered chan *deviceplugin.RegisterRequest
	server     *grpc.Server
}

func startFakeKubelet(t *testing.T, folder string) *fakeKubelet {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		// A plugin that loses its kubelet removes its own socket at the same time.
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	k := &fakeKubelet{folder: folder, registered: make(chan *deviceplugin.RegisterRequest, 1), server: grpc.NewServer()}
	deviceplugin.RegisterRegistrationServer(k.server, k)
	listener, err := net.Listen("unix", filepath.Join(folder, "kubelet.sock"))
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = k.server.Serve(listener) }() // ends with Stop
	t.Cleanup(k.server.Stop)
	return k
}

func (k *fakeKubelet) Register(_ context.Context, request *deviceplugin.RegisterRequest) (*deviceplugin.Empty, error) {
	k.registered <- request
	return &deviceplugin.Empty{}, nil
}

// dial calls a plugin back, as long as the kubelet lives.
func (k *fakeKubelet) dial(t *testing.T, request *deviceplugin.RegisterRequest) (deviceplugin.DevicePluginClient, func()) {
	t.Helper()
	conn, err := grpc.NewClient("unix://"+filepath.Join(k.folder, request.Endpoint), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	end := func() { _ = conn.Close() } // a second time is an error of no meaning
	t.Cleanup(end)
	return deviceplugin.NewDevicePluginClient(conn), end
}

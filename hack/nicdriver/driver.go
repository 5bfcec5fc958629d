package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// kubeletFolder is the folder in which the kubelet finds plugins.
const kubeletFolder = "/var/lib/kubelet"

// driver prepares claims for the pods of one node.
type driver struct {
	dra.UnimplementedDRAPluginServer
	registration.UnimplementedRegistrationServer
	name, node string
}

func (d *driver) folder() string { return filepath.Join(kubeletFolder, "plugins", d.name) }
func (d *driver) socket() string { return filepath.Join(d.folder(), "dra.sock") }

// serve listens for the kubelet at two sockets: one by which it finds the driver,
// whenever it comes up, and one for its requests.
func (d *driver) serve() (stop func() error, _ error) {
	if err := os.MkdirAll(d.folder(), 0o750); err != nil {
		return nil, fmt.Errorf("making the driver's folder: %w", err)
	}
	server := grpc.NewServer(grpc.WaitForHandlers(true))
	dra.RegisterDRAPluginServer(server, d)
	registration.RegisterRegistrationServer(server, d)
	stop = func() error {
		server.Stop() // removes the sockets
		return os.Remove(d.folder())
	}
	for _, socket := range []string{d.socket(), filepath.Join(kubeletFolder, "plugins_registry", d.name+".sock")} {
		if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, errors.Join(fmt.Errorf("removing an earlier socket: %w", err), stop())
		}
		listener, err := net.Listen("unix", socket)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("listening for the kubelet: %w", err), stop())
		}
		go func() {
			if err := server.Serve(listener); err != nil {
				log.Printf("%s: serving %s: %v", d.name, socket, err)
			}
		}()
	}
	return stop, nil
}

// GetInfo describes the driver to the kubelet.
func (d *driver) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{
		Type: registration.DRAPlugin, Name: d.name, Endpoint: d.socket(), SupportedVersions: []string{dra.DRAPluginService},
	}, nil
}

// NotifyRegistrationStatus receives whether the kubelet accepts the driver.
func (d *driver) NotifyRegistrationStatus(_ context.Context, status *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	log.Printf("%s: registered: %t %s", d.name, status.PluginRegistered, status.Error)
	return &registration.RegistrationStatusResponse{}, nil
}

// NodePrepareResources returns the CDI devices by which the runtime attaches claims to
// containers.
func (d *driver) NodePrepareResources(ctx context.Context, request *dra.NodePrepareResourcesRequest) (*dra.NodePrepareResourcesResponse, error) {
	response := &dra.NodePrepareResourcesResponse{Claims: map[string]*dra.NodePrepareResourceResponse{}}
	for _, c := range request.Claims {
		answer := &dra.NodePrepareResourceResponse{}
		devices, err := d.prepare(ctx, c)
		if err != nil {
			answer.Error = err.Error()
		}
		answer.Devices = devices
		log.Printf("%s: claim %s: %v %s", d.name, c.Name, devices, answer.Error)
		response.Claims[c.Uid] = answer
	}
	return response, nil
}

func (d *driver) prepare(ctx context.Context, c *dra.Claim) ([]*dra.Device, error) {
	claim, err := readClaim(ctx, c.Namespace, c.Name)
	if err != nil {
		return nil, err
	}
	if claim.Metadata.UID != c.Uid {
		return nil, fmt.Errorf("claim %s/%s is another one by now", c.Namespace, c.Name)
	}
	var devices []*dra.Device
	for _, result := range claim.Status.Allocation.Devices.Results {
		if result.Driver != d.name {
			continue
		}
		if len(devices) > 0 {
			return nil, fmt.Errorf("claim %s/%s has several interfaces, which would have one name in the pod: ask for one in each claim", c.Namespace, c.Name)
		}
		id, err := writeDevice(c.Uid, result.Device, claim.interfaceName())
		if err != nil {
			return nil, err
		}
		devices = append(devices, &dra.Device{
			RequestNames: []string{result.Request}, PoolName: result.Pool, DeviceName: result.Device, CdiDeviceIds: []string{id},
		})
	}
	return devices, nil
}

// NodeUnprepareResources takes interfaces back from pods that have ended.
func (d *driver) NodeUnprepareResources(_ context.Context, request *dra.NodeUnprepareResourcesRequest) (*dra.NodeUnprepareResourcesResponse, error) {
	response := &dra.NodeUnprepareResourcesResponse{Claims: map[string]*dra.NodeUnprepareResourceResponse{}}
	for _, c := range request.Claims {
		answer := &dra.NodeUnprepareResourceResponse{}
		if err := errors.Join(takeBack(claimFolder(c.Uid)), removeDevice(c.Uid)); err != nil {
			answer.Error = err.Error()
		}
		log.Printf("%s: claim %s is released %s", d.name, c.Name, answer.Error)
		response.Claims[c.Uid] = answer
	}
	return response, nil
}

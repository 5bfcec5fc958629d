package main

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/vishvananda/netlink"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	deviceplugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// missingFor is the maximum time for which an interface may be absent before it counts as
// lost. On its way back from a pod that has ended it is neither on the node nor in use.
const missingFor = 10 * time.Second

// nics are the interfaces that are offered. One is healthy as long as it is on the
// node or in a pod that has it.
type nics struct {
	names  []string
	used   func(context.Context) ([]string, error)
	onNode func() ([]string, error)
	seen   map[string]time.Time
}

func newNICs(names []string, used func(context.Context) ([]string, error), onNode func() ([]string, error)) *nics {
	return &nics{names: names, used: used, onNode: onNode, seen: map[string]time.Time{}}
}

// devices returns the interfaces with their health at the time now.
func (n *nics) devices(ctx context.Context, now time.Time) ([]*deviceplugin.Device, error) {
	here, err := n.onNode()
	if err != nil {
		return nil, fmt.Errorf("listing the node's interfaces: %w", err)
	}
	used, err := n.used(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking the kubelet for devices in use: %w", err)
	}
	var devices []*deviceplugin.Device
	for _, name := range n.names {
		if slices.Contains(here, name) || slices.Contains(used, name) {
			n.seen[name] = now
		}
		health := deviceplugin.Unhealthy
		if seen, ok := n.seen[name]; ok && now.Sub(seen) < missingFor {
			health = deviceplugin.Healthy
		}
		devices = append(devices, &deviceplugin.Device{ID: name, Health: health})
	}
	return devices, nil
}

// onNode are the interfaces in the network namespace of this process.
func onNode() ([]string, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, i := range interfaces {
		names = append(names, i.Name)
	}
	return names, nil
}

// podResources asks the kubelet which devices of a resource pods have. It alone
// knows: a device plugin is not notified when a device is free again.
func podResources(socket, resource string) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		// A new connection each time works at once with a kubelet that has restarted.
		conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		ctx, cancel := context.WithTimeout(ctx, answer)
		defer cancel()
		pods, err := podresources.NewPodResourcesListerClient(conn).List(ctx, &podresources.ListPodResourcesRequest{})
		if err != nil {
			return nil, err
		}
		var ids []string
		for _, pod := range pods.PodResources {
			for _, container := range pod.Containers {
				for _, devices := range container.Devices {
					if devices.ResourceName == resource {
						ids = append(ids, devices.DeviceIds...)
					}
				}
			}
		}
		return ids, nil
	}
}

// linkChanges reports that interfaces came, went or changed, once for many of them.
func linkChanges(ctx context.Context) (<-chan struct{}, error) {
	updates := make(chan netlink.LinkUpdate)
	if err := netlink.LinkSubscribe(updates, ctx.Done()); err != nil {
		return nil, fmt.Errorf("watching the node's interfaces: %w", err)
	}
	changes := make(chan struct{}, 1)
	go func() {
		for range updates {
			select {
			case changes <- struct{}{}:
			default: // one is pending already
			}
		}
	}()
	return changes, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	deviceplugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	// retryInterval is the interval at which the plugin tries to reach a kubelet that is down.
	retryInterval = 200 * time.Millisecond
	// answer bounds what the kubelet needs to register a plugin and to call it back.
	answer = 10 * time.Second
	// checkInterval is the interval at which devices are checked when no change is reported:
	// an interface that ends inside a pod causes no event.
	checkInterval = 5 * time.Second
)

// plugin offers one resource.
type plugin struct {
	resource string
	folder   string // the kubelet's for device plugins
	nics     *nics
	changes  <-chan struct{}
}

// session serves the calls of one kubelet, until it goes away.
type session struct {
	deviceplugin.UnimplementedDevicePluginServer
	*plugin
	watched chan struct{} // closed when the kubelet begins to watch
	once    sync.Once
	left    chan error // how its watch ended
}

// run serves one kubelet after the other until ctx ends.
func (p *plugin) run(ctx context.Context) error {
	for {
		err := p.serve(ctx)
		if ctx.Err() != nil {
			log.Printf("%s: stopping", p.resource)
			return nil
		}
		log.Printf("%s: %v; registering again", p.resource, err)
	}
}

// serve registers with the kubelet and serves it until it goes away. A kubelet
// empties its folder before it listens, so this order is needed: the kubelet first,
// then our socket, then the registration.
func (p *plugin) serve(ctx context.Context) error {
	kubelet := filepath.Join(p.folder, filepath.Base(deviceplugin.KubeletSocket))
	if err := awaitListener(ctx, kubelet); err != nil {
		return err
	}
	socket := filepath.Join(p.folder, strings.ReplaceAll(p.resource, "/", "_")+".sock")
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing an earlier socket: %w", err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return fmt.Errorf("listening for the kubelet: %w", err)
	}
	called := &session{plugin: p, watched: make(chan struct{}), left: make(chan error, 1)}
	server := grpc.NewServer(grpc.WaitForHandlers(true))
	deviceplugin.RegisterDevicePluginServer(server, called)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() {
		server.Stop() // removes the socket
		<-served
	}()

	if err := p.register(ctx, kubelet, filepath.Base(socket)); err != nil {
		return err
	}
	select {
	case <-called.watched:
		log.Printf("%s: registered", p.resource)
	case <-time.After(answer):
		return fmt.Errorf("the kubelet registered the plugin and did not call it within %s", answer)
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-called.left:
		return fmt.Errorf("the kubelet went away: %w", err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// awaitListener waits until a program listens at a socket.
func awaitListener(ctx context.Context, socket string) error {
	for {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryInterval):
		}
	}
}

func (p *plugin) register(ctx context.Context, kubelet, endpoint string) error {
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	conn, err := grpc.NewClient("unix://"+kubelet, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("connecting to the kubelet: %w", err)
	}
	defer conn.Close()
	_, err = deviceplugin.NewRegistrationClient(conn).Register(ctx, &deviceplugin.RegisterRequest{
		Version: deviceplugin.Version, Endpoint: endpoint, ResourceName: p.resource, Options: &deviceplugin.DevicePluginOptions{},
	})
	if err != nil {
		return fmt.Errorf("registering with the kubelet: %w", err)
	}
	return nil
}

// GetDevicePluginOptions returns no options: the plugin needs none of the optional calls.
func (s *session) GetDevicePluginOptions(context.Context, *deviceplugin.Empty) (*deviceplugin.DevicePluginOptions, error) {
	return &deviceplugin.DevicePluginOptions{}, nil
}

// ListAndWatch sends the devices to the kubelet, and again when one has changed.
func (s *session) ListAndWatch(_ *deviceplugin.Empty, stream grpc.ServerStreamingServer[deviceplugin.ListAndWatchResponse]) error {
	s.once.Do(func() { close(s.watched) })
	err := s.watch(stream)
	select {
	case s.left <- err:
	default: // the session ends already
	}
	return err
}

func (p *plugin) watch(stream grpc.ServerStreamingServer[deviceplugin.ListAndWatchResponse]) error {
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	var sent *deviceplugin.ListAndWatchResponse
	for {
		devices, err := p.nics.devices(stream.Context(), time.Now())
		if err != nil && stream.Context().Err() == nil {
			// The last list stays valid until devices can be read again.
			log.Printf("%s: %v", p.resource, err)
		}
		if now := (&deviceplugin.ListAndWatchResponse{Devices: devices}); err == nil && !proto.Equal(now, sent) {
			if err := stream.Send(now); err != nil {
				return err
			}
			log.Printf("%s: %s", p.resource, describe(devices))
			sent = now
		}
		select {
		case <-stream.Context().Done():
			return stream.Context().Err()
		case <-p.changes:
		case <-tick.C:
		}
	}
}

func describe(devices []*deviceplugin.Device) string {
	var texts []string
	for _, d := range devices {
		texts = append(texts, d.ID+" "+d.Health)
	}
	return strings.Join(texts, ", ")
}

// Allocate passes a container the names of its devices.
func (s *session) Allocate(_ context.Context, request *deviceplugin.AllocateRequest) (*deviceplugin.AllocateResponse, error) {
	response := &deviceplugin.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		ids := slices.Sorted(slices.Values(container.DevicesIds))
		log.Printf("%s: a container gets %s", s.resource, strings.Join(ids, ", "))
		response.ContainerResponses = append(response.ContainerResponses, &deviceplugin.ContainerAllocateResponse{
			Envs: map[string]string{environmentVariable(s.resource): strings.Join(ids, ",")},
		})
	}
	return response, nil
}

// environmentVariable is the one in which the SR-IOV network device plugin names
// the devices of a resource.
func environmentVariable(resource string) string {
	return "PCIDEVICE_" + strings.ToUpper(strings.NewReplacer(".", "_", "/", "_").Replace(resource))
}

//go:build !standalone

package inpod

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/routing/endpoint"
	"nodrop.dev/nodrop/internal/routing/remote"
	"nodrop.dev/nodrop/internal/routing/speakers"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/agent"
	"nodrop.dev/nodrop/internal/traffic/xdp"
	"nodrop.dev/nodrop/internal/workload"
	"nodrop.dev/nodrop/internal/workload/kernelstack"
	workloads "nodrop.dev/nodrop/internal/workload/remote"
)

// agentOptions are the flags of nodrop agent.
type agentOptions struct {
	config, tls, listen, controller string
	interfaceTimeout                time.Duration
	// ready is called with the address once the agent listens.
	ready func(net.Addr)
}

// NewAgentCommand returns the command of the agent, which drives the ports of a node.
func NewAgentCommand() *cobra.Command {
	var o agentOptions
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Own the test ports of a pod, and drive them for a runner",
		Long: `Own the test ports of a pod, and drive them for a runner over gRPC with mutual
TLS. It listens once it holds all ports; sending stops when the runner is gone.
It ends on SIGTERM and gives the interfaces back as it found them. Where the
configuration names a TRex server, that holds the ports and the agent drives it.

Exit codes: 0 when stopped by a signal, 1 otherwise.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return runAgent(ctx, o, podLog(cmd.ErrOrStderr()))
		},
	}
	cmd.Flags().StringVar(&o.config, "config", "/etc/nodrop/config/agent.json", "file with the agent's ports")
	cmd.Flags().StringVar(&o.tls, "tls", pki.DirDefault, "directory with ca.crt, tls.crt and tls.key")
	cmd.Flags().StringVar(&o.listen, "listen", ":"+strconv.Itoa(agent.Port), "address to listen at")
	cmd.Flags().StringVar(&o.controller, "controller", "", "name in the certificate of the one runner that may drive the ports (required)")
	cmd.Flags().DurationVar(&o.interfaceTimeout, "interface-timeout", 30*time.Second, "how long to wait for the interfaces to appear, or for the TRex server that has them")
	_ = cmd.MarkFlagRequired("controller")
	return cmd
}

func runAgent(ctx context.Context, o agentOptions, log *slog.Logger) error {
	var config agent.Config
	_, tlsConfig, err := readPod(o.config, &config, o.tls, o.controller)
	if err != nil {
		return err
	}
	engine, err := openPorts(ctx, config, o.interfaceTimeout)
	if err != nil {
		return err
	}
	err = serveAgent(ctx, o, engine, servicesOf(config, engine), func(l net.Listener, server *agent.Server) error {
		log.Info("holding all ports", "ports", len(config.Ports), "address", l.Addr().String(), "controller", o.controller)
		return server.Serve(l, tlsConfig)
	}, log)
	closed := engine.Close()
	if closed == nil {
		log.Info("interfaces given back")
	}
	return errors.Join(err, closed)
}

// serveAgent serves until ctx ends.
func serveAgent(ctx context.Context, o agentOptions, engine traffic.Generator, services []agent.Service, serve func(net.Listener, *agent.Server) error, log *slog.Logger) error {
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	if o.ready != nil {
		o.ready(listener.Addr())
	}
	server := agent.NewServer(engine, agent.ServerOptions{Services: services, Log: log})
	defer context.AfterFunc(ctx, server.Close)()
	return serve(listener, server)
}

// servicesOf returns the services for sessions and for hosts of the ports, where they have some.
func servicesOf(config agent.Config, engine traffic.Generator) (all []agent.Service) {
	if own, has := engine.(workload.Host); has {
		all = append(all, workloads.NewServer(func() (workload.Engine, error) { return own.Workload(), nil }))
	} else if len(config.Hosts) > 0 {
		all = append(all, workloads.NewServer(func() (workload.Engine, error) { return kernelstack.New(config.Hosts) }))
	}
	if config.Speaker == nil {
		return all
	}
	options := speakers.Options{Ports: map[string]endpoint.Port{}, Passwords: config.Speaker.Passwords}
	for _, p := range config.Ports {
		options.Ports[p.Name] = endpoint.Port{Interface: p.Interface}
	}
	return append(all, remote.NewServer(speakers.New(options)))
}

// openPorts waits for the interfaces, or for the server that has them, and takes them.
func openPorts(ctx context.Context, config agent.Config, timeout time.Duration) (traffic.Generator, error) {
	if config.TRex != nil {
		return openTRexPorts(ctx, config, timeout)
	}
	options := xdp.Options{Host: config.Node, DeviceProcessors: config.DeviceProcessors, Together: config.Together}
	var names []string
	for _, p := range config.Ports {
		prefixes, err := p.Prefixes()
		if err != nil {
			return nil, err
		}
		options.Ports = append(options.Ports, xdp.Port{
			Name: p.Name, Interface: p.Interface, SpeedBitsPerSecond: p.SpeedBitsPerSecond, Addresses: prefixes, VLANs: p.VLANs,
			Transmit: xdp.Transmit(config.Transmit), Senders: config.SendersPerPort,
		})
		names = append(names, p.Interface)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := netif.Wait(ctx, names, nil); err != nil {
		return nil, hint.With(err, "check the ports' attachments in the TestBed, and that no other program uses these interfaces")
	}
	return xdp.New(options)
}

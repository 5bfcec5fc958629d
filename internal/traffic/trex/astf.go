package trex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/capability"
	"nodrop.dev/nodrop/internal/workload"
)

// ASTF is a TRex server in its mode with TCP (API ASTF 2.3). It sends no frames of streams. Its workload engine lets a client
// on the address of one port connect to a server on the address of the other, and reads what the server counts at both ends.
type ASTF struct {
	server server
	// hosts describe the two ports, in the order of the server's numbers.
	hosts []workload.Port
	// context is the server's proof that this session has all ports; empty without them.
	context string
	// counters are the numbers of the server's counters by their names.
	counters map[string]counter
}

var (
	_ traffic.Generator = (*ASTF)(nil)
	_ workload.Host     = (*ASTF)(nil)
)

// NewASTF connects to a server in mode ASTF, takes its ports and removes what is loaded there. Hosts describe the ports
// of the options.
func NewASTF(ctx context.Context, o Options, hosts []workload.Port) (*ASTF, error) {
	o.User = cmp.Or(o.User, "nodrop")
	if len(o.Ports) != 2 || len(hosts) != 2 {
		return nil, fmt.Errorf("%d ports with %d hosts: TRex in mode ASTF needs two, one for the client and one for the server", len(o.Ports), len(hosts))
	}
	for i, h := range hosts {
		if h.Name != o.Ports[i].Name || !h.Address.IsValid() || !h.Address.Addr().Is4() {
			return nil, fmt.Errorf("port %s has the host %s with address %v: give the port an IPv4 address", o.Ports[i].Name, h.Name, h.Address)
		}
	}
	e := &ASTF{server: server{options: o, api: astf, client: client{endpoint: o.Endpoint}, session: rand.Uint32(), clock: traffic.RealClock{}}, hosts: hosts}
	if err := e.open(ctx); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// Info implements traffic.Generator.
func (e *ASTF) Info(context.Context) (traffic.Info, error) {
	c, _ := capability.Of("trex")
	c.LatencyType = "not measured"
	info := traffic.Info{
		Engine:       "trex",
		Detail:       fmt.Sprintf("TRex %s, ASTF (TCP of its own), %s; connections and bytes are counted by the server at both ends", e.server.version.Version, transmitCores(e.server.system.Cores)),
		Hosts:        []traffic.Host{{Name: cmp.Or(e.server.options.Host, e.server.system.Hostname), CPU: e.server.system.CoreType, CPUs: e.server.system.Cores}},
		Capabilities: c,
	}
	var err error
	if info.Ports, err = e.server.portInfos(); err != nil {
		return traffic.Info{}, err
	}
	return info, nil
}

// Resolve implements traffic.Generator. The server sends to the neighbor of a port that was resolved last.
func (e *ASTF) Resolve(ctx context.Context, portName string, addr netip.Addr) (traffic.MAC, error) {
	p := e.server.named(portName)
	if p == nil {
		return traffic.MAC{}, fmt.Errorf("port %s is not one of this engine", portName)
	}
	src, ok := p.neighbours.source(addr)
	if !ok {
		return traffic.MAC{}, fmt.Errorf("port %s has no address of the family of %v to ask from: give it one", p.Name, addr)
	}
	if other := e.server.holder(addr); other != nil {
		return other.mac, e.owned(p.adopt(ctx, src, addr, other.mac)) // both ends are ports of this engine
	}
	mac, err := p.resolve(ctx, e.server.clock, src, addr)
	return mac, e.owned(err)
}

// adopt records a neighbor at the server without asking for it.
func (p *port) adopt(ctx context.Context, src, addr netip.Addr, mac traffic.MAC) error {
	if !addr.Is4() {
		return nil
	}
	if err := p.service(ctx, true); err != nil {
		return fmt.Errorf("putting port %s into service mode: %w", p.Name, err)
	}
	err := p.setL3(ctx, src, addr, mac)
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return errors.Join(err, p.service(after, false))
}

// noFrames is the answer to calls about frames.
func noFrames() error {
	return fmt.Errorf("TRex in mode ASTF has hosts with TCP and sends no frames of streams: start it without --astf for them: %w", traffic.ErrUnsupported)
}

// Configure implements traffic.Generator.
func (e *ASTF) Configure(_ context.Context, streams []traffic.Stream) error {
	if len(streams) == 0 {
		return nil
	}
	return noFrames()
}

// Start implements traffic.Generator.
func (e *ASTF) Start(context.Context, traffic.Trial) error { return noFrames() }

// Wait implements traffic.Generator.
func (e *ASTF) Wait(context.Context) error { return noFrames() }

// Stop implements traffic.Generator: no frames are sent.
func (e *ASTF) Stop(context.Context) error { return nil }

// Read implements traffic.Generator.
func (e *ASTF) Read(context.Context) (traffic.Measurement, error) {
	return traffic.Measurement{}, noFrames()
}

// Clock implements traffic.Generator.
func (e *ASTF) Clock() traffic.Clock { return e.server.clock }

// Workload implements workload.Host.
func (e *ASTF) Workload() workload.Engine { return astfHosts{e} }

// Close implements traffic.Generator: it stops the hosts and releases the ports.
func (e *ASTF) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	defer e.server.client.close()
	if e.server.client.lost == nil {
		return e.release(ctx)
	}
	_, err := e.server.afterLoss(ctx, func() error { return e.release(ctx) })
	return err
}

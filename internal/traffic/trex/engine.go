package trex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"nodrop.dev/nodrop/internal/base/hypervisor"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// closeTimeout bounds how long Close and other clearing up may take.
const closeTimeout = 10 * time.Second

// Options of an engine.
type Options struct {
	// Endpoint of the server's RPC, such as tcp://127.0.0.1:4501.
	Endpoint string
	// Ports that the engine takes, at least one.
	Ports []Port
	// TimedFramesPerSecond is the number of frames of each stream that are timed per
	// second; 0 times none. They are sent among the others and belong to the load. If more
	// than 128 streams send in a trial, 128 are timed.
	TimedFramesPerSecond int
	// User under which ports are taken; nodrop when empty.
	User string
	// Force takes ports away from others.
	Force bool
	// Host is the name of the machine, for the report; the server's when empty.
	Host string
}

// Port is a port of the server.
type Port struct {
	// Name of the port in the bed.
	Name string
	// Index of the port at the server.
	Index int
	// Interface behind the port, for the report; the server's name of it when empty.
	// With packet sockets the server has none.
	Interface string
	// Addresses of the port, including the addresses of the hosts behind it. Once a neighbor
	// of IPv4 is resolved, the server answers ARP for the one in its prefix; all of them
	// are announced to gateways.
	Addresses []netip.Prefix
	// VLANs are the tags of the network that the addresses are in; none for an untagged
	// one.
	VLANs frame.VLANs
}

// Engine implements traffic.Generator on one TRex server.
type Engine struct {
	server  server
	streams bedStreams
	armed   *armed
	trial   *trial
	// sampled is the trial that samples are taken of, nil while there is none.
	sampled atomic.Pointer[sampled]
}

// bedStreams are the configured streams.
type bedStreams struct {
	// own are the streams that the ports of the engine send. all are the streams of the bed,
	// including the streams of other servers, in the order of their IDs.
	own, all []stream
}

var (
	_ traffic.Generator        = (*Engine)(nil)
	_ traffic.Armer            = (*Engine)(nil)
	_ traffic.ProgressReporter = (*Engine)(nil)
	_ traffic.Sampler          = (*Engine)(nil)
)

// New connects to a server, takes its ports and removes their streams.
func New(ctx context.Context, o Options) (*Engine, error) {
	o.User = cmp.Or(o.User, "nodrop")
	if len(o.Ports) == 0 {
		return nil, errors.New("TRex needs at least one port")
	}
	if o.TimedFramesPerSecond < 0 {
		return nil, fmt.Errorf("%d timed frames per second: want 0 or more", o.TimedFramesPerSecond)
	}
	e := &Engine{server: server{options: o, api: stl, client: client{endpoint: o.Endpoint}, session: rand.Uint32(), clock: traffic.RealClock{}}}
	if err := e.server.open(ctx); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// Info implements traffic.Generator.
func (e *Engine) Info(context.Context) (traffic.Info, error) {
	info := traffic.Info{
		Engine:       "trex",
		Detail:       fmt.Sprintf("TRex %s, stateless, %s; frames are counted by a mark in the IP header", e.server.version.Version, transmitCores(e.server.system.Cores)),
		Hosts:        []traffic.Host{{Name: cmp.Or(e.server.options.Host, e.server.system.Hostname), CPU: e.server.system.CoreType, CPUs: e.server.system.Cores}},
		Capabilities: capabilities(e.server.ports, e.server.options.TimedFramesPerSecond),
	}
	var err error
	if info.Ports, err = e.server.portInfos(); err != nil {
		return traffic.Info{}, err
	}
	for i, p := range e.server.ports {
		info.Ports[i].Notes = p.notes(e.server.options.TimedFramesPerSecond > 0)
	}
	return info, nil
}

// portInfos describes the ports, without notes.
func (s *server) portInfos() (all []traffic.PortInfo, err error) {
	machine, err := hypervisor.Name(os.DirFS("/"))
	if err != nil {
		return nil, err
	}
	for _, p := range s.ports {
		emulated, err := hypervisor.Emulated(os.DirFS("/"), p.PCI)
		if err != nil {
			return nil, err
		}
		name := cmp.Or(p.Interface, p.PCI)
		if p.Virtual {
			name = cmp.Or(p.Interface, p.Description)
		}
		all = append(all, traffic.PortInfo{Name: p.Name, Interface: name, Driver: p.Driver, MAC: p.mac, Hypervisor: machine, Emulated: emulated})
	}
	return all, nil
}

// transmitCores counts the processors that send.
func transmitCores(n int) string {
	if n == 1 {
		return "1 transmit core"
	}
	return fmt.Sprintf("%d transmit cores", n)
}

// Configure implements traffic.Generator. The streams are added to the server at the
// start of a trial, which sets their rates.
func (e *Engine) Configure(ctx context.Context, streams []traffic.Stream) error {
	e.sample(nil)
	if err := e.Stop(ctx); err != nil {
		return err
	}
	if err := e.server.reconnect(ctx, e.server.openAgain); err != nil {
		return err
	}
	limit := maxStreams(e.server.ports)
	var own, all []stream
	wide := map[*port]bool{}
	for _, t := range streams {
		for _, name := range t.RxPorts {
			if p := e.server.named(name); p != nil {
				wide[p] = wide[p] || t.Headers.DstMACCount > 1 || t.Headers.DstMAC[0]&1 == 1
			}
		}
		src, p := traffic.MAC{}, e.server.named(t.TxPort)
		if p != nil {
			src = p.mac
		}
		s, err := newStream(t, src)
		if err != nil {
			return err
		}
		if p != nil {
			own = append(own, s)
		}
		all = append(all, s)
	}
	if len(all) > limit {
		return fmt.Errorf("%d streams: TRex counts at most %d on these ports, those that other servers send among them: %w", len(all), limit, traffic.ErrUnsupported)
	}
	slices.SortFunc(all, func(a, b stream) int { return cmp.Compare(a.ID, b.ID) })
	for _, p := range e.server.ports {
		if err := p.clean(ctx); err != nil {
			return err
		}
		if err := p.setPromiscuous(ctx, wide[p]); err != nil {
			return err
		}
	}
	e.streams.own, e.streams.all, e.armed, e.trial = own, all, nil, nil
	return e.advertise(ctx)
}

// Clock implements traffic.Generator.
func (e *Engine) Clock() traffic.Clock { return e.server.clock }

// Close implements traffic.Generator.
func (e *Engine) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	defer e.server.client.close()
	e.sample(nil)
	if e.server.client.lost == nil {
		return e.releasePorts(ctx)
	}
	_, err := e.server.afterLoss(ctx, func() error { return e.releasePorts(ctx) })
	return err
}

// releasePorts releases the ports.
func (e *Engine) releasePorts(ctx context.Context) error {
	var errs []error
	for _, p := range e.server.ports {
		errs = append(errs, p.stopAnnouncing(ctx), p.clean(ctx), p.setPromiscuous(ctx, false), p.release(ctx))
	}
	e.server.ports, e.armed, e.trial = nil, nil, nil
	return errors.Join(errs...)
}

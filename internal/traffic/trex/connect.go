package trex

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/workload"
)

// api is the interface of a mode of the server, in which it is started.
type api struct {
	// name of the mode, and of its interface.
	name         string
	major, minor int
	// remedy starts the server in this mode.
	remedy string
}

var (
	stl  = api{"STL", 5, 1, "start it with -i and without --astf"}
	astf = api{"ASTF", 2, 3, "start it with -i --astf"}
)

// version is the answer of get_version.
type version struct {
	Version string `json:"version"`
	Mode    string `json:"mode"`
}

// system is the answer of get_system_info, without unused fields.
type system struct {
	Hostname string       `json:"hostname"`
	Started  string       `json:"uptime"`
	CoreType string       `json:"core_type"`
	Cores    int          `json:"dp_core_count"`
	Ports    []systemPort `json:"ports"`
}

// systemPort is one port of the server. The list is not in the order of index.
type systemPort struct {
	Index       int    `json:"index"`
	Driver      string `json:"driver"`
	Description string `json:"description"`
	PCI         string `json:"pci_addr"`
	MAC         string `json:"hw_mac"`
	Virtual     bool   `json:"is_virtual"`
	RX          struct {
		Capabilities []string `json:"caps"`
		Counters     int      `json:"counters"`
	} `json:"rx"`
}

// Open connects to a server in the mode in which it was started: in mode ASTF with hosts, which describe the ports, and in mode STL without.
func Open(ctx context.Context, o Options, hosts []workload.Port) (traffic.Generator, error) {
	if len(hosts) > 0 {
		return NewASTF(ctx, o, hosts)
	}
	return New(ctx, o)
}

// server is the session with the TRex server, and the ports that it has taken there.
type server struct {
	options Options
	api     api
	client  client
	session uint32
	version version
	system  system
	ports   []*port
	clock   traffic.Clock
}

// named returns the port of a name, or nil.
func (s *server) named(name string) *port {
	for _, p := range s.ports {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// holder returns the port that has an address, or nil.
func (s *server) holder(addr netip.Addr) *port {
	for _, p := range s.ports {
		if slices.ContainsFunc(p.Addresses, func(prefix netip.Prefix) bool { return prefix.Addr() == addr }) {
			return p
		}
	}
	return nil
}

// at returns the port of the server's number, or nil.
func (s *server) at(index int) *port {
	for _, p := range s.ports {
		if p.index() == index {
			return p
		}
	}
	return nil
}

// handshake agrees on the API and reads the version and ports of the server.
func (s *server) handshake(ctx context.Context) error {
	if err := s.client.call(ctx, "get_version", nil, &s.version); err != nil {
		return err
	}
	if s.version.Mode != s.api.name {
		return fmt.Errorf("TRex at %s runs in mode %s: %s, in mode %s", s.client.endpoint, s.version.Mode, s.api.remedy, s.api.name)
	}
	var sync struct {
		Handle string `json:"api_h"`
	}
	if err := s.client.call(ctx, "api_sync_v2", params{"name": s.api.name, "major": s.api.major, "minor": s.api.minor}, &sync); err != nil {
		return fmt.Errorf("agreeing on API %s %d.%d with TRex %s: %w", s.api.name, s.api.major, s.api.minor, s.version.Version, err)
	}
	s.client.handle = sync.Handle
	if err := s.client.call(ctx, "get_system_info", nil, &s.system); err != nil {
		return err
	}
	s.client.started = s.system.Started
	return nil
}

// open agrees on the API with the server, takes the ports and removes their streams.
func (s *server) open(ctx context.Context) error {
	if err := s.handshake(ctx); err != nil {
		return err
	}
	for _, o := range s.options.Ports {
		p, err := newPort(o, s.system, &s.client)
		if err != nil {
			return err
		}
		for _, other := range s.ports {
			if other.Name == p.Name || other.index() == p.index() {
				return fmt.Errorf("ports %s and %s: want different names and different TRex ports", other.Name, p.Name)
			}
		}
		if err := p.acquire(ctx, s.session, s.options); err != nil {
			return err
		}
		s.ports = append(s.ports, p)
		if err := p.leftovers(ctx); err != nil {
			return err
		}
		if err := p.clean(ctx); err != nil {
			return err
		}
		s, err := p.status(ctx)
		if err != nil {
			return err
		}
		p.promiscuous = s.Attr.Promiscuous.Enabled
	}
	return nil
}

// acquire takes the port for a session.
func (p *port) acquire(ctx context.Context, session uint32, o Options) error {
	err := p.client.call(ctx, "acquire", params{
		"port_id": p.index(), "user": o.User, "session_id": session, "force": o.Force,
	}, &p.handler)
	if err != nil {
		return fmt.Errorf("taking port %s (TRex port %d): %w; let its owner release it, or take it by force", p.Name, p.index(), err)
	}
	return nil
}

// release releases the port.
func (p *port) release(ctx context.Context) error {
	if p.handler == "" {
		return nil
	}
	err := p.client.call(ctx, "release", p.owned(nil), nil)
	p.handler = ""
	return err
}

// The types of events that matter here.
const (
	eventAcquired = 5
	eventError    = 7
)

// event is an event at the server. Events are polled: the PUB socket of this version carries
// only global counters and the call to ask.
type event struct {
	Type int `json:"type"`
	Data struct {
		Port    int    `json:"port_id"`
		Session uint32 `json:"session_id"`
		Who     string `json:"who"`
	} `json:"data"`
}

// events reads the events since the last call, and fails when one invalidates the
// current trial: a port was taken away, or a core of the server reports an error,
// which no other call reports.
func (s *server) events(ctx context.Context) error {
	var answer struct {
		Data []event `json:"data"`
	}
	if err := s.client.call(ctx, "get_async_events", params{"session_id": s.session, "user": s.options.User}, &answer); err != nil {
		return err
	}
	var errs []error
	for _, ev := range answer.Data {
		p := s.at(ev.Data.Port)
		switch {
		case p == nil:
		case ev.Type == eventAcquired && ev.Data.Session != s.session:
			errs = append(errs, fmt.Errorf("%w: port %s was taken by %s", traffic.ErrInterrupted, p.Name, ev.Data.Who))
		case ev.Type == eventError:
			errs = append(errs, fmt.Errorf("%w: TRex reports an error on port %s", traffic.ErrInterrupted, p.Name))
		}
	}
	return errors.Join(errs...)
}

package trex

import (
	"context"
	"errors"
	"fmt"

	"nodrop.dev/nodrop/internal/traffic"
)

const (
	apiName  = "STL"
	apiMajor = 5
	apiMinor = 1
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

// handshake agrees on the API and reads the version and ports of the server.
func (e *Engine) handshake(ctx context.Context) error {
	if err := e.client.call(ctx, "get_version", nil, &e.version); err != nil {
		return err
	}
	if e.version.Mode != apiName {
		return fmt.Errorf("TRex at %s runs in mode %s: start it with -i and without --astf, in mode %s", e.client.endpoint, e.version.Mode, apiName)
	}
	var sync struct {
		Handle string `json:"api_h"`
	}
	if err := e.client.call(ctx, "api_sync_v2", params{"name": apiName, "major": apiMajor, "minor": apiMinor}, &sync); err != nil {
		return fmt.Errorf("agreeing on API %s %d.%d with TRex %s: %w", apiName, apiMajor, apiMinor, e.version.Version, err)
	}
	e.client.handle = sync.Handle
	if err := e.client.call(ctx, "get_system_info", nil, &e.system); err != nil {
		return err
	}
	e.client.started = e.system.Started
	return nil
}

// acquire takes a port for this session.
func (e *Engine) acquire(ctx context.Context, p *port) error {
	err := e.client.call(ctx, "acquire", params{
		"port_id": p.index(), "user": e.options.User, "session_id": e.session, "force": e.options.Force,
	}, &p.handler)
	if err != nil {
		return fmt.Errorf("taking port %s (TRex port %d): %w; let its owner release it, or take it by force", p.Name, p.index(), err)
	}
	return nil
}

// release releases a port.
func (e *Engine) release(ctx context.Context, p *port) error {
	if p.handler == "" {
		return nil
	}
	err := e.client.call(ctx, "release", p.owned(nil), nil)
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
func (e *Engine) events(ctx context.Context) error {
	var answer struct {
		Data []event `json:"data"`
	}
	if err := e.client.call(ctx, "get_async_events", params{"session_id": e.session, "user": e.options.User}, &answer); err != nil {
		return err
	}
	var errs []error
	for _, ev := range answer.Data {
		p := e.portAt(ev.Data.Port)
		switch {
		case p == nil:
		case ev.Type == eventAcquired && ev.Data.Session != e.session:
			errs = append(errs, fmt.Errorf("%w: port %s was taken by %s", traffic.ErrInterrupted, p.Name, ev.Data.Who))
		case ev.Type == eventError:
			errs = append(errs, fmt.Errorf("%w: TRex reports an error on port %s", traffic.ErrInterrupted, p.Name))
		}
	}
	return errors.Join(errs...)
}

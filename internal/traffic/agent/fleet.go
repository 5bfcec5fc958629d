package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/traffic"
)

// Fleet joins agents into one Generator. A trial starts in three steps, so that
// no frame arrives before its receiver counts: all agents are armed, then those
// that only receive are started, then those that send.
type Fleet struct {
	members []*Client
	// order of the ports in the bed.
	order []string
	// owner is the index of the member that owns a port.
	owner map[string]int
	epoch uint16

	// sender is the index of the member that sends a stream, and crossing holds the
	// streams that are received by another member than the sender.
	sender   map[uint16]int
	crossing map[uint16]bool
	// commonClock reports whether latency between members means something.
	commonClock bool
}

var (
	_ traffic.Generator        = (*Fleet)(nil)
	_ traffic.Proxy            = (*Fleet)(nil)
	_ traffic.ProgressReporter = (*Fleet)(nil)
	_ traffic.Sampler          = (*Fleet)(nil)
	_ traffic.GroupMember      = (*Fleet)(nil)
	_ traffic.MicroflowCounter = (*Fleet)(nil)
)

// DialFleet becomes the controller of all agents; order is the order of the
// ports in the bed. It waits until ctx ends, and when one agent cannot be had it
// gives up all.
func DialFleet(ctx context.Context, endpoints []Endpoint, order []string, b pki.Bundle, o ClientOptions) (*Fleet, error) {
	if len(endpoints) == 0 {
		return nil, errors.New("dialling agents: there are none")
	}
	f := &Fleet{
		members: make([]*Client, len(endpoints)),
		order:   order,
		owner:   map[string]int{},
		// A random beginning keeps the frames of an earlier runner's last trial apart.
		epoch: uint16(rand.Uint32()),
	}
	for i, e := range endpoints {
		for _, port := range e.Ports {
			if other, taken := f.owner[port]; taken {
				return nil, fmt.Errorf("dialling agents: port %s belongs to both %s and %s", port, endpoints[other].Name, e.Name)
			}
			f.owner[port] = i
		}
	}
	for _, port := range order {
		if _, ok := f.owner[port]; !ok {
			return nil, fmt.Errorf("dialling agents: no agent owns port %s", port)
		}
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for i, e := range endpoints {
		group.Go(func() (err error) {
			f.members[i], err = Dial(groupCtx, e, b, o)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// each runs call for all members in parallel and returns the first error.
func (f *Fleet) each(ctx context.Context, call func(ctx context.Context, i int, c *Client) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for i, c := range f.members {
		group.Go(func() error { return call(ctx, i, c) })
	}
	return group.Wait()
}

// Info implements Generator: hosts in the order of the agents, ports in the
// order of the bed, and of the capabilities what all have.
func (f *Fleet) Info(ctx context.Context) (traffic.Info, error) {
	infos := make([]traffic.Info, len(f.members))
	err := f.each(ctx, func(ctx context.Context, i int, c *Client) error {
		info, err := c.Info(ctx)
		if err == nil && len(f.members) > 1 && !c.link.has(abilityArmer) {
			err = fmt.Errorf("agent %s: its engine %s cannot be joined with others: put all ports of the bed on one node", c.link.endpoint.Name, info.Engine)
		}
		infos[i] = info
		return err
	})
	if err != nil {
		return traffic.Info{}, err
	}
	return mergeInfo(infos, f.order)
}

func mergeInfo(infos []traffic.Info, order []string) (traffic.Info, error) {
	all := traffic.Info{Engine: infos[0].Engine, Capabilities: infos[0].Capabilities}
	var details, latencyTypes []string
	for _, info := range infos {
		if info.Engine != all.Engine {
			return traffic.Info{}, fmt.Errorf("joining agents: one has the engine %s, another %s", all.Engine, info.Engine)
		}
		if !slices.Contains(details, info.Detail) {
			details = append(details, info.Detail)
		}
		if !slices.Contains(latencyTypes, info.Capabilities.LatencyType) {
			latencyTypes = append(latencyTypes, info.Capabilities.LatencyType)
		}
		all.Hosts = append(all.Hosts, info.Hosts...)
		all.Ports = append(all.Ports, info.Ports...)
		l, other := &all.Capabilities.Limits, info.Capabilities.Limits
		l.MaxStreams = min(l.MaxStreams, other.MaxStreams)
		l.MaxFrameSize = min(l.MaxFrameSize, other.MaxFrameSize)
		l.MaxMicroflows = min(l.MaxMicroflows, other.MaxMicroflows)
		l.SampledLatency = l.SampledLatency && other.SampledLatency
		l.Lateness = max(l.Lateness, other.Lateness)
	}
	all.Detail = strings.Join(details, "; ")
	all.Capabilities.LatencyType = strings.Join(latencyTypes, "; ")
	slices.SortStableFunc(all.Ports, func(a, b traffic.PortInfo) int {
		return slices.Index(order, a.Name) - slices.Index(order, b.Name)
	})
	return all, nil
}

// Resolve implements Generator.
func (f *Fleet) Resolve(ctx context.Context, port string, addr netip.Addr) (traffic.MAC, error) {
	i, ok := f.owner[port]
	if !ok {
		return traffic.MAC{}, fmt.Errorf("resolving %s: no agent owns port %s", addr, port)
	}
	return f.members[i].Resolve(ctx, port, addr)
}

// Configure implements Generator. Every agent gets all streams: an engine may have
// to know those of others to count them.
func (f *Fleet) Configure(ctx context.Context, streams []traffic.Stream) error {
	f.sender, f.crossing = map[uint16]int{}, map[uint16]bool{}
	for _, s := range streams {
		sender, ok := f.owner[s.TxPort]
		if !ok {
			return fmt.Errorf("configuring stream %d: no agent owns port %s", s.ID, s.TxPort)
		}
		f.sender[s.ID] = sender
		for _, port := range s.RxPorts {
			receiver, ok := f.owner[port]
			if !ok {
				return fmt.Errorf("configuring stream %d: no agent owns port %s", s.ID, port)
			}
			if receiver != sender {
				f.crossing[s.ID] = true
			}
		}
	}
	f.commonClock = true
	if len(f.crossing) > 0 {
		info, err := f.Info(ctx)
		if err != nil {
			return err
		}
		f.commonClock = info.Capabilities.CrossHostLatency || sameHost(info.Hosts)
	}
	return f.each(ctx, func(ctx context.Context, _ int, c *Client) error { return c.Configure(ctx, streams) })
}

// sameHost reports whether all agents run on one machine, and so have one clock.
func sameHost(hosts []traffic.Host) bool {
	return !slices.ContainsFunc(hosts, func(h traffic.Host) bool { return h.Name != hosts[0].Name })
}

// Start implements Generator. When one agent cannot start, none goes on.
func (f *Fleet) Start(ctx context.Context, trial traffic.Trial) error {
	if len(f.members) == 1 {
		return f.members[0].Start(ctx, trial)
	}
	if f.epoch++; f.epoch == 0 {
		f.epoch = 1
	}
	trial.Epoch = f.epoch
	if err := f.each(ctx, func(ctx context.Context, _ int, c *Client) error { return c.Arm(ctx, trial) }); err != nil {
		return err
	}
	parts := make([]traffic.Trial, len(f.members))
	for i := range parts {
		parts[i] = traffic.Trial{Loads: map[uint16]traffic.Load{}, Duration: trial.Duration, Epoch: trial.Epoch}
	}
	for id, load := range trial.Loads {
		sender, ok := f.sender[id]
		if !ok {
			return fmt.Errorf("starting a trial: stream %d is not configured", id)
		}
		parts[sender].Loads[id] = load
	}
	for _, sends := range []bool{false, true} {
		err := f.each(ctx, func(ctx context.Context, i int, c *Client) error {
			if (len(parts[i].Loads) > 0) != sends {
				return nil
			}
			return c.Start(ctx, parts[i])
		})
		if err != nil {
			return errors.Join(err, f.halt(ctx))
		}
	}
	return nil
}

// Wait implements Generator. When one agent fails, the others stop.
func (f *Fleet) Wait(ctx context.Context) error {
	err := f.each(ctx, func(ctx context.Context, _ int, c *Client) error { return c.Wait(ctx) })
	if err != nil && ctx.Err() == nil {
		err = errors.Join(err, f.halt(ctx))
	}
	return err
}

// halt stops those that can be reached at once; the others stop by themselves,
// because their connection is gone.
func (f *Fleet) halt(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	var mu sync.Mutex
	var errs []error
	_ = f.each(ctx, func(ctx context.Context, _ int, c *Client) error {
		if !c.link.connected() {
			return nil
		}
		if err := c.Stop(ctx); err != nil && !errors.Is(err, traffic.ErrInterrupted) {
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		}
		return nil
	})
	return errors.Join(errs...)
}

// Stop implements Generator.
func (f *Fleet) Stop(ctx context.Context) error {
	return f.each(ctx, func(ctx context.Context, _ int, c *Client) error { return c.Stop(ctx) })
}

// Read implements Generator. Latency between agents without a common clock is
// left out: it would be the difference of two clocks.
func (f *Fleet) Read(ctx context.Context) (traffic.Measurement, error) {
	parts := make([]traffic.Measurement, len(f.members))
	err := f.each(ctx, func(ctx context.Context, i int, c *Client) (err error) {
		parts[i], err = c.Read(ctx)
		return err
	})
	if err != nil {
		return traffic.Measurement{}, err
	}
	all := parts[0]
	for i, part := range parts {
		if i > 0 {
			for id, tx := range part.Tx {
				all.Tx[id] = tx
			}
			all.TxTime = max(all.TxTime, part.TxTime)
			all.Notes = append(all.Notes, part.Notes...)
			// Every port has one agent.
			all.Misdelivered = merged(all.Misdelivered, part.Misdelivered)
			all.Dropped = merged(all.Dropped, part.Dropped)
			all.Unsent = merged(all.Unsent, part.Unsent)
			all.WireErrors = merged(all.WireErrors, part.WireErrors)
			all.Pacing = merged(all.Pacing, part.Pacing)
			all.Damaged = merged(all.Damaged, part.Damaged)
			all.Stale = merged(all.Stale, part.Stale)
			all.Pauses = merged(all.Pauses, part.Pauses)
			all.Notifications = merged(all.Notifications, part.Notifications)
			all.Began = merged(all.Began, part.Began)
		}
		for key, rx := range part.Rx {
			if f.crossing[key.Stream] && !f.commonClock && f.sender[key.Stream] != i {
				rx.Latency = traffic.Latency{}
			}
			all.Rx[key] = rx
		}
	}
	return all, nil
}

// merged adds the counters of more ports to those of others.
func merged[T any](all, more map[string]T) map[string]T {
	if all == nil {
		return more
	}
	maps.Copy(all, more)
	return all
}

// Clock implements Generator: agents live in real time.
func (f *Fleet) Clock() traffic.Clock { return traffic.RealClock{} }

// Close gives all agents up.
func (f *Fleet) Close() error {
	var wg sync.WaitGroup
	errs := make([]error, len(f.members))
	for i, c := range f.members {
		if c != nil {
			wg.Go(func() { errs[i] = c.Close() })
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

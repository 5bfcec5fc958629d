package kernelstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"

	"github.com/vishvananda/netlink"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/workload"
)

const (
	// messagePort is the UDP port of messages.
	messagePort = 20001
	// probePause is the time between two rounds of probes, and probeGap the time between two probes of a publisher.
	probePause, probeGap = 200 * time.Millisecond, 100 * time.Microsecond
	// headStart is the time from the order to send to the first message.
	headStart = 20 * time.Millisecond
	// messagePoll is the time between two looks at the subscribers.
	messagePoll = 10 * time.Millisecond
)

// messages are messages in hand.
type messages struct {
	engine      *Engine
	request     workload.MessagesRequest
	publishers  []*publisher
	subscribers []*subscriber
	// id tells the datagrams from others, and base is the time from which all hosts count.
	id   uint64
	base time.Time
}

// Messages implements workload.Engine.
func (e *Engine) Messages(ctx context.Context, request workload.MessagesRequest) (out workload.Messages, err error) {
	if err := request.Validate(); err != nil {
		return out, err
	}
	run := &messages{engine: e, request: request, id: rand.Uint64(), base: time.Now()}
	defer func() { err = errors.Join(err, run.close()) }()
	if err := run.populate(ctx); err != nil {
		return out, err
	}
	if err := run.settings(&out); err != nil {
		return out, err
	}
	if err := run.measure(ctx, &out); err != nil {
		return out, cmp.Or(context.Cause(ctx), err)
	}
	return out, nil
}

// populate makes the hosts. Subscribers join all groups.
func (run *messages) populate(ctx context.Context) error {
	used := map[netip.Addr]bool{}
	for i, port := range run.request.Publishers {
		made, err := run.engine.newHosts(ctx, port, 1, run.request.MTU, used)
		if err != nil {
			return err
		}
		p := &publisher{host: made[0], run: run, index: i}
		run.publishers = append(run.publishers, p)
		if err := p.open(); err != nil {
			return fmt.Errorf("publisher %s on port %s: %w", p.address, p.port, err)
		}
	}
	for i, port := range run.request.Subscribers {
		made, err := run.engine.newHosts(ctx, port, 1, run.request.MTU, used)
		if err != nil {
			return err
		}
		s := newSubscriber(run, made[0])
		run.subscribers = append(run.subscribers, s)
		if err := s.open(run.request.ReceiveBuffers[i]); err != nil {
			return fmt.Errorf("subscriber %s on port %s: %w", s.address, s.port, err)
		}
	}
	return nil
}

// settings reads the settings of the hosts that are in force.
func (run *messages) settings(out *workload.Messages) (err error) {
	if out.Offloads, err = run.engine.offloadsOn(); err != nil {
		return err
	}
	for _, p := range run.publishers {
		if out.SendBuffer == 0 || p.buffer < out.SendBuffer {
			out.SendBuffer = p.buffer
		}
	}
	for _, h := range run.hosts() {
		mtu, err := h.mtu()
		if err != nil {
			return err
		}
		if out.MTU == 0 || mtu < out.MTU {
			out.MTU = mtu
		}
	}
	return nil
}

// measure waits until all groups reach all subscribers, sends all messages, and waits for the last ones.
func (run *messages) measure(ctx context.Context, out *workload.Messages) error {
	var receiving sync.WaitGroup
	for _, s := range run.subscribers {
		receiving.Go(s.receive)
	}
	stop := sync.OnceFunc(func() {
		for _, s := range run.subscribers {
			s.stop()
		}
		receiving.Wait()
	})
	defer stop()
	unreached, err := run.probe(ctx)
	if err != nil || unreached != "" {
		out.Unreached = unreached
		return err
	}
	before, err := run.counted()
	if err != nil {
		return err
	}
	if err := run.publish(ctx, out); err != nil {
		return err
	}
	if err := run.settle(ctx, out.Sent); err != nil {
		return err
	}
	after, err := run.counted()
	if err != nil {
		return err
	}
	stop()
	for _, s := range run.subscribers {
		if s.failed != nil {
			return fmt.Errorf("subscriber %s on port %s: %w", s.address, s.port, s.failed)
		}
	}
	out.Limits = after.machine.since(before.machine)
	run.summarize(out, before, after)
	return nil
}

// probe sends a datagram of each publisher to each group until each subscriber has it, and describes one that does not arrive.
func (run *messages) probe(ctx context.Context) (unreached string, _ error) {
	deadline := time.Now().Add(run.request.JoinTime)
	all := int64(len(run.publishers) * run.request.Groups)
	for {
		for _, p := range run.publishers {
			if err := p.probe(ctx); err != nil {
				return "", fmt.Errorf("publisher %s on port %s: %w", p.address, p.port, err)
			}
		}
		for end := time.Now().Add(probePause); time.Now().Before(end); {
			reached := true
			for _, s := range run.subscribers {
				reached = reached && s.probes.Load() == all
			}
			if reached {
				return "", nil
			}
			if err := pause(ctx, messagePoll); err != nil {
				return "", err
			}
		}
		if time.Now().After(deadline) {
			return run.unreached(), nil
		}
	}
}

// unreached describes the subscriber with the fewest probes.
func (run *messages) unreached() string {
	all := len(run.publishers) * run.request.Groups
	worst := run.subscribers[0]
	for _, s := range run.subscribers {
		if s.probes.Load() < worst.probes.Load() {
			worst = s
		}
	}
	return fmt.Sprintf("subscriber %s on port %s joined %d groups, and within %s datagrams of %d of %d pairs of publishers and groups arrived: check that the device forwards the groups from %s on",
		worst.address, worst.port, run.request.Groups, run.request.JoinTime, worst.probes.Load(), all, run.request.FirstGroup)
}

// publish sends all messages.
func (run *messages) publish(ctx context.Context, out *workload.Messages) error {
	start := time.Now().Add(headStart)
	var sending sync.WaitGroup
	for _, p := range run.publishers {
		sending.Go(func() { p.failed = p.publish(ctx, start) })
	}
	sending.Wait()
	var first, last time.Time
	for _, p := range run.publishers {
		if p.failed != nil {
			return fmt.Errorf("publisher %s on port %s: %w", p.address, p.port, p.failed)
		}
		out.Sent += p.sent
		out.LongestLag = max(out.LongestLag, p.lag)
		if p.sent > 0 && (first.IsZero() || p.first.Before(first)) {
			first = p.first
		}
		if p.last.After(last) {
			last = p.last
		}
	}
	out.SendSpan = last.Sub(first)
	return nil
}

// settle waits until all messages are received, or none arrived for the settling time.
func (run *messages) settle(ctx context.Context, sent int64) error {
	last, since := int64(-1), time.Now()
	for {
		sum, all := int64(0), true
		for _, s := range run.subscribers {
			n := s.arrived.Load()
			sum, all = sum+n, all && n >= sent
		}
		if all {
			return nil
		}
		if sum != last {
			last, since = sum, time.Now()
		}
		if time.Since(since) > run.request.SettleTime {
			return nil
		}
		if err := pause(ctx, messagePoll); err != nil {
			return err
		}
	}
}

// pause waits, unless the context ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// messageCounts are counters of the hosts and of their ports.
type messageCounts struct {
	machine machine
	// sockets and interfaces are the drops of each subscriber, and ports the packets that each port dropped in both directions.
	sockets, interfaces []int64
	ports               map[string]portDrops
}

type portDrops struct{ received, sent int64 }

// counted reads the counters.
func (run *messages) counted() (c messageCounts, err error) {
	if c.machine, err = look(); err != nil {
		return c, fmt.Errorf("reading counters of processors: %w", err)
	}
	c.ports = map[string]portDrops{}
	err = run.engine.eachPort(func(p workload.Port) (err error) {
		c.ports[p.Name], err = dropsOf(p.Interface)
		return err
	})
	if err != nil {
		return c, err
	}
	for _, s := range run.subscribers {
		n, err := s.socketDrops()
		if err != nil {
			return c, err
		}
		c.sockets = append(c.sockets, n)
		err = netif.In(s.ns, func() error {
			d, err := dropsOf(hostInterface)
			c.interfaces = append(c.interfaces, d.received)
			return err
		})
		if err != nil {
			return c, fmt.Errorf("reading counters of host %s: %w", s.address, err)
		}
	}
	return c, nil
}

// dropsOf returns the packets that an interface of the namespace of the thread dropped. Those that no protocol wants do not count.
func dropsOf(name string) (d portDrops, _ error) {
	l, err := netlink.LinkByName(name)
	if err != nil {
		return d, fmt.Errorf("looking for interface %s: %w", name, err)
	}
	s := l.Attrs().Statistics
	if s == nil {
		return d, fmt.Errorf("interface %s has no counters", name)
	}
	return portDrops{received: int64(s.RxDropped + s.RxFifoErrors + s.RxMissedErrors), sent: int64(s.TxDropped)}, nil
}

// summarize makes the counts of all subscribers.
func (run *messages) summarize(out *workload.Messages, before, after messageCounts) {
	publishing := map[string]bool{}
	for _, p := range run.publishers {
		if !publishing[p.port] {
			out.PublisherDrops += after.ports[p.port].sent - before.ports[p.port].sent
		}
		publishing[p.port] = true
	}
	for i, s := range run.subscribers {
		one := s.summarize(run.publishers)
		one.SocketDrops = after.sockets[i] - before.sockets[i]
		one.InterfaceDrops = after.interfaces[i] - before.interfaces[i] + after.ports[s.port].received - before.ports[s.port].received
		out.Subscribers = append(out.Subscribers, one)
	}
}

// hosts returns all hosts.
func (run *messages) hosts() (all []*host) {
	for _, p := range run.publishers {
		all = append(all, p.host)
	}
	for _, s := range run.subscribers {
		all = append(all, s.host)
	}
	return all
}

// close ends all memberships, and removes the hosts.
func (run *messages) close() (err error) {
	for _, p := range run.publishers {
		p.close()
	}
	for _, s := range run.subscribers {
		s.close()
	}
	for _, h := range run.hosts() {
		err = errors.Join(err, h.close())
	}
	return err
}

package kernelstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/workload"
)

const (
	// firstSourcePort and sourcePorts are the ports of clients.
	firstSourcePort, sourcePorts = 1025, workload.ConnectionsPerClient
	// spareFiles is the number of files of a host that are no ends of connections.
	spareFiles = 256
)

// connections are connections in hand.
type connections struct {
	transport
	request workload.ConnectionsRequest
	clients []*connector
	servers []*host
	answers []replier
	// responders are the servers of UDP.
	responders map[*host]*responder
	// id tells the connections from others.
	id uint64
	// files is the former limit of open files; nil if it was not raised.
	files *unix.Rlimit
}

// Connections implements workload.Engine. Each client has a thread with an event loop, and a server of TCP as well: a connection
// takes two sockets of the kernel, or one with UDP, and no goroutine.
func (e *Engine) Connections(ctx context.Context, request workload.ConnectionsRequest) (out workload.Connections, err error) {
	run := &connections{request: request, id: rand.Uint64(), transport: overTCP, responders: map[*host]*responder{}}
	if request.Protocol == workload.UDP {
		run.transport = overUDP
	}
	defer func() { err = errors.Join(err, run.close()) }()
	if err := run.check(); err != nil {
		return out, err
	}
	if err := run.raiseFiles(); err != nil {
		return out, err
	}
	if err := e.populateConnections(ctx, run); err != nil {
		return out, err
	}
	if out.MTU, err = run.mtu(); err != nil {
		return out, err
	}
	if out.Offloads, err = e.offloadsOn(); err != nil {
		return out, err
	}
	if err := run.measure(ctx, &out); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return out, err
	}
	return out, nil
}

// check refuses what the engine cannot do.
func (run *connections) check() error {
	r := run.request
	switch {
	case r.Protocol != "" && r.Protocol != workload.TCP && r.Protocol != workload.UDP:
		return fmt.Errorf("connections of protocol %q were asked for: %s and %s are possible", r.Protocol, workload.TCP, workload.UDP)
	case r.Clients < 1 || r.Clients > workload.MaxHosts || r.Servers < 1 || r.Servers > workload.MaxHosts:
		return fmt.Errorf("%d clients and %d servers were asked for: 1 to %d of each are possible", r.Clients, r.Servers, workload.MaxHosts)
	case r.Connections < 1 || r.Connections > workload.MaxConnections:
		return fmt.Errorf("%d connections were asked for: 1 to %d are possible", r.Connections, workload.MaxConnections)
	case r.Connections > r.Clients*sourcePorts:
		return fmt.Errorf("%d connections were asked for, and %d clients have %d ports each: ask for more clients", r.Connections, r.Clients, sourcePorts)
	case r.Client == r.Server:
		return fmt.Errorf("clients and servers are on port %s: give the servers another one", r.Client)
	}
	return nil
}

// raiseFiles raises the limit of open files of a thread, if it is allowed and needed.
func (run *connections) raiseFiles() error {
	hosts := run.request.Clients
	if !run.oneSocket {
		hosts = min(hosts, run.request.Servers)
	}
	most := (run.request.Connections-1)/hosts + 1
	need := uint64(most + spareFiles)
	var has unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &has); err != nil {
		return fmt.Errorf("reading the limit of open files: %w", err)
	}
	if has.Cur >= need {
		return nil
	}
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: need, Max: max(need, has.Max)}, nil); err != nil {
		return fmt.Errorf("a host has up to %d connections, and the limit of open files is %d: ask for more clients and servers, or raise the limit with ulimit -n: %w", most, has.Max, err)
	}
	run.files = &has
	return nil
}

// populateConnections makes the hosts, and waits until they know their neighbors.
func (e *Engine) populateConnections(ctx context.Context, run *connections) error {
	r, used := run.request, map[netip.Addr]bool{}
	add := func(name string, n int) ([]*host, error) {
		all, err := e.newHosts(ctx, name, n, r.MTU, used)
		for _, h := range all {
			err = cmp.Or(err, h.manyConnections())
		}
		return all, err
	}
	clients, err := add(r.Client, r.Clients)
	for _, h := range clients {
		run.clients = append(run.clients, &connector{host: h, run: run})
	}
	if err != nil {
		return err
	}
	if run.servers, err = add(r.Server, r.Servers); err != nil {
		return err
	}
	if err := e.resolveAll(ctx, clients, run.servers); err != nil {
		return err
	}
	for _, s := range run.servers {
		a, err := run.listen(run, s)
		run.answers = append(run.answers, a)
		if err != nil {
			return fmt.Errorf("listening at server %s: %w", s.address, err)
		}
	}
	for n := range r.Connections {
		c := run.clients[n%len(run.clients)]
		turn := n / len(run.clients)
		c.add(n, run.servers[turn%len(run.servers)], e.sourcePort(turn))
	}
	e.usedPorts += (r.Connections + len(run.clients) - 1) / len(run.clients)
	for _, c := range run.clients {
		if err := c.start(); err != nil {
			return fmt.Errorf("client %s: %w", c.address, err)
		}
	}
	return nil
}

// sourcePort returns the port of a connection of a client. Those of the requests before come last: devices remember
// closed connections.
func (e *Engine) sourcePort(n int) int { return firstSourcePort + (e.usedPorts+n)%sourcePorts }

// manyConnections gives a host room for connections that come at once. A container may not write these files: the defaults
// of the kernel stay (4,096), and servers count what they drop.
func (h *host) manyConnections() error {
	return netif.In(h.ns, func() error {
		for key, value := range map[string]string{"net/core/somaxconn": "65535", "net/ipv4/tcp_max_syn_backlog": "65535"} {
			if err := os.WriteFile("/proc/sys/"+key, []byte(value), 0); err != nil && !errors.Is(err, unix.EROFS) {
				return fmt.Errorf("setting %s of host %s to %s: %w", key, h.address, value, err)
			}
		}
		return nil
	})
}

// mtu returns the smallest MTU of the hosts.
func (run *connections) mtu() (smallest int, _ error) {
	for _, h := range run.hosts() {
		n, err := h.mtu()
		if err != nil {
			return 0, err
		}
		if smallest == 0 || n < smallest {
			smallest = n
		}
	}
	return smallest, nil
}

// measure opens, verifies and closes all connections. Ones of UDP stay open.
func (run *connections) measure(ctx context.Context, out *workload.Connections) error {
	for _, a := range run.answers {
		a.start()
	}
	before, err := look()
	if err != nil {
		return fmt.Errorf("reading counters of processors: %w", err)
	}
	begin, err := run.counted()
	if err != nil {
		return err
	}
	t := run.request.Timeout
	opened, err := run.each(ctx, phase{begin: run.open, rate: run.request.OpenRate, timeout: t})
	if err != nil {
		return fmt.Errorf("opening connections: %w", err)
	}
	again := phase{begin: run.verify, timeout: t}
	if run.paced {
		again.rate = run.request.OpenRate
	}
	if _, err := run.each(ctx, again); err != nil {
		return fmt.Errorf("verifying connections: %w", err)
	}
	open, err := run.counted()
	if err != nil {
		return err
	}
	closed := spans{}
	if run.finish != nil {
		if closed, err = run.each(ctx, phase{begin: run.finish, rate: run.request.CloseRate, timeout: t}); err != nil {
			return fmt.Errorf("closing connections: %w", err)
		}
	}
	end, err := run.counted()
	if err != nil {
		return err
	}
	after, err := look()
	if err != nil {
		return fmt.Errorf("reading counters of processors: %w", err)
	}
	out.Limits = after.since(before)
	out.OpenRetransmissions, out.CloseRetransmissions = open.retransmissions-begin.retransmissions, end.retransmissions-open.retransmissions
	out.ServerDrops = end.drops - begin.drops
	out.OpenSpan, out.SetUp = opened.span, opened.all
	out.CloseSpan, out.TearDown = closed.span, closed.all
	run.summarize(out)
	return nil
}

// each runs a phase at all clients.
func (run *connections) each(ctx context.Context, p phase) (spans, error) {
	var all sync.WaitGroup
	errs := make([]error, len(run.clients))
	p.start = time.Now()
	p.step = len(run.clients)
	for i, c := range run.clients {
		one := p
		one.offset = i
		all.Go(func() { errs[i] = c.do(func() error { return c.loop(ctx, one) }) })
	}
	all.Wait()
	s := spans{}
	var first, lastBegin, lastEnd time.Time
	for _, c := range run.clients {
		if c.first.IsZero() {
			continue
		}
		if first.IsZero() || c.first.Before(first) {
			first = c.first
		}
		if c.lastBegin.After(lastBegin) {
			lastBegin = c.lastBegin
		}
		if c.lastEnd.After(lastEnd) {
			lastEnd = c.lastEnd
		}
	}
	if !first.IsZero() {
		s.span, s.all = lastBegin.Sub(first), max(0, lastEnd.Sub(first))
	}
	for _, a := range run.answers {
		errs = append(errs, a.failed())
	}
	return s, errors.Join(errs...)
}

// spans are the times of a phase: from the first connection to the last one, and to the end of the last one that succeeded.
type spans struct{ span, all time.Duration }

// counts are counters of all hosts: segments that were sent again, and connections and datagrams that were dropped.
type counts struct{ retransmissions, drops uint64 }

// counted reads the counters of all hosts.
func (run *connections) counted() (sum counts, _ error) {
	for _, h := range run.hosts() {
		err := h.inThread(func(thread procfs.Proc) error {
			one, err := countsOf(thread)
			sum.retransmissions += one.retransmissions
			sum.drops += one.drops
			return err
		})
		if err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// countsOf reads the counters of the network namespace of a thread.
func countsOf(thread procfs.Proc) (c counts, _ error) {
	sums, err := thread.Snmp()
	if err != nil {
		return c, err
	}
	more, err := thread.Netstat()
	if err != nil {
		return c, err
	}
	if sums.RetransSegs == nil || more.ListenDrops == nil || sums.Udp.RcvbufErrors == nil || sums.Udp.SndbufErrors == nil {
		return c, errors.New("the kernel lacks a counter of RetransSegs, ListenDrops, RcvbufErrors and SndbufErrors")
	}
	c.retransmissions, c.drops = uint64(*sums.RetransSegs), uint64(*more.ListenDrops+*sums.Udp.RcvbufErrors+*sums.Udp.SndbufErrors)
	return c, nil
}

// hosts returns all hosts.
func (run *connections) hosts() (all []*host) {
	for _, c := range run.clients {
		all = append(all, c.host)
	}
	return append(all, run.servers...)
}

// close ends all connections, and removes the hosts.
func (run *connections) close() error {
	var errs []error
	for _, c := range run.clients {
		c.drop()
	}
	for _, a := range run.answers {
		a.close()
	}
	for _, h := range run.hosts() {
		errs = append(errs, h.close())
	}
	if run.files != nil {
		if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, run.files, nil); err != nil {
			errs = append(errs, fmt.Errorf("restoring the limit of open files: %w", err))
		}
	}
	return errors.Join(errs...)
}

package kernelstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/vishvananda/netlink"

	"nodrop.dev/nodrop/internal/base/interrupt"
	"nodrop.dev/nodrop/internal/workload"
)

// collective is a collective operation in hand.
type collective struct {
	request workload.CollectiveRequest
	members []*member
	// flows are in the order of their first transfers.
	flows []*flow
	// wanted are the expected sums of an AllReduce without the number of the repetition.
	wanted []uint64
	// busy are the counters of processors over all counted repetitions.
	busy machine
}

// member is a host that takes part in an operation.
type member struct {
	*host
	listener net.Listener
	// message is sent, and result is received. They are the same memory in an AllReduce.
	message, result []byte
	// outgoing and incoming are the transfers of each step.
	outgoing, incoming [][]*transfer
	// ended has the time at which the host ended each step of the repetition.
	ended []time.Time
}

// Collective implements workload.Engine. Each pair of hosts that exchanges parts has a connection of its own.
func (e *Engine) Collective(ctx context.Context, request workload.CollectiveRequest) (out workload.Collective, err error) {
	if err := request.Validate(); err != nil {
		return out, err
	}
	run := &collective{request: request}
	defer func() { err = errors.Join(err, run.close()) }()
	if err := e.gather(ctx, run); err != nil {
		return out, err
	}
	if out.Settings, err = e.collectiveSettings(run); err != nil {
		return out, err
	}
	stop := interrupt.AtEnd(ctx, func() { run.deadline(time.Unix(1, 0)) })
	defer stop()
	if err = run.measure(ctx, &out); err == nil {
		err = run.probe(ctx, &out)
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out, err
}

// gather makes the hosts, and opens their connections.
func (e *Engine) gather(ctx context.Context, run *collective) error {
	r, used := run.request, map[netip.Addr]bool{}
	for i := range r.Hosts {
		// Hosts of a port reach each other inside of the machine, as they would behind a switch of their own.
		made, err := e.newHostsIn(ctx, netlink.MACVLAN_MODE_BRIDGE, r.Port(i), 1, r.MTU, used)
		if err != nil {
			return err
		}
		m := &member{host: made[0], ended: make([]time.Time, r.Steps()), outgoing: make([][]*transfer, r.Steps()), incoming: make([][]*transfer, r.Steps())}
		run.members = append(run.members, m)
		if m.listener, err = m.listen(ctx, r.CongestionControl); err != nil {
			return fmt.Errorf("host %s: %w", m.address, err)
		}
	}
	flows := map[[2]int]*flow{}
	for _, one := range r.Schedule() {
		f := flows[[2]int{one.From, one.To}]
		if f == nil {
			f = &flow{from: run.members[one.From], to: run.members[one.To], pair: [2]int{one.From, one.To}}
			flows[f.pair] = f
			run.flows = append(run.flows, f)
			if err := f.open(ctx, r.CongestionControl); err != nil {
				return err
			}
		}
		t := &transfer{Transfer: one, ready: make(chan time.Time, 1), arrived: make(chan struct{}, 1), delivered: make(chan struct{}, 1)}
		f.transfers = append(f.transfers, t)
		f.from.outgoing[one.Step], f.to.incoming[one.Step] = append(f.from.outgoing[one.Step], t), append(f.to.incoming[one.Step], t)
	}
	run.allocate()
	return nil
}

// collectiveSettings reads the settings that are in force.
func (e *Engine) collectiveSettings(run *collective) (s workload.Settings, err error) {
	var hosts []*host
	for _, m := range run.members {
		hosts = append(hosts, m.host)
	}
	if s, err = e.hostSettings(hosts, run.request.MTU); err != nil {
		return s, err
	}
	for _, f := range run.flows {
		err := control(f.near, func(fd int) error { return noteControl(&s, fd, run.request.CongestionControl) })
		if err != nil {
			return s, fmt.Errorf("reading the congestion control of host %s: %w", f.from.address, err)
		}
	}
	return s, nil
}

// measure runs all repetitions.
func (run *collective) measure(ctx context.Context, out *workload.Collective) error {
	r := run.request
	out.Steps = make([][]time.Duration, r.Steps())
	for n := range r.WarmUp + r.Repetitions {
		counts := n >= r.WarmUp
		if n == r.WarmUp {
			if err := run.eachFlow(func(f *flow) (err error) { f.before, err = f.retransmissions(); return err }); err != nil {
				return err
			}
		}
		run.fill(uint64(n))
		begin, err := run.repeat(ctx, counts)
		if err != nil {
			return fmt.Errorf("repetition %d: %w", n+1, err)
		}
		run.check(uint64(n), out)
		if !counts {
			continue
		}
		before := begin
		for step := range r.Steps() {
			last := before
			for _, m := range run.members {
				if m.ended[step].After(last) {
					last = m.ended[step]
				}
			}
			out.Steps[step], before = append(out.Steps[step], last.Sub(before)), last
		}
		out.Completions = append(out.Completions, before.Sub(begin))
	}
	out.Limits = run.busy.since(machine{})
	return run.eachFlow(func(f *flow) error {
		n, err := f.retransmissions()
		one := workload.Link{From: f.pair[0], To: f.pair[1], Time: workload.Percentile(f.times(), 50), Retransmissions: n - f.before}
		out.Links, out.Retransmissions = append(out.Links, one), out.Retransmissions+one.Retransmissions
		return err
	})
}

func (run *collective) eachFlow(f func(*flow) error) error {
	for _, one := range run.flows {
		if err := f(one); err != nil {
			return err
		}
	}
	return nil
}

// repeat runs the operation once, and returns when it began.
func (run *collective) repeat(ctx context.Context, counts bool) (begin time.Time, _ error) {
	run.deadline(time.Now().Add(iterationTime))
	if ctx.Err() != nil { // its end may have set the deadline before
		return begin, context.Cause(ctx)
	}
	before, err := look()
	if err != nil {
		return begin, fmt.Errorf("reading counters of processors: %w", err)
	}
	var all sync.WaitGroup
	failed, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	fail := func(err error) {
		if err != nil {
			stop(err)
			run.deadline(time.Unix(1, 0)) // which ends the other hosts
		}
	}
	for _, f := range run.flows {
		all.Go(func() { fail(f.send(failed)) })
		all.Go(func() { fail(f.receive(counts)) })
	}
	start := make(chan struct{})
	for _, m := range run.members {
		all.Go(func() {
			<-start
			m.follow(failed, run.request)
		})
	}
	begin = time.Now()
	close(start)
	all.Wait()
	if failed.Err() != nil {
		return begin, context.Cause(failed)
	}
	after, err := look()
	if err != nil {
		return begin, fmt.Errorf("reading counters of processors: %w", err)
	}
	if counts {
		run.busy.busy += after.busy - before.busy
		run.busy.all += after.all - before.all
		run.busy.dropped += after.dropped - before.dropped
	}
	return begin, nil
}

// follow does the steps of a host.
func (m *member) follow(ctx context.Context, r workload.CollectiveRequest) {
	for step := range r.Steps() {
		for _, t := range m.outgoing[step] {
			t.ready <- time.Now()
		}
		for _, t := range m.incoming[step] {
			select {
			case <-t.arrived:
			case <-ctx.Done():
				return
			}
			t.land(m.result)
		}
		for _, t := range m.outgoing[step] {
			select {
			case <-t.delivered:
			case <-ctx.Done():
				return
			}
		}
		m.ended[step] = time.Now()
	}
}

// deadline ends reads and writes of all connections at a time.
func (run *collective) deadline(at time.Time) {
	for _, f := range run.flows {
		setDeadlines(at, f.near, f.far)
	}
}

// close ends all connections, and removes the hosts.
func (run *collective) close() error {
	var errs []error
	for _, f := range run.flows {
		f.close()
	}
	for _, m := range run.members {
		if m.listener != nil {
			_ = m.listener.Close()
		}
		errs = append(errs, m.close())
	}
	return errors.Join(errs...)
}

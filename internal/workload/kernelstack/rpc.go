package kernelstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"nodrop.dev/nodrop/internal/base/interrupt"
	"nodrop.dev/nodrop/internal/workload"
)

// rpc are requests in hand: through the device, and between hosts on a direct link.
type rpc struct {
	request       workload.RPCRequest
	through, back *dialog
	direct        *direct
}

// RPC implements workload.Engine.
func (e *Engine) RPC(ctx context.Context, request workload.RPCRequest) (out workload.RPC, err error) {
	if err := request.Validate(); err != nil {
		return out, err
	}
	run := &rpc{request: request}
	defer func() { err = errors.Join(err, run.close()) }()
	if run.through, err = e.dialog(ctx, request.Client, request.Server, request); err != nil {
		return out, err
	}
	run.direct, out.NoReference, err = e.newDirect(request)
	if err != nil {
		return out, fmt.Errorf("making a direct link between two hosts: %w", err)
	}
	if run.direct != nil {
		if run.back, err = run.direct.engine.dialog(ctx, directClient, directServer, request); err != nil {
			return out, fmt.Errorf("on the direct link: %w", err)
		}
	}
	if out.Settings, err = run.settings(e); err != nil {
		return out, err
	}
	stop := interrupt.AtEnd(ctx, run.interrupt)
	defer stop()
	if err := run.measure(&out); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return out, err
	}
	return out, nil
}

// measure runs all rounds. Rounds through the device and back to back take turns.
func (run *rpc) measure(out *workload.RPC) error {
	var serving errgroup.Group
	for _, d := range run.dialogs() {
		serving.Go(func() error {
			err := d.serve(run.request.Bytes)
			if err != nil {
				run.interrupt()
			}
			return err
		})
	}
	// Timers and wake-ups of the scheduler of Go are in no time: the client has a thread of its own.
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // ends with the goroutine
		err := pin()
		if err == nil {
			err = run.ask(out)
		}
		done <- err
	}()
	err := <-done
	run.interrupt() // which ends the servers
	return cmp.Or(serving.Wait(), err)
}

// ask sends all requests.
func (run *rpc) ask(out *workload.RPC) error {
	for _, d := range run.dialogs() {
		if _, err := d.ask(run.request.Bytes, run.request.WarmUp); err != nil {
			return fmt.Errorf("before the first counted request: %w", err)
		}
	}
	sent, err := run.through.retransmissions()
	if err != nil {
		return err
	}
	before, err := look()
	if err != nil {
		return fmt.Errorf("reading counters of processors: %w", err)
	}
	for n := range workload.Rounds {
		for _, d := range run.dialogs() {
			times, err := d.ask(run.request.Bytes, run.request.Round(n))
			if err != nil {
				return fmt.Errorf("round %d: %w", n+1, err)
			}
			if d == run.back {
				out.BackToBack = append(out.BackToBack, times)
			} else {
				out.RoundTrips = append(out.RoundTrips, times)
			}
		}
	}
	after, err := look()
	if err != nil {
		return fmt.Errorf("reading counters of processors: %w", err)
	}
	out.Limits = after.since(before)
	all, err := run.through.retransmissions()
	out.Retransmissions = all - sent
	return err
}

// settings reads the settings of the hosts that are in force.
func (run *rpc) settings(e *Engine) (s workload.Settings, err error) {
	var hosts []*host
	for _, d := range run.dialogs() {
		hosts = append(hosts, d.client, d.server)
	}
	if s, err = e.hostSettings(hosts, run.request.MTU); err != nil {
		return s, err
	}
	if run.direct != nil {
		on, err := run.direct.engine.offloadsOn()
		if err != nil {
			return s, err
		}
		s.Offloads = slices.Compact(slices.Sorted(slices.Values(append(s.Offloads, on...))))
	}
	for _, d := range run.dialogs() {
		for _, fd := range []int{d.near.fd, d.far.fd} {
			if err := noteControl(&s, fd, run.request.CongestionControl); err != nil {
				return s, fmt.Errorf("reading the congestion control of a host: %w", err)
			}
		}
	}
	return s, nil
}

// dialogs returns the connections, the one through the device first.
func (run *rpc) dialogs() []*dialog {
	return slices.DeleteFunc([]*dialog{run.through, run.back}, func(d *dialog) bool { return d == nil })
}

// interrupt ends reads and writes of all connections.
func (run *rpc) interrupt() {
	for _, d := range run.dialogs() {
		d.interrupt()
	}
}

func (run *rpc) close() (err error) {
	for _, d := range run.dialogs() {
		err = errors.Join(err, d.close())
	}
	return errors.Join(err, run.direct.close())
}

// dialog makes a client on one port and a server on another one, with a connection between them.
func (e *Engine) dialog(ctx context.Context, client, server string, r workload.RPCRequest) (d *dialog, err error) {
	d = &dialog{}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
			d = nil
		}
	}()
	used := map[netip.Addr]bool{}
	for _, side := range []struct {
		port string
		host **host
	}{{client, &d.client}, {server, &d.server}} {
		made, err := e.newHosts(ctx, side.port, 1, r.MTU, used)
		if err != nil {
			return d, err
		}
		*side.host = made[0]
	}
	return d, d.connect(ctx, r.CongestionControl)
}

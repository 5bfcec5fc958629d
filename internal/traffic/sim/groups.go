package sim

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// window is a time in which something holds, from the epoch of simulated time on.
// Its end is not in it.
type window struct{ from, to time.Duration }

const forever = time.Duration(math.MaxInt64)

// group is the subject of a report: a multicast group, and the only wanted sender, if any.
type group struct{ address, source netip.Addr }

// groupTable contains the windows in which the device forwards a group, by group and port. The
// windows of a port are in order and do not overlap.
type groupTable map[group]map[string][]window

// holds reports whether the device has a place for a group at a time.
func (t groupTable) holds(g group, at time.Duration) bool {
	for _, windows := range t[g] {
		if len(windows) > 0 && windows[len(windows)-1].to > at {
			return true
		}
	}
	return false
}

// room is the number of places that the device has left for groups, and for multicast routes,
// one for each group and sender.
type room struct{ groups, routes int }

// room returns the places that are left at a time.
func (dev *dut) room(at time.Duration, senders map[netip.Addr]int) room {
	left := room{math.MaxInt, math.MaxInt}
	if limit := dev.behaviour.GroupCapacity; limit != nil {
		left.groups = int(*limit)
	}
	if limit := dev.behaviour.MulticastRouteCapacity; limit != nil {
		left.routes = int(*limit)
	}
	for g := range dev.groups {
		if dev.groups.holds(g, at) {
			left.groups--
			left.routes -= senders[g.address]
		}
	}
	return left
}

// senders returns the number of hosts that send to each group.
func (r *trialRun) senders() map[netip.Addr]int {
	senders := map[netip.Addr]int{}
	for _, s := range r.streams {
		if group := s.Headers.DstIP; group.IsMulticast() {
			senders[group] += int(max(s.Headers.SrcIPCount, 1))
		}
	}
	return senders
}

// Join makes ports members of groups: joinDelay later the device forwards them, as
// long as it has a place for the group. A report about a group that it forwards
// already, also since it was left only just, changes nothing.
func (e *Engine) Join(ctx context.Context, memberships []traffic.Membership) (traffic.Moments, error) {
	now := e.dut.now()
	limited := e.dut.behaviour.GroupCapacity != nil || e.dut.behaviour.MulticastRouteCapacity != nil
	var senders map[netip.Addr]int
	var left room
	if limited {
		senders = e.run.senders()
		left = e.dut.room(now, senders)
	}
	return e.report(ctx, memberships, func(port string, g group) {
		windows := e.dut.groups[g][port]
		if last := len(windows) - 1; last >= 0 && windows[last].to > now {
			windows[last].to = forever
			return
		}
		if limited && !e.dut.groups.holds(g, now) {
			if left.groups < 1 || left.routes < senders[g.address] {
				return
			}
			left.groups--
			left.routes -= senders[g.address]
		}
		if e.dut.groups[g] == nil {
			e.dut.groups[g] = map[string][]window{}
		}
		from := now
		if d := e.dut.behaviour.JoinDelay; d != nil {
			from += d.Duration
		}
		e.dut.groups[g][port] = append(windows, window{from, forever})
	})
}

// Leave ends memberships: leaveDelay later the device forwards the groups no more,
// and what it does not forward yet, never. A report about a group of which the port
// is no member changes nothing.
func (e *Engine) Leave(ctx context.Context, memberships []traffic.Membership) (traffic.Moments, error) {
	now := e.dut.now()
	to := now
	if d := e.dut.behaviour.LeaveDelay; d != nil {
		to += d.Duration
	}
	return e.report(ctx, memberships, func(port string, g group) {
		windows := e.dut.groups[g][port]
		switch last := len(windows) - 1; {
		case last < 0 || windows[last].to < forever:
		case windows[last].from > now:
			e.dut.groups[g][port] = windows[:last]
		default:
			windows[last].to = to
		}
	})
}

// report calls change for every port and group, and tells when.
func (e *Engine) report(ctx context.Context, memberships []traffic.Membership, change func(port string, g group)) (traffic.Moments, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	at := traffic.Moments{}
	for _, m := range memberships {
		if _, ok := e.tester.ports[m.Port]; !ok {
			return nil, fmt.Errorf("a membership of port %q, which the engine does not have", m.Port)
		}
		if !m.Group.IsMulticast() {
			return nil, fmt.Errorf("port %s cannot join %s, which is no multicast group", m.Port, m.Group)
		}
		at[m.Port] = uint64(e.dut.now())
		g := group{m.Group, m.Source}
		for range max(m.Count, 1) {
			change(m.Port, g)
			g.address = g.address.Next()
		}
	}
	return at, nil
}

// reset is Reset of the Device, during a trial or before all.
func (dev *dut) reset(ctx context.Context, trial bool) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	now := dev.now()
	var lasts time.Duration
	if d := dev.behaviour.ResetTime; d != nil {
		lasts = d.Duration
	}
	dev.resets = append(dev.resets, window{now, now + lasts})
	dev.addresses.forget(now+lasts, trial)
	for _, ports := range dev.groups {
		for port, windows := range ports {
			for i := range windows {
				windows[i].to = min(windows[i].to, now)
			}
			ports[port] = slices.DeleteFunc(windows, func(w window) bool { return w.from >= w.to })
		}
	}
	return nil
}

// now is the simulated time since its epoch.
func (dev *dut) now() time.Duration { return dev.clock.Now().Sub(epoch) }

// forgetThePast drops the windows that ended before the trial that begins.
func (dev *dut) forgetThePast() {
	now := dev.now()
	over := func(w window) bool { return w.to <= now }
	for g, ports := range dev.groups {
		for port, windows := range ports {
			if windows = slices.DeleteFunc(windows, over); len(windows) == 0 {
				delete(ports, port)
			} else {
				ports[port] = windows
			}
		}
		if len(ports) == 0 {
			delete(dev.groups, g)
		}
	}
	dev.resets = slices.DeleteFunc(dev.resets, over)
	dev.rib.forgetThePast(now)
}

// limited reports whether the device forwards a stream to its receivers at some times
// of the trial only.
func (dev *dut) limited(s *traffic.Stream, own odd) bool {
	return s.Headers.DstIP.IsMulticast() || toNetworks(s) || len(dev.resets) > 0 || own.stall > 0
}

// open are the times of a trial of d from start on, from its beginning, in which the device
// forwards a stream to a port: a multicast group to its members only, and nothing
// while it is reset or stalls.
func (dev *dut) open(s *traffic.Stream, port string, own odd, start, d time.Duration) []window {
	windows := []window{{start, start + d}}
	if group := s.Headers.DstIP; group.IsMulticast() {
		windows = append(slices.Clone(dev.members(group, netip.Addr{}, port)), dev.members(group, s.Headers.SrcIP, port)...)
	}
	for _, r := range append(own.stalls(window{start, start + d}), dev.resets...) {
		var left []window
		for _, w := range windows {
			left = append(left, window{w.from, min(w.to, r.from)}, window{max(w.from, r.to), w.to})
		}
		windows = left
	}
	var within []window
	for _, w := range windows {
		w = window{max(w.from-start, 0), min(w.to, start+d) - start}
		if w.from < w.to {
			within = append(within, w)
		}
	}
	return joined(within)
}

func (dev *dut) members(address, source netip.Addr, port string) []window {
	return dev.groups[group{address, source}][port]
}

// joined are windows in their order, those that touch each other as one.
func joined(windows []window) []window {
	slices.SortFunc(windows, func(a, b window) int { return int(min(max(a.from-b.from, -1), 1)) })
	var all []window
	for _, w := range windows {
		if last := len(all) - 1; last >= 0 && w.from <= all[last].to {
			all[last].to = max(all[last].to, w.to)
			continue
		}
		all = append(all, w)
	}
	return all
}

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
func (e *Engine) room(at time.Duration, senders map[netip.Addr]int) room {
	left := room{math.MaxInt, math.MaxInt}
	if limit := e.behaviour.GroupCapacity; limit != nil {
		left.groups = int(*limit)
	}
	if limit := e.behaviour.MulticastRouteCapacity; limit != nil {
		left.routes = int(*limit)
	}
	for g := range e.groups {
		if e.groups.holds(g, at) {
			left.groups--
			left.routes -= senders[g.address]
		}
	}
	return left
}

// senders returns the number of hosts that send to each group.
func (e *Engine) senders() map[netip.Addr]int {
	senders := map[netip.Addr]int{}
	for _, s := range e.streams {
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
	now := e.now()
	limited := e.behaviour.GroupCapacity != nil || e.behaviour.MulticastRouteCapacity != nil
	var senders map[netip.Addr]int
	var left room
	if limited {
		senders = e.senders()
		left = e.room(now, senders)
	}
	return e.report(ctx, memberships, func(port string, g group) {
		windows := e.groups[g][port]
		if last := len(windows) - 1; last >= 0 && windows[last].to > now {
			windows[last].to = forever
			return
		}
		if limited && !e.groups.holds(g, now) {
			if left.groups < 1 || left.routes < senders[g.address] {
				return
			}
			left.groups--
			left.routes -= senders[g.address]
		}
		if e.groups[g] == nil {
			e.groups[g] = map[string][]window{}
		}
		from := now
		if d := e.behaviour.JoinDelay; d != nil {
			from += d.Duration
		}
		e.groups[g][port] = append(windows, window{from, forever})
	})
}

// Leave ends memberships: leaveDelay later the device forwards the groups no more,
// and what it does not forward yet, never. A report about a group of which the port
// is no member changes nothing.
func (e *Engine) Leave(ctx context.Context, memberships []traffic.Membership) (traffic.Moments, error) {
	now := e.now()
	to := now
	if d := e.behaviour.LeaveDelay; d != nil {
		to += d.Duration
	}
	return e.report(ctx, memberships, func(port string, g group) {
		windows := e.groups[g][port]
		switch last := len(windows) - 1; {
		case last < 0 || windows[last].to < forever:
		case windows[last].from > now:
			e.groups[g][port] = windows[:last]
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
		if _, ok := e.ports[m.Port]; !ok {
			return nil, fmt.Errorf("a membership of port %q, which the engine does not have", m.Port)
		}
		if !m.Group.IsMulticast() {
			return nil, fmt.Errorf("port %s cannot join %s, which is no multicast group", m.Port, m.Group)
		}
		at[m.Port] = uint64(e.now())
		g := group{m.Group, m.Source}
		for range max(m.Count, 1) {
			change(m.Port, g)
			g.address = g.address.Next()
		}
	}
	return at, nil
}

// reset is Reset of the Device.
func (e *Engine) reset(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	now := e.now()
	var lasts time.Duration
	if d := e.behaviour.ResetTime; d != nil {
		lasts = d.Duration
	}
	e.resets = append(e.resets, window{now, now + lasts})
	e.forget(now + lasts)
	for _, ports := range e.groups {
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
func (e *Engine) now() time.Duration { return e.clock.Now().Sub(epoch) }

// forgetThePast drops the windows that ended before the trial that begins.
func (e *Engine) forgetThePast() {
	now := e.now()
	over := func(w window) bool { return w.to <= now }
	for g, ports := range e.groups {
		for port, windows := range ports {
			if windows = slices.DeleteFunc(windows, over); len(windows) == 0 {
				delete(ports, port)
			} else {
				ports[port] = windows
			}
		}
		if len(ports) == 0 {
			delete(e.groups, g)
		}
	}
	e.resets = slices.DeleteFunc(e.resets, over)
	e.rib.forgetThePast(now)
}

// limited reports whether the device forwards a stream to its receivers at some times
// of the trial only.
func (e *Engine) limited(s *traffic.Stream) bool {
	return s.Headers.DstIP.IsMulticast() || toNetworks(s) || len(e.resets) > 0 || e.rows[s.FrameSize].odd.stall > 0
}

// open are the times of a trial of d, from its beginning, in which the device
// forwards a stream to a port: a multicast group to its members only, and nothing
// while it is reset or stalls.
func (e *Engine) open(s *traffic.Stream, port string, d time.Duration) []window {
	start := e.start.Sub(epoch)
	windows := []window{{start, start + d}}
	if group := s.Headers.DstIP; group.IsMulticast() {
		windows = append(slices.Clone(e.members(group, netip.Addr{}, port)), e.members(group, s.Headers.SrcIP, port)...)
	}
	for _, r := range append(e.rows[s.FrameSize].odd.stalls(window{start, start + d}), e.resets...) {
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

func (e *Engine) members(address, source netip.Addr, port string) []window {
	return e.groups[group{address, source}][port]
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

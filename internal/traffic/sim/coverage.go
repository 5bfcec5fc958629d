package sim

import (
	"math"
	"net/netip"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic"
)

// piece is a part of a trial with the share of a stream's networks that the device
// forwards to a port: from the beginning of the piece to its end it changes evenly.
type piece struct {
	window
	begin, end float64
}

// ramp is a number of networks that begin to be forwarded one after the other, or end if
// it is negative, in nanoseconds since the epoch.
type ramp struct {
	from, to, networks float64
}

// at returns how many of the networks have begun or ended to be forwarded at a time, or with
// before just before it.
func (r ramp) at(t float64, before bool) float64 {
	switch {
	case t < r.from || before && t == r.from:
		return 0
	case t >= r.to:
		return r.networks
	}
	return r.networks * (t - r.from) / (r.to - r.from)
}

// toNetworks reports whether a stream goes to networks that the device learns.
func toNetworks(s *traffic.Stream) bool { return s.Headers.DstIPBits > 0 }

// networksTo are the networks that a stream goes to.
func networksTo(s *traffic.Stream) routing.Routes {
	h := s.Headers
	return routing.Routes{First: netip.PrefixFrom(h.DstIP, int(h.DstIPBits)).Masked(), Count: max(h.DstIPCount, 1), Stride: h.DstIPStride}
}

// ramps of the networks of a stream at a port.
func (r *rib) ramps(s *traffic.Stream, port string) []ramp {
	var all []ramp
	r.across(networksTo(s), func(b *block, lo, hi uint32) {
		for i, c := range b.changes {
			begin := c.at + (float64(lo)-1)*c.every
			from, to := begin, begin+float64(hi-lo)*c.every
			if n := r.reaching(b, c.to, port, lo, hi); n > 0 {
				all = append(all, ramp{from, to + float64(r.fib.delay), n})
			}
			if i == 0 {
				continue
			}
			if n := r.reaching(b, b.changes[i-1].to, port, lo, hi); n > 0 {
				all = append(all, ramp{from, to, -n})
			}
		}
	})
	return all
}

// across calls f with the blocks that frames to networks are forwarded by, and with the
// prefixes of each, from lo up to hi, that are among the networks.
func (r *rib) across(networks routing.Routes, f func(b *block, lo, hi uint32)) {
	if b := r.by[networksOf(networks)]; b != nil {
		if !b.unforwarded {
			f(b, 0, b.Count)
		}
		return
	}
	for _, b := range r.blocks {
		if lo, hi, ok := overlap(b.Routes, networks); ok && !b.unforwarded {
			f(b, lo, hi)
		}
	}
}

// reaching returns how many of the prefixes of a block, from lo up to hi, come to a port when
// the device uses a path.
func (r *rib) reaching(b *block, to *path, port string, lo, hi uint32) float64 {
	if to == nil {
		return 0
	}
	dropped, misrouted := r.faultsOf(b).within(lo, hi)
	n := 0
	if to.session.Port == port {
		n = int(hi-lo) - dropped - misrouted
	}
	if misrouted > 0 && r.fib.wrong(to.session.Port) == port {
		n += misrouted
	}
	return float64(n)
}

// pieces of a trial of d from start on in which the device forwards a stream to networks to a port.
// Those in which it forwards nothing are left out.
func (dev *dut) pieces(s *traffic.Stream, port string, own odd, start, d time.Duration) []piece {
	ramps := dev.rib.ramps(s, port)
	if len(ramps) == 0 {
		return nil
	}
	knots := []time.Duration{start, start + d}
	for _, r := range ramps {
		// Rounded outwards, so that none or all of the networks change outside.
		for _, t := range []time.Duration{time.Duration(math.Floor(r.from)), time.Duration(math.Ceil(r.to))} {
			if start < t && t < start+d {
				knots = append(knots, t)
			}
		}
	}
	for _, r := range append(own.stalls(window{start, start + d}), dev.resets...) {
		knots = append(knots, min(max(r.from, start), start+d), min(max(r.to, start), start+d))
	}
	slices.Sort(knots)
	knots = slices.Compact(knots)
	share := func(t time.Duration, before bool) float64 {
		n := 0.0
		for _, r := range ramps {
			n += r.at(float64(t), before)
		}
		return min(max(n/float64(max(s.Headers.DstIPCount, 1)), 0), 1)
	}
	var all []piece
	for i, to := range knots[1:] {
		from := knots[i]
		p := piece{window{from - start, to - start}, share(from, false), share(to, true)}
		if p.begin == 0 && p.end == 0 || dev.deaf(own, from) {
			continue
		}
		if last := len(all) - 1; last >= 0 && all[last].whole() && p.whole() && all[last].to == p.from {
			all[last].to = p.to
			continue
		}
		all = append(all, p)
	}
	return all
}

// splitAt splits pieces at times at which the rate of the sender changes: a piece forwards its share
// of frames that come at a constant rate.
func splitAt(pieces []piece, times []time.Duration) []piece {
	for _, at := range times {
		for i, p := range pieces {
			if p.from < at && at < p.to && !p.whole() {
				middle := p.share(at)
				pieces = slices.Insert(pieces, i+1, piece{window{at, p.to}, middle, p.end})
				pieces[i].to, pieces[i].end = at, middle
				break
			}
		}
	}
	return pieces
}

// share returns the share of the networks that is forwarded at a time in the piece.
func (p piece) share(at time.Duration) float64 {
	return p.begin + (p.end-p.begin)*float64(at-p.from)/float64(p.to-p.from)
}

// whole reports whether all networks of the stream are forwarded.
func (p piece) whole() bool { return p.begin == 1 && p.end == 1 }

// deaf reports whether the device forwards nothing at a time, since it is reset or stalls.
func (dev *dut) deaf(own odd, at time.Duration) bool {
	in := func(w window) bool { return w.from <= at && at < w.to }
	return slices.ContainsFunc(dev.resets, in) || slices.ContainsFunc(own.stalls(window{at, at + 1}), in)
}

// of returns how many of the frames that leave in the piece up to a time are forwarded.
func (p piece) of(frames uint64, at time.Duration) uint64 {
	if p.whole() {
		return frames
	}
	reached := p.end
	if at < p.to {
		reached = p.share(at)
	}
	return min(frames, uint64(float64(frames)*(p.begin+reached)/2+0.5))
}

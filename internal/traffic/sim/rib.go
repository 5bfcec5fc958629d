package sim

import (
	"math"
	"slices"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/routing"
)

// rib is the device's table of routes. It handles one route after the other, so that an
// announcement takes its time, and frames to networks follow it.
type rib struct {
	limits v1alpha1.SimulatedBehaviour
	// blocks are disjoint ranges of prefixes, and by their networks.
	blocks []*block
	by     map[networks]*block
	// held is the number of prefixes that have a path, and busy the time since the epoch
	// until which the device handles routes.
	held int64
	busy float64
	// forwarded is the number of prefixes that have a place in the table that frames are
	// forwarded by, and fib the faults of that table.
	forwarded int64
	fib       fib
}

// networks are a range of prefixes.
type networks struct {
	first  string
	count  uint32
	stride uint32
}

func networksOf(r routing.Routes) networks {
	return networks{r.First.String(), r.Count, max(r.Stride, 1)}
}

// block is a range of prefixes that have the same paths.
type block struct {
	routing.Routes
	// paths that the device holds, the preferred one first.
	paths []*path
	// changes of the way of frames, in their order.
	changes []change
	// unforwarded prefixes found no place in the table that frames are forwarded by.
	unforwarded bool
	// known is a digest of the first prefixes, which is asked for again and again while
	// their number grows.
	known struct {
		path, digest uint64
		count        uint32
	}
	// faults of the prefixes in the table that frames are forwarded by.
	faults faults
}

// sum is the digest of the routes from one prefix up to another by a path.
func (b *block) sum(path uint64, from, to uint32) uint64 {
	if from > 0 {
		return b.digest(path, from, to)
	}
	if k := &b.known; k.path != path || k.count > to {
		k.path, k.count, k.digest = path, 0, 0
	}
	b.known.digest += b.digest(path, b.known.count, to)
	b.known.count = to
	return b.known.digest
}

// digest is sum, without what is known.
func (b *block) digest(path uint64, from, to uint32) (digest uint64) {
	for k := from; k < to; k++ {
		digest += routing.RouteDigest(b.Family(), b.Prefix(k), path)
	}
	return digest
}

// path is one way to the prefixes of a block.
type path struct {
	session *simSession
	// id of the path on a session with add-path; 0 without.
	id       uint32
	asLength int
	digest   uint64
}

// change is the time at which frames to the prefixes of a block begin to use another path, in
// nanoseconds since the epoch: at for the first prefix, and every later for each of the next
// ones.
type change struct {
	at, every float64
	// to is the path; nil when frames are dropped.
	to *path
}

// newRIB makes the table of a device with so many ports, which are in their order.
func newRIB(limits v1alpha1.SimulatedBehaviour, ports []string) *rib {
	return &rib{limits: limits, by: map[networks]*block{}, fib: newFIB(limits, ports)}
}

// perRoute returns the time that the device takes for a route, in nanoseconds.
func perRoute(rates ...*int64) float64 {
	for _, rate := range rates {
		if rate != nil {
			return float64(time.Second) / float64(*rate)
		}
	}
	return 0
}

// duration is a time that may not be given.
func (r *rib) delay() float64 {
	if d := r.limits.RouteDelay; d != nil {
		return float64(d.Duration)
	}
	return 0
}

func (r *rib) dip() float64 {
	if d := r.limits.RouteSwitchDip; d != nil {
		return float64(d.Duration)
	}
	return 0
}

// announce takes up a path to the prefixes of a set at a time since the epoch.
func (r *rib) announce(at time.Duration, set routing.Routes, p *path) {
	r.each(at, set, true, func(b *block) {
		before := b.best()
		if before == nil {
			b.Count = r.room(b.Count)
			r.held += int64(b.Count)
		}
		b.paths = slices.DeleteFunc(b.paths, func(o *path) bool { return o.session == p.session && o.id == p.id })
		b.paths = append(b.paths, p)
		slices.SortStableFunc(b.paths, func(x, y *path) int { return x.asLength - y.asLength })
		r.turn(b, before)
		if before == nil {
			r.place(b)
		}
	})
}

// place takes as many new prefixes of a block as have a place into the table that frames are
// forwarded by. The others become a block of their own.
func (r *rib) place(b *block) {
	b.unforwarded = false
	if r.limits.FIBCapacity == nil {
		return
	}
	room := uint32(max(0, min(int64(b.Count), *r.limits.FIBCapacity-r.forwarded)))
	r.forwarded += int64(room)
	switch {
	case room == 0:
		b.unforwarded = true
	case room < b.Count:
		r.split(b, room).unforwarded = true
	}
}

// withdraw takes the path of a session to the prefixes of a set back, by its identifier.
func (r *rib) withdraw(at time.Duration, set routing.Routes, s *simSession) {
	r.drop(at, set, func(p *path) bool { return p.session == s && p.id == set.Attributes.PathID })
}

// drop takes paths to the prefixes of a set back.
func (r *rib) drop(at time.Duration, set routing.Routes, gone func(*path) bool) {
	r.each(at, set, false, func(b *block) {
		before := b.best()
		b.paths = slices.DeleteFunc(b.paths, gone)
		if before != nil && b.best() == nil {
			r.held -= int64(b.Count)
			if !b.unforwarded {
				r.forwarded -= int64(b.Count)
			}
		}
		r.turn(b, before)
	})
}

// room returns how many of count new prefixes the device has a place for.
func (r *rib) room(count uint32) uint32 {
	if limit := r.limits.RouteCapacity; limit != nil {
		return uint32(max(0, min(int64(count), *limit-r.held)))
	}
	return count
}

func (b *block) best() *path {
	if len(b.paths) == 0 {
		return nil
	}
	return b.paths[0]
}

// turn lets frames go by the best path of a block, where that is another one than before.
func (r *rib) turn(b *block, before *path) {
	now := b.best()
	if now == before || now != nil && before != nil && now.session == before.session {
		if now != before && len(b.changes) > 0 {
			b.changes[len(b.changes)-1].to = now // Other attributes, the same way.
		}
		return
	}
	every := perRoute(r.limits.RouteInstallRate)
	if before != nil {
		every = perRoute(r.limits.RouteWithdrawRate, r.limits.RouteInstallRate)
	}
	at := r.busy + every
	// What the block was still waiting for is overtaken.
	b.changes = slices.DeleteFunc(b.changes, func(c change) bool { return c.at > at })
	if before != nil && now != nil && r.dip() > 0 {
		b.changes = append(b.changes, change{at: at, every: every})
		b.changes = append(b.changes, change{at: at + r.dip(), every: every, to: now})
	} else {
		b.changes = append(b.changes, change{at: at, every: every, to: now})
	}
	r.busy += every * float64(b.Count)
}

// restart drops the ways of all frames at a time, and installs the paths anew when the
// sessions are back.
func (r *rib) restart(at, back time.Duration) {
	r.busy = float64(back) + r.delay()
	every := perRoute(r.limits.RouteInstallRate)
	for _, b := range r.blocks {
		b.changes = slices.DeleteFunc(b.changes, func(c change) bool { return c.at > float64(at) })
		b.changes = append(b.changes, change{at: float64(at)})
		if to := b.best(); to != nil {
			b.changes = append(b.changes, change{at: r.busy + every, every: every, to: to})
			r.busy += every * float64(b.Count)
		}
	}
}

// each calls f with the blocks of a set in their order, which it makes, where add says
// so, of prefixes that are in none.
func (r *rib) each(at time.Duration, set routing.Routes, add bool, f func(*block)) {
	r.busy = max(r.busy, float64(at)+r.delay())
	if set.Count == 0 {
		return
	}
	if b := r.by[networksOf(set)]; b != nil {
		f(b)
		r.shrunk(b, set.Count)
		return
	}
	next := uint32(0)
	for _, b := range r.within(set) {
		lo, _ := set.Index(b.First)
		if add && lo > next {
			r.fresh(part(set, next, lo-next), f)
		}
		n := b.Count
		f(b)
		r.shrunk(b, n)
		next = lo + n
	}
	if add && next < set.Count {
		r.fresh(part(set, next, set.Count-next), f)
	}
}

// fresh calls f with a new block.
func (r *rib) fresh(networks routing.Routes, f func(*block)) {
	b := &block{Routes: networks}
	r.add(b)
	f(b)
	r.shrunk(b, networks.Count)
}

// shrunk keeps a block known by its networks after the device took fewer.
func (r *rib) shrunk(b *block, before uint32) {
	if b.Count == before {
		return
	}
	old := b.Routes
	old.Count = before
	delete(r.by, networksOf(old))
	if b.Count == 0 {
		r.blocks = slices.DeleteFunc(r.blocks, func(o *block) bool { return o == b })
		return
	}
	r.by[networksOf(b.Routes)] = b
}

func (r *rib) add(b *block) {
	r.blocks = append(r.blocks, b)
	r.by[networksOf(b.Routes)] = b
}

// part is a part of a range of prefixes, without attributes but the label.
func part(set routing.Routes, first, count uint32) routing.Routes {
	set.Attributes = routing.Attributes{Label: set.Attributes.Label}
	return set.Part(first, count)
}

// within are the blocks of a set, in its order. Blocks that are only partly in it are
// split.
func (r *rib) within(set routing.Routes) []*block {
	var found []*block
	for _, b := range slices.Clone(r.blocks) {
		lo, hi, ok := overlap(b.Routes, set)
		if !ok {
			continue
		}
		if hi < b.Count {
			r.split(b, hi)
		}
		if lo > 0 {
			b = r.split(b, lo)
		}
		found = append(found, b)
	}
	slices.SortFunc(found, func(x, y *block) int { return x.First.Addr().Compare(y.First.Addr()) })
	return found
}

// overlap returns which prefixes of a, from lo up to hi, are in b. Both have the same stride.
func overlap(a, b routing.Routes) (lo, hi uint32, ok bool) {
	if a.First.Bits() != b.First.Bits() || max(a.Stride, 1) != max(b.Stride, 1) {
		return 0, 0, false
	}
	if at, in := b.Index(a.First); in {
		return 0, min(a.Count, b.Count-at), true
	}
	if at, in := a.Index(b.First); in {
		return at, min(a.Count, at+b.Count), true
	}
	return 0, 0, false
}

// split cuts a block before a prefix, and returns the second part.
func (r *rib) split(b *block, at uint32) *block {
	rest := &block{Routes: part(b.Routes, at, b.Count-at), paths: slices.Clone(b.paths), changes: slices.Clone(b.changes), unforwarded: b.unforwarded}
	for i := range rest.changes {
		rest.changes[i].at += float64(at) * rest.changes[i].every
	}
	delete(r.by, networksOf(b.Routes))
	b.Count = at
	r.by[networksOf(b.Routes)] = b
	r.add(rest)
	return rest
}

// forgetThePast drops changes that were over before a time since the epoch.
func (r *rib) forgetThePast(now time.Duration) {
	for _, b := range r.blocks {
		last := -1
		for i, c := range b.changes {
			if c.at+c.every*float64(b.Count) <= float64(now) {
				last = i
			}
		}
		if last > 0 {
			b.changes = slices.Delete(b.changes, 0, last)
		}
	}
}

// done returns the number of prefixes of a block that a change has reached at a time.
func (b *block) done(c change, now float64) uint32 {
	switch {
	case now < c.at:
		return 0
	case c.every == 0:
		return b.Count
	}
	return uint32(min(math.Floor((now-c.at)/c.every+1e-6)+1, float64(b.Count)))
}

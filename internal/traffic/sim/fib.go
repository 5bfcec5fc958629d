package sim

import (
	"net/netip"
	"slices"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/routing"
)

// fib describes the faults of the table that the device forwards by: it does not contain all
// that the table of routes has. The faults of a prefix depend on the seed alone.
type fib struct {
	// dropped and misrouted are shares of the prefixes, in parts per million.
	dropped, misrouted uint64
	// delay is the longest time from the installation of a route to its first forwarded frame.
	delay time.Duration
	seed  uint64
	// ports of the device in their order.
	ports []string
}

// newFIB returns the table of a device with ports.
func newFIB(b v1alpha1.SimulatedBehaviour, ports []string) fib {
	share := func(ppm *int64) uint64 {
		if ppm == nil {
			return 0
		}
		return uint64(*ppm)
	}
	f := fib{dropped: share(b.FIBDroppedPPM), misrouted: share(b.FIBMisroutedPPM), seed: 1, ports: ports}
	if b.FIBDelay != nil {
		f.delay = b.FIBDelay.Duration
	}
	if b.FIBSeed != nil {
		f.seed = uint64(*b.FIBSeed)
	}
	return f
}

// faulty reports whether there are prefixes that frames are not forwarded to.
func (f *fib) faulty() bool { return f.dropped+f.misrouted > 0 }

// number returns a number that the prefix and the seed determine, for one of several purposes.
func (f *fib) number(p netip.Prefix, purpose uint64) uint64 {
	return routing.RouteDigest(routing.IPv4Unicast, p, f.seed<<2+purpose)
}

// fault reports whether frames to a prefix are dropped or misrouted.
func (f *fib) fault(p netip.Prefix) (dropped, misrouted bool) {
	if !f.faulty() {
		return false, false
	}
	n := f.number(p, 0) % uint64(whole)
	dropped = n < f.dropped
	return dropped, !dropped && n < f.dropped+f.misrouted
}

// delayOf returns the time from the installation of a prefix to its first forwarded frame.
func (f *fib) delayOf(p netip.Prefix) time.Duration {
	if f.delay <= 0 {
		return 0
	}
	return time.Duration(f.number(p, 1) % (uint64(f.delay) + 1))
}

// wrong returns the port by which misrouted frames leave the device in place of the right one.
func (f *fib) wrong(right string) string {
	return f.ports[(slices.Index(f.ports, right)+1)%len(f.ports)]
}

// fate describes how frames to a prefix leave the device.
type fate struct {
	dropped, misrouted bool
	// delay is the time from the installation of the prefix to its first forwarded frame.
	delay time.Duration
	table *fib
}

// fateOf returns what becomes of frames to a prefix.
func (f *fib) fateOf(p netip.Prefix) fate {
	dropped, misrouted := f.fault(p)
	return fate{dropped, misrouted, f.delayOf(p), f}
}

// reaches reports whether frames come to a port when another, or the same, is the right one.
func (f fate) reaches(port, right string) bool {
	if f.misrouted {
		right = f.table.wrong(right)
	}
	return !f.dropped && port == right
}

// faults are the numbers of the prefixes of a block that are dropped and misrouted, in rising
// order.
type faults struct {
	first              netip.Prefix
	count              uint32
	dropped, misrouted []uint32
}

// faultsOf returns the faults of a block. They are found once.
func (r *rib) faultsOf(b *block) *faults {
	if !r.fib.faulty() || b.faults.first == b.First && b.faults.count == b.Count {
		return &b.faults
	}
	b.faults = faults{first: b.First, count: b.Count}
	for i := range b.Count {
		switch dropped, misrouted := r.fib.fault(b.Prefix(i)); {
		case dropped:
			b.faults.dropped = append(b.faults.dropped, i)
		case misrouted:
			b.faults.misrouted = append(b.faults.misrouted, i)
		}
	}
	return &b.faults
}

// within returns how many of the prefixes from lo up to hi are dropped and misrouted.
func (f *faults) within(lo, hi uint32) (dropped, misrouted int) {
	count := func(all []uint32) int {
		from, _ := slices.BinarySearch(all, lo)
		to, _ := slices.BinarySearch(all, hi)
		return to - from
	}
	return count(f.dropped), count(f.misrouted)
}

// FIBFault reports whether a device of a behavior drops or misroutes frames to a prefix.
func FIBFault(b v1alpha1.SimulatedBehaviour, p netip.Prefix) (dropped, misrouted bool) {
	f := newFIB(b, nil)
	return f.fault(p)
}

package plan

import (
	"cmp"
	"math/big"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// LineShares returns what each stream takes of the line rate of its sending port at a load,
// as a part of 1. Streams of the same rate and size get the same number, computed once: it
// must not be changed.
func (a AtSize) LineShares(load Amount) func(Stream) *big.Rat {
	known := map[kind]*big.Rat{}
	return func(s Stream) *big.Rat {
		k := a.kind(s)
		share := known[k]
		if share == nil {
			share = a.Rate(s, load)
			share.Mul(share, big.NewRat(frame.WireBits(cmp.Or(s.Size, a.size.Bytes)), a.ports[s.Tx].BitsPerSecond))
			known[k] = share
		}
		return share
	}
}

// PortLoads are the intended loads (RFC 2285 section 3.5.1) of the ports in their order, as
// parts of the line rate of each; nil for a port that sends nothing.
func (a AtSize) PortLoads(load Amount) []*big.Rat {
	type sent struct {
		port  int
		share *big.Rat
	}
	streams := map[sent]int64{} // Adding up many equal numbers is slow.
	shares := a.LineShares(load)
	for _, s := range a.Streams() {
		streams[sent{s.Tx, shares(s)}]++
	}
	loads := make([]*big.Rat, len(a.ports))
	for of, n := range streams {
		if loads[of.port] == nil {
			loads[of.port] = new(big.Rat)
		}
		loads[of.port].Add(loads[of.port], new(big.Rat).Mul(of.share, big.NewRat(n, 1)))
	}
	return loads
}

// SentAtFullLoad are the loads that the pattern or the flows of a profile let the ports of a
// bed send when the load is 100%, as parts of the line rate of each, by port name. It is nil
// where every port that sends is at line rate, and where the ports of the bed are not valid.
func SentAtFullLoad(profile *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed) (ports []string, loads []*big.Rat) {
	all, errs := Ports(bed)
	of := sizes(profile)
	if len(errs) > 0 || len(of) == 0 {
		return nil, nil
	}
	p := Plan{Ports: all, Streams: streams(profile, all)}
	less := false
	for i, load := range p.At(of[0]).PortLoads(Share(v1alpha1.PPM)) {
		if load == nil {
			continue
		}
		less = less || load.Cmp(big.NewRat(1, 1)) != 0
		ports, loads = append(ports, all[i].Name), append(loads, load)
	}
	if !less {
		return nil, nil
	}
	return ports, loads
}

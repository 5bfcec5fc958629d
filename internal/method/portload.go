package method

import (
	"math/big"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/frame"
	"nodrop.dev/nodrop/internal/plan"
)

// PortLoads are the offered loads (RFC 2285 section 3.5.2) of a trial's sending ports, for
// each name that of gives to streams: which port offered least of its line rate, and which
// most. The intended load is that of the plan's streams.
func (t *Trial) PortLoads(p plan.Plan, load plan.Amount, of func(plan.Stream) string) map[string]v1alpha1.PortLoad {
	type alike struct {
		name string
		port int
		// share of line rate of each of these streams.
		share *big.Rat
	}
	type frames struct{ streams, intended, sent uint64 }
	all := map[alike]frames{}
	shares := p.LineShares(t.Size, load)
	for _, s := range t.streams {
		k, tx := alike{of(s), s.Tx, shares(s)}, t.measurement.Tx[s.ID]
		n := all[k]
		all[k] = frames{n.streams + 1, n.intended + tx.Intended, n.sent + tx.Sent}
	}
	type sender struct {
		name string
		port int
	}
	sums := map[sender]*big.Rat{}
	for k, n := range all {
		offered := new(big.Rat).SetFrac(new(big.Int).SetUint64(n.streams), big.NewInt(1))
		offered.Mul(offered, k.share)
		if n.sent != n.intended && n.intended > 0 {
			offered.Mul(offered, new(big.Rat).SetFrac(new(big.Int).SetUint64(n.sent), new(big.Int).SetUint64(n.intended)))
		}
		to := sender{k.name, k.port}
		if sums[to] == nil {
			sums[to] = new(big.Rat)
		}
		sums[to].Add(sums[to], offered)
	}
	loads := map[string]v1alpha1.PortLoad{}
	for to, sum := range sums {
		ppm := frame.Round(t.stretched(sum.Mul(sum, big.NewRat(v1alpha1.PPM, 1))))
		l, known := loads[to.name]
		if !known {
			l = v1alpha1.PortLoad{LowestPPM: ppm, HighestPPM: ppm}
		}
		loads[to.name] = v1alpha1.PortLoad{LowestPPM: min(l.LowestPPM, ppm), HighestPPM: max(l.HighestPPM, ppm)}
	}
	return loads
}

// stretched is a rate, reduced where sending took longer than the trial. The last frame
// leaves before the end of the time that it stands for.
func (t *Trial) stretched(rate *big.Rat) *big.Rat {
	if t.Ended == 0 && t.TxTime > t.Duration && t.Duration > 0 {
		rate.Mul(rate, big.NewRat(int64(t.Duration), int64(t.TxTime)))
	}
	return rate
}

// OfferedByPort returns the smallest and the largest load that a port offered in a row, in
// parts per million of its line rate.
func OfferedByPort(row *v1alpha1.ResultRow) (lowest, highest int64) {
	if l := row.Frames.OrZero().PortLoad; l != nil {
		return l.LowestPPM, l.HighestPPM
	}
	ppm := Offered(row).LineRatePPM
	return ppm, ppm
}

// OfFullLoad reports whether the load of a row is a share of what pattern and flows of its profile
// let the ports send, and not of the line rate of each.
func OfFullLoad(row *v1alpha1.ResultRow) bool { return row.Frames.OrZero().PortLoad != nil }

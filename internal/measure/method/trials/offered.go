package trials

import (
	"math/big"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// Rate is a load in the three forms in which reports print it, summed over all sending
// ports: frames/s, bit/s at layer 2, and parts per million of the full
// load: line rate, or what the profile lets ports send of it (OfFullLoad).
type Rate struct{ FramesPerSecond, BitsPerSecond, LineRatePPM int64 }

// Intended is the load that a row was measured at, as it was asked for or searched (Iload,
// RFC 2285 section 3.5.1).
func Intended(row *v1alpha1.ResultRow) Rate {
	f := row.Frames.OrZero()
	return Rate{f.FramesPerSecond, f.BitsPerSecond, f.LineRatePPM}
}

// Offered returns the part of the intended load of a row that left the tester (Oload, RFC
// 2285 section 3.5.2). It is 0 if no load passed, which is a throughput of 0.
func Offered(row *v1alpha1.ResultRow) Rate {
	in, left := Intended(row), row.Frames.OrZero().OfferedFramesPerSecond
	if in.LineRatePPM == 0 || in.FramesPerSecond == 0 || left == 0 {
		return Rate{}
	}
	of := func(n int64) int64 {
		return frame.Round(new(big.Rat).Mul(big.NewRat(n, 1), big.NewRat(left, in.FramesPerSecond)))
	}
	return Rate{left, of(in.BitsPerSecond), of(in.LineRatePPM)}
}

// Steps returns the units of the last digits of Offered that the interval of a row supports, as
// powers of ten: a searched load lies between the offered load and the lowest load that failed,
// and half of this distance is at least as large. Two digits stay always. They are 1 for a load
// that was not searched, and where the highest load passed.
func Steps(row *v1alpha1.ResultRow) Rate {
	in, exact := Intended(row), Rate{1, 1, 1}
	if row.Search == nil || in.LineRatePPM == 0 || row.Search.UpperBoundPPM <= in.LineRatePPM {
		return exact
	}
	width := big.NewRat(row.Search.UpperBoundPPM-in.LineRatePPM, 2*in.LineRatePPM)
	step := func(n int64) int64 {
		half := new(big.Rat).Mul(width, big.NewRat(n, 1))
		power := int64(1)
		for 100*power <= n && half.Cmp(big.NewRat(10*power, 1)) >= 0 {
			power *= 10
		}
		return power
	}
	return Rate{step(in.FramesPerSecond), step(in.BitsPerSecond), step(in.LineRatePPM)}
}

// Supported returns Offered with the digits that Steps supports. The others are 0, so that no
// load is printed that did not pass.
func Supported(row *v1alpha1.ResultRow) Rate {
	r, steps := Offered(row), Steps(row)
	return Rate{
		r.FramesPerSecond - r.FramesPerSecond%steps.FramesPerSecond, r.BitsPerSecond - r.BitsPerSecond%steps.BitsPerSecond,
		r.LineRatePPM - r.LineRatePPM%steps.LineRatePPM,
	}
}

// OfferedOther reports whether another load than the intended one left the tester: more or less
// by more than a thousandth.
func OfferedOther(row *v1alpha1.ResultRow) bool {
	intended, offered := Intended(row).FramesPerSecond, Offered(row).FramesPerSecond
	difference := intended - offered
	return max(difference, -difference) > intended/1000
}

// SentAt returns when a frame of a stream is sent, from the beginning of the stream. The
// first one has the number 0.
func SentAt(number uint64, r traffic.Rate) time.Duration {
	at := new(big.Int).Mul(new(big.Int).SetUint64(number), big.NewInt(r.PerNanos))
	return time.Duration(at.Quo(at, big.NewInt(r.Frames)).Int64())
}

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
	shares := p.At(t.Size).LineShares(load)
	for _, s := range t.Counters.Streams {
		k, tx := alike{of(s), s.Tx, shares(s)}, t.Counters.Measurement.Tx[s.ID]
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

package sim

import (
	"maps"
	"math/big"
	"slices"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// Streams of several sizes at once share what the table says of each size: the
// parts of a capacity that the sizes use add up to at most 1. So the capacity for
// a mix, in frames/s, is that at which
//
//	sum over the sizes of offered(size) / capacity(size) = 1
//
// and the same holds for the limit of the tester, for the buffer and for overload.
// Loss, order, copies and latency of a frame are those of its own size.

// behaviours are the rows of the sizes of some streams.
func (m *Model) behaviours(streams []traffic.Stream) (map[int]row, error) {
	rows := map[int]row{}
	for _, s := range streams {
		if _, known := rows[s.FrameSize]; known {
			continue
		}
		r, err := m.at(s.FrameSize)
		if err != nil {
			return nil, err
		}
		rows[s.FrameSize] = r
	}
	return rows, nil
}

// handling is how tester and device handle the frames of one size, or of a mix of sizes, in a
// trial.
type handling struct {
	tester *tester
	// known are the rates that were computed.
	known map[rateAt]traffic.Rate
	// rows are the behaviors of the streams' sizes, and row is the one that holds:
	// of the only size, or of a mix at a port.
	rows map[int]row
	row  row
	// number of the trial.
	number uint64
	// seed of the noise that the model may ask for.
	seed uint64
	// jitterAvg and jitterMax by load; nil when the model alone says it.
	jitterAvg, jitterMax *JitterTable
}

// of returns the handling of frames of one size.
func (h *handling) of(size int) *handling { return h.with(h.rows[size]) }

// with returns the handling by another behavior.
func (h *handling) with(r row) *handling {
	other := *h
	other.row = r
	return &other
}

// sender returns the handling of the streams that a port sends.
func (r *trialRun) sender(port string) *handling {
	if len(r.handling.rows) == 1 {
		return &r.handling
	}
	var streams []flow
	for i := range r.streams {
		if r.streams[i].TxPort == port {
			streams = append(streams, flow{Stream: &r.streams[i]})
		}
	}
	return r.handling.mixed(streams, r.trial.Loads)
}

// mixed returns the handling of the mix of some streams, as far as the loads of a trial send them.
func (h *handling) mixed(streams []flow, loads map[uint16]traffic.Load) *handling {
	if len(h.rows) == 1 {
		return h
	}
	type kind struct {
		size int
		rate traffic.Rate
	}
	count := map[kind]int64{}
	for _, s := range streams {
		load, sends := loads[s.ID]
		if !sends {
			continue
		}
		if load.Max {
			load.Rate = h.of(s.FrameSize).rate(s.TxPort, whole)
		}
		count[kind{s.FrameSize, load.Rate}]++
	}
	rates := map[int]*big.Rat{}
	for k, n := range count {
		if rates[k.size] == nil {
			rates[k.size] = new(big.Rat)
		}
		rate := big.NewRat(k.rate.Frames, k.rate.PerNanos)
		rates[k.size].Add(rates[k.size], rate.Mul(rate, big.NewRat(n, 1)))
	}
	return h.with(h.blend(rates))
}

// blend is the behavior for frames of several sizes, whose numbers stand in the
// ratio of the rates.
func (h *handling) blend(rates map[int]*big.Rat) row {
	sizes := slices.Sorted(maps.Keys(rates))
	if len(sizes) == 0 {
		return h.row
	}
	if len(sizes) == 1 {
		return h.rows[sizes[0]]
	}
	total := new(big.Rat)
	for _, r := range rates {
		total.Add(total, r)
	}
	// harmonic adds up the parts of a limit that the sizes use, each in proportion to
	// how much of the mix it is, and gives the limit of the mix, rounded down. A size
	// with a limit of 0 lets nothing through.
	harmonic := func(amount func(size int) int64, limit func(row) int64) int64 {
		all, used := new(big.Rat), new(big.Rat)
		for _, size := range sizes {
			part := new(big.Rat).Mul(rates[size], big.NewRat(amount(size), 1))
			all.Add(all, part)
			at := limit(h.rows[size])
			if at == 0 {
				return 0
			}
			used.Add(used, part.Quo(part, big.NewRat(at, 1)))
		}
		all.Quo(all, used)
		return new(big.Int).Quo(all.Num(), all.Denom()).Int64()
	}
	wire := func(size int) int64 { return frame.WireBits(size) }
	frames := func(int) int64 { return 1 }
	mix := row{wire: new(big.Rat)}
	for _, size := range sizes {
		r := h.rows[size]
		mix.recovery, mix.noisePPM = max(mix.recovery, r.recovery), max(mix.noisePPM, r.noisePPM)
		mix.wire.Add(mix.wire, new(big.Rat).Mul(rates[size], big.NewRat(wire(size), 1)))
	}
	mix.wire.Quo(mix.wire, total)
	mix.capacityPPM = harmonic(wire, func(r row) int64 { return r.capacityPPM })
	mix.generatorPPM = harmonic(wire, func(r row) int64 { return r.generatorPPM })
	mix.buffer = uint64(harmonic(frames, func(r row) int64 { return int64(r.buffer) }))
	if slices.ContainsFunc(sizes, func(size int) bool { return h.rows[size].overloadPPM > 0 }) {
		mix.overloadPPM = harmonic(wire, func(r row) int64 {
			if r.overloadPPM == 0 {
				return r.capacityPPM // which overload does not change
			}
			return r.overloadPPM
		})
	}
	return mix
}

// wireBits returns the average size of a frame on the wire, in bits.
func (r row) wireBits() *big.Rat {
	if r.wire != nil {
		return r.wire
	}
	return big.NewRat(frame.WireBits(r.size), 1)
}

// nearest is a rate in frames/s whose numbers do not fit into those of a schedule,
// with as many digits of them as do.
func nearest(rate *big.Rat) traffic.Rate {
	num := new(big.Int).Set(rate.Num())
	den := new(big.Int).Mul(rate.Denom(), big.NewInt(1_000_000_000))
	if excess := max(num.BitLen(), den.BitLen()) - 63; excess > 0 {
		num.Rsh(num, uint(excess))
		den.Rsh(den, uint(excess))
	}
	return traffic.Rate{Frames: num.Int64(), PerNanos: max(den.Int64(), 1)}
}

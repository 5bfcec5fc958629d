package plan

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// AtSize is the traffic of a plan at one frame size: its streams, and their rates at a load.
type AtSize struct {
	ports   []Port
	streams []Stream
	size    Size
}

// At returns the traffic of the plan at a size.
func (p Plan) At(size Size) AtSize {
	return AtSize{ports: p.Ports, streams: p.Streams, size: size}
}

// Streams are the streams at the size. Of a mix, of the row or of a flow, every stream of
// the plan is one per component, with consecutive IDs.
func (a AtSize) Streams() []Stream {
	if a.plain() {
		return a.streams
	}
	out := make([]Stream, 0, len(a.streams)*a.size.components())
	next, own := uint16(0), ownSizes(a.streams)
	for _, s := range a.streams {
		at := a.size
		if s.own != nil {
			at = *s.own
		}
		s.of = s.ID
		if !own {
			next = s.ID * uint16(a.size.components())
		}
		for _, c := range at.parts() {
			s.ID, s.Size, s.weight, s.mix = next, c.Size, c.Weight, at.Mix
			out = append(out, s)
			next++
		}
	}
	return out
}

// plain reports whether every stream of the plan is one stream at a size.
func (a AtSize) plain() bool { return a.size.Mix == nil && !ownSizes(a.streams) }

// Rate is the exact rate in frames/s of one of Streams when the sending ports send at a load.
// Where the pattern lets a port send less than its line rate, it lets it send as much less of a
// load that is a rate.
func (a AtSize) Rate(s Stream, load Amount) *big.Rat {
	speed := a.ports[s.Tx].BitsPerSecond
	var r *big.Rat
	if s.mix != nil {
		r = s.mix.Rate(speed, s.weight, v1alpha1.PPM)
	} else {
		r = frame.Rate(speed, cmp.Or(s.Size, a.size.Bytes), v1alpha1.PPM)
	}
	r.Mul(r, ofLineRate(load, a.size, speed))
	return r.Mul(r, s.share())
}

// kind contains the properties that determine the rate of a stream at a size.
type kind struct {
	speed, part, times, weight int64
	bytes                      int
	mix                        *Mix
}

func (a AtSize) kind(s Stream) kind {
	return kind{a.ports[s.Tx].BitsPerSecond, max(s.Part, 1), max(s.Times, 1), s.weight, s.Size, s.mix}
}

// rates returns the rate of streams at a load, computed once for each kind.
func (a AtSize) rates(load Amount) func(Stream) (traffic.Rate, error) {
	known := map[kind]traffic.Rate{}
	return func(s Stream) (traffic.Rate, error) {
		k := a.kind(s)
		rate, ok := known[k]
		if !ok {
			var err error
			if rate, err = traffic.RateOf(a.Rate(s, load)); err != nil {
				return rate, fmt.Errorf("computing the load of %s: %w", a.ports[s.Tx].Name, err)
			}
			known[k] = rate
		}
		return rate, nil
	}
}

// FramesPerSecond is the exact rate in frames/s of all sending ports together at a load. A frame
// counts once for each of its receivers: it is the rate of all receivers together when none is lost.
func (a AtSize) FramesPerSecond(load Amount) *big.Rat {
	receivers, one := map[kind]int64{}, map[kind]Stream{}
	for _, s := range a.Streams() {
		k := a.kind(s)
		receivers[k] += int64(len(s.Rx))
		one[k] = s
	}
	total := new(big.Rat)
	for k, n := range receivers {
		r := a.Rate(one[k], load)
		total.Add(total, r.Mul(r, big.NewRat(n, 1)))
	}
	return total
}

// BitsPerSecond is the exact layer-2 bit rate in bit/s of all sending ports together
// at a load.
func (a AtSize) BitsPerSecond(load Amount) *big.Rat {
	return a.size.BitRate(a.FramesPerSecond(load))
}

// PPM is a load in parts per million of the line rate of all sending ports together,
// rounded, but never to 0.
func (a AtSize) PPM(load Amount) int64 {
	if load.PPM > 0 {
		return load.PPM
	}
	line := a.FramesPerSecond(Share(v1alpha1.PPM))
	if line.Sign() == 0 {
		return 0
	}
	share := a.FramesPerSecond(load)
	return max(1, frame.Round(share.Quo(share, line).Mul(share, big.NewRat(v1alpha1.PPM, 1))))
}

// Loads gives every stream its share of a load.
func (a AtSize) Loads(load Amount) (map[uint16]traffic.Load, error) {
	rates := a.rates(load)
	streams := a.Streams()
	loads := make(map[uint16]traffic.Load, len(streams))
	for _, s := range streams {
		rate, err := rates(s)
		if err != nil {
			return nil, err
		}
		loads[s.ID] = traffic.Load{Rate: rate, Delay: s.Delay}
	}
	return loads, nil
}

// Traffic is the streams for a generator. Source addresses that a stream does
// not have come from macs, by port name; the destination is the one of nextHop,
// by the ID in Plan.Streams.
func (a AtSize) Traffic(macs map[string]traffic.MAC, nextHop map[uint16]traffic.MAC) []traffic.Stream {
	at, plain := a.Streams(), a.plain()
	streams := make([]traffic.Stream, len(at))
	var receivers []string
	for i, s := range at {
		h := s.Headers
		of := s.of
		if plain {
			of = s.ID
		}
		h.DstMAC = nextHop[of]
		if h.SrcMAC == (traffic.MAC{}) {
			h.SrcMAC = macs[a.ports[s.Tx].Name]
		}
		// The groups of one sender share their receivers, which may be very many.
		if i == 0 || !sameReceivers(at[i-1], s) {
			receivers = a.receivers(s)
		}
		streams[i] = traffic.Stream{ID: s.ID, TxPort: a.ports[s.Tx].Name, RxPorts: receivers, FrameSize: cmp.Or(s.Size, a.size.Bytes), Class: s.Class(), ObeysPause: s.ObeysPause, Track: s.Track, Headers: h}
	}
	return streams
}

// sameReceivers reports whether two streams have one list of receivers.
func sameReceivers(a, b Stream) bool {
	return len(a.Rx) == len(b.Rx) && len(a.Rx) > 0 && &a.Rx[0] == &b.Rx[0] && len(a.Watch)+len(b.Watch)+len(a.Further)+len(b.Further) == 0
}

// receivers are the names of the ports that count a stream.
func (a AtSize) receivers(s Stream) []string {
	names := make([]string, 0, len(s.Rx)+len(s.Watch)+len(s.Further))
	for _, rx := range slices.Concat(s.Rx, s.Watch, s.Further) {
		names = append(names, a.ports[rx].Name)
	}
	return names
}

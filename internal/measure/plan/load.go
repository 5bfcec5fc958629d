package plan

import (
	"fmt"
	"math/big"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// Amount contains the amount of a load; at most one of its members is above 0.
type Amount struct {
	// PPM is a share of line rate in parts per million.
	PPM int64
	// FramesPerSecond and BitsPerSecond are rates of each sending port, in bit/s at
	// layer 2.
	FramesPerSecond, BitsPerSecond int64
}

// AmountOf returns the amount of a load. It fails for the word throughput, and for text that
// is no load.
func AmountOf(load v1alpha1.Load) (Amount, error) {
	n, unit, err := load.Amount()
	switch {
	case err != nil:
		return Amount{}, err
	case unit == v1alpha1.LoadFrames:
		return Amount{FramesPerSecond: n}, nil
	case unit == v1alpha1.LoadBits:
		return Amount{BitsPerSecond: n}, nil
	}
	return Amount{PPM: n}, nil
}

// Share is a load of ppm parts per million of line rate.
func Share(ppm int64) Amount { return Amount{PPM: ppm} }

// ofLineRate is a load as a part of the line rate of a port of so many bit/s.
func ofLineRate(load Amount, size Size, bitsPerSecond int64) *big.Rat {
	if load.PPM > 0 {
		return big.NewRat(load.PPM, v1alpha1.PPM)
	}
	frames := big.NewRat(load.FramesPerSecond, 1)
	if load.BitsPerSecond > 0 {
		frames.Quo(big.NewRat(load.BitsPerSecond, 8), size.average())
	}
	// A frame takes its own bytes and the gap to the next one.
	wire := new(big.Rat).Add(size.average(), big.NewRat(frame.WireOverhead, 1))
	wire.Mul(wire, frames)
	return wire.Mul(wire, big.NewRat(8, bitsPerSecond))
}

// share of the sending port's load that is the stream's.
func (s Stream) share() *big.Rat { return big.NewRat(max(s.Times, 1), max(s.Part, 1)) }

// validateRates refuses loads in frames/s or bit/s that a port cannot send, or whose
// ratio to the others an engine cannot keep.
func validateRates(b *v1alpha1.Benchmark, profile *v1alpha1.TrafficProfile, ports []Port) field.ErrorList {
	var errs field.ErrorList
	p := Plan{Ports: ports, Streams: streams(profile, ports)}
	for i, test := range b.Spec.Tests {
		m, ok := methodOf(test)
		if !ok {
			continue
		}
		for _, f := range m.loads(test, field.NewPath("spec", "tests").Index(i).Child(m.Member)) {
			if !f.load.IsRate() {
				continue
			}
			if text := p.unsendable(f.load, sizes(profile)); text != "" {
				errs = append(errs, field.Invalid(f.path, f.load, text))
			}
		}
	}
	return errs
}

// unsendable returns the reason why a load that is a rate cannot be sent; empty if it can.
func (p Plan) unsendable(load v1alpha1.Load, sizes []Size) string {
	amount, err := AmountOf(load)
	if err != nil {
		return err.Error()
	}
	if ownSizes(p.Streams) {
		return "the flows of the profile have sizes of their own, and a rate is that of frames of one size: give a percentage of line rate"
	}
	for _, size := range sizes {
		seen := map[kind]bool{}
		at := p.At(size)
		for _, s := range at.Streams() {
			port := p.Ports[s.Tx]
			k := at.kind(s)
			if seen[k] {
				continue
			}
			seen[k] = true
			if share := ofLineRate(amount, size, port.BitsPerSecond); share.Cmp(big.NewRat(1, 1)) > 0 {
				return fmt.Sprintf("it is %s%% of the line rate of port %s (%s) with %s: lower it, or use a profile without that size",
					share.Mul(share, big.NewRat(100, 1)).FloatString(1), port.Name, port.Speed, size.InWords())
			}
			if _, err := traffic.RateOf(at.Rate(s, amount)); err != nil {
				return fmt.Sprintf("it cannot be kept exactly with %s: give a rounder rate", size.InWords())
			}
		}
	}
	return ""
}

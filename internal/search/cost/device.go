package cost

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"nodrop.dev/nodrop/internal/search"
)

// Speed of a port of the simulated bed, in bit/s.
const Speed int64 = 10_000_000_000

const million = 1_000_000

// many losses are not drawn one by one: their mean is close enough.
const many = 500

// Device is a device of its own make: its limits, and how slowly loss begins.
type Device struct {
	// framesPerSecond and bitsPerSecond (layer 1) are its limits.
	framesPerSecond, bitsPerSecond float64
	// onset is how far above the zero-loss rate, as a part of it, ten losses a
	// second are reached.
	onset float64
	// scatter is by how much the zero-loss rate of a frame size differs at most from
	// what the limits say, as a part of it.
	scatter float64
	// burst is the mean number of frames that one loss takes.
	burst float64
	seed  uint64
}

// NewDevice draws a device: a frames/s limit of 20 to 95 % of what 64-byte frames
// make at line rate, a bits/s limit of 40 to 97 % of line rate, and an onset of
// 0.02 to 1 %.
func NewDevice(seed uint64) Device {
	rng := rand.New(rand.NewPCG(seed, 1))
	line64 := float64(Speed) / (8 * 84)
	return Device{
		framesPerSecond: line64 * (0.20 + 0.75*rng.Float64()),
		bitsPerSecond:   float64(Speed) * (0.40 + 0.57*rng.Float64()),
		onset:           0.0002 * math.Pow(50, rng.Float64()),
		scatter:         0.003,
		burst:           1 + 30*rng.Float64(),
		seed:            seed,
	}
}

// ZeroLoss is the true zero-loss rate at a frame size in parts per million of
// line rate: at it and below, the device loses nothing.
func (d Device) ZeroLoss(size int) float64 {
	rng := rand.New(rand.NewPCG(d.seed, uint64(size)))
	limit := min(d.framesPerSecond*8*float64(size+20), d.bitsPerSecond)
	return limit / float64(Speed) * million * (1 - d.scatter*rng.Float64())
}

// Bed is a device at one frame size behind a tester. It is a search.Measurer.
type Bed struct {
	size      int
	zero      float64
	onset     float64
	burst     float64
	disturbed float64
	rng       *rand.Rand
	// LostAt holds the loads at which a trial of at least Full lost a frame.
	LostAt map[int64]bool
	// Full is the full length of a trial.
	Full time.Duration
}

// NewBed puts a device behind a tester; a part of the trials is disturbed.
func NewBed(d Device, size int, disturbed float64, full time.Duration, seed uint64) *Bed {
	return &Bed{
		size: size, zero: d.ZeroLoss(size), onset: d.onset, burst: d.burst, disturbed: disturbed, Full: full,
		rng: rand.New(rand.NewPCG(seed, uint64(size)<<8)), LostAt: map[int64]bool{},
	}
}

// Measure runs a trial. Above the zero-loss rate losses happen at random with a
// rate that grows with the square of the distance: ten a second where the onset
// ends. What goes beyond that is lost whole. A disturbed trial loses up to 1,000
// frames at any load.
func (b *Bed) Measure(_ context.Context, ppm int64, d time.Duration) (search.Verdict, error) {
	rate := float64(Speed) / (8 * float64(b.size+20)) * float64(ppm) / million
	sent := uint64(rate * d.Seconds())
	var lost uint64
	if above := float64(ppm) - b.zero; above > 0 {
		reach := b.onset * b.zero
		events := 10 * (above / reach) * (above / reach) * d.Seconds()
		if events > many {
			lost += uint64(min(events, float64(sent)) * b.burst)
		} else {
			for sum := b.rng.ExpFloat64(); sum < events; sum += b.rng.ExpFloat64() {
				lost += 1 + uint64(b.rng.ExpFloat64()*b.burst)
			}
		}
		if beyond := above - reach; beyond > 0 {
			lost += uint64(beyond / float64(ppm) * float64(sent))
		}
	}
	if b.rng.Float64() < b.disturbed {
		lost += 1 + b.rng.Uint64N(1000)
	}
	lost = min(lost, sent)
	if lost > 0 && d >= b.Full {
		b.LostAt[ppm] = true
	}
	return search.Verdict{
		Passed: lost == 0, NothingReceived: sent > 0 && lost == sent,
		Intended: sent, Sent: sent, Lost: lost,
	}, nil
}

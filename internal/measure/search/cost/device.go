package cost

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"nodrop.dev/nodrop/internal/measure/search"
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
	// onset is the distance above the zero-loss rate, as a part of it, at which ten losses a
	// second are reached.
	onset float64
	// buffer is the time for which a port's deep buffer holds line rate, in seconds; 0 if
	// the buffer is not deep. The load above the limits waits in it, and is lost when it is
	// full; there are no losses before.
	buffer float64
	// scatter is the maximum deviation of the limit of a frame size from these limits, as a
	// part of it.
	scatter float64
	// burst is the mean number of frames that one loss takes.
	burst float64
	seed  uint64
}

// deepEvery is the number of devices among which one has deep buffers.
const deepEvery = 5

// NewDevice draws a device: a frames/s limit of 20 to 95 % of what 64-byte frames
// make at line rate, a bits/s limit of 40 to 97 % of line rate, and an onset of
// 0.02 to 1 %. Every fifth device has a buffer of 1 to 100 ms of line rate.
func NewDevice(seed uint64) Device {
	rng := rand.New(rand.NewPCG(seed, 1))
	line64 := float64(Speed) / (8 * 84)
	d := Device{
		framesPerSecond: line64 * (0.20 + 0.75*rng.Float64()),
		bitsPerSecond:   float64(Speed) * (0.40 + 0.57*rng.Float64()),
		onset:           0.0002 * math.Pow(50, rng.Float64()),
		scatter:         0.003,
		burst:           1 + 30*rng.Float64(),
		seed:            seed,
	}
	if seed%deepEvery == 0 {
		d.buffer = 0.001 * math.Pow(100, rng.Float64())
	}
	return d
}

// Deep reports whether the device has deep buffers.
func (d Device) Deep() bool { return d.buffer > 0 }

// limit at a frame size in parts per million of line rate: what the device forwards
// for ever.
func (d Device) limit(size int) float64 {
	rng := rand.New(rand.NewPCG(d.seed, uint64(size)))
	limit := min(d.framesPerSecond*8*float64(size+20), d.bitsPerSecond)
	return limit / float64(Speed) * million * (1 - d.scatter*rng.Float64())
}

// ZeroLoss is the true zero-loss rate at a frame size in parts per million of line
// rate: at it and below, the device loses nothing in a trial of full length. A deep
// buffer, empty at the beginning, takes a little more than the limit for that long.
func (d Device) ZeroLoss(size int, full time.Duration) float64 {
	return min(d.limit(size)+d.buffer*million/full.Seconds(), million)
}

// Bed is a device at one frame size behind a tester. It is a search.Measurer.
type Bed struct {
	device    Device
	size      int
	limit     float64
	disturbed float64
	rng       *rand.Rand
	// EndsEarly reports whether a trial is ended once its loss is certain, and that settling
	// ends when all frames are back.
	EndsEarly bool
	// Wall is the time that the trials took, with settling and rest.
	Wall time.Duration
	// LostAt holds the loads at which a trial of at least Full lost a frame.
	LostAt map[int64]bool
	// Full is the full length of a trial.
	Full time.Duration
}

// NewBed puts a device behind a tester; a part of the trials is disturbed.
func NewBed(d Device, size int, disturbed float64, full time.Duration, seed uint64) *Bed {
	return &Bed{
		device: d, size: size, limit: d.limit(size), disturbed: disturbed, Full: full,
		rng: rand.New(rand.NewPCG(seed, uint64(size)<<8)), LostAt: map[int64]bool{},
	}
}

// Measure runs a trial. Above its limit the device loses frames at random with a
// rate that grows with the square of the distance: ten a second where the onset
// ends. What goes beyond that is lost whole. A device with deep buffers loses nothing
// until they are full, and then all that exceeds the limit. A disturbed trial loses up
// to 1,000 frames at any load.
func (b *Bed) Measure(_ context.Context, ppm int64, d time.Duration) (search.Verdict, error) {
	disturbed := math.Inf(1)
	if b.rng.Float64() < b.disturbed {
		disturbed = b.rng.Float64() * d.Seconds()
	}
	first := min(disturbed, b.firstLoss(ppm))
	sending := d
	if b.EndsEarly {
		sending = ended(first, d)
	}
	took, rate := sending.Seconds(), b.framesPerSecond(ppm)
	sent, lost := uint64(rate*took), uint64(0)
	if first < took {
		lost = b.lost(ppm, took) // At least the first.
		if disturbed < took {
			lost += 1 + b.rng.Uint64N(1000)
		}
		lost = min(max(lost, 1), sent)
	}
	settle, saturated := Settle, int64(0)
	if sending < d {
		saturated = b.saturated(ppm)
	}
	if lost > 0 && d >= b.Full {
		b.LostAt[ppm] = true
	}
	if lost == 0 && b.EndsEarly {
		settle = Back
	}
	b.Wall += sending + settle + Rest
	return search.Verdict{
		Passed: lost == 0, NothingReceived: sent > 0 && lost == sent,
		Intended: sent, Sent: sent, Lost: lost, Sending: sending, SaturatedPPM: saturated,
	}, nil
}

// What is waited with every trial (RFC 2544 section 23): Settle before counters are
// read, or Back where all frames have come back, and Rest.
const (
	Settle = 2 * time.Second
	Back   = 50 * time.Millisecond
	Rest   = 5 * time.Second
)

// ended returns the sending time of a trial of d that loses its first frame at a time in
// seconds.
func ended(first float64, d time.Duration) time.Duration {
	before := time.Duration(0)
	for look := search.NextLook(0); look < d; look = search.NextLook(look) {
		if first < (look - search.Overtaken).Seconds() {
			if look-before > search.Saturation {
				look += search.Saturation
			}
			return min(look, d)
		}
		before = look
	}
	return d
}

func (b *Bed) framesPerSecond(ppm int64) float64 {
	return float64(Speed) / (8 * float64(b.size+20)) * float64(ppm) / million
}

// events returns the mean number of losses per second at a load above the limit, and the
// part of the load, in ppm, that is lost completely.
func (b *Bed) events(ppm int64) (perSecond, beyond float64) {
	above := float64(ppm) - b.limit
	if above <= 0 || b.device.Deep() {
		return 0, 0
	}
	reach := b.device.onset * b.limit
	return 10 * (above / reach) * (above / reach), max(above-reach, 0)
}

// overflow returns the time at which a deep buffer is full, in seconds.
func (b *Bed) overflow(ppm int64) float64 {
	above := float64(ppm) - b.limit
	if above <= 0 || !b.device.Deep() {
		return math.Inf(1)
	}
	return b.device.buffer * million / above
}

// firstLoss draws when the device loses its first frame, in seconds.
func (b *Bed) firstLoss(ppm int64) float64 {
	first := b.overflow(ppm)
	if events, _ := b.events(ppm); events > 0 {
		first = min(first, b.rng.ExpFloat64()/events)
	}
	return first
}

// saturated returns the rate that the device forwards while it loses frames, in parts per
// million of line rate.
func (b *Bed) saturated(ppm int64) int64 {
	if b.device.Deep() {
		return min(ppm, int64(b.limit))
	}
	events, beyond := b.events(ppm)
	return max(ppm-int64(beyond+events*b.device.burst/b.framesPerSecond(million)*million), 0)
}

// lost returns the number of frames that the device loses in a trial of so many seconds in
// which it loses one.
func (b *Bed) lost(ppm int64, seconds float64) uint64 {
	events, beyond := b.events(ppm)
	lost := beyond / million * b.framesPerSecond(million) * seconds
	if mean := events * seconds; mean > many {
		lost += mean * b.device.burst
	} else {
		for sum := b.rng.ExpFloat64(); sum < mean; sum += b.rng.ExpFloat64() {
			lost += 1 + b.rng.ExpFloat64()*b.device.burst
		}
	}
	if full := b.overflow(ppm); full < seconds {
		lost += (float64(ppm) - b.limit) / million * b.framesPerSecond(million) * (seconds - full)
	}
	return uint64(lost)
}

// LossChance returns the probability that a fresh trial of full length at a load loses a
// frame.
func (b *Bed) LossChance(ppm int64) float64 {
	if b.overflow(ppm) < b.Full.Seconds() {
		return 1
	}
	events, _ := b.events(ppm)
	return 1 - (1-b.disturbed)*math.Exp(-events*b.Full.Seconds())
}

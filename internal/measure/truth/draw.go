package truth

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/traffic/sim/fault"
)

// draw makes the parameters of a pair from its seed.
type draw struct{ *rand.Rand }

// newDraw returns the draw of a pair of a method.
func newDraw(method v1alpha1.Method, seed uint64) draw {
	var salt uint64 = 14695981039346656037
	for _, c := range []byte(method) {
		salt = (salt ^ uint64(c)) * 1099511628211
	}
	return draw{rand.New(rand.NewPCG(seed, salt))}
}

// between returns a number from low to high.
func (r draw) between(low, high int64) int64 { return low + r.Int64N(high-low+1) }

// spread returns a number from low, above 0, to high, of which each magnitude is equally likely.
func (r draw) spread(low, high float64) float64 {
	return low * math.Exp(r.Float64()*math.Log(high/low))
}

// chance is true in so many of 100 cases.
func (r draw) chance(percent int) bool { return r.IntN(100) < percent }

// one returns one of several values.
func one[T any](r draw, of ...T) T { return of[r.IntN(len(of))] }

// forwarder draws a device that forwards between pairs of ports.
func (r draw) forwarder() Device {
	d := Device{
		Ports: one(r, int32(2), 4), Speed: one(r, Speeds...), Size: one(r, int32(64), 128, 256, 512, 1024, 1280, 1518, 9000),
		CapacityPPM: r.between(20_000, 999_000),
		LatencyMin:  int64(r.spread(500, 50_000)),
	}
	if r.chance(15) {
		d.CapacityPPM = million
	}
	d.LatencyAvg = d.LatencyMin + int64(r.spread(1, 100_000))
	d.LatencyMax = d.LatencyAvg + int64(r.spread(1, 1_000_000))
	d.JitterMax = int64(r.spread(10, 100_000))
	d.JitterAvg = d.JitterMax / r.between(2, 20)
	if r.chance(80) {
		d.BufferFrames = int64(r.spread(harmlessBurst, 200_000))
	}
	if r.chance(25) {
		d.OverloadPPM = max(1, int64(float64(d.CapacityPPM)*(0.3+0.7*r.Float64())))
	}
	return d
}

// lossy adds losses below the capacity to some devices.
func (r draw) lossy(d Device) Device {
	if r.chance(30) {
		d.LossPPM = int64(r.spread(1, 50_000))
		d.LossOnsetPPM = r.between(0, d.CapacityPPM)
	}
	if r.chance(5) {
		d.DamagedPPM = int64(r.spread(1, 1000))
	}
	return d
}

// harmlessBurst is the number of frames that every device is assumed to hold: a tester that
// catches up with fewer frames is not late for the methods.
const harmlessBurst = 64

// kinds of faults that testers have.
var kinds = []fault.Kind{
	fault.Drop, fault.Overflow, fault.Contention, fault.Wire, fault.Link, fault.CardUnsent,
	fault.Short, fault.Stall, fault.Reorder, fault.Late, fault.Slew, fault.Step,
}

// tester draws a tester whose trials take about so long. Only a device with a buffer has a tester
// that sends bursts.
func (r draw) tester(d Device, trial time.Duration) fault.Tester {
	t := fault.Tester{Seed: r.Uint64(), Untimed: r.chance(30)}
	n := one(r, 0, 1, 1, 1, 2, 2, 3)
	for range n {
		f := r.fault(d, trial)
		if f.Kind == fault.Slew && slices.ContainsFunc(t.Faults, func(o fault.Fault) bool { return o.Kind == fault.Slew }) {
			continue // A tester has one clock.
		}
		t.Faults = append(t.Faults, f)
	}
	return t
}

// fault draws a fault of a tester.
func (r draw) fault(d Device, trial time.Duration) fault.Fault {
	kind := one(r, kinds...)
	if kind == fault.Stall && d.BufferFrames < harmlessBurst {
		kind = fault.Drop
	}
	f := fault.Fault{
		Kind: kind, ChancePPM: one(r, int64(million), int64(r.spread(10_000, 900_000))),
		SharePPM: one(r, int64(million), int64(r.spread(1, million))),
		Span:     time.Duration(r.spread(1e3, float64(trial)/10)),
	}
	if r.chance(50) {
		f.Port = fmt.Sprintf("p%d", 1+r.IntN(int(d.Ports)))
	}
	if r.chance(30) {
		f.Period = trial / time.Duration(r.between(2, 10))
	}
	switch kind {
	case fault.Drop, fault.Wire:
		if r.chance(20) {
			f.Foreign = uint64(r.spread(1, 1000))
		}
		if r.chance(30) {
			f.Span = trial // Drops that go on for the whole trial.
			f.SharePPM = int64(r.spread(1, 10_000))
		}
	case fault.Short:
		f.SharePPM = int64(r.spread(1, 200_000))
	case fault.Late:
		f.SharePPM = int64(r.spread(10, 100_000))
	case fault.Slew:
		f.SharePPM = r.between(1, slewPPM)
	}
	return f
}

// slewPPM is the largest error in rate of a clock that NTP corrects: the limit of adjtime.
const slewPPM = 500

// config returns the configuration of a run on ports of the device, in pairs.
func (d Device) config(tests ...v1alpha1.Test) runner.Config {
	var cfg runner.Config
	cfg.Bed.Name = "truth"
	cfg.Bed.Spec.Device.Simulated = &v1alpha1.SimulatedDevice{Behaviour: &d.Behaviour}
	cfg.Bed.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineSim, Sim: &v1alpha1.SimEngine{Ports: &v1alpha1.SimPorts{Count: d.Ports, Speed: d.Speed.Name}}}
	cfg.Profile.Spec = v1alpha1.TrafficProfileSpec{
		FrameSizes: []int32{d.Size},
		Pattern:    v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}},
		Packet:     v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}},
	}
	cfg.Benchmark.Name, cfg.Benchmark.UID = "truth", "1"
	cfg.Benchmark.Spec.Tests = tests
	return cfg
}

// bridged puts the ports into one network without gateways.
func (d Device) bridged(cfg runner.Config) runner.Config {
	cfg.Bed.Spec.Engine.Sim = nil
	for i := range d.Ports {
		cfg.Bed.Spec.Ports = append(cfg.Bed.Spec.Ports, v1alpha1.Port{
			Name: fmt.Sprintf("p%d", i+1), Speed: d.Speed.Name, Addresses: []string{fmt.Sprintf("198.18.0.%d/24", i+2)},
		})
	}
	return cfg
}

// lasting is a duration as the API has it.
func lasting(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }

// percent is a share as the API has it.
func percent(ppm int64) string { return string(v1alpha1.FormatPPM(ppm)) }

// shareOf returns a percentage as a share of 1; 0 for another load.
func shareOf(load v1alpha1.LoadAmount) float64 {
	ppm, err := v1alpha1.Percentage(load).PPM()
	if err != nil {
		return 0
	}
	return float64(ppm) / million
}

package truth

import (
	"math"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// drawLatency makes a pair whose latency is measured at some loads.
func drawLatency(r draw) Pair {
	d := r.forwarder()
	trial := one(r, time.Second, 10*time.Second)
	test := v1alpha1.LatencyTest{TrialDuration: lasting(trial)}
	for range r.between(1, 3) {
		test.Loads = append(test.Loads, v1alpha1.Load(percent(r.loadOff(d))))
	}
	return Pair{
		Device: d, Tester: r.tester(d, trial), Config: d.config(v1alpha1.Test{Name: "latency", Latency: &test}),
		Claims: func(row *v1alpha1.ResultRow) []Claim {
			if row.Latency == nil {
				return nil
			}
			return d.latencyOf(row)
		},
	}
}

// drawRFC2544Latency makes a pair whose latency is averaged over trials.
func drawRFC2544Latency(r draw) Pair {
	d := r.forwarder()
	trial := one(r, time.Second, 10*time.Second)
	test := v1alpha1.RFC2544LatencyTest{
		Load: v1alpha1.Load(percent(r.loadOff(d))), Repetitions: int32(r.between(1, 20)), TrialDuration: lasting(trial),
		Definition: one(r, v1alpha1.LatencyStoreAndForward, v1alpha1.LatencyBitForwarding),
	}
	return Pair{
		Device: d, Tester: r.tester(d, trial), Config: d.config(v1alpha1.Test{Name: "latency", RFC2544Latency: &test}),
		Claims: func(row *v1alpha1.ResultRow) []Claim {
			s := row.RFC2544Latency
			if s == nil {
				return nil
			}
			wires := 1.0
			if test.Definition == v1alpha1.LatencyStoreAndForward {
				wires = 2
			}
			claims := []Claim{exactly("on wires, ns", s.WireNs, wires*float64(d.Size)*8e9/d.Speed.BitsPerSecond, 0, 1)}
			_, low, high := offered(row)
			least := float64(row.Frames.LineRatePPM) / million
			high = max(high, least)
			if s.LowestOfferedPPM > 0 {
				least = (float64(s.LowestOfferedPPM) - 1) / million
			}
			low = min(low, least*(1-offerAccuracy))
			for _, f := range []struct {
				figure string
				value  int64
			}{{"average, ns", s.AvgNs}, {"least, ns", s.MinNs}, {"most, ns", s.MaxNs}} {
				c := exactly(f.figure, f.value, 0, 0, d.meanError(row))
				c.TrueLow, c.TrueHigh = over(low, high, func(load float64) float64 { return d.waits(load, float64(d.LatencyAvg)) })
				claims = append(claims, c)
			}
			return claims
		},
	}
}

// loadOff draws a load that is not within the accuracy of the capacity, where the latency jumps.
func (r draw) loadOff(d Device) int64 {
	for {
		load := r.between(1000, million)
		if off := math.Abs(float64(load-d.CapacityPPM)) / float64(d.CapacityPPM); off > 0.2 || load < d.CapacityPPM && off > 0.01 {
			return load
		}
	}
}

// waits returns a latency at a load, which is known at the capacity: what waiting adds to the
// least latency is in proportion to the load, and above the capacity the queue is full.
func (d Device) waits(load, atCapacity float64) float64 {
	c, least := float64(d.CapacityPPM)/million, float64(d.LatencyMin)
	if load > c {
		if atCapacity > least {
			return float64(d.LatencyMax)
		}
		return least
	}
	return least + (atCapacity-least)*load/c
}

// meanError returns by how much a mean differs from the parameter, in nanoseconds: one frame has the
// least latency and one the most, whatever the rest has.
func (d Device) meanError(row *v1alpha1.ResultRow) float64 {
	return 1.5 + float64(d.LatencyMax-d.LatencyMin)/max(1, float64(row.Frames.Received)/float64(d.Ports))
}

// quantile returns the latency that a share of the frames does not exceed at a load: they are
// spread evenly from the least to the mean, and from there to the most.
// The mean is off by some nanoseconds.
func (d Device) quantile(load, share, off float64) float64 {
	least, most := float64(d.LatencyMin), d.waits(load, float64(d.LatencyMax))
	mean := max(least, min(most, d.waits(load, float64(d.LatencyAvg))+off))
	if most <= least {
		return least
	}
	low := (most - mean) / (most - least)
	if share <= low || low >= 1 {
		return least + (mean-least)*share/low
	}
	return mean + (most-mean)*(share-low)/(1-low)
}

// latencyOf are the claims of a row about latency and jitter.
func (d Device) latencyOf(row *v1alpha1.ResultRow) []Claim {
	_, low, high := offered(row)
	counting := countError * float64(d.Ports) / max(1, float64(row.Frames.Sent))
	low, high = low*(1-counting), min(1, high*(1+counting))
	l := row.Latency
	var claims []Claim
	add := func(figure string, value int64, share, amount float64, of func(load float64) float64) {
		c := exactly(figure, value, 0, share, amount)
		c.TrueLow, c.TrueHigh = over(low, high, of)
		claims = append(claims, c)
	}
	add("least, ns", l.MinNs, 0, 1, func(float64) float64 { return float64(d.LatencyMin) })
	add("mean, ns", l.AvgNs, 0, d.meanError(row), func(load float64) float64 { return d.waits(load, float64(d.LatencyAvg)) })
	add("most, ns", l.MaxNs, 0, 1, func(load float64) float64 { return d.waits(load, float64(d.LatencyMax)) })
	frames := max(1, float64(row.Frames.Received)/float64(d.Ports))
	for _, p := range []struct {
		figure string
		value  int64
		share  float64
	}{{"p50, ns", l.P50Ns, 0.5}, {"p90, ns", l.P90Ns, 0.9}, {"p99, ns", l.P99Ns, 0.99}, {"p999, ns", l.P999Ns, 0.999}} {
		c := exactly(p.figure, p.value, bucketWidth, 2, 0)
		least, _ := over(low, high, func(load float64) float64 { return d.quantile(load, max(0, p.share-2/frames), -0.5) })
		_, most := over(low, high, func(load float64) float64 { return d.quantile(load, min(1, p.share+2/frames), 0.5) })
		c.TrueLow, c.TrueHigh = least, most
		c.Low, c.High = around(float64(p.value), bucketWidth, 2)
		claims = append(claims, c)
	}
	if load := d.jitterFactor(high); l.JitterAvgNs != nil && load > 0 && frames > 2 {
		add("mean jitter, ns", *l.JitterAvgNs, 0, 1+float64(d.JitterMax)/(frames-1), func(load float64) float64 { return float64(d.JitterAvg) * d.jitterFactor(load) })
		add("most jitter, ns", *l.JitterMaxNs, 0, 1, func(load float64) float64 { return float64(d.JitterMax) * d.jitterFactor(load) })
	}
	return claims
}

// jitterFactor returns the jitter at a load as a multiple of that at the capacity.
func (d Device) jitterFactor(load float64) float64 {
	return min(1, load*million/float64(d.CapacityPPM))
}

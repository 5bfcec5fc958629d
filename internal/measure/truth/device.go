package truth

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// million is the number of parts of a share in parts per million.
const million = 1e6

// Device contains the parameters of a modeled device, and of the ports that it is cabled to.
// Shares are in parts per million, times in nanoseconds.
type Device struct {
	// Ports of the bed, their Speed, and the Size of the frames in bytes.
	Ports int32
	Speed Speed
	Size  int32
	// CapacityPPM is the share of line rate that a port sends without loss, and OverloadPPM what it
	// sends when frames arrive at line rate; 0 means the same.
	CapacityPPM, OverloadPPM int64
	// NoisePPM is the largest difference between the capacity of a trial and CapacityPPM.
	NoisePPM int64
	// BufferFrames that a port holds beyond its capacity.
	BufferFrames int64
	// Recovery is the time for which a port goes on dropping after an overload.
	Recovery time.Duration
	// LossPPM of the frames are lost from LossOnsetPPM of line rate on, and DamagedPPM at any
	// load.
	LossPPM, LossOnsetPPM, DamagedPPM int64
	// LatencyMin, LatencyAvg and LatencyMax, JitterAvg and JitterMax at the capacity.
	LatencyMin, LatencyAvg, LatencyMax, JitterAvg, JitterMax int64
	// ReorderedPPM of the frames change places with the ReorderExtent frames after them, from
	// ReorderOnsetPPM of line rate on.
	ReorderedPPM, ReorderOnsetPPM, ReorderExtent int64
	// Stall is the time in each StallPeriod in which the device forwards nothing.
	Stall, StallPeriod time.Duration
	// Behaviour beyond forwarding.
	Behaviour v1alpha1.SimulatedBehaviour
}

// Speed is the speed of a port.
type Speed struct {
	Name          v1alpha1.BitRate
	BitsPerSecond float64
}

// Speeds of the ports that are drawn.
var Speeds = []Speed{{"1G", 1e9}, {"10G", 1e10}, {"100G", 1e11}}

// Model returns the table that the engine sim reads.
func (d Device) Model() string {
	percent := func(ppm int64) string { return strconv.FormatFloat(float64(ppm)/1e4, 'f', 4, 64) }
	micros := func(ns int64) string { return strconv.FormatFloat(float64(ns)/1e3, 'f', 3, 64) }
	columns := [][2]string{
		{"frame_size_bytes", strconv.Itoa(int(d.Size))}, {"line_rate_percent", percent(d.CapacityPPM)},
		{"latency_min_us", micros(d.LatencyMin)}, {"latency_avg_us", micros(d.LatencyAvg)}, {"latency_max_us", micros(d.LatencyMax)},
		{"jitter_avg_us", micros(d.JitterAvg)}, {"jitter_max_us", micros(d.JitterMax)},
		{"reordered_ppm", fmt.Sprint(d.ReorderedPPM)}, {"reorder_onset_percent", percent(d.ReorderOnsetPPM)}, {"reorder_extent_frames", fmt.Sprint(d.ReorderExtent)},
		{"loss_ppm", fmt.Sprint(d.LossPPM)}, {"loss_onset_percent", percent(d.LossOnsetPPM)}, {"corrupted_ppm", fmt.Sprint(d.DamagedPPM)},
		{"stall_us", micros(int64(d.Stall))}, {"stall_period_us", micros(int64(d.StallPeriod))},
		{"buffer_frames", fmt.Sprint(d.BufferFrames)}, {"recovery_us", micros(int64(d.Recovery))}, {"capacity_noise_ppm", fmt.Sprint(d.NoisePPM)},
	}
	if d.OverloadPPM > 0 {
		columns = append(columns, [2]string{"overload_line_rate_percent", percent(d.OverloadPPM)})
	}
	var names, values []string
	for _, c := range columns {
		names, values = append(names, c[0]), append(values, c[1])
	}
	return strings.Join(names, ",") + "\n" + strings.Join(values, ",") + "\n"
}

// String lists the parameters that are not 0.
func (d Device) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d ports of %s, %d B, capacity %d ppm", d.Ports, d.Speed.Name, d.Size, d.CapacityPPM)
	for _, p := range []struct {
		name  string
		value int64
	}{
		{"overload ppm", d.OverloadPPM}, {"noise ppm", d.NoisePPM}, {"buffer frames", d.BufferFrames}, {"recovery ns", int64(d.Recovery)},
		{"loss ppm", d.LossPPM}, {"from ppm", d.LossOnsetPPM}, {"damaged ppm", d.DamagedPPM},
		{"latency min ns", d.LatencyMin}, {"avg", d.LatencyAvg}, {"max", d.LatencyMax}, {"jitter avg", d.JitterAvg}, {"max", d.JitterMax},
		{"reordered ppm", d.ReorderedPPM}, {"from ppm", d.ReorderOnsetPPM}, {"extent", d.ReorderExtent},
		{"stall ns", int64(d.Stall)}, {"in ns", int64(d.StallPeriod)},
	} {
		if p.value != 0 {
			fmt.Fprintf(&b, ", %s %d", p.name, p.value)
		}
	}
	return b.String()
}

// LineRate returns the line rate of a port in frames/s (RFC 2544 appendix B).
func (d Device) LineRate() float64 { return d.Speed.BitsPerSecond / (8 * float64(d.Size+20)) }

// capacity returns the share of line rate that a port sends when a share arrives.
func (d Device) capacity(load float64) float64 {
	c := float64(d.CapacityPPM) / million
	if d.OverloadPPM == 0 || load <= c || c >= 1 {
		return c
	}
	o := min(float64(d.OverloadPPM)/million, c)
	return c - (c-o)*(load-c)/(1-c)
}

// Trial contains the frames of one port in a trial.
type Trial struct{ Sent, Received float64 }

// Lost returns the frames that the device lost.
func (t Trial) Lost() float64 { return t.Sent - t.Received }

// Ratio returns the share of lost frames, 0 to 1.
func (t Trial) Ratio() float64 { return t.Lost() / max(t.Sent, 1) }

// Forward returns what a port forwards of a constant load, a share of line rate, in a time. Only
// whole frames are lost below the capacity.
func (d Device) Forward(load float64, lasts time.Duration) Trial {
	seconds, line := lasts.Seconds(), d.LineRate()
	sent := load * line * seconds
	t := Trial{Sent: sent, Received: min(sent, d.capacity(load)*line*seconds+float64(d.BufferFrames))}
	if d.LossPPM > 0 && load*million >= float64(d.LossOnsetPPM) {
		t.Received -= min(t.Received, math.Floor(sent*float64(d.LossPPM)/million))
	}
	t.Received -= min(t.Received, math.Floor(sent*float64(d.DamagedPPM)/million))
	return t
}

// highest returns the highest share of line rate at which a condition holds that holds at all
// lower shares.
func highest(holds func(load float64) bool) float64 {
	if holds(1) {
		return 1
	}
	low, high := 0.0, 1.0
	for range 60 {
		if middle := (low + high) / 2; holds(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// Throughput returns the highest share of line rate at which a trial loses no more than a ratio
// (RFC 2544 section 26.1, RFC 9971), and no whole frame if the ratio is 0.
func (d Device) Throughput(ratio float64, lasts time.Duration) float64 {
	return highest(func(load float64) bool {
		t := d.Forward(load, lasts)
		return t.Lost() < 1 || t.Ratio() <= ratio
	})
}

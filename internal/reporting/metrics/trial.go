package metrics

import (
	"maps"
	"slices"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/traffic"
)

// Trial is the point of a trial that ended and began at a time.
func (r *Run) Trial(e trials.Event, began time.Time) Point {
	id, t := e.Step.ID(), e.Finished
	return newPoint(MeasurementTrial, began,
		[]Tag{{tagBed, r.bed}, {tagFrameSize, sizeOf(id)}, {tagMethod, string(id.Method)}},
		append(r.of(id.Variant),
			Field{tagTest, id.Test}, Field{"load_ppm", e.LoadPPM}, Field{"duration_ns", int64(t.Duration)}, Field{"tx_time_ns", int64(t.TxTime)},
			Field{"intended", int64(t.Intended)}, Field{"sent", int64(t.Sent)}, Field{"received", int64(t.Received)}, Field{"lost", int64(t.Lost)},
			Field{"passed", t.Passed()}, Field{"generator_bound", t.GeneratorBound()},
			Field{"passed_ppm", e.Bracket.PassedPPM}, Field{"failed_ppm", e.Bracket.FailedPPM}))
}

// Interval returns the points of an interval that ended at a time: one for each port and class,
// and the points of the device.
func (r *Run) Interval(i trials.Interval, ended time.Time) []Point {
	id := i.Event.Step.ID()
	points := make([]Point, 0, len(i.Ports))
	for _, p := range i.Ports {
		fields := append(r.of(id.Variant), Field{tagTest, id.Test})
		if size := sizeOf(id); size != "" {
			fields = append(fields, Field{tagFrameSize, size})
		}
		fields = append(fields, Field{"load_ppm", i.Event.LoadPPM}, Field{"interval_ns", int64(i.Length)})
		fields = received(sent(fields, p), i, p)
		points = append(points, newPoint(MeasurementPort, ended, []Tag{{tagBed, r.bed}, {tagPort, p.Port}, {tagClass, p.Class}}, fields))
	}
	return append(points, r.deviceInterval(i, ended)...)
}

// sent appends the fields of the frames that a port sent, if it sends frames of the class.
func sent(fields []Field, p trials.PortInterval) []Field {
	if !p.Sends {
		return fields
	}
	return append(fields, Field{"intended", int64(p.Intended)}, Field{"sent", int64(p.Tx.Sent)}, Field{"sent_bytes", int64(p.Tx.Bytes)})
}

// received appends the fields of the frames that a port received, if it receives frames of the
// class.
func received(fields []Field, i trials.Interval, p trials.PortInterval) []Field {
	if !p.Receives {
		return fields
	}
	fields = append(fields, Field{"received", int64(p.Rx.Received)}, Field{"received_bytes", int64(p.Rx.Bytes)})
	if i.Gaps {
		fields = append(fields, Field{"lost", int64(p.Rx.Lost)})
	}
	if i.Ordering {
		fields = append(fields, Field{"reordered", int64(p.Rx.Reordered)}, Field{"duplicate", int64(p.Rx.Duplicate)})
	}
	l := p.Rx.Latency
	if l.Count == 0 {
		return fields
	}
	fields = append(fields, Field{"latency_min_ns", int64(l.MinNs)}, Field{"latency_avg_ns", int64(l.SumNs / l.Count)}, Field{"latency_max_ns", int64(l.MaxNs)})
	for _, q := range []struct {
		key      string
		perMille uint64
	}{{"latency_p50_ns", 500}, {"latency_p99_ns", 990}, {"latency_p999_ns", 999}} {
		fields = append(fields, Field{q.key, int64(percentile(l, q.perMille))})
	}
	if l.JitterCount > 0 {
		fields = append(fields, Field{"jitter_avg_ns", int64(l.JitterSumNs / l.JitterCount)})
	}
	return fields
}

// percentile in nanoseconds, to the width of a bucket.
func percentile(l traffic.Latency, perMille uint64) uint64 {
	return traffic.Percentile(func(yield func(uint32, uint64) bool) {
		for _, i := range slices.Sorted(maps.Keys(l.Buckets)) {
			if !yield(i, l.Buckets[i]) {
				return
			}
		}
	}, perMille, l.MinNs, l.MaxNs)
}

// deviceInterval are the points of what the device did: one for each of its interfaces, and
// one of the device as a whole where anything of it is known.
func (r *Run) deviceInterval(i trials.Interval, ended time.Time) (points []Point) {
	point := func(port string, known ...Field) {
		if len(known) > 0 {
			fields := append(r.of(i.Event.Step.Variant), Field{"interval_ns", int64(i.Length)})
			points = append(points, newPoint(MeasurementDevice, ended, []Tag{{tagBed, r.bed}, {tagPort, port}}, append(fields, known...)))
		}
	}
	for _, c := range i.Device.Interfaces {
		point(c.Port,
			Field{"rx_frames", int64(c.RxFrames)}, Field{"rx_dropped", int64(c.RxDropped)}, Field{"rx_errors", int64(c.RxErrors)},
			Field{"tx_frames", int64(c.TxFrames)}, Field{"tx_dropped", int64(c.TxDropped)}, Field{"tx_errors", int64(c.TxErrors)})
	}
	var whole []Field
	if p := i.Device.Processors; p != nil && p.Total > 0 {
		share := func(of time.Duration) int64 { return int64(float64(of) / float64(p.Total) * float64(v1alpha1.PPM)) }
		whole = append(whole, Field{"cpu_ppm", share(p.Busy)}, Field{"softirq_ppm", share(p.SoftInterrupts)})
	}
	if n := i.Device.Memory; n != nil {
		whole = append(whole, Field{"memory_bytes", *n})
	}
	if n := i.Device.Routes; n != nil {
		whole = append(whole, Field{"routes", *n})
	}
	point("", whole...)
	return points
}

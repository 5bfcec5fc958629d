package metrics

import (
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/method/trials"
)

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

package metrics

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/traffic"
)

// forwarding is a device all of which is known.
func forwarding() trials.DeviceInterval {
	memory, routes := int64(50<<20), int64(1007)
	return trials.DeviceInterval{
		Interfaces: []trials.InterfaceInterval{{Port: "p1", InterfaceSample: traffic.InterfaceSample{
			RxFrames: 1, RxDropped: 3, RxErrors: 4, TxFrames: 5, TxDropped: 7, TxErrors: 8,
		}}},
		Processors: &traffic.ProcessorSample{Busy: 300 * time.Millisecond, SoftInterrupts: 200 * time.Millisecond, Total: time.Second},
		Memory:     &memory, Routes: &routes,
	}
}

// What is not known of a device has no field, and nothing has no point.
func TestPointsOfADevice(t *testing.T) {
	t.Parallel()
	r := newRun(t, small(t))
	whole := func(d trials.DeviceInterval) (fields []map[string]any) {
		for _, p := range r.Interval(trials.Interval{Length: time.Second, Device: d}, began) {
			tags, known, at := decode(t, p)
			if p.Measurement != MeasurementDevice || !at.Equal(began) || known["run"] != "1" || known["interval_ns"] != int64(time.Second) {
				t.Errorf("%+v", p)
			}
			for _, every := range []string{"run", "benchmark", "interval_ns"} {
				delete(known, every)
			}
			if known["port"] = tags["port"]; tags["bed"] != "bed, with a comma" {
				t.Errorf("%v", tags)
			}
			fields = append(fields, known)
		}
		return fields
	}
	all := forwarding()
	port := map[string]any{
		"port": "p1", "rx_frames": int64(1), "rx_dropped": int64(3), "rx_errors": int64(4),
		"tx_frames": int64(5), "tx_dropped": int64(7), "tx_errors": int64(8),
	}
	want := []map[string]any{port, {
		"port": "", "cpu_ppm": int64(300_000), "softirq_ppm": int64(200_000), "memory_bytes": int64(50 << 20), "routes": int64(1007),
	}}
	if diff := cmp.Diff(want, whole(all)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want[:1], whole(trials.DeviceInterval{Interfaces: all.Interfaces})); diff != "" {
		t.Error(diff)
	}
	if got := whole(trials.DeviceInterval{Processors: &traffic.ProcessorSample{}}); got != nil {
		t.Errorf("nothing is known, and there is %v", got)
	}
}

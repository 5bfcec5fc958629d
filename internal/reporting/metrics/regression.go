package metrics

import (
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/reporting/history"
)

// Regressions are the figures of a history whose level became worse and did not change
// since. The same change is the same point, whichever later run shows it: its time is when
// the first run at the new level began. Run is the UID of the benchmark that shows it, and
// of is the device of its bed.
func Regressions(h *history.History, run string, of v1alpha1.Device) []Point {
	name, software := device.Name(of)
	var points []Point
	for i := range h.Lines {
		l := &h.Lines[i]
		if !l.Regressed() {
			continue
		}
		change := l.Changes[len(l.Changes)-1]
		fields := []Field{
			{"run", run}, {"benchmark", h.Benchmark},
			{"from", change.From}, {"to", change.To},
		}
		if l.Variant != "" {
			fields = append(fields, Field{"variant", string(l.Variant)})
		}
		if l.Load != "" {
			fields = append(fields, Field{"load", string(l.Load)})
		}
		if software != "" {
			fields = append(fields, Field{tagSoftware, software})
		}
		if change.ShiftPPM != nil {
			fields = append(fields, Field{"shift_ppm", *change.ShiftPPM})
		}
		// Figures of one change differ in their tags, but for the load of a row and the
		// variant of the device: a nanosecond for each place keeps these apart.
		at := h.Runs[change.Run].Time.Add(time.Duration(i))
		points = append(points, newPoint(MeasurementRegression, at, []Tag{
			{tagBed, h.TestBed}, {tagDevice, name}, {tagFrameSize, sizeOf(l.RowID)}, {tagMethod, string(l.Method)},
			{tagMetric, string(l.Metric)}, {tagTeam, h.Namespace}, {tagTest, l.Test},
		}, fields))
	}
	return points
}

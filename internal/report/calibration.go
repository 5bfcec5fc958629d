package report

import (
	"fmt"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/calibration"
	"nodrop.dev/nodrop/internal/report/layout"
)

// joins describes how the ports of a bed without a device were connected.
var joins = map[v1alpha1.BackToBackJoin]string{
	v1alpha1.JoinedByLoops:  "joined at the tester, without the bed's cables",
	v1alpha1.JoinedByCables: "joined by the bed's cables",
}

// calibrated returns the calibration of the tester: the benchmark that measured it, its age,
// and for every frame size the highest rate and the minimum latency. It returns nil without
// calibration.
func (d *Document) calibrated() []string {
	if d.Environment == nil || d.Environment.Calibration == nil {
		return nil
	}
	c := d.Environment.Calibration
	of := "ports " + joins[c.JoinedBy]
	if c.TestBedName != d.TestBed {
		of = fmt.Sprintf("bed %s, %s", c.TestBedName, of)
	}
	text := fmt.Sprintf("%s; by benchmark %s on %s with engine %s of NoDrop %s", of, c.Benchmark,
		c.Time.UTC().Format("2006-01-02 15:04 UTC"), calibration.EngineOf(c), c.NoDropVersion)
	if d.StartTime != nil && d.StartTime.After(c.Time.Time) {
		text += ", " + calibration.Age(d.StartTime.Sub(c.Time.Time)) + " before this one"
	}
	lines := []string{text}
	for _, f := range c.FrameSizes {
		limit := "up to"
		if f.UpperBoundPPM == 0 && f.LineRatePPM < v1alpha1.PPM {
			limit = "at least" // nothing above it was tried
		}
		line := fmt.Sprintf("%d B: %s %s of line rate, %s frames/s", f.FrameSize, limit, v1alpha1.FormatPPM(f.LineRatePPM), layout.Group(f.FramesPerSecond))
		if l := f.Latency; l != nil {
			line += fmt.Sprintf("; at %s latency %s / %s / %s µs (min / avg / max)",
				v1alpha1.FormatPPM(f.LatencyLoadPPM), layout.Micros(l.MinNs), layout.Micros(l.AvgNs), layout.Micros(l.MaxNs))
			if l.JitterAvgNs != nil {
				line += fmt.Sprintf(", jitter %s / %s µs (avg / max)", jitterCell(l.JitterAvgNs), jitterCell(l.JitterMaxNs))
			}
		}
		if r := f.ReorderedPPM; r != nil && *r > 0 {
			line += fmt.Sprintf("; up to %s of the frames reordered", v1alpha1.FormatPPM(*r))
		}
		lines = append(lines, line)
	}
	return lines
}

package metrics

import (
	"time"

	"nodrop.dev/nodrop/internal/dut/telemetry"
)

// readingSchema is a value that a physical device reported of itself.
func readingSchema() Measurement {
	return Measurement{
		Name: MeasurementReading, About: "a value that a physical device, or the meter of its power, reported while rows were measured; see telemetry.md", Time: "when it answered",
		Tags: []Column{bedColumn, {tagReading, unitText, "name of the sensor or counter, as the device gives it; power for the meter"}},
		Fields: []Column{
			ofRun[0], ofRun[1],
			{"unit", unitText, "unit of the sensor, such as W; frames for a counter of dropped or damaged frames"},
			{"value", unitOfReading, "value of the sensor; frames by which the counter grew since the reading before, which has no point if it did not grow"},
		},
	}
}

// Readings returns the points of what a device reported at a time.
func (r *Run) Readings(at time.Time, samples []telemetry.Sample) []Point {
	points := make([]Point, 0, len(samples))
	for _, s := range samples {
		points = append(points, newPoint(MeasurementReading, at, []Tag{{tagBed, r.bed}, {tagReading, s.Name}},
			append(r.of(""), Field{"unit", s.Unit}, Field{"value", s.Value})))
	}
	return points
}

package metrics

import (
	"fmt"
	"strings"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/gate"
	"nodrop.dev/nodrop/internal/reporting/repeated"
)

// gateSchema is the verdict of a gate on a row.
func gateSchema() Measurement {
	return Measurement{
		Name: MeasurementGate, About: "the verdict of a gate on a row, with the limits of the gate; see gates.md", Time: "the time of the row, of the last one if the row was repeated",
		Tags: []Column{
			bedColumn, deviceColumn, sizeColumn, {tagGate, unitText, "name of the gate"}, methodColumn,
			{tagMetric, unitText, "figure that the gate limits, such as Throughput"}, teamColumn, {tagTest, unitText, "name of the test"},
			{tagValidity, unitText, "validity of the row"},
		},
		Fields: append(ofRun[:3:3],
			Column{"load", unitText, "load of the row, as the test gives it; absent when it searches the load"},
			Column{"verdict", unitText, "Passed, Failed or Inconclusive"},
			Column{"reason", unitText, "reason why the row did not pass, such as OutOfBounds; absent when it passed"},
			Column{"unit", unitText, "unit of value, min and max: frames/s, ppm, ppb, ns or yes/no, where 1 is yes; absent when the figure is a number"},
			Column{"value", unitOfGate, "value of the figure; absent when the row has none"},
			Column{"min", unitOfGate, "lowest value that passes; absent without such a limit, and where the row is inconclusive"},
			Column{"max", unitOfGate, "highest value that passes"},
			Column{"value_text", unitText, "value with its unit, for a person"},
			Column{"limits_text", unitText, "min and max with their unit, for a person"},
		),
	}
}

// Gates returns the points of all verdicts on the rows of a result, which are in any order. The
// judgement may be nil.
func (r *Run) Gates(j *gate.Judgement, rows []v1alpha1.ResultRow) ([]Point, error) {
	if j == nil {
		return nil, nil
	}
	last := map[v1alpha1.RowID]int{}
	for _, row := range rows {
		place, planned := r.order[row.RowID]
		if !planned {
			return nil, fmt.Errorf("the plan has no row %s", row.Name())
		}
		r.Finished(row)
		id := row.Summarized()
		last[id] = max(last[id], place)
	}
	validities := map[v1alpha1.RowID]v1alpha1.Validity{}
	for _, row := range repeated.Merge(rows) {
		validities[row.RowID] = row.Validity
	}
	var points []Point
	for i := range j.Gates {
		for k := range j.Gates[i].Rows {
			id := j.Gates[i].Rows[k].RowID
			points = append(points, r.verdict(&j.Gates[i], k, validities[id], r.at(last[id])))
		}
	}
	return points, nil
}

// verdict is the point of the verdict of a gate on its row k.
func (r *Run) verdict(g *gate.JudgedGate, k int, validity v1alpha1.Validity, at time.Time) Point {
	row := &g.Rows[k]
	fields := append(r.of(row.Variant), Field{"verdict", string(row.Verdict)})
	for _, text := range []Field{{"load", string(row.Load)}, {"reason", string(row.Reason)}, {"unit", g.Unit}} {
		if text.Value != "" {
			fields = append(fields, text)
		}
	}
	var limits []string
	for _, number := range []struct {
		name, limit string
		value       *int64
	}{{"value", "", row.Value}, {"min", "at least ", row.Min}, {"max", "at most ", row.Max}} {
		if number.value == nil {
			continue
		}
		fields = append(fields, Field{number.name, *number.value})
		if text := strings.ReplaceAll(gate.Text(number.value, g.Unit), " us", " µs"); number.limit == "" {
			fields = append(fields, Field{"value_text", text})
		} else {
			limits = append(limits, number.limit+text)
		}
	}
	if len(limits) > 0 {
		fields = append(fields, Field{"limits_text", strings.Join(limits, ", ")})
	}
	return newPoint(MeasurementGate, at, []Tag{
		{tagBed, r.bed}, {tagDevice, r.device}, {tagFrameSize, sizeOf(row.RowID)}, {tagGate, g.Name}, {tagMethod, string(row.Method)},
		{tagMetric, g.Metric}, {tagTeam, r.team}, {tagTest, row.Test}, {tagValidity, string(validity)},
	}, fields)
}

package dashboards

import (
	"fmt"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/gate"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// judged are figures of the rows that gates on a metric judged on bed one.
func (f *filled) judged(metric string, figure func(gate.JudgedRow) *int64) []float64 {
	var all []float64
	for _, m := range f.runs[:nights] {
		for _, g := range m.gates.Gates {
			for _, row := range g.Rows {
				if value := figure(row); g.Metric == metric && value != nil {
					all = append(all, float64(*value))
				}
			}
		}
	}
	return all
}

func lowest(row gate.JudgedRow) *int64 { return row.Min }

// failed returns the value of a row that failed.
func failed(row gate.JudgedRow) *int64 {
	if row.Verdict != v1alpha1.GateFailed {
		return nil
	}
	return row.Value
}

// scaled converts parts per million to percent.
func scaled(all []float64) []float64 {
	for i := range all {
		all[i] /= 10_000
	}
	return all
}

func trendThroughputLimits(t *testing.T, f *filled, rows []testserver.Row) {
	same(t, "limits", numbers(t, rows, "_value", "min"), f.judged("Throughput", lowest))
}

func trendThroughputFailed(t *testing.T, f *filled, rows []testserver.Row) {
	values := f.judged("Throughput", failed)
	if len(values) != nights-upgraded {
		t.Errorf("%d rows failed, want one in each of %d nights", len(values), nights-upgraded)
	}
	same(t, "failed", numbers(t, rows, "_value", "value"), values)
}

func trendLineRateLimits(t *testing.T, f *filled, rows []testserver.Row) {
	same(t, "limits", numbers(t, rows, "_value", "min"), scaled(f.judged("LineRate", lowest)))
}

func trendLineRateFailed(t *testing.T, f *filled, rows []testserver.Row) {
	same(t, "failed", numbers(t, rows, "_value", "value"), scaled(f.judged("LineRate", failed)))
}

func trendLatencyFailed(t *testing.T, f *filled, rows []testserver.Row) {
	same(t, "failed", numbers(t, rows, "_value", "value"), f.judged("LatencyP99", failed))
}

func resultsGates(t *testing.T, f *filled, rows []testserver.Row) {
	want := map[string]bool{}
	for _, g := range f.last().gates.Gates {
		for _, row := range g.Rows {
			want[fmt.Sprint(g.Name, row.FrameSize, strings.ReplaceAll(gate.Text(row.Value, g.Unit), " us", " µs"), row.Verdict)] = true
		}
	}
	for _, row := range rows {
		key := fmt.Sprint(row["gate"], row["frame_size"], row["value_text"], row["verdict"])
		if !want[key] {
			t.Errorf("%v is not a verdict of the run, or is there twice", row)
		}
		delete(want, key)
	}
	if len(want) > 0 {
		t.Errorf("the verdicts %v are missing", want)
	}
}

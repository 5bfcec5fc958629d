package compare

import (
	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/method/trials"
)

// Figures that have differences and gates, but no rank.
const (
	LatencyMin Metric = "LatencyMin"
	JitterAvg  Metric = "JitterAvg"
	JitterMax  Metric = "JitterMax"
)

// ofLatency reports whether a metric is about the time that frames take.
func (m Metric) ofLatency() bool { return m != Throughput && m != FrameLoss && m != Goodput }

// metricsOf are the figures by which rows of a method are compared. A method that
// finds a load, or that is about latency, is not compared by the frames lost.
func metricsOf(row *v1alpha1.ResultRow) []Metric {
	switch d, _ := method.Describe(row.Method); {
	case row.Method == v1alpha1.MethodBulk:
		return []Metric{Goodput}
	case method.IsThroughput(row):
		return []Metric{Throughput, LatencyAvg, LatencyMax}
	case d.Latency:
		return []Metric{LatencyAvg, LatencyMax}
	}
	return []Metric{FrameLoss, LatencyAvg, LatencyMax}
}

// MoreIsBetter reports whether a higher value is better.
func (m Metric) MoreIsBetter() bool { return m == Throughput || m == Goodput }

// valueOf is the metric of a row, or why it has none. Of a repeated row it is the median.
func valueOf(row *v1alpha1.ResultRow, metric Metric) (value int64, why string) {
	value, why = ofOne(row, metric)
	if f := row.Repeated.Figure(string(metric)); f != nil && (metric == Goodput || row.Frames != nil && row.Frames.Sent > 0) {
		return f.Median, ""
	}
	return value, why
}

// ofOne is the metric of a single measurement.
func ofOne(row *v1alpha1.ResultRow, metric Metric) (value int64, why string) {
	const billion = 1_000_000_000
	frames := row.Frames.OrZero()
	switch {
	case metric == Goodput && row.Bulk == nil:
		return 0, reason("no data was moved", row.Message)
	case metric == Goodput:
		return row.Bulk.GoodputBitsPerSecond, ""
	case row.Frames == nil:
		return 0, "the test sends no test frames"
	case frames.Sent == 0:
		return 0, reason("nothing was sent", row.Message)
	case metric == Throughput:
		return trials.Offered(row).FramesPerSecond, ""
	case metric == FrameLoss:
		return scaled(frames.Lost, billion, frames.Sent), ""
	case row.Latency == nil && method.FoundNothing(row):
		return 0, reason("no load passed", row.Message)
	case row.Latency == nil:
		return 0, reason("no frame came back", row.Message)
	case metric == LatencyMax:
		return row.Latency.MaxNs, ""
	case metric == LatencyMin:
		return row.Latency.MinNs, ""
	case metric == JitterAvg:
		return jitter(row.Latency.JitterAvgNs)
	case metric == JitterMax:
		return jitter(row.Latency.JitterMaxNs)
	}
	return row.Latency.AvgNs, ""
}

// fullQueue is the reason why a latency is not ranked.
const fullQueue = "frames were lost at this load, so this is the latency of a full queue"

// ValueOf is the metric of a row in its unit, or why it has none that can be judged,
// whatever the validity of the row.
func ValueOf(row *v1alpha1.ResultRow, metric Metric) (value int64, why string) {
	value, why = valueOf(row, metric)
	if why == "" && fullQueued(row, metric) {
		why = fullQueue
	}
	return value, why
}

// fullQueued reports whether a figure is a latency of a trial in which frames were lost. A median
// is of the repetitions without loss.
func fullQueued(row *v1alpha1.ResultRow, metric Metric) bool {
	return metric.ofLatency() && row.Frames.OrZero().Lost > 0 && row.Repeated.Figure(string(metric)) == nil
}

func jitter(ns *int64) (value int64, why string) {
	if ns == nil {
		return 0, "jitter was not measured"
	}
	return *ns, ""
}

func reason(text, message string) string {
	if message == "" {
		return text
	}
	return text + ": " + message
}

// tolerance is the largest difference between values of a line that tie. A throughput is
// known up to the resolution of its search: the coarsest one counts. Other
// figures tie when they are equal.
func tolerance(metric Metric, results []Result, rows []*v1alpha1.ResultRow) int64 {
	if metric != Throughput {
		return 0
	}
	var resolution, frames, ppm int64
	for i, row := range rows {
		if exact := results[i].ResolutionPPM; row != nil && exact != nil {
			resolution = max(resolution, exact(row))
		}
		if row != nil && row.Frames.OrZero().LineRatePPM > 0 {
			frames, ppm = row.Frames.FramesPerSecond, row.Frames.LineRatePPM
		}
	}
	if ppm == 0 {
		return 0
	}
	// The frames/s of the resolution, by the rule of three.
	return scaled(frames, resolution, ppm)
}

// Figure is a metric of one row.
type Figure struct {
	Metric Metric
	// Value in the unit of the metric.
	Value int64
	// Unusable is the reason why the value can be compared with no other; empty if it can.
	Unusable string
}

// FiguresOf are the figures by which a row is compared with others of its test, size and load.
func FiguresOf(row *v1alpha1.ResultRow) []Figure {
	var all []Figure
	for _, metric := range metricsOf(row) {
		f := Figure{Metric: metric}
		c := cell(row, metric)
		if c.Value != nil {
			f.Value = *c.Value
		}
		if c.Status != Ranked {
			f.Unusable = c.Reason
		}
		all = append(all, f)
	}
	return all
}

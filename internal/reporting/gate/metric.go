package gate

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/reporting/compare"
)

// Metric is a figure that the rows of a test can have.
type Metric struct {
	// Name by which a gate asks for it.
	Name string
	// Unit of its values.
	Unit Unit
	// Meaning for a person.
	Meaning string
	// Value of a row, or why it has none.
	Value func(row *v1alpha1.ResultRow) (value int64, why string)
	// Resolution returns by how much a value can be too low or too high; nil if it is exact, or
	// if its bounds are known by other means.
	Resolution func(row *v1alpha1.ResultRow) int64
}

// Names of metrics that are not of package compare.
const (
	// LineRate is a load that was found, as a share of line rate.
	LineRate = "LineRate"
	// PercentilePrefix begins the names of percentiles of latency.
	PercentilePrefix = "LatencyP"
)

// Metrics returns the metrics of the rows of a method, in the order in which reports show
// them; those that only the method measures come first.
func Metrics(d trials.Definition) []Metric {
	var all []Metric
	add := func(m Metric) {
		if !slices.ContainsFunc(all, func(known Metric) bool { return known.Name == m.Name }) {
			all = append(all, m)
		}
	}
	for _, c := range d.Columns {
		add(ofColumn(c))
	}
	if d.Frameless {
		return all
	}
	if d.FindsThroughput {
		add(ofRow(compare.Throughput, FramesPerSecond, "the load that was found, as it left the tester, in frames/s over all ports"))
		add(Metric{Name: LineRate, Unit: PPM, Meaning: "the same as a share of line rate, or of the full load where the profile lets ports send less", Value: func(row *v1alpha1.ResultRow) (int64, string) {
			_, why := compare.ValueOf(row, compare.Throughput)
			return trials.Offered(row).LineRatePPM, why
		}})
	} else {
		add(Metric{Name: string(compare.FrameLoss), Unit: PPB, Meaning: "lost frames as a share of those that were sent, rounded up", Value: frameLoss})
	}
	add(ofRow(compare.LatencyMin, Nanoseconds, "the lowest latency"))
	add(ofRow(compare.LatencyAvg, Nanoseconds, "the mean latency"))
	for _, p := range percentiles {
		add(Metric{Name: p.name, Unit: Nanoseconds, Meaning: p.meaning, Value: p.valueOf})
	}
	add(ofRow(compare.LatencyMax, Nanoseconds, "the highest latency"))
	add(ofRow(compare.JitterAvg, Nanoseconds, "the mean jitter"))
	add(ofRow(compare.JitterMax, Nanoseconds, "the highest jitter"))
	for _, m := range slices.Concat(microflows, congestion) {
		add(m)
	}
	return all
}

// metricOf is the metric of a name that a test has.
func metricOf(test *v1alpha1.Test, name string) (Metric, bool) {
	d, _ := method.DescribeTest(*test)
	all := Metrics(d)
	i := slices.IndexFunc(all, func(m Metric) bool { return m.Name == name })
	if i < 0 {
		return Metric{}, false
	}
	return all[i], true
}

func ofRow(metric compare.Metric, unit Unit, meaning string) Metric {
	return Metric{Name: string(metric), Unit: unit, Meaning: meaning, Value: func(row *v1alpha1.ResultRow) (int64, string) { return compare.ValueOf(row, metric) }}
}

// frameLoss is rounded up, so that only a row without loss has 0.
func frameLoss(row *v1alpha1.ResultRow) (int64, string) {
	_, why := compare.ValueOf(row, compare.FrameLoss)
	if why != "" {
		return 0, why
	}
	lost := new(big.Int).Mul(big.NewInt(row.Frames.Lost), big.NewInt(1_000_000_000))
	return ceiling(lost, row.Frames.Sent), ""
}

// microflows are the metrics of a profile that tracks microflows.
var microflows = []Metric{
	ofMicroflows("LossyMicroflows", "combinations of addresses and ports of which some frames were lost", func(m *v1alpha1.MicroflowsSummary) int64 { return m.Lossy }),
	ofMicroflows("SilentMicroflows", "combinations of addresses and ports of which no frame was received", func(m *v1alpha1.MicroflowsSummary) int64 { return m.Silent }),
}

func ofMicroflows(name, meaning string, of func(*v1alpha1.MicroflowsSummary) int64) Metric {
	return Metric{Name: name, Unit: Number, Meaning: meaning, Value: func(row *v1alpha1.ResultRow) (int64, string) {
		if row.Microflows == nil {
			return 0, "microflows were not counted: set trackMicroflows in the packet of the profile"
		}
		return of(row.Microflows), ""
	}}
}

type percentile struct {
	name, meaning string
	of            func(*v1alpha1.LatencySummary) int64
}

var percentiles = []percentile{
	{"LatencyP50", "the median of the latencies", func(l *v1alpha1.LatencySummary) int64 { return l.P50Ns }},
	{"LatencyP90", "the latency that 90 % of the frames do not exceed", func(l *v1alpha1.LatencySummary) int64 { return l.P90Ns }},
	{"LatencyP99", "the latency that 99 % of the frames do not exceed", func(l *v1alpha1.LatencySummary) int64 { return l.P99Ns }},
	{"LatencyP999", "the latency that 99.9 % of the frames do not exceed", func(l *v1alpha1.LatencySummary) int64 { return l.P999Ns }},
}

func (p percentile) valueOf(row *v1alpha1.ResultRow) (int64, string) {
	if _, why := compare.ValueOf(row, compare.LatencyAvg); why != "" {
		return 0, why
	}
	if ns := p.of(row.Latency); ns > 0 {
		return ns, ""
	}
	return 0, "percentiles of latency were not counted"
}

// ofColumn is the metric of a number that only one method measures.
func ofColumn(c trials.Column) Metric {
	unit := map[trials.Unit]Unit{
		trials.PPM: PPM, trials.Nanoseconds: Nanoseconds, trials.LongNanoseconds: Nanoseconds, trials.YesNo: YesNo,
	}[c.Unit]
	return Metric{Name: c.MetricName(), Unit: unit, Meaning: "column “" + c.FullName() + "”", Resolution: c.Resolution, Value: func(row *v1alpha1.ResultRow) (int64, string) {
		if value, ok := c.Value(row); ok {
			return value, ""
		}
		if row.Message != "" {
			return 0, "it was not measured: " + row.Message
		}
		return 0, "it was not measured"
	}}
}

// names of metrics, for a message.
func names(all []Metric) string {
	var texts []string
	for _, m := range all {
		texts = append(texts, m.Name)
	}
	return strings.Join(texts, ", ")
}

// figure is a value with its unit for a person: "58.2%", "12.500 us".
func (m Metric) figure(value int64) string {
	if m.Unit == FramesPerSecond {
		return fmt.Sprintf("%s frames/s", m.Unit.Text(value))
	}
	return m.Unit.Text(value)
}

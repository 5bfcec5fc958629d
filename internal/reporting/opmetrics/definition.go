package opmetrics

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Component is the process that exports a metric.
type Component string

// Components of the lab.
const (
	ComponentOperator Component = "operator"
	ComponentRecorder Component = "recorder"
)

// Definition describes a metric.
type Definition struct {
	Component Component
	// Name with its unit.
	Name string
	// Type is Gauge, Counter or Histogram.
	Type string
	// Labels in the order in which collectors give their values.
	Labels []string
	// Help is one sentence.
	Help string

	desc *prometheus.Desc
}

// definitions has every metric of the package.
var definitions []Definition

// Definitions are all metrics, sorted as they are documented.
func Definitions() []Definition { return slices.Clone(definitions) }

func define(c Component, kind, name, help string, labels ...string) Definition {
	d := Definition{Component: c, Name: name, Type: kind, Labels: labels, Help: help, desc: prometheus.NewDesc(name, help, labels, nil)}
	definitions = append(definitions, d)
	return d
}

// value is a sample of a gauge or counter.
func (d Definition) value(v float64, labels ...string) prometheus.Metric {
	kind := prometheus.GaugeValue
	if d.Type == "Counter" {
		kind = prometheus.CounterValue
	}
	return prometheus.MustNewConstMetric(d.desc, kind, v, labels...)
}

func (d Definition) counter() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.Name, Help: d.Help}, d.Labels)
}

func (d Definition) histogram(buckets []float64) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: d.Name, Help: d.Help, Buckets: buckets}, d.Labels)
}

func describe(out chan<- *prometheus.Desc, of Component) {
	for _, d := range definitions {
		if d.Component == of {
			out <- d.desc
		}
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// unix is a time as Prometheus has it.
func unix(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

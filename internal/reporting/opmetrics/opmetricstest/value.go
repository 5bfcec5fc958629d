// Package opmetricstest reads metrics in tests.
package opmetricstest

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Gather collects from a collector as a registry does, by the names of metrics.
func Gather(t testing.TB, c prometheus.Collector) map[string]*dto.MetricFamily {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	all, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*dto.MetricFamily{}
	for _, f := range all {
		byName[f.GetName()] = f
	}
	return byName
}

// Value adds up a metric over all series that have these labels, given as names and
// values in turn: of a histogram how often it was observed. It is 0 when there is no series.
func Value(t testing.TB, c prometheus.Collector, name string, labels ...string) float64 {
	t.Helper()
	sum := 0.0
	for _, m := range Gather(t, c)[name].GetMetric() {
		if has(m, labels) {
			sum += m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return sum
}

func has(m *dto.Metric, labels []string) bool {
	given := map[string]string{}
	for _, l := range m.GetLabel() {
		given[l.GetName()] = l.GetValue()
	}
	for i := 0; i < len(labels); i += 2 {
		if value, found := given[labels[i]]; !found || value != labels[i+1] {
			return false
		}
	}
	return true
}

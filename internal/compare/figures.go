package compare

import "nodrop.dev/nodrop/api/v1alpha1"

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

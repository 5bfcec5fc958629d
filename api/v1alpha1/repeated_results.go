package v1alpha1

// RepeatedSummary contains what the independent repetitions of a row found.
type RepeatedSummary struct {
	// repetitions that were measured, at least 2.
	// +required
	Repetitions int32 `json:"repetitions"`
	// median is the repetition whose main figure is the median; of an even number the lower
	// one in the middle.
	// +required
	Median int32 `json:"median"`
	// figures that the repetitions have, by metric.
	// +optional
	// +listType=map
	// +listMapKey=metric
	// +kubebuilder:validation:MaxItems=64
	Figures []FigureInterval `json:"figures,omitempty"`
}

// Figure returns the interval of a metric; nil if the repetitions have none.
func (r *RepeatedSummary) Figure(metric string) *FigureInterval {
	if r == nil {
		return nil
	}
	for i := range r.Figures {
		if r.Figures[i].Metric == metric {
			return &r.Figures[i]
		}
	}
	return nil
}

// FigureInterval is a figure of several repetitions: its median with a confidence interval that
// assumes nothing about the distribution of the values. It extends between two of the values in
// their order, and contains the median of the distribution with the probability by which
// neither too few nor too many of so many values are below it (the interval of the sign test,
// NIST/SEMATECH e-Handbook section 7.2.2). Bounds of a search and of histogram buckets widen it.
type FigureInterval struct {
	// metric is the name by which gates know the figure, such as Throughput.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Metric string `json:"metric"`
	// unit of the values: frames/s, ppm, ppb, ns or yes/no; absent when the metric describes
	// what is counted.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	Unit string `json:"unit,omitempty"`
	// median of the values; of an even number the lower one in the middle.
	// +required
	Median int64 `json:"median"`
	// low is the lower bound of the interval.
	// +required
	Low int64 `json:"low"`
	// high is the upper bound of the interval.
	// +required
	High int64 `json:"high"`
	// confidencePPM is the confidence of the interval in parts per million: at least 950,000
	// from 6 values on. Of fewer values no interval has as much, and this is the confidence of
	// that from the lowest to the highest one.
	// +required
	ConfidencePPM int64 `json:"confidencePPM"`
	// values of the repetitions that have the figure, in the order of the repetitions.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Values []int64 `json:"values"`
}

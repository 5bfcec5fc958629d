package compare

import "nodrop.dev/nodrop/api/v1alpha1"

// Schema names the schema of a Comparison. Fields are added under this name, but
// none is removed, renamed or given another meaning.
const Schema = "nodrop.dev/comparison/v1alpha1"

// Comparison is the score table of two or more results.
type Comparison struct {
	// schema is nodrop.dev/comparison/v1alpha1.
	Schema string `json:"schema"`
	// results are the compared results; the first is the baseline of all differences.
	Results []Subject `json:"results"`
	// notes describe where the conditions of the results differ.
	Notes []string `json:"notes,omitempty"`
	// scores are the ranks per test and metric; never null.
	Scores []Score `json:"scores"`
	// lines are the ranks and differences per test, metric, frame size and load;
	// never null.
	Lines []Line `json:"lines"`
}

// Subject is a result that was compared.
type Subject struct {
	// name in this comparison, unique in it.
	Name string `json:"name"`
	// namespace of the benchmark.
	Namespace string `json:"namespace,omitempty"`
	// benchmark is the name of the benchmark.
	Benchmark string `json:"benchmark,omitempty"`
	// phase that the benchmark ended in.
	Phase v1alpha1.BenchmarkPhase `json:"phase,omitempty"`
	// testBed that was used.
	TestBed string `json:"testBed,omitempty"`
	// device describes the device under test.
	Device string `json:"device,omitempty"`
}

// Metric is a figure that results are ranked by.
//
// +kubebuilder:validation:Enum=Throughput;LatencyAvg;LatencyMax;FrameLoss;Goodput
type Metric string

const (
	// Throughput in frames/s: more is better.
	Throughput Metric = "Throughput"
	// LatencyAvg is the mean latency in ns: less is better.
	LatencyAvg Metric = "LatencyAvg"
	// LatencyMax is the highest latency in ns: less is better.
	LatencyMax Metric = "LatencyMax"
	// FrameLoss is the share of lost frames in parts per billion: less is better.
	FrameLoss Metric = "FrameLoss"
	// Goodput of bulk data in bit/s: more is better.
	Goodput Metric = "Goodput"
)

// Score contains the ranks of the results in one metric of one test, over all frame sizes
// and loads.
type Score struct {
	// test is the name of the test.
	Test string `json:"test"`
	// variant of the devices; absent when the benchmarks name none.
	Variant v1alpha1.VariantName `json:"variant,omitempty"`
	// metric that was ranked.
	Metric Metric `json:"metric"`
	// linesCounted is the number of lines in which every result of this score has
	// a rank; only those count.
	LinesCounted int32 `json:"linesCounted"`
	// linesTotal is the number of lines of this test and metric.
	LinesTotal int32 `json:"linesTotal"`
	// places are the results in their order.
	Places []Place `json:"places"`
	// winners are the results of rank 1, several when they tie. None when fewer than
	// two results have a rank.
	Winners []string `json:"winners,omitempty"`
}

// Place contains the rank of one result in a score.
type Place struct {
	// rank is 1 for the lowest sum of ranks; 0 for not applicable.
	Rank int32 `json:"rank"`
	// tied is true when another result has the same rank.
	Tied bool `json:"tied,omitempty"`
	// rankSum is the sum of the ranks in the lines that count.
	RankSum int32 `json:"rankSum"`
	// firsts is the number of lines in which the result had rank 1, alone or tied, among the
	// lines that count.
	Firsts int32 `json:"firsts"`
}

// Line compares the results at one frame size, and for a test at given loads at
// one load.
type Line struct {
	// RowID of the rows that are compared.
	v1alpha1.RowID `json:",inline"`
	// metric that is ranked.
	Metric Metric `json:"metric"`
	// cells are the results in their order.
	Cells []Cell `json:"cells"`
	// winners are the results of rank 1, several when they tie. None when fewer than
	// two results have a rank.
	Winners []string `json:"winners,omitempty"`
	// note contains what else to know: that latency was measured at different loads, or that data was sent by
	// different congestion control.
	Note string `json:"note,omitempty"`
}

// Status reports whether a result has a rank, or why not.
//
// +kubebuilder:validation:Enum=Ranked;Missing;NotValid;NotMeasured;Loss
type Status string

const (
	// Ranked results have a rank.
	Ranked Status = "Ranked"
	// Missing results have no such row.
	Missing Status = "Missing"
	// NotValid rows have a validity by which nothing can be judged.
	NotValid Status = "NotValid"
	// NotMeasured rows do not have this figure.
	NotMeasured Status = "NotMeasured"
	// Loss means that frames were lost at this load, so that latency is that of a
	// full queue.
	Loss Status = "Loss"
)

// Cell is one result in a line.
type Cell struct {
	// status reports whether there is a rank, or why it is not applicable.
	Status Status `json:"status"`
	// reason explains a status other than Ranked.
	Reason string `json:"reason,omitempty"`
	// value in the unit of the metric: frames/s, ns, parts per billion, or bit/s. Absent
	// when there is none.
	Value *int64 `json:"value,omitempty"`
	// rank is 1 for the best; 0 for not applicable. After a tie ranks are left out:
	// 1, 1, 3.
	Rank int32 `json:"rank"`
	// tied is true when another result has the same rank.
	Tied bool `json:"tied,omitempty"`
	// difference from the baseline's value. Absent when one of the two has no rank,
	// and for the baseline itself.
	Difference *int64 `json:"difference,omitempty"`
	// differencePPM is the difference in parts per million of the baseline's value,
	// rounded half away from zero. Absent also when that value is 0.
	DifferencePPM *int64 `json:"differencePPM,omitempty"`
	// significance reports whether the difference is more than chance makes; absent unless
	// both results were measured repeatedly.
	Significance *Significance `json:"significance,omitempty"`
}

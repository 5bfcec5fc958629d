package v1alpha1

// Condition type and reasons of a Benchmark that was measured, in a lab with an archive.
const (
	// ConditionRegression reports whether the level of a figure became worse in the history of
	// the benchmark: the results of benchmarks with the same name and the same inputs.
	ConditionRegression = "Regression"
	// ReasonLevelWorse means that the last change of a figure's level was for the worse. The
	// message names the figure, the size of the change with its bounds, and the first run.
	ReasonLevelWorse = "LevelBecameWorse"
	// ReasonNoRegression means that no level became worse, or that there are too few runs to
	// say so.
	ReasonNoRegression = "NoRegression"
	// ReasonHistoryUnreadable means that the results could not be read from the archive. It
	// is tried again.
	ReasonHistoryUnreadable = "HistoryUnreadable"
)

package v1alpha1

// Condition type and reasons of a finished Benchmark with rows, in a lab with a recorder of
// metrics. Without a recorder the condition is absent.
const (
	// ConditionMetricsRecorded reports whether the recorder has all rows of the result.
	ConditionMetricsRecorded = "MetricsRecorded"
	// ReasonRecorded means that the recorder has them: it keeps them until the database has.
	ReasonRecorded = "Recorded"
	// ReasonRecorderUnavailable means that the recorder could not be reached, or has no
	// room. It is tried again.
	ReasonRecorderUnavailable = "RecorderUnavailable"
	// ReasonPointsRefused means that no points can be made of the rows, or that the recorder
	// does not take them. It is tried again when the operator starts.
	ReasonPointsRefused = "PointsRefused"
)

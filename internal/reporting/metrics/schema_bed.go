package metrics

// bedSchema is a bed at a moment.
func bedSchema() Measurement {
	return Measurement{
		Name: MeasurementBed, About: "a bed at a moment, as the operator sees it", Time: "that moment",
		Tags: []Column{bedColumn, {tagTeam, unitText, "namespace of the benchmark that has the bed; absent while none has it"}},
		Fields: []Column{
			{"holder", unitText, "name of the benchmark that has the bed; absent while none has it"},
			{"run", unitText, "UID of that benchmark"},
			{"ready", unitBool, "the bed can be used"},
			{"unschedulable", unitBool, "the bed is closed to new benchmarks"},
			{"quarantined", unitBool, "a clean-up failed, and the bed waits for its owner"},
			{"waiting", unitBenchmarks, "benchmarks that wait and could get the bed"},
			{"longest_wait_ns", unitNs, "how long the one of them waits that was created first; absent when none waits"},
			{"interval_ns", unitNs, "time since the point before, or since this operator leads"},
			{"utilisation_ppm", unitPPM, "share of that time in which a benchmark had the bed"},
			{"calibration_age_ns", unitNs, "how long ago the tester was calibrated for the bed; absent when it was not, or need not be"},
		},
	}
}

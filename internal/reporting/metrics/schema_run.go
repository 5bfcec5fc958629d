package metrics

// runSchema is a run of a benchmark.
func runSchema() Measurement {
	return Measurement{
		Name: MeasurementRun, About: "a run of a benchmark, with what was measured by what", Time: "when the run began",
		Tags: []Column{bedColumn, deviceColumn, {tagSoftware, unitText, "version that the device runs, as the bed gives it"}},
		Fields: []Column{
			ofRun[0], ofRun[1],
			{tagTeam, unitText, teamColumn.About},
			{"inputs", unitText, "SHA-256 of tests, variants, traffic and bed without its device, as in nodrop history: runs that have it in common form a history"},
			{"engine", unitText, "engine that sent and received"},
			{"nodrop_version", unitText, "version of NoDrop"},
		},
	}
}

// rowSchema is a row of a result.
func rowSchema() Measurement {
	return Measurement{
		Name: MeasurementRow, About: "a row of the result, as it is archived",
		Time:   "when the run began, plus the time that its rows took up to the end of this one",
		Tags:   []Column{bedColumn, deviceColumn, sizeColumn, methodColumn, teamColumn, {tagTest, unitText, "name of the test"}, {tagValidity, unitText, "validity of the row: only Valid ones are the device's"}},
		Fields: append(ofRun[:2:2], Column{tagSoftware, unitText, "version that the device runs"}, Column{"inputs", unitText, "as in nodrop_run"}, Column{"digest", unitText, "SHA-256 of the row as canonical JSON"}),
	}
}

// regressionSchema is a figure that became worse.
func regressionSchema() Measurement {
	return Measurement{
		Name:  MeasurementRegression,
		About: "a figure of a benchmark's history whose level became worse, as the operator found it in the archive; see nodrop history",
		Time:  "when the first run at the new level began, and a nanosecond more for each figure before it in the history",
		Tags:  []Column{bedColumn, deviceColumn, sizeColumn, methodColumn, {tagMetric, unitText, "figure: Throughput, LatencyAvg, LatencyMax, FrameLoss or Goodput"}, teamColumn, {tagTest, unitText, "name of the test"}},
		Fields: append(ofRun[:3:3],
			Column{"load", unitText, "load of the row, as the test gives it; absent when it searches the load"},
			Column{tagSoftware, unitText, "version that the device runs; absent when the bed names none"},
			Column{"from", unitOfMetric, "median of the values before, since the change before that"},
			Column{"to", unitOfMetric, "median of the values since"},
			Column{"shift_ppm", unitPPM, "median difference of the values, in parts per million of from; absent when from is 0"},
		),
	}
}

package metrics

// Prefix of the names of all measurements.
const Prefix = "nodrop_"

// Names of the measurements.
const (
	MeasurementRun   = "nodrop_run"
	MeasurementRow   = "nodrop_row"
	MeasurementTrial = "nodrop_trial"
	MeasurementPort  = "nodrop_port"

	MeasurementDevice     = "nodrop_device"
	MeasurementRegression = "nodrop_regression"
	MeasurementBed        = "nodrop_bed"
)

// Keys of the tags.
const (
	tagBed       = "bed"
	tagClass     = "class"
	tagDevice    = "device"
	tagFrameSize = "frame_size"
	tagMethod    = "method"
	tagMetric    = "metric"
	tagPort      = "port"
	tagSoftware  = "software"
	tagTeam      = "team"
	tagTest      = "test"
	tagValidity  = "validity"
)

// Column is a tag or a field of a measurement.
type Column struct {
	// Name of the tag or field.
	Name string
	// Unit of the values, such as ns, ppm, frames, bytes, text or bool.
	Unit string
	// About describes the column in one sentence.
	About string
}

// Measurement is a kind of points.
type Measurement struct {
	Name string
	// About describes a point, and Time the meaning of its time.
	About, Time string
	Tags        []Column
	// Fields; of MeasurementRow those besides the members of the row.
	Fields []Column
}

const (
	unitText   = "text"
	unitFrames = "frames"
	unitPPM    = "ppm"
	unitNs     = "ns"
	unitBytes  = "bytes"
	unitBool   = "bool"
	unitRoutes = "routes"

	unitBenchmarks = "benchmarks"
	// unitOfMetric is the unit of compare.Metric.
	unitOfMetric = "frames/s, ns or ppb"
)

var ofRun = []Column{
	{"run", unitText, "UID of the benchmark; of nodrop run, when it first began"},
	{"benchmark", unitText, "name of the benchmark"},
	{"variant", unitText, "variant of the device; absent when the benchmark names none"},
}

// Schema is everything that NoDrop writes.
func Schema() []Measurement {
	bed := Column{tagBed, unitText, "name of the test bed"}
	team := Column{tagTeam, unitText, "namespace of the benchmark"}
	dut := Column{tagDevice, unitText, "vendor and model of the device, or its kind"}
	method := Column{tagMethod, unitText, "method of the test, such as Throughput"}
	size := Column{tagFrameSize, unitText, "frame size in bytes, or the name of a mix; absent in tests without frames"}
	return []Measurement{
		{
			Name: MeasurementRun, About: "a run of a benchmark, with what was measured by what", Time: "when the run began",
			Tags: []Column{bed, dut, {tagSoftware, unitText, "version that the device runs, as the bed gives it"}},
			Fields: []Column{
				ofRun[0], ofRun[1],
				{tagTeam, unitText, team.About},
				{"inputs", unitText, "SHA-256 of tests, variants, traffic and bed without its device, as in nodrop history: runs that have it in common form a history"},
				{"engine", unitText, "engine that sent and received"},
				{"nodrop_version", unitText, "version of NoDrop"},
			},
		},
		{
			Name: MeasurementRow, About: "a row of the result, as it is archived",
			Time:   "when the run began, plus the time that its rows took up to the end of this one",
			Tags:   []Column{bed, dut, size, method, team, {tagTest, unitText, "name of the test"}, {tagValidity, unitText, "validity of the row: only Valid ones are the device's"}},
			Fields: append(ofRun[:2:2], Column{tagSoftware, unitText, "version that the device runs"}, Column{"inputs", unitText, "as in nodrop_run"}, Column{"digest", unitText, "SHA-256 of the row as canonical JSON"}),
		},
		{
			Name: MeasurementTrial, About: "a trial that ended", Time: "when the trial began",
			Tags: []Column{bed, size, method},
			Fields: append(ofRun[:3:3],
				Column{tagTest, unitText, "name of the test"},
				Column{"load_ppm", unitPPM, "intended load of line rate"},
				Column{"duration_ns", unitNs, "length that was asked for"},
				Column{"tx_time_ns", unitNs, "how long sending took"},
				Column{"intended", unitFrames, "frames that the load asked for"},
				Column{"sent", unitFrames, "frames that left the tester"},
				Column{"received", unitFrames, "frames that came back, once per receiver"},
				Column{"lost", unitFrames, "frames sent and not received, once per receiver"},
				Column{"passed", unitBool, "the whole intended load was offered and no frame was lost"},
				Column{"generator_bound", unitBool, "the tester may be what kept the trial from passing"},
				Column{"passed_ppm", unitPPM, "highest load that the search knew to pass when the trial began; 0 when none"},
				Column{"failed_ppm", unitPPM, "lowest load that the search knew to fail when the trial began; 0 when none"},
			),
		},
		{
			Name: MeasurementPort, About: "what a port did with the streams of a class in an interval of a trial", Time: "the end of the interval",
			Tags: []Column{bed, {tagPort, unitText, "name of the port in the bed"}, {tagClass, unitText, "class of the streams: unicast, multicast or the name of a flow"}},
			Fields: append(ofRun[:3:3],
				Column{tagTest, unitText, "name of the test"},
				Column{tagFrameSize, unitText, size.About},
				Column{"load_ppm", unitPPM, "intended load of the trial"},
				Column{"interval_ns", unitNs, "length of the interval"},
				Column{"intended", unitFrames, "frames that the load asked the port for in it; absent when it sends none of the class"},
				Column{"sent", unitFrames, "frames that the port sent in it; absent when it sends none of the class"},
				Column{"sent_bytes", unitBytes, "the same in bytes, with FCS"},
				Column{"received", unitFrames, "frames that the port received in it; absent when it should receive none of the class"},
				Column{"received_bytes", unitBytes, "the same in bytes, with FCS"},
				Column{"lost", unitFrames, "frames that were found missing in it; absent when the engine cannot say"},
				Column{"reordered", unitFrames, "frames that came out of order in it (RFC 4737); absent when the engine cannot say"},
				Column{"duplicate", unitFrames, "copies that came in it; absent when the engine cannot say"},
				Column{"latency_min_ns", unitNs, "lowest latency in it; absent when none was measured"},
				Column{"latency_avg_ns", unitNs, "mean latency in it"},
				Column{"latency_max_ns", unitNs, "highest latency in it"},
				Column{"latency_p50_ns", unitNs, "50th percentile"},
				Column{"latency_p99_ns", unitNs, "99th percentile"},
				Column{"latency_p999_ns", unitNs, "99.9th percentile"},
				Column{"jitter_avg_ns", unitNs, "mean difference of the latency of consecutive frames (RFC 4689); absent when none was measured"},
			),
		},
		{
			Name: MeasurementDevice, About: "what a device of software did in an interval of a trial: its interface at a port, or, without a port, the device as a whole", Time: "the end of the interval",
			Tags: []Column{bed, {tagPort, unitText, "name of the port in the bed that the interface is cabled to; absent in a point of the whole device"}},
			Fields: append(ofRun[:3:3],
				Column{"interval_ns", unitNs, "length of the interval"},
				Column{"rx_frames", unitFrames, "frames that the interface received in it"},
				Column{"rx_dropped", unitFrames, "frames that it received and dropped, as its kernel counts them"},
				Column{"rx_errors", unitFrames, "frames that it received in error"},
				Column{"tx_frames", unitFrames, "frames that it sent in it"},
				Column{"tx_dropped", unitFrames, "frames that it could not send, as its kernel counts them"},
				Column{"tx_errors", unitFrames, "frames that it failed to send"},
				Column{"cpu_ppm", unitPPM, "share of the time of the device's processors that was not idle, in ticks of 10 ms; absent when it has none of its own"},
				Column{"softirq_ppm", unitPPM, "share of their time in soft interrupts, in which the kernel forwards frames"},
				Column{"memory_bytes", unitBytes, "memory of the device's routing software, as in routeMemory of a row; absent where it cannot be read"},
				Column{"routes", unitRoutes, "routes in the kernel's tables, IPv4 and IPv6, with those of its own addresses; absent where they cannot be counted"},
			),
		},
		{
			Name: MeasurementBed, About: "a bed at a moment, as the operator sees it", Time: "that moment",
			Tags: []Column{bed, {tagTeam, unitText, "namespace of the benchmark that has the bed; absent while none has it"}},
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
		},
		{
			Name:  MeasurementRegression,
			About: "a figure of a benchmark's history whose level became worse, as the operator found it in the archive; see nodrop history",
			Time:  "when the first run at the new level began, and a nanosecond more for each figure before it in the history",
			Tags:  []Column{bed, dut, size, method, {tagMetric, unitText, "figure: Throughput, LatencyAvg, LatencyMax or FrameLoss"}, team, {tagTest, unitText, "name of the test"}},
			Fields: append(ofRun[:3:3],
				Column{"load", unitText, "load of the row, as the test gives it; absent when it searches the load"},
				Column{tagSoftware, unitText, "version that the device runs; absent when the bed names none"},
				Column{"from", unitOfMetric, "median of the values before, since the change before that"},
				Column{"to", unitOfMetric, "median of the values since"},
				Column{"shift_ppm", unitPPM, "median difference of the values, in parts per million of from; absent when from is 0"},
			),
		},
	}
}

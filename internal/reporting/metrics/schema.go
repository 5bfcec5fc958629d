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
	MeasurementReading    = "nodrop_reading"
	MeasurementRegression = "nodrop_regression"
	MeasurementBed        = "nodrop_bed"
	MeasurementGate       = "nodrop_gate"
)

// Keys of the tags.
const (
	tagBed       = "bed"
	tagClass     = "class"
	tagDevice    = "device"
	tagFrameSize = "frame_size"
	tagGate      = "gate"
	tagMethod    = "method"
	tagMetric    = "metric"
	tagPort      = "port"
	tagReading   = "reading"
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
	// Fields of the measurement. MeasurementRow has the members of the row in addition.
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

	// unitOfReading is the unit of a reading of a device.
	unitOfReading = "thousandths of unit, or frames"

	unitBenchmarks = "benchmarks"
	// unitOfMetric is the unit of compare.Metric.
	unitOfMetric = "frames/s, ns or ppb"
	// unitOfGate is the unit of the figure of a gate.
	unitOfGate = "as in unit"
)

var ofRun = []Column{
	{"run", unitText, "UID of the benchmark; of nodrop run, when it first began"},
	{"benchmark", unitText, "name of the benchmark"},
	{"variant", unitText, "variant of the device; absent when the benchmark names none"},
}

// The tags that several measurements have.
var (
	bedColumn    = Column{tagBed, unitText, "name of the test bed"}
	teamColumn   = Column{tagTeam, unitText, "namespace of the benchmark"}
	deviceColumn = Column{tagDevice, unitText, "vendor and model of the device, or its kind"}
	methodColumn = Column{tagMethod, unitText, "method of the test, such as Throughput"}
	sizeColumn   = Column{tagFrameSize, unitText, "frame size in bytes, or the name of a mix; absent in tests without frames"}
)

// Schema is everything that NoDrop writes.
func Schema() []Measurement {
	return []Measurement{
		runSchema(), rowSchema(), trialSchema(), portSchema(), deviceSchema(), readingSchema(), bedSchema(), regressionSchema(), gateSchema(),
	}
}

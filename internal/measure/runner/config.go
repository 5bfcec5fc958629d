package runner

import (
	"math/big"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/search"
)

// Config is everything that a run needs; the operator writes it as JSON into a
// Secret that is mounted into the runner pod.
type Config struct {
	// Benchmark, Profile and Bed as they were when the bed was leased.
	Benchmark v1alpha1.Benchmark      `json:"benchmark"`
	Profile   v1alpha1.TrafficProfile `json:"profile"`
	Bed       v1alpha1.TestBed        `json:"bed"`
	// Variant of the bed's device that is prepared; empty when the benchmark names
	// none. Only its rows are measured.
	Variant v1alpha1.VariantName `json:"variant,omitempty"`
	// Configuration of the bed's device in the variant; absent where people
	// configure it.
	Configuration *v1alpha1.DeviceConfiguration `json:"configuration,omitempty"`
	// Model is the text of the device model, that of the variant; only with the
	// engine sim.
	Model string `json:"model,omitempty"`
	// JitterAverageByLoad and JitterMaximumByLoad are the texts of the tables of
	// jitter by load; empty when the device has none.
	JitterAverageByLoad string `json:"jitterAverageByLoad,omitempty"`
	JitterMaximumByLoad string `json:"jitterMaximumByLoad,omitempty"`
	// Agents drive the bed's ports; empty with the engine sim.
	Agents []AgentEndpoint `json:"agents,omitempty"`
	// Telemetry is the pod that reads the device; absent where there is none.
	Telemetry *TelemetryEndpoint `json:"telemetry,omitempty"`
	// Calibration contains the calibration of the tester on the bed that Bed refers to for
	// it; absent if there is none.
	Calibration *v1alpha1.CalibrationStatus `json:"calibration,omitempty"`
	// Started is the time at which the run began, the same for all its runners: the times of
	// its rows in metrics follow from it.
	Started metav1.Time `json:"started,omitzero"`
	// Recorder takes the points of the run; absent where the lab has none.
	Recorder *Recorder `json:"recorder,omitempty"`
	// Hints are the results of earlier runs with the device on the same bed. They let the
	// search Informed begin nearer to its end, and change no result.
	Hints []Hint `json:"hints,omitempty"`
}

// Recorder contains the address to which a runner sends its points, and the certificates.
type Recorder struct {
	// Address is host:port.
	Address string `json:"address"`
	// CA, Cert and Key in PEM.
	CA   []byte `json:"ca"`
	Cert []byte `json:"cert"`
	Key  []byte `json:"key"`
	// IntervalMilliseconds is the interval at which ports are sampled.
	IntervalMilliseconds int64 `json:"intervalMilliseconds"`
}

// Hint is a limit that is believed of the device, per port of the bed.
type Hint struct {
	// FramesPerSecond and BitsPerSecond (layer 1) that a port passes; 0 when not
	// known.
	FramesPerSecond int64 `json:"framesPerSecond,omitempty"`
	BitsPerSecond   int64 `json:"bitsPerSecond,omitempty"`
	// Source names the origin of the hint: "benchmark router-rfc2544".
	Source string `json:"source"`
}

func (h Hint) search() search.Hint {
	out := search.Hint{Source: h.Source}
	if h.FramesPerSecond > 0 {
		out.FramesPerSecond = big.NewRat(h.FramesPerSecond, 1)
	}
	if h.BitsPerSecond > 0 {
		out.BitsPerSecond = big.NewRat(h.BitsPerSecond, 1)
	}
	return out
}

// AgentEndpoint contains the address of one agent, and its ports.
type AgentEndpoint struct {
	// Name is the DNS name in the agent's certificate.
	Name string `json:"name"`
	// Address is host:port.
	Address string `json:"address"`
	// Ports of the bed that the agent owns.
	Ports []string `json:"ports"`
}

// TelemetryEndpoint contains the address of the pod that reads the device.
type TelemetryEndpoint struct {
	// Name is the DNS name in its certificate.
	Name string `json:"name"`
	// Address is host:port.
	Address string `json:"address"`
}

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CalibrationReference names the bed that measures the tester of this one.
type CalibrationReference struct {
	// testBedName is a bed with device backToBack on the same ports. What the last
	// benchmark that passed there has found of the tester is the calibration of this
	// bed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	TestBedName string `json:"testBedName"`
	// maxAge is the maximum age of the calibration when a benchmark begins; 30 days by
	// default.
	// +optional
	// +kubebuilder:default="720h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('1h') && duration(self) <= duration('8760h')",messageExpression="'maxAge is ' + self + ': give 1h to 8760h, a number with one of the units ns, us, ms, s, m and h'"
	MaxAge *metav1.Duration `json:"maxAge,omitempty"`
}

// BackToBackJoin is the kind of connection between the ports of a bed without a device.
//
// +kubebuilder:validation:Enum=Loops;Cables
type BackToBackJoin string

const (
	// JoinedByLoops means that the ports are joined at the tester, without the cables
	// of the bed: by loop plugs, by short patch cords, or as the ends of a veth pair.
	JoinedByLoops BackToBackJoin = "Loops"
	// JoinedByCables means that the bed's own cables are joined where the device was.
	JoinedByCables BackToBackJoin = "Cables"
)

// CalibrationStatus contains the properties of the tester that a benchmark on a bed without a
// device measured: the highest rate that the tester sends and receives without loss, and the
// latency that it adds.
type CalibrationStatus struct {
	// time is the time at which the benchmark ended.
	// +required
	Time metav1.Time `json:"time"`
	// benchmark that measured, as namespace/name.
	// +required
	Benchmark string `json:"benchmark"`
	// testBedName is the bed that it measured.
	// +required
	TestBedName string `json:"testBedName"`
	// joinedBy is the kind of connection between the ports: Loops or Cables.
	// +required
	JoinedBy BackToBackJoin `json:"joinedBy"`
	// engine that sent and received.
	// +required
	Engine EngineKind `json:"engine"`
	// engineMode is the way in which the engine trex reached the interfaces: Cards, by DPDK,
	// or Software, by packet sockets; absent with other engines.
	// +optional
	EngineMode TRexMode `json:"engineMode,omitempty"`
	// nodropVersion is the version of NoDrop.
	// +required
	NoDropVersion string `json:"nodropVersion"`
	// interfaces that were measured, as node/interface.
	// +optional
	// +listType=set
	Interfaces []string `json:"interfaces,omitempty"`
	// conditions are the properties that traffic and tester had in all trials. The
	// calibration does not apply to a result that differs in one of them.
	// +optional
	// +listType=atomic
	Conditions []CalibrationCondition `json:"conditions,omitempty"`
	// frameSizes has what was found for each frame size.
	// +required
	// +listType=map
	// +listMapKey=frameSize
	FrameSizes []CalibratedFrameSize `json:"frameSizes"`
}

// CalibrationCondition is a property of the traffic or of the tester during a calibration.
type CalibrationCondition struct {
	// name of the condition: a field of the packet or of the engine, such as
	// packet.ipv4.hostsPerPort, or streams sent, kernel or receiveRing.
	// +required
	Name string `json:"name"`
	// of is the node, or the interface as node/interface; absent where the value is the same
	// for all.
	// +optional
	Of string `json:"of,omitempty"`
	// value of the condition.
	// +required
	Value string `json:"value"`
}

// CalibratedFrameSize contains the limits of the tester at one frame size.
type CalibratedFrameSize struct {
	// frameSize in bytes, with FCS.
	// +required
	FrameSize int32 `json:"frameSize"`
	// lineRatePPM is the highest load without loss, in parts per million of line rate.
	// +required
	LineRatePPM int64 `json:"lineRatePPM"`
	// upperBoundPPM is the lowest load that did not pass; 0 when the highest load that
	// was tried passed, so that the tester may do more than lineRatePPM.
	// +optional
	UpperBoundPPM int64 `json:"upperBoundPPM,omitempty"`
	// framesPerSecond is lineRatePPM in frames/s summed over all sending ports.
	// +required
	FramesPerSecond int64 `json:"framesPerSecond"`
	// latency is the latency at the load with the lowest mean: the lowest latency that this
	// tester can measure.
	// +optional
	Latency *LatencySummary `json:"latency,omitempty"`
	// latencyLoadPPM is the load at which latency was measured, in parts per million
	// of line rate.
	// +optional
	LatencyLoadPPM int64 `json:"latencyLoadPPM,omitempty"`
	// reorderedPPM is the greatest share of frames, in parts per million, that arrived
	// reordered without a device: what the tester reorders by itself. Absent when the
	// engine did not count reordered frames.
	// +optional
	ReorderedPPM *int64 `json:"reorderedPPM,omitempty"`
}

package v1alpha1

// ResultEnvironment says with what a result was made, so that somebody else can
// repeat it.
type ResultEnvironment struct {
	// nodropVersion is the version of NoDrop.
	// +optional
	NoDropVersion string `json:"nodropVersion,omitempty"`
	// engine that sent and received.
	// +optional
	Engine EngineKind `json:"engine,omitempty"`
	// engineDetail is how the engine did it: "XDP live frames, native receive".
	// +optional
	EngineDetail string `json:"engineDetail,omitempty"`
	// latencyType says between which two points latency was measured.
	// +optional
	LatencyType string `json:"latencyType,omitempty"`
	// device describes the device under test.
	// +optional
	Device string `json:"device,omitempty"`
	// variants are the configurations of the device that the benchmark names.
	// +optional
	// +listType=atomic
	Variants []VariantEnvironment `json:"variants,omitempty"`
	// calibration of the tester that the result rests on: that of the bed, or of a
	// benchmark without a device its own; absent when there is none.
	// +optional
	Calibration *CalibrationStatus `json:"calibration,omitempty"`
	// hosts are the machines that sent and received.
	// +optional
	// +listType=atomic
	Hosts []HostEnvironment `json:"hosts,omitempty"`
	// portCount is the number of the tester's ports.
	// +optional
	PortCount int32 `json:"portCount,omitempty"`
	// ports are the tester's ports. Beyond 64 ports only the first 64 are listed.
	// +optional
	// +listType=atomic
	Ports []PortEnvironment `json:"ports,omitempty"`
}

// VariantEnvironment describes a configuration of the device.
type VariantEnvironment struct {
	// name of the variant.
	// +required
	Name VariantName `json:"name"`
	// device describes the device under test in this configuration.
	// +optional
	Device string `json:"device,omitempty"`
}

// HostEnvironment describes a machine of the tester.
type HostEnvironment struct {
	// name of the node or host.
	// +optional
	Name string `json:"name,omitempty"`
	// kernel release.
	// +optional
	Kernel string `json:"kernel,omitempty"`
	// cpu is the processor's model name.
	// +optional
	CPU string `json:"cpu,omitempty"`
	// cpus is the number of processors that the tester could use.
	// +optional
	CPUs int32 `json:"cpus,omitempty"`
	// testerCPUs are the processors that the tester sent on, where a virtual device
	// worked on the same machine: "0", or "0-1,4".
	// +optional
	TesterCPUs string `json:"testerCPUs,omitempty"`
	// deviceCPUs are the processors that the device had of its own.
	// +optional
	DeviceCPUs string `json:"deviceCPUs,omitempty"`
	// together says why the device had no processors of its own, and worked in the
	// tester's time; absent when it had.
	// +optional
	Together string `json:"together,omitempty"`
}

// PortEnvironment describes a port of the tester.
type PortEnvironment struct {
	// name of the port in the bed.
	// +required
	Name string `json:"name"`
	// interface that stood behind it.
	// +optional
	Interface string `json:"interface,omitempty"`
	// driver of the interface.
	// +optional
	Driver string `json:"driver,omitempty"`
	// mac is the hardware address.
	// +optional
	MAC string `json:"mac,omitempty"`
	// speed is the nominal speed.
	// +optional
	Speed BitRate `json:"speed,omitempty"`
	// addresses of the port.
	// +optional
	// +listType=atomic
	Addresses []string `json:"addresses,omitempty"`
	// vlan names the VLAN that frames on the port were in, such as VLAN 100 of service
	// VLAN 2000; absent where they were untagged.
	// +optional
	VLAN string `json:"vlan,omitempty"`
}

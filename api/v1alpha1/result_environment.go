package v1alpha1

// ResultEnvironment describes the hardware, software and settings with which a result was
// made, so that others can repeat it.
type ResultEnvironment struct {
	// nodropVersion is the version of NoDrop.
	// +optional
	NoDropVersion string `json:"nodropVersion,omitempty"`
	// engine that sent and received.
	// +optional
	Engine EngineKind `json:"engine,omitempty"`
	// engineDetail is the technique that the engine used: "XDP live frames, native receive".
	// +optional
	EngineDetail string `json:"engineDetail,omitempty"`
	// latencyType names the two points between which latency was measured.
	// +optional
	LatencyType string `json:"latencyType,omitempty"`
	// device describes the device under test.
	// +optional
	Device string `json:"device,omitempty"`
	// deviceFacts contains what the device reports of itself; absent where NoDrop does not read it.
	// +optional
	DeviceFacts *DeviceFacts `json:"deviceFacts,omitempty"`
	// variants are the configurations of the device that the benchmark names.
	// +optional
	// +listType=atomic
	Variants []VariantEnvironment `json:"variants,omitempty"`
	// configuration of the device, which NoDrop gave it; absent where the benchmark names variants, which
	// have their own, and where people configure the device.
	// +optional
	Configuration *DeviceConfiguration `json:"configuration,omitempty"`
	// calibration of the tester on which the result is based: the calibration of the bed or,
	// for a benchmark without a device, its own calibration. Absent without a calibration.
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
	// configuration of the device, which NoDrop gave it; absent where people configure it, and before the
	// variant is measured.
	// +optional
	Configuration *DeviceConfiguration `json:"configuration,omitempty"`
}

// DeviceConfiguration describes a configuration that a device reported before it was measured, and how it
// got it. The device reported nothing else than what was wanted.
type DeviceConfiguration struct {
	// digest identifies the configuration: sha256: and the digest of its text, without what
	// configures nothing.
	// +required
	// +kubebuilder:validation:MaxLength=80
	Digest string `json:"digest"`
	// software is name and version of the device's software, as the device reports it.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Software string `json:"software,omitempty"`
	// before is the digest of the configuration that the device had before.
	// +optional
	// +kubebuilder:validation:MaxLength=80
	Before string `json:"before,omitempty"`
	// commands is the number of commands that were entered; 0 if the device had the configuration.
	// +optional
	Commands int32 `json:"commands,omitempty"`
	// answers of the device to commands, as "command: answer", without secrets; the first 16.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=256
	Answers []string `json:"answers,omitempty"`
	// drift are the differences from the base that the device had before, "+ line" and "- line" without
	// secrets; the first 8. Absent if it had its base.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=256
	Drift []string `json:"drift,omitempty"`
	// sessions is the number of sessions that it took. More than one means that the connection
	// was lost.
	// +optional
	Sessions int32 `json:"sessions,omitempty"`
	// durationMs is the time that it took, in milliseconds.
	// +optional
	DurationMs int64 `json:"durationMs,omitempty"`
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
	// together is the reason why the device had no processors of its own and used the
	// processors of the tester; absent if it had its own.
	// +optional
	Together string `json:"together,omitempty"`
	// clock describes how the clock is kept right by which frames were sent and timed; absent
	// if it is not known.
	// +optional
	Clock *ClockEnvironment `json:"clock,omitempty"`
}

// ClockEnvironment describes the accuracy of rates: rates are as right as the frequency of the
// clock.
type ClockEnvironment struct {
	// adjustmentPPB is the size of the lasting adjustment of the clock's frequency, in parts per
	// billion, that makes it right.
	// +optional
	AdjustmentPPB int64 `json:"adjustmentPPB"`
	// slowed reports whether the adjustment makes the clock slower.
	// +optional
	Slowed bool `json:"slowed,omitempty"`
	// synchronized reports whether a time source, such as NTP or PTP, disciplined the clock.
	// Otherwise rates are as right as the oscillator of the machine, which nothing was compared
	// with: typically within 100 parts per million.
	// +optional
	Synchronized bool `json:"synchronized"`
	// maxErrorNs is the kernel's bound of the error of the time in nanoseconds.
	// +optional
	MaxErrorNs int64 `json:"maxErrorNs,omitempty"`
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
	// card behind the port, with its settings; absent without a card.
	// +optional
	Card *CardEnvironment `json:"card,omitempty"`
}

// CardEnvironment describes a network card, with the settings that it had while it was used
// for test frames. What was not known is absent.
type CardEnvironment struct {
	// driverVersion as the driver reported it.
	// +optional
	DriverVersion string `json:"driverVersion,omitempty"`
	// firmware is the version of the card's firmware.
	// +optional
	Firmware string `json:"firmware,omitempty"`
	// pcie is the speed and the width of the card's link to the processor, such as
	// 16.0 GT/s PCIe x8.
	// +optional
	PCIe string `json:"pcie,omitempty"`
	// numaNode that the card was attached to.
	// +optional
	NUMANode *int32 `json:"numaNode,omitempty"`
	// interruptCPUs are the processors that served the card's interrupts: "0", or "0-1,4".
	// +optional
	InterruptCPUs string `json:"interruptCPUs,omitempty"`
	// receiveRing is the number of descriptors of a receive queue.
	// +optional
	ReceiveRing int32 `json:"receiveRing,omitempty"`
	// transmitRing is the number of descriptors of a transmit queue.
	// +optional
	TransmitRing int32 `json:"transmitRing,omitempty"`
	// coalescing of interrupts, such as receive 3 µs, transmit 3 µs.
	// +optional
	Coalescing string `json:"coalescing,omitempty"`
	// receiveQueues is the number of receive queues.
	// +optional
	ReceiveQueues int32 `json:"receiveQueues,omitempty"`
	// testQueue is the receive queue of all test frames; absent where they were spread over
	// the queues, which can change their order.
	// +optional
	TestQueue *int32 `json:"testQueue,omitempty"`
	// pause is the use of pause frames: off, receive, send, or receive and send. Tests of
	// back pressure use them as the card was set before.
	// +optional
	Pause string `json:"pause,omitempty"`
}

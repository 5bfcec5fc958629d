package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TestBed is a device under test, the tester's ports that are cabled to it, and
// the engine that sends and receives there. It belongs to the lab: teams name a
// bed in a Benchmark, but only the bed's owner decides on nodes, interfaces and
// who may queue for it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=bed;beds,categories=nodrop
// +kubebuilder:printcolumn:name="Engine",type=string,JSONPath=`.spec.engine.kind`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Closed",type=boolean,JSONPath=`.spec.unschedulable`
// +kubebuilder:printcolumn:name="Leased-To",type=string,JSONPath=`.status.lease.holder`
// +kubebuilder:printcolumn:name="Queued",type=integer,JSONPath=`.status.queued`
// +kubebuilder:printcolumn:name="Probed",type=date,JSONPath=`.status.health.probeTime`,priority=1
// +kubebuilder:printcolumn:name="Calibrated",type=date,JSONPath=`.status.calibration.time`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type TestBed struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec describes the bed.
	// +required
	Spec TestBedSpec `json:"spec"`
	// status contains the state of the bed as known to the operator.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status TestBedStatus `json:"status,omitempty"`
}

// TestBedList is a list of test beds.
//
// +kubebuilder:object:root=true
type TestBedList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TestBed `json:"items"`
}

// TestBedSpec describes device, engine and ports.
//
// +kubebuilder:validation:XValidation:rule="has(self.device.simulated) == (self.engine.kind == 'sim')",message="device.simulated and engine.kind sim belong together: a modelled device needs the engine sim, and the engine sim needs a modelled device"
// +kubebuilder:validation:XValidation:rule="(has(self.ports) && size(self.ports) > 0) != (has(self.engine.sim) && has(self.engine.sim.ports))",message="give the bed its ports either one by one in ports, or by number in engine.sim.ports (engine sim only)"
// +kubebuilder:validation:XValidation:rule="!has(self.calibration) || !has(self.device.backToBack)",message="calibration is given, but a bed with device backToBack is what calibrates others: remove calibration, and name this bed in calibration.testBedName of the bed with the device"
// +kubebuilder:validation:XValidation:rule="self.engine.kind == 'sim' || has(self.device.machine) || !has(self.ports) || self.ports.all(p, has(p.attachment) && has(p.node))",message="every port of a bed with real interfaces needs node and attachment"
// +kubebuilder:validation:XValidation:rule="!has(self.device.machine) || self.engine.kind == 'xdp'",message="device.machine needs the engine xdp: set engine.kind to xdp"
// +kubebuilder:validation:XValidation:rule="!has(self.device.machine) || !has(self.ports) || self.ports.all(p, !has(p.attachment) && !has(p.node))",message="device.machine is given, and a port has node or attachment: remove them, since the interfaces of the machine name their ports"
// +kubebuilder:validation:XValidation:rule="!has(self.device.machine) || has(self.ports) && size(self.ports) == size(self.device.machine.interfaces) && self.ports.all(p, self.device.machine.interfaces.exists(i, i.port == p.name))",message="device.machine.interfaces must have one interface for each port of the bed: name each of ports once in port"
// +kubebuilder:validation:XValidation:rule="!has(self.device.machine) || !has(self.routing)",message="routing is given, and no router runs in the machine of device.machine: remove routing"
// +kubebuilder:validation:XValidation:rule="!has(self.portGroup) || has(self.device.physical)",message="portGroup is given, and the device is not physical: NoDrop starts and models other devices for one benchmark alone; remove portGroup, or give device.physical"
// +kubebuilder:validation:XValidation:rule="!has(self.portGroup) || !has(self.device.physical) || !has(self.device.physical.management)",message="portGroup and device.physical.management are both given: a configuration is for the whole device, which other beds use at the same time: leave one of them out"
// +kubebuilder:validation:XValidation:rule="!has(self.portGroup) || !has(self.device.physical) || !has(self.device.physical.telemetry) || has(self.device.physical.telemetry.interfaces)",message="portGroup is given, and device.physical.telemetry.interfaces is not: other beds use other interfaces of the device, and their drops would count for this bed: name the interfaces of this bed"
// +kubebuilder:validation:XValidation:rule="!has(self.portGroup) || !has(self.device.physical) || !has(self.device.physical.power)",message="portGroup is given, and device.physical.power is that of the whole device, with the frames of other groups: leave one of them out",fieldPath=".device"
// +kubebuilder:validation:XValidation:rule="!has(self.hooks) || !has(self.device.simulated)",message="hooks is given, and device.simulated is a model in the runner that no hook can reach: remove hooks"
// +kubebuilder:validation:XValidation:rule="!has(self.hooks) || !has(self.portGroup)",message="hooks and portGroup are both given: a hook acts on the whole device, which other beds use at the same time: leave one of them out"
// +kubebuilder:validation:XValidation:rule="!has(self.hosts) || self.engine.kind == 'xdp'",message="hosts is given, and only the engine xdp leaves the ports to the kernel: set engine.kind to xdp, or remove hosts"
type TestBedSpec struct {
	// device is the device under test.
	// +required
	Device Device `json:"device"`
	// portGroup means that this bed has only some of the ports of the device, and that other
	// beds have the other ports. Benchmarks run on these beds at the same time. Tests that act
	// on the whole device, or measure a property that it has only once, are refused on such a
	// bed. A bed without portGroup that has the same interfaces, and all others of the device,
	// has exclusive use of the device.
	// +optional
	PortGroup *PortGroup `json:"portGroup,omitempty"`
	// engine sends and receives the test frames.
	// +required
	Engine Engine `json:"engine"`
	// ports are the tester's ports, each cabled to one port of the device. Order
	// matters: the pattern pairs joins the first with the second, the third with
	// the fourth, and so on.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1024
	Ports []Port `json:"ports,omitempty"`
	// routing is the control plane of the ports: their BGP or LDP sessions with the device.
	// +optional
	Routing *BedRouting `json:"routing,omitempty"`
	// access lists which namespaces may run benchmarks on this bed, and within which
	// bounds. A benchmark needs one grant that it fits in; of several, the one with the
	// highest maxRunning counts. Without any, no namespace may use the bed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Access []AccessGrant `json:"access,omitempty"`
	// policy defines which test frames may leave the ports of this bed. Without it the default
	// policy of the lab applies. On a bed with the engine sim, which sends no frames, only
	// this policy applies.
	// +optional
	Policy *TrafficPolicy `json:"policy,omitempty"`
	// unschedulable closes the bed: the benchmark that has it finishes, and no other one
	// gets it. Benchmarks that wait for it go on waiting.
	// +optional
	Unschedulable bool `json:"unschedulable,omitempty"`
	// calibration names the bed that measures the tester of this bed. Without it, results of a
	// physical device are Uncalibrated.
	// +optional
	Calibration *CalibrationReference `json:"calibration,omitempty"`
	// connection describes how people access the bed, such as its console and management
	// address. Those who have reserved the bed receive it for the time for which they have the
	// bed.
	// +optional
	Connection *BedConnection `json:"connection,omitempty"`
	// hosts allows tests that run hosts with TCP on the ports, such as incast. Each host has a network namespace of
	// its own, for which the traffic pod has the capability SYS_ADMIN while such a benchmark runs. If absent, such
	// benchmarks are refused; nodrop run does without it.
	// +optional
	Hosts *BedHosts `json:"hosts,omitempty"`
	// hooks are programs of the lab that run before and after each lease of the bed.
	// +optional
	Hooks *LeaseHooks `json:"hooks,omitempty"`
}

// PortGroup is a part of the ports of a device.
type PortGroup struct {
	// device is the name of the device in the lab, the same in all beds that are port groups of
	// it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",messageExpression="'\"' + self + '\" is not a name of a device: use lower-case letters, digits and dashes, such as leaf-1'"
	Device string `json:"device"`
}

// BedConnection describes how people access a bed.
type BedConnection struct {
	// secretName names a Secret in the lab's namespace, of type nodrop.dev/connection, with keys
	// such as console, management and user, 8 KiB in all. Where the lab hands connection data out, all of them are in the
	// Secret nodrop-connections of the namespace that has reserved the bed, as BED_KEY, while
	// it has the bed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self != 'nodrop-connections'",message="nodrop-connections is the Secret that is handed out: give the one that you write it into another name"
	SecretName string `json:"secretName"`
}

// Device is the device under test: exactly one of its kinds is given.
//
// +kubebuilder:validation:ExactlyOneOf=containerlab;physical;simulated;backToBack;machine
// +kubebuilder:validation:XValidation:rule="!has(self.variants) || has(self.containerlab) || has(self.simulated) || has(self.machine) || has(self.physical) && has(self.physical.management)",messageExpression="'device.variants has ' + self.variants[0].name + ', and NoDrop cannot configure a ' + (has(self.physical) ? 'physical device without management: give physical.management, or' : 'backToBack device:') + ' configure the device yourself, run one Benchmark for each configuration, and show their differences with kubectl nodrop compare'"
// +kubebuilder:validation:XValidation:rule="!has(self.variants) || has(self.simulated) || !self.variants.exists(v, has(v.simulated))",messageExpression="'device.variants gives simulated, and the device is not simulated: give ' + (has(self.physical) ? 'physical' : (has(self.machine) ? 'machine' : 'containerlab')) + ' in its place'"
// +kubebuilder:validation:XValidation:rule="!has(self.variants) || has(self.containerlab) || !self.variants.exists(v, has(v.containerlab))",messageExpression="'device.variants gives containerlab, and the device is not of containerlab: give ' + (has(self.physical) ? 'physical' : (has(self.machine) ? 'machine' : 'simulated')) + ' in its place'"
// +kubebuilder:validation:XValidation:rule="!has(self.variants) || has(self.physical) || !self.variants.exists(v, has(v.physical))",messageExpression="'device.variants gives physical, and the device is not physical: give ' + (has(self.simulated) ? 'simulated' : (has(self.machine) ? 'machine' : 'containerlab')) + ' in its place'"
// +kubebuilder:validation:XValidation:rule="!has(self.variants) || has(self.machine) || !self.variants.exists(v, has(v.machine))",messageExpression="'device.variants gives machine, and the device is not a machine: give ' + (has(self.simulated) ? 'simulated' : (has(self.physical) ? 'physical' : 'containerlab')) + ' in its place'"
// +kubebuilder:validation:XValidation:rule="!has(self.variants) || !has(self.containerlab) || has(self.containerlab.configuration) || !self.variants.exists(v, has(v.containerlab) && has(v.containerlab.configuration))",message="device.variants gives containerlab.configuration, and device.containerlab has no configuration: give device.containerlab.configuration, with the platform of the node and its base"
type Device struct {
	// containerlab starts a virtual device from a containerlab topology for the
	// time of a benchmark.
	// +optional
	Containerlab *ContainerlabDevice `json:"containerlab,omitempty"`
	// physical names a device that is already cabled. It is configured already, or NoDrop
	// configures it; see management.
	// +optional
	Physical *PhysicalDevice `json:"physical,omitempty"`
	// simulated is a modeled device in simulated time; it needs the engine sim.
	// +optional
	Simulated *SimulatedDevice `json:"simulated,omitempty"`
	// backToBack means that the ports are joined to each other without a device. Such a bed
	// measures the tester itself and calibrates beds with a device.
	// +optional
	BackToBack *BackToBackDevice `json:"backToBack,omitempty"`
	// machine is an emulated machine with a kernel of its own, for nodrop run on one computer.
	// +optional
	Machine *MachineDevice `json:"machine,omitempty"`
	// variants are named configurations of the device, among which a benchmark
	// chooses the ones to compare. A physical device has some only with management, and
	// one that is back to back has none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Variants []DeviceVariant `json:"variants,omitempty"`
}

// ContainerlabDevice is a virtual device in a containerlab topology whose links
// end at the host as the interfaces that the bed's ports name.
type ContainerlabDevice struct {
	// topology is the containerlab topology file.
	// +required
	Topology TopologySource `json:"topology"`
	// node is the name of the topology's node that is the device under test.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Node string `json:"node"`
	// image is the container image of the node, in place of the one in the topology.
	// +optional
	Image DeviceImage `json:"image,omitempty"`
	// allowedImages are images that a benchmark may choose by deviceImage, such as
	// registry.example/router:* for all tags of a repository. A * at the end matches any text
	// without a slash. Without allowedImages, a benchmark gets the image of the bed. A
	// container of the device has rights on its node: allow only repositories whose writers
	// may have them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[a-z0-9][-a-zA-Z0-9._/:@]*([a-zA-Z0-9]|[-._/:@][*])$')",messageExpression="'\"' + self + '\" is not an image: give a name as in registry.example/router:1.2, or one that ends with *, after one of / : @ . - _, as in registry.example/router:*'"
	AllowedImages []string `json:"allowedImages,omitempty"`
	// configuration lets NoDrop configure the node when the topology has started. Without it the node is as the
	// topology starts it.
	// +optional
	Configuration *NodeConfiguration `json:"configuration,omitempty"`
}

// DeviceImage is the reference of a container image: its repository with a tag or a digest.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-zA-Z0-9._/:@]*[a-zA-Z0-9])?$')",messageExpression="'\"' + self + '\" is not the reference of an image: give its repository with a tag or a digest, such as registry.example/router:1.2'"
type DeviceImage string

// TopologySource is the source of a containerlab topology.
type TopologySource struct {
	// configMapRef names a ConfigMap in the lab's namespace. Every key of it is
	// put next to the topology file, so that the topology can refer to device
	// configurations by their key.
	// +required
	ConfigMapRef ConfigMapKeyReference `json:"configMapRef"`
}

// ConfigMapKeyReference names one key of a ConfigMap in the lab's namespace.
type ConfigMapKeyReference struct {
	// name of the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// key in the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}

// PhysicalDevice describes a device for the report, and how NoDrop configures it.
//
// +kubebuilder:validation:XValidation:rule="!has(self.management) || !has(self.configurationDigest)",message="management and configurationDigest are both given: NoDrop reports the digest of the configuration that it reads from the device: leave configurationDigest out",fieldPath=".configurationDigest"
type PhysicalDevice struct {
	// vendor of the device, such as "cisco".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Vendor string `json:"vendor"`
	// model of the device, such as "N9K-C9508".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Model string `json:"model"`
	// software is the version that the device runs.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Software string `json:"software,omitempty"`
	// serialNumber of the device that was measured.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	SerialNumber string `json:"serialNumber,omitempty"`
	// configurationDigest identifies the configuration of the device, such as sha256: and
	// the digest of the file that was loaded. NoDrop repeats it, and does not check it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ConfigurationDigest string `json:"configurationDigest,omitempty"`
	// management lets NoDrop configure the device: before a benchmark runs, and back afterwards.
	// Without it people do.
	// +optional
	Management *DeviceManagement `json:"management,omitempty"`
	// telemetry lets NoDrop read the device's own counters and sensors while it is measured.
	// +optional
	Telemetry *DeviceTelemetry `json:"telemetry,omitempty"`
	// power lets NoDrop read the electrical power that the device takes while it is measured.
	// +optional
	Power *PowerMeter `json:"power,omitempty"`
}

// SimulatedDevice is a device whose behavior is read from a table.
type SimulatedDevice struct {
	// model is the table: per frame size the capacity, the latency and the jitter.
	// docs/simulation.md describes its columns.
	// +required
	Model ModelSource `json:"model"`
	// jitterAverageByLoad is a table of the average jitter per frame size and load.
	// Without it, and where it says NA, jitter is in proportion to the load.
	// +optional
	JitterAverageByLoad *ModelSource `json:"jitterAverageByLoad,omitempty"`
	// jitterMaximumByLoad is a table of the highest jitter per frame size and load,
	// in the form of jitterAverageByLoad.
	// +optional
	JitterMaximumByLoad *ModelSource `json:"jitterMaximumByLoad,omitempty"`
	// behaviour describes the device's behavior other than the forwarding of frames.
	// +optional
	Behaviour *SimulatedBehaviour `json:"behaviour,omitempty"`
}

// SimulatedBehaviour describes the behavior of a modeled device that does not depend on the
// frame size. A field that is not set sets no limit.
type SimulatedBehaviour struct {
	// addressTableSize is the number of hardware addresses that the device holds; frames to
	// other addresses are flooded.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	AddressTableSize *int32 `json:"addressTableSize,omitempty"`
	// learningRate is the number of hardware addresses that the device learns per second.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2000000000
	LearningRate *int32 `json:"learningRate,omitempty"`
	// headOfLineBlocking reports whether a congested port also holds up frames from the
	// same sender to ports that are not congested.
	// +optional
	HeadOfLineBlocking *bool `json:"headOfLineBlocking,omitempty"`
	// backPressure reports whether the device slows down senders to a congested port, and
	// loses nothing.
	// +optional
	BackPressure *bool `json:"backPressure,omitempty"`
	// portBuffer is the number of bytes of frames that the device holds for a port to which servers of an
	// incast send. Without it, the device holds 1,000,000 bytes.
	// +optional
	// +kubebuilder:validation:Minimum=10000
	// +kubebuilder:validation:Maximum=10000000000
	PortBuffer *int64 `json:"portBuffer,omitempty"`
	// groupCapacity is the number of multicast groups that the device forwards.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	GroupCapacity *int32 `json:"groupCapacity,omitempty"`
	// multicastRouteCapacity is the number of multicast routes that the device holds, one for
	// each group and sender. A group is forwarded if all its routes fit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	MulticastRouteCapacity *int32 `json:"multicastRouteCapacity,omitempty"`
	// joinDelay is the time from a report until the device forwards a group.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('0s') && duration(self) <= duration('1h')",messageExpression="'joinDelay is ' + self + ': give 0s to 1h, a number with one of the units ns, us, ms, s, m and h'"
	JoinDelay *metav1.Duration `json:"joinDelay,omitempty"`
	// leaveDelay is the time from a report until the device no longer forwards a group.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('0s') && duration(self) <= duration('1h')",messageExpression="'leaveDelay is ' + self + ': give 0s to 1h, a number with one of the units ns, us, ms, s, m and h'"
	LeaveDelay *metav1.Duration `json:"leaveDelay,omitempty"`
	// routeCapacity is the number of prefixes that the device holds; further ones are neither
	// installed nor advertised.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	RouteCapacity *int64 `json:"routeCapacity,omitempty"`
	// routeInstallRate is the number of routes that the device installs per second. Without
	// it, all routes of an announcement are installed at once.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	RouteInstallRate *int64 `json:"routeInstallRate,omitempty"`
	// routeWithdrawRate is the number of routes that the device removes or replaces per
	// second. The default is routeInstallRate.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	RouteWithdrawRate *int64 `json:"routeWithdrawRate,omitempty"`
	// routeDelay is the time from an announcement or a withdrawal until the device begins to
	// process it.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('0s') && duration(self) <= duration('1h')",messageExpression="'routeDelay is ' + self + ': give 0s to 1h, a number with one of the units ns, us, ms, s, m and h'"
	RouteDelay *metav1.Duration `json:"routeDelay,omitempty"`
	// routeSwitchDip is the time for which the device forwards nothing to a prefix while it
	// replaces its path by another one.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('0s') && duration(self) <= duration('1h')",messageExpression="'routeSwitchDip is ' + self + ': give 0s to 1h, a number with one of the units ns, us, ms, s, m and h'"
	RouteSwitchDip *metav1.Duration `json:"routeSwitchDip,omitempty"`
	// routeRefreshRate is the number of routes that the device sends per second when a
	// ROUTE-REFRESH asks for all of them. Without it, all are sent at once.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	RouteRefreshRate *int64 `json:"routeRefreshRate,omitempty"`
	// routeMemory is the memory that the device uses for a prefix, in bytes. Without it, the
	// memory of the device is unknown.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	RouteMemory *int64 `json:"routeMemory,omitempty"`
	// sessionCapacity is the number of BGP sessions that the device holds; it refuses further
	// ones.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	SessionCapacity *int64 `json:"sessionCapacity,omitempty"`
	// sessionRate is the number of BGP sessions that the device establishes per second.
	// Without it, all are established at once.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	SessionRate *int64 `json:"sessionRate,omitempty"`
	// fibCapacity is the number of prefixes that the device forwards to. It installs and
	// advertises further ones up to routeCapacity, and drops the frames to them.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000000
	FIBCapacity *int64 `json:"fibCapacity,omitempty"`
	// fibDroppedPPM is the share of the prefixes that the device advertises without
	// forwarding to them, in parts per million. fibSeed selects them.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	FIBDroppedPPM *int64 `json:"fibDroppedPPM,omitempty"`
	// fibMisroutedPPM is the share of the prefixes whose frames leave the device by the port
	// after the right one, in the order of the ports, in parts per million. fibSeed selects
	// them.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	FIBMisroutedPPM *int64 `json:"fibMisroutedPPM,omitempty"`
	// fibDelay is the longest time from the installation of a route to its first forwarded
	// frame. Each prefix has a delay of its own between 0 and fibDelay, which fibSeed selects.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('0s') && duration(self) <= duration('1h')",messageExpression="'fibDelay is ' + self + ': give 0s to 1h, a number with one of the units ns, us, ms, s, m and h'"
	FIBDelay *metav1.Duration `json:"fibDelay,omitempty"`
	// fibSeed selects the prefixes with faults, and their delays.
	// +optional
	FIBSeed *int64 `json:"fibSeed,omitempty"`
	// bgpRestartTime is the time for which the device has no BGP sessions, and no routes, when
	// its BGP is restarted.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('0s') && duration(self) <= duration('1h')",messageExpression="'bgpRestartTime is ' + self + ': give 0s to 1h, a number with one of the units ns, us, ms, s, m and h'"
	BGPRestartTime *metav1.Duration `json:"bgpRestartTime,omitempty"`
	// resetTime is the time for which the device forwards nothing when it is reset.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('0s') && duration(self) <= duration('24h')",messageExpression="'resetTime is ' + self + ': give 0s to 24h, a number with one of the units ns, us, ms, s, m and h'"
	ResetTime *metav1.Duration `json:"resetTime,omitempty"`
	// accessListCapacity is the number of entries of an access list with which the device forwards
	// every frame. Of a longer list it cannot look up the further entries in time, and drops their
	// share of the frames of each stream, at least one.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	AccessListCapacity *int64 `json:"accessListCapacity,omitempty"`
	// accessListLimit is the number of entries of the longest access list that the device accepts.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	AccessListLimit *int64 `json:"accessListLimit,omitempty"`
	// accessListLatency is the time by which each entry of an access list delays every frame.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('0s') && duration(self) <= duration('1ms')",messageExpression="'accessListLatency is ' + self + ': give 0s to 1ms, a number with one of the units ns, us, ms, s, m and h'"
	AccessListLatency *metav1.Duration `json:"accessListLatency,omitempty"`
}

// ModelSource is the source of a device model.
type ModelSource struct {
	// configMapRef names a key of a ConfigMap in the lab's namespace.
	// +required
	ConfigMapRef ConfigMapKeyReference `json:"configMapRef"`
}

// BackToBackDevice means that the bed has no device: the ports are joined in the order in
// which a pattern pairs them.
type BackToBackDevice struct {
	// joinedBy is Cables when the bed's own cables are joined where the device was,
	// and Loops, as without the field, when the ports are joined at the tester: by
	// loop plugs, by short patch cords, or as the ends of a veth pair.
	// +optional
	JoinedBy BackToBackJoin `json:"joinedBy,omitempty"`
}

// EngineKind names a traffic engine.
//
// +kubebuilder:validation:Enum=xdp;trex;sim
type EngineKind string

const (
	// EngineXDP sends and receives in the Linux kernel, on any interface.
	EngineXDP EngineKind = "xdp"
	// EngineTRex drives a TRex server, on DPDK or on packet sockets.
	EngineTRex EngineKind = "trex"
	// EngineSim models device and tester in simulated time.
	EngineSim EngineKind = "sim"
)

// Engine chooses the traffic engine and its settings; settings of an engine
// other than the chosen one are refused.
//
// +kubebuilder:validation:XValidation:rule="!has(self.sim) || self.kind == 'sim'",message="sim is given but kind is not sim: remove sim, or set kind to sim"
// +kubebuilder:validation:XValidation:rule="!has(self.xdp) || self.kind == 'xdp'",message="xdp is given but kind is not xdp: remove xdp, or set kind to xdp"
// +kubebuilder:validation:XValidation:rule="!has(self.trex) || self.kind == 'trex'",message="trex is given but kind is not trex: remove trex, or set kind to trex"
type Engine struct {
	// kind is xdp (any Linux interface), trex (a TRex server, for the line rate of
	// fast network cards) or sim (a modeled device).
	// +required
	Kind EngineKind `json:"kind"`
	// xdp holds the settings of the engine xdp.
	// +optional
	XDP *XDPEngine `json:"xdp,omitempty"`
	// trex holds the settings of the engine trex. Without it TRex is in software, as with
	// software: {}.
	// +optional
	TRex *TRexEngine `json:"trex,omitempty"`
	// sim holds the settings of the engine sim.
	// +optional
	Sim *SimEngine `json:"sim,omitempty"`
}

// SimEngine holds the settings of the engine sim.
type SimEngine struct {
	// ports makes the bed's ports by number instead of one by one.
	// +optional
	Ports *SimPorts `json:"ports,omitempty"`
}

// SimPorts describes many equal simulated ports, named p1 up.
type SimPorts struct {
	// count is the number of ports, 2 to 1024.
	// +required
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=1024
	Count int32 `json:"count"`
	// speed of every port.
	// +required
	// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]{0,5}[MG]$')",messageExpression="'\"' + self + '\" is not a port speed: give a whole number with the suffix M or G, such as 10G'"
	Speed BitRate `json:"speed"`
}

// Port is one port of the tester.
type Port struct {
	// name of the port, unique in the bed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",messageExpression="'\"' + self + '\" is not a port name: use lower-case letters, digits and dashes, such as p1'"
	Name string `json:"name"`
	// node of the cluster that holds the interface.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node,omitempty"`
	// attachment defines how the interface is attached to the traffic pod.
	// +optional
	Attachment *Attachment `json:"attachment,omitempty"`
	// speed is the nominal speed of the port; loads are shares of it.
	// +required
	// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]{0,5}[MG]$')",messageExpression="'\"' + self + '\" is not a port speed: give a whole number with the suffix M or G, such as 10G'"
	Speed BitRate `json:"speed"`
	// addresses are the port's addresses with prefix length, at most one of each
	// family: 198.18.1.2/24, 2001:2:0:1::2/64.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:MinLength=4
	// +kubebuilder:validation:items:MaxLength=49
	// +kubebuilder:validation:items:XValidation:rule="isCIDR(self)",messageExpression="'\"' + self + '\" is not an address with prefix length, such as 198.18.1.2/24'"
	// +kubebuilder:validation:XValidation:rule="self.filter(a, isCIDR(a) && cidr(a).ip().family() == 4).size() <= 1 && self.filter(a, isCIDR(a) && cidr(a).ip().family() == 6).size() <= 1",message="give at most one IPv4 and one IPv6 address"
	Addresses []string `json:"addresses,omitempty"`
	// gateways are the device's addresses on this port, at most one of each
	// family. A port without a gateway of the family in use is on one layer-2
	// network with its peers.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:MinLength=2
	// +kubebuilder:validation:items:MaxLength=45
	// +kubebuilder:validation:items:XValidation:rule="isIP(self)",messageExpression="'\"' + self + '\" is not an address, such as 198.18.1.1'"
	Gateways []string `json:"gateways,omitempty"`
	// vlan is the VLAN that the addresses and gateways are in. Frames of a profile
	// without a vlan of its own have this tag where they are sent from the port. A tag
	// that a network card adds (attachment.sriov.vlan) is not named here.
	// +optional
	VLAN *VLANTag `json:"vlan,omitempty"`
	// passedThrough states that the port's node is a virtual machine, and that its
	// hypervisor passes the card, or a virtual function of one, through to it (VFIO). Rows of
	// a port without passedThrough in a virtual machine are Virtual, since an emulated card
	// looks like a physical one there. It has no effect on a card that shows its emulator, as
	// cards of QEMU and VMware do.
	// +optional
	PassedThrough bool `json:"passedThrough,omitempty"`
	// deviceQueue limits what the device sends to the port, if nodrop run makes the device: a Linux
	// bridge or router in place of a containerlab node. A cluster makes no such device, and refuses it.
	// +optional
	DeviceQueue *DeviceQueue `json:"deviceQueue,omitempty"`
}

// DeviceQueue is the queue of a device towards a port: a token bucket filter of Linux with one queue. A
// packet that finds no place is dropped, and counted.
type DeviceQueue struct {
	// rate is the rate at which the device sends frames to the port, counted without preamble, gap and FCS.
	// +required
	// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]{0,5}[MG]$')",messageExpression="'\"' + self + '\" is not a rate: give a whole number with the suffix M or G, such as 500M'"
	Rate BitRate `json:"rate"`
	// bufferBytes is the size of the queue in bytes of frames.
	// +required
	// +kubebuilder:validation:Minimum=2000
	// +kubebuilder:validation:Maximum=1073741824
	BufferBytes int64 `json:"bufferBytes"`
}

// TestBedStatus contains the state of a bed as known to the operator.
type TestBedStatus struct {
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions are Ready and Quarantined, with spec.connection ConnectionData, for a bed whose
	// interfaces are probed Healthy, and for tools that watch any kind of object Reconciling and
	// Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// lease names the benchmark that has the bed; absent while the bed is free.
	// +optional
	Lease *BedLease `json:"lease,omitempty"`
	// wait counts how long operators have waited for a benchmark that has to return the bed, or
	// have tried to clean up after one that does not exist any more; absent when they do not.
	// +optional
	Wait *Wait `json:"wait,omitempty"`
	// queued is the number of benchmarks that wait for the bed.
	// +optional
	Queued int32 `json:"queued,omitempty"`
	// reservations are the next times in which the bed is reserved, 8 at most.
	// +optional
	// +listType=atomic
	Reservations []BedReservation `json:"reservations,omitempty"`
	// calibration contains the properties of the tester that the last passed benchmark
	// measured; only on a bed with device backToBack.
	// +optional
	Calibration *CalibrationStatus `json:"calibration,omitempty"`
	// health contains when the interfaces of the bed were probed; absent for a bed that is not
	// probed. The condition Healthy contains the result.
	// +optional
	Health *BedHealth `json:"health,omitempty"`
}

// BedHealth counts the probes of a bed: pods that read the interfaces of its ports on their
// nodes.
type BedHealth struct {
	// interfaces is a digest of the nodes, interfaces and speeds that are probed. Another one
	// makes what earlier probes found void.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Interfaces string `json:"interfaces"`
	// probeTime is the time at which the last probe ended; absent before the first one.
	// +optional
	ProbeTime *metav1.Time `json:"probeTime,omitempty"`
	// startTime is the time at which the present probe began; absent without one.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// failures is the number of probes since the last one that found the bed healthy.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Failures int32 `json:"failures,omitempty"`
	// doubted is set on a leased bed when the traffic pods of the benchmark did not come up, or when
	// its interfaces are others. The bed is not leased again until a probe has ended.
	// +optional
	Doubted bool `json:"doubted,omitempty"`
}

// BedReservation is a time in which a bed is kept for a reservation.
type BedReservation struct {
	// reservation as namespace/name.
	// +required
	Reservation string `json:"reservation"`
	// from is its begin.
	// +required
	From metav1.Time `json:"from"`
	// until is its end.
	// +required
	Until metav1.Time `json:"until"`
	// testBedName is the bed that is reserved where that is another one, which has an
	// interface of this bed.
	// +optional
	TestBedName string `json:"testBedName,omitempty"`
}

// BedLease is the exclusive use of a bed by one benchmark.
type BedLease struct {
	// holder is the benchmark as namespace/name.
	// +required
	Holder string `json:"holder"`
	// uid of the benchmark.
	// +required
	UID string `json:"uid"`
	// acquireTime is the time at which the lease was acquired.
	// +required
	AcquireTime metav1.Time `json:"acquireTime"`
	// attempt of the benchmark that the lease is for, by its number (status.attempt of the
	// benchmark). A lease of an earlier attempt is not used any more, and is removed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Attempt int32 `json:"attempt,omitempty"`
	// preemption asks the benchmark to return the bed; absent while it may keep it. Only the
	// allocator sets it, and only a benchmark with spec.preemptible heeds it.
	// +optional
	Preemption *Preemption `json:"preemption,omitempty"`
	// deadlineSeconds is the time in seconds for which the benchmark may have the bed: what was
	// left of its spec.activeDeadlineSeconds when the lease was acquired. Absent in leases of
	// earlier versions.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DeadlineSeconds int64 `json:"deadlineSeconds,omitempty"`
	// activeSeconds is the time in seconds for which operators have seen the lease. It is stored
	// about once a minute.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ActiveSeconds int64 `json:"activeSeconds,omitempty"`
	// end is set when the benchmark had to return the bed and did not do so in time. The operator
	// then removes everything of the run from the lab and frees the bed, whatever the status of
	// the benchmark contains. Teams cannot write it.
	// +optional
	End *LeaseEnd `json:"end,omitempty"`
}

// LeaseEnd is the decision to take a bed back.
type LeaseEnd struct {
	// reason is DeadlineExceeded, Preempted or Aborted.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Reason string `json:"reason"`
	// time of the decision.
	// +required
	Time metav1.Time `json:"time"`
}

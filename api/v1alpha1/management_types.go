package v1alpha1

// DeviceAccessSecretType is the type of a Secret by which a device is reached. A Secret of another type
// is not read.
const DeviceAccessSecretType = "nodrop.dev/device" //nolint:gosec // a type, not a secret

// DeviceManagement describes how NoDrop reaches a device, and which configuration the device has
// between benchmarks. NoDrop gives the device this configuration, or the one of a variant, before a benchmark
// runs. Afterwards it restores this configuration; until then the bed stays closed. Beds with the
// same address are used one at a time.
//
// +kubebuilder:validation:ExactlyOneOf=ssh;gnmi
type DeviceManagement struct {
	// ssh reaches the device by SSH.
	// +optional
	SSH *SSHManagement `json:"ssh,omitempty"`
	// gnmi reaches the device by gNMI.
	// +optional
	GNMI *GNMIManagement `json:"gnmi,omitempty"`
	// secretName names a Secret in the lab's namespace, of type nodrop.dev/device. For ssh it has the keys
	// user, password or privateKey, and hostKeys: lines as in known_hosts. For gnmi it has certificates in
	// PEM, of the device or of the authority that signed them, and user and password, or
	// clientCertificate and privateKey. Only pods that configure or reset the device have it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`
	// configuration is the base: all that the device has between benchmarks, and in variants without
	// a configuration of their own.
	// +required
	Configuration DeviceConfigurationSource `json:"configuration"`
}

// SSHManagement reaches a device by SSH.
//
// +kubebuilder:validation:XValidation:rule="!has(self.resets) || self.platform != 'netconf'",message="resets are commands, which a session of NETCONF does not run: leave resets out, and reset the device by the switches of its power outlets or by hand",fieldPath=".resets"
// +kubebuilder:validation:XValidation:rule="!has(self.resets) || !(self.platform in ['eos', 'frr', 'iosxe', 'junos', 'nxos', 'srlinux']) || !self.resets.exists(r, has(r.answer))",message="a question on the terminal of the platforms eos, frr, iosxe, junos, nxos and srlinux is not answered: leave answer out, and give a command that asks no question, such as reload now",fieldPath=".resets"
// +kubebuilder:validation:XValidation:rule="!has(self.scales) || self.platform in ['eos', 'junos', 'nftables', 'nxos']",message="lists are written for the platforms eos, junos, nftables and nxos: leave scales out",fieldPath=".scales"
type SSHManagement struct {
	// platform is the kind of device: eos, which is Arista EOS; frr; iosxe and nxos, which are Cisco's; junos, which is Juniper Junos; iproute2,
	// which are the routes and labels of Linux; netconf, which is any device with NETCONF and a candidate
	// configuration; nftables, which is the packet filter of Linux; openvswitch, which are the flows of
	// its bridges; or srlinux, which is Nokia SR Linux.
	// +required
	Platform DevicePlatform `json:"platform"`
	// address is host:port of the SSH server, such as 192.0.2.1:22.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=260
	// +kubebuilder:validation:XValidation:rule="self.matches('^([-a-zA-Z0-9._]+|[[][0-9a-fA-F:.]+[]]):[1-9][0-9]{0,4}$')",messageExpression="'\"' + self + '\" is not an address: give host:port, such as 192.0.2.1:22 or [2001:db8::1]:22'"
	Address string `json:"address"`
	// resets are the ways in which NoDrop may reset the device for the test reset with trigger Device. Benchmarks
	// choose one of them, and give no command of their own.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Resets []DeviceReset `json:"resets,omitempty"`
	// scales are lists whose number of entries the test configurationScale varies. NoDrop writes them in the
	// words of the platform. Benchmarks choose one of them and numbers within its range, and give no text of their own.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Scales []DeviceScale `json:"scales,omitempty"`
}

// DeviceReset resets a device, or a part of it, by commands (RFC 6201 sections 4.1 and 4.2). They are entered with the
// user that configures the device. Users who may read the bed may read them: give no secret.
type DeviceReset struct {
	// name of the reset, unique in the bed: reload, processRestart, portFlap. Benchmarks choose it, and results have it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$')",messageExpression="'\"' + self + '\" is not the name of a reset: use letters, digits and dashes, such as reload or portFlap'"
	Name string `json:"name"`
	// kind is Software for an operating system or a process, and Hardware for a physical part, such as a card or a port.
	// +required
	// +kubebuilder:validation:XValidation:rule="self != 'Power'",message="Power is reset by the switches of power outlets, in device.physical.power: set kind to Software or Hardware"
	Kind ResetKind `json:"kind"`
	// commands are entered one after the other, in the words of the device. Each has 60 s. A connection that ends after the
	// last one was sent is no error.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[ -~]*$')",message="a command has one line of printable ASCII characters: give the next line as the next command"
	Commands []string `json:"commands"`
	// answer is the line that the last command reads, if it asks a question: "y". Empty is a line without text.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[ -~]*$')",message="an answer has one line of printable ASCII characters"
	Answer *string `json:"answer,omitempty"`
}

// GNMIManagement reaches a device by gNMI with TLS. A change is one Set, which the device carries out
// whole or not at all.
type GNMIManagement struct {
	// address is host:port of the gNMI server, such as 192.0.2.1:9339.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=260
	// +kubebuilder:validation:XValidation:rule="self.matches('^([-a-zA-Z0-9._]+|[[][0-9a-fA-F:.]+[]]):[1-9][0-9]{0,4}$')",messageExpression="'\"' + self + '\" is not an address: give host:port, such as 192.0.2.1:9339 or [2001:db8::1]:9339'"
	Address string `json:"address"`
}

// DevicePlatform is a kind of device that is reached by SSH.
//
// +kubebuilder:validation:Enum=eos;frr;iosxe;iproute2;junos;netconf;nftables;nxos;openvswitch;srlinux
type DevicePlatform string

// The platforms.
const (
	// PlatformEOS is Arista EOS, which gets each change in a configure session.
	PlatformEOS DevicePlatform = "eos"
	// PlatformFRR is FRRouting, with vtysh as the shell of the user.
	PlatformFRR DevicePlatform = "frr"
	// PlatformIOSXE is Cisco IOS-XE, each line of which takes effect at once.
	PlatformIOSXE DevicePlatform = "iosxe"
	// PlatformIPRoute2 are the routes and labels of a Linux device, whose user may run ip.
	PlatformIPRoute2 DevicePlatform = "iproute2"
	// PlatformJunos is Juniper Junos, whose changes are commits that are confirmed.
	PlatformJunos DevicePlatform = "junos"
	// PlatformNETCONF is a device with NETCONF over SSH and a candidate configuration, usually at
	// port 830.
	PlatformNETCONF DevicePlatform = "netconf"
	// PlatformNFTables is the packet filter of a Linux device, whose user may run nft.
	PlatformNFTables DevicePlatform = "nftables"
	// PlatformNXOS is Cisco NX-OS, each line of which takes effect at once.
	PlatformNXOS DevicePlatform = "nxos"
	// PlatformOpenVSwitch are the flows of the bridges of Open vSwitch, whose user may run ovs-vsctl and
	// ovs-ofctl.
	PlatformOpenVSwitch DevicePlatform = "openvswitch"
	// PlatformSRLinux is Nokia SR Linux, whose changes are commits that are confirmed.
	PlatformSRLinux DevicePlatform = "srlinux"
)

// DeviceConfigurationSource is the source of a whole configuration, in the words of the device: what the
// device has beyond it is removed.
type DeviceConfigurationSource struct {
	// configMapRef names a key of a ConfigMap in the lab's namespace. docs/configure.md shows how to get
	// its text from the device.
	// +required
	ConfigMapRef ConfigMapKeyReference `json:"configMapRef"`
}

// PhysicalVariant is another configuration of a physical device.
type PhysicalVariant struct {
	// configuration of the device in the variant.
	// +required
	Configuration DeviceConfigurationSource `json:"configuration"`
	// parameters are the parts of the configuration that a benchmark chooses. Each has to be in the text, such as {{vlan}}.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Parameters []DeviceParameter `json:"parameters,omitempty"`
}

// Address returns where the device is reached, for all kinds of management.
func (m *DeviceManagement) Address() string {
	switch {
	case m.SSH != nil:
		return m.SSH.Address
	case m.GNMI != nil:
		return m.GNMI.Address
	}
	return ""
}

// Platform returns the name of the driver that configures the device.
func (m *DeviceManagement) Platform() string {
	switch {
	case m.SSH != nil:
		return string(m.SSH.Platform)
	case m.GNMI != nil:
		return "gnmi"
	}
	return ""
}

// Scales are the lists whose number of entries NoDrop may vary.
func (m *DeviceManagement) Scales() []DeviceScale {
	if m == nil || m.SSH == nil {
		return nil
	}
	return m.SSH.Scales
}

// Scales are the lists of a device whose number of entries NoDrop may vary.
func (d *Device) Scales() []DeviceScale { return d.Management().Scales() }

// Resets are the ways in which NoDrop may reset the device by commands.
func (m *DeviceManagement) Resets() []DeviceReset {
	if m == nil || m.SSH == nil {
		return nil
	}
	return m.SSH.Resets
}

// Resets are the ways in which NoDrop may reset a device by commands.
func (d *Device) Resets() []DeviceReset { return d.Management().Resets() }

// Management returns how NoDrop configures a device; nil if it does not.
func (d *Device) Management() *DeviceManagement {
	if d.Physical == nil {
		return nil
	}
	return d.Physical.Management
}

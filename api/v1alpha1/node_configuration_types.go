package v1alpha1

// NodeConfiguration lets NoDrop configure the node of a containerlab topology. When the topology has started, NoDrop enters the
// configuration through the container runtime, reads it back, and compares. The topology is destroyed after each
// variant, so that nothing is restored.
//
// +kubebuilder:validation:XValidation:rule="self.platform == 'files' ? has(self.files) && has(self.reload) : true",message="the platform files needs files and reload: give the paths of the files in the container, and the command that makes them effective"
// +kubebuilder:validation:XValidation:rule="self.platform == 'files' || !has(self.files) && !has(self.reload)",messageExpression="'files and reload belong to the platform files, and the platform is ' + self.platform + ': leave files and reload out, or set platform to files'"
type NodeConfiguration struct {
	// platform is the part of the container that is configured: files, which are texts that a command makes effective; frr, which is FRRouting by
	// vtysh; iproute2, which are the routes and labels of Linux; nftables, which is its packet filter; or openvswitch, which are the
	// flows of bridges. All variants have the same platform.
	// +required
	Platform NodePlatform `json:"platform"`
	// configMapRef is the base: the configuration of the node without a variant, and in variants without one of
	// their own.
	DeviceConfigurationSource `json:",inline"`
	// files are the paths of the files in the container, all of them, for the platform files. Users who may read the bed may read them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=2
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^(/[-a-zA-Z0-9_.@+:]+)+$') && !self.matches('/[.][.]?(/|$)')",messageExpression="'\"' + self + '\" is not the path of a file: give a path from the root without . and .., such as /etc/nftables.conf, of letters, digits and -._@+:'"
	Files []string `json:"files,omitempty"`
	// reload is the command in the container that makes the files effective, all of them and whole, for the platform files: nft -f
	// /etc/nftables.conf. Users who may read the bed may read it: give no secret.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^[ -~]*[!-~][ -~]*$')",message="reload is one line of printable ASCII characters: join commands with ; or &&"
	Reload string `json:"reload,omitempty"`
}

// NodePlatform is a kind of configuration in a container.
//
// +kubebuilder:validation:Enum=files;frr;iproute2;nftables;openvswitch
type NodePlatform string

// NodePlatforms are all platforms that NoDrop configures in containers.
var NodePlatforms = []NodePlatform{
	NodePlatformFiles, NodePlatform(PlatformFRR), NodePlatform(PlatformIPRoute2), NodePlatform(PlatformNFTables), NodePlatform(PlatformOpenVSwitch),
}

// NodePlatformFiles are files that a command makes effective.
const NodePlatformFiles NodePlatform = "files"

// NodeConfiguration returns how NoDrop configures the node of a topology; nil if it does not.
func (d *Device) NodeConfiguration() *NodeConfiguration {
	if d.Containerlab == nil {
		return nil
	}
	return d.Containerlab.Configuration
}

// Source returns the configuration that NoDrop gives a device, and the path of the member that has it; nil if people configure the
// device.
func (d *Device) Source() (source *DeviceConfigurationSource, path string) {
	switch m, node := d.Management(), d.NodeConfiguration(); {
	case m != nil:
		return &m.Configuration, "physical.management"
	case node != nil:
		return &node.DeviceConfigurationSource, "containerlab"
	case d.Machine != nil:
		return &d.Machine.Configuration, "machine"
	}
	return nil, ""
}

// Source returns the configuration of a variant, and the member of the variant that has it; nil if it has none of its own.
func (v *DeviceVariant) Source() (source *DeviceConfigurationSource, member string) {
	switch {
	case v.Physical != nil:
		return &v.Physical.Configuration, "physical"
	case v.Containerlab != nil:
		return v.Containerlab.Configuration, "containerlab"
	case v.Machine != nil:
		return &v.Machine.Configuration, "machine"
	}
	return nil, ""
}

// Parameters returns the parts of a variant's configuration that a benchmark chooses, and the member of the variant that has them.
func (v *DeviceVariant) Parameters() (parameters []DeviceParameter, member string) {
	switch {
	case v.Physical != nil:
		return v.Physical.Parameters, "physical"
	case v.Containerlab != nil:
		return v.Containerlab.Parameters, "containerlab"
	}
	return nil, ""
}

package v1alpha1

// Attachment moves an interface into a traffic pod: exactly one of its members
// is given.
//
// +kubebuilder:validation:ExactlyOneOf=hostDevice;sriov;resourceClaim
type Attachment struct {
	// hostDevice moves an existing interface of the node.
	// +optional
	HostDevice *HostDeviceAttachment `json:"hostDevice,omitempty"`
	// sriov asks for a network card, or a virtual function of one, that a device
	// plugin of the node offers, such as the SR-IOV network device plugin.
	// +optional
	SRIOV *SRIOVAttachment `json:"sriov,omitempty"`
	// resourceClaim asks for a network card by dynamic resource allocation.
	// +optional
	ResourceClaim *ResourceClaimAttachment `json:"resourceClaim,omitempty"`
}

// HostDeviceAttachment names an interface of the node.
type HostDeviceAttachment struct {
	// interface is the interface's name on the node, such as nd-p1.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9_.:-]+$')",messageExpression="'\"' + self + '\" is not an interface name: give one that ip link shows, such as eth1'"
	Interface string `json:"interface"`
}

// SRIOVAttachment is one device of a device plugin, and the network that sets it
// up. What sets it up is either the network that is named, or the settings here,
// of which NoDrop makes a network for each run.
//
// +kubebuilder:validation:XValidation:rule="!has(self.networkName) || !(has(self.vlan) || has(self.trust) || has(self.spoofCheck))",messageExpression="'networkName ' + self.networkName + ' sets the device up, so that vlan, trust and spoofCheck belong into that NetworkAttachmentDefinition: remove them here, or remove networkName'"
type SRIOVAttachment struct {
	// resourceName is the resource as which the device plugin offers the device, such
	// as intel.com/dut_p1. Ports may share one where each of its devices will do.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$')",messageExpression="'\"' + self + '\" is not the name of a resource: give the one of the device plugin, such as intel.com/dut_p1'"
	ResourceName string `json:"resourceName"`
	// networkName is a NetworkAttachmentDefinition in the lab's namespace for this
	// resource.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	NetworkName string `json:"networkName,omitempty"`
	// vlan is the VLAN in which the virtual function is, 0 (none) to 4094. The card
	// tags what it sends.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4094
	VLAN *int32 `json:"vlan,omitempty"`
	// trust lets the virtual function receive what is not addressed to it, which
	// ranges of hardware addresses and multicast need; true without it.
	// +optional
	Trust *bool `json:"trust,omitempty"`
	// spoofCheck makes the card drop frames with other sources than the function's
	// own address; false without it, since test frames have many sources.
	// +optional
	SpoofCheck *bool `json:"spoofCheck,omitempty"`
}

// ResourceClaimAttachment is one device by dynamic resource allocation.
type ResourceClaimAttachment struct {
	// templateName is a ResourceClaimTemplate in the lab's namespace. Each run gets a
	// claim of its own, which ends with it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	TemplateName string `json:"templateName"`
	// interface is the name under which the driver puts the interface into the pod;
	// without it, the name of the port.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9_.:-]+$')",messageExpression="'\"' + self + '\" is not an interface name: give one that ip link shows, such as eth1'"
	Interface string `json:"interface,omitempty"`
}

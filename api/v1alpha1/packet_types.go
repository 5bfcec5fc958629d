package v1alpha1

// EthernetPacket describes frames without a network layer.
type EthernetPacket struct {
	// hostsPerPort is how many hosts stand behind every port: successive frames walk
	// through pseudorandom source and destination addresses of the ports (RFC 4814
	// section 4.2), the same in every run.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	HostsPerPort int32 `json:"hostsPerPort,omitempty"`
}

// VLANTag is an IEEE 802.1Q tag.
type VLANTag struct {
	// id of the VLAN, 1 to 4094.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4094
	ID int32 `json:"id"`
	// priority code point, 0 to 7.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=7
	Priority int32 `json:"priority,omitempty"`
}

// MPLSStack is a stack of labels in front of the packet (RFC 3032).
type MPLSStack struct {
	// labels of the stack, the outermost first. Labels below 16 have meanings of
	// their own.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:XValidation:rule="self >= 16 && self <= 1048575",messageExpression="'%d is not a label that can be given out: give 16 to 1048575'.format([self])"
	Labels []int32 `json:"labels"`
}

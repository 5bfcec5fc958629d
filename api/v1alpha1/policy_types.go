package v1alpha1

// TrafficPolicy defines which test frames may leave the ports of a bed. Ports of a trunk or of
// a shared network reach other devices than the device under test, and teams write the
// profiles. The default policy of the lab applies to fields that are not set, and the built-in
// policy to fields that neither sets.
type TrafficPolicy struct {
	// vlans are the IDs that a profile may tag frames with; an empty list allows none.
	// The built-in policy allows none. Tags that a network card adds by the attachment of
	// a port are not concerned.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	VLANs []VLANRange `json:"vlans,omitzero"`
	// mplsLabels are the labels that a profile may put on frames, of which all in its
	// stack must be among them; an empty list allows none. The built-in policy allows
	// none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	MPLSLabels []MPLSLabelRange `json:"mplsLabels,omitzero"`
	// groups are the multicast groups that frames may be sent to and ports may join, as
	// prefixes; an empty list allows none. The built-in policy allows all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:XValidation:rule="!isCIDR(self) || cidr('224.0.0.0/4').containsCIDR(self) || cidr('ff00::/8').containsCIDR(self)",messageExpression="'\"' + self + '\" is not a range of multicast groups: give a prefix within 224.0.0.0/4 or ff00::/8, such as 225.1.0.0/16'"
	Groups []AddressPrefix `json:"groups,omitzero"`
	// sourceAddresses are the addresses, as prefixes, from which frames may come: addresses of
	// ports, and of the hosts behind them. An empty list allows no address. The built-in
	// policy allows 198.18.0.0/15, 2001:2::/48, and the networks of the bed's ports.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	SourceAddresses []AddressPrefix `json:"sourceAddresses,omitzero"`
	// destinationAddresses are the addresses, as prefixes, to which unicast frames may go. An
	// empty list allows no address. The built-in policy allows the same as for
	// sourceAddresses.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	DestinationAddresses []AddressPrefix `json:"destinationAddresses,omitzero"`
	// ethernet reports whether frames may be sent that devices forward by hardware addresses
	// which no station has, or flood: frames of profiles with packet ethernet, and of the tests
	// addressCaching, addressLearning and broadcast. The built-in policy allows them, as
	// they do not leave the network that the ports are on.
	// +optional
	Ethernet *bool `json:"ethernet,omitempty"`
	// tunnels reports whether packets may be sent in tunnels (tunnel of a profile). The
	// built-in policy allows none, as the identifier in a tunnel chooses another network
	// where the device ends it.
	// +optional
	Tunnels *bool `json:"tunnels,omitempty"`
	// routes are the routes that a profile may announce to the device, which may pass them on
	// to other routers. The built-in policy allows 1,000,000 within 198.18.0.0/15 and
	// 2001:2::/48.
	// +optional
	Routes *RoutePolicy `json:"routes,omitempty"`
	// customBytes reports whether frames may be sent whose headers a profile gives byte by
	// byte (custom). The built-in policy allows none, as no other rule judges what is in
	// them.
	// +optional
	CustomBytes *bool `json:"customBytes,omitempty"`
}

// RoutePolicy defines which routes may be announced. The default policy of the lab applies to
// fields that are not set.
type RoutePolicy struct {
	// maxRoutes is the maximum number of routes that all sessions of a benchmark may announce
	// together.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000000
	MaxRoutes *int64 `json:"maxRoutes,omitempty"`
	// prefixes that all routes must be within; an empty list allows none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Prefixes []AddressPrefix `json:"prefixes,omitzero"`
}

// VLANRange is a range of VLAN IDs.
//
// +kubebuilder:validation:XValidation:rule="!has(self.last) || self.last >= self.first",messageExpression="'last is %d, which is below first, %d: give a higher last, or leave it out for one VLAN'.format([self.last, self.first])"
type VLANRange struct {
	// first ID of the range, 1 to 4094.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4094
	First int32 `json:"first"`
	// last ID of the range; without it the range is first alone.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4094
	Last int32 `json:"last,omitempty"`
}

// MPLSLabelRange is a range of MPLS labels.
//
// +kubebuilder:validation:XValidation:rule="!has(self.last) || self.last >= self.first",messageExpression="'last is %d, which is below first, %d: give a higher last, or leave it out for one label'.format([self.last, self.first])"
type MPLSLabelRange struct {
	// first label of the range, 16 to 1048575.
	// +required
	// +kubebuilder:validation:Minimum=16
	// +kubebuilder:validation:Maximum=1048575
	First int32 `json:"first"`
	// last label of the range; without it the range is first alone.
	// +optional
	// +kubebuilder:validation:Minimum=16
	// +kubebuilder:validation:Maximum=1048575
	Last int32 `json:"last,omitempty"`
}

// AddressPrefix is a range of IP addresses in the form of a network, such as
// 198.18.0.0/15.
//
// +kubebuilder:validation:MinLength=4
// +kubebuilder:validation:MaxLength=43
// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).masked() == cidr(self)",messageExpression="'\"' + self + '\" is not a network: give its first address and the length of its prefix, such as 198.18.0.0/15'"
type AddressPrefix string

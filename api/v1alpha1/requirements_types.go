package v1alpha1

// TestBedRequirements defines the properties that a bed must have. The chosen bed has all of
// them, allows the namespace, and can run all tests.
//
// +kubebuilder:validation:MinProperties=1
type TestBedRequirements struct {
	// ports is the lowest number of ports, 2 to 1024, each at least as fast as portSpeed.
	// +optional
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=1024
	Ports int32 `json:"ports,omitempty"`
	// portSpeed is the lowest nominal speed of those ports, such as 100G; without ports, of
	// all ports of the bed.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]{0,5}[MG]$')",messageExpression="'\"' + self + '\" is not a port speed: give a whole number with the suffix M or G, such as 10G'"
	PortSpeed BitRate `json:"portSpeed,omitempty"`
	// engines are the traffic engines of which the bed has one.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	Engines []EngineKind `json:"engines,omitempty"`
	// devices are the kinds of device of which the bed has one.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	Devices []DeviceKind `json:"devices,omitempty"`
	// features are the actions that the lab can perform with the device. The bed has all of
	// them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	Features []DeviceFeature `json:"features,omitempty"`
}

// DeviceKind is a kind of device under test: the field of spec.device of a TestBed that
// describes it.
//
// +kubebuilder:validation:Enum=containerlab;physical;simulated;backToBack
type DeviceKind string

// DeviceFeature is something that can be done with a device under test.
//
// +kubebuilder:validation:Enum=Reset;BGPRestart
type DeviceFeature string

const (
	// DeviceFeatureReset means that NoDrop can reset the device (RFC 6201).
	DeviceFeatureReset DeviceFeature = "Reset"
	// DeviceFeatureBGPRestart means that NoDrop can restart the BGP of the device.
	DeviceFeatureBGPRestart DeviceFeature = "BGPRestart"
)

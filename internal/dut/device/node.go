package device

import "nodrop.dev/nodrop/api/v1alpha1"

// Node contains the configurations of a node of a topology. In a cluster the pod that starts the device reads it as JSON.
type Node struct {
	v1alpha1.NodeConfiguration `json:"configuration"`
	// Wanted is the configuration that the node gets, and Base the one of the device without a variant.
	Wanted string `json:"wanted"`
	Base   string `json:"base"`
}

// Started describes how a virtual device was started. In a cluster the pod that starts the device reports it as JSON.
type Started struct {
	Placement
	// Configuration describes how the node got its configuration; nil if NoDrop does not configure it.
	Configuration *v1alpha1.DeviceConfiguration `json:"configuration,omitempty"`
}

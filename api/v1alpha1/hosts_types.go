package v1alpha1

// HostStack is a network stack of hosts.
//
// +kubebuilder:validation:Enum=Kernel
type HostStack string

// HostStackKernel is the stack of the kernel of the node.
const HostStackKernel HostStack = "Kernel"

// BedHosts describes the hosts that tests may run on the ports of a bed.
type BedHosts struct {
	// stack is the network stack of the hosts: Kernel.
	// +optional
	// +kubebuilder:default=Kernel
	Stack HostStack `json:"stack,omitempty"`
}

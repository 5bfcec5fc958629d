package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// MachineDevice is an emulated machine (QEMU) with a kernel of its own, which nodrop run starts for the time of a
// benchmark. It sees the files of the computer that it runs on, and cannot change them. Clusters refuse it.
type MachineDevice struct {
	// kernel is the name of a kernel: a folder in the directory that $NODROP_MACHINES names, such as debian13.
	// docs/guides/machine.md shows how to fill that directory.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",messageExpression="'\"' + self + '\" is not the name of a kernel: use lower-case letters, digits, dots and dashes, such as debian13'"
	Kernel string `json:"kernel"`
	// modules of the kernel that the machine loads before it is configured, such as mpls_iptunnel, 8021q or vrf.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=55
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[a-zA-Z0-9][-_a-zA-Z0-9]*$')",messageExpression="'\"' + self + '\" is not the name of a kernel module: use letters, digits, dashes and underscores, such as mpls_iptunnel'"
	Modules []string `json:"modules,omitempty"`
	// processors is the number of processors of the machine, 1 to 16; the default is 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16
	Processors int32 `json:"processors,omitempty"`
	// memory of the machine, 256Mi to 16Gi; the default is 512Mi.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('256Mi')) >= 0 && quantity(string(self)).compareTo(quantity('16Gi')) <= 0",messageExpression="'memory is ' + string(self) + ': give 256Mi to 16Gi'"
	Memory *resource.Quantity `json:"memory,omitempty"`
	// interfaces of the machine, each connected to a port of the bed. Every port has one.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=2
	// +kubebuilder:validation:MaxItems=16
	Interfaces []MachineInterface `json:"interfaces"`
	// configuration is a script that configures the machine, and runs in it with bash. The first command that fails
	// ends it, and the benchmark. It runs in a network namespace of the machine that has the interfaces and nothing
	// else, and that is made anew for each variant.
	// +required
	Configuration DeviceConfigurationSource `json:"configuration"`
}

// MachineInterface is an interface of a machine.
type MachineInterface struct {
	// name of the interface in the machine.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z][-a-z0-9]*$') && self != 'lo'",messageExpression="'\"' + self + '\" is not a name of an interface: begin with a lower-case letter, go on with lower-case letters, digits and dashes, and do not use lo; such as e1'"
	Name string `json:"name"`
	// port is the name of the port of the bed that the interface is connected to.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	Port string `json:"port"`
}

// MachineVariant is another configuration of a machine.
type MachineVariant struct {
	// configuration of the machine in the variant, in place of the one of the device.
	// +required
	Configuration DeviceConfigurationSource `json:"configuration"`
}

// machineMemory is the memory of a machine that does not set it.
const machineMemory = "512Mi"

// MemoryBytes is the memory of the machine.
func (m *MachineDevice) MemoryBytes() int64 {
	memory := resource.MustParse(machineMemory)
	if m.Memory != nil {
		memory = *m.Memory
	}
	return memory.Value()
}

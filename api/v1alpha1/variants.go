package v1alpha1

import (
	"cmp"
	"slices"
	"strings"
)

// VariantName names a configuration of a device. Its form is checked where a bed
// gives it; elsewhere it is only repeated.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
type VariantName string

// DeviceVariant is a named configuration of the bed's device. What it does not
// give is as the device has it; one that gives nothing is the device as it is.
//
// +kubebuilder:validation:AtMostOneOf=containerlab;simulated;physical;machine
type DeviceVariant struct {
	// name of the variant, unique in the bed.
	// +required
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",messageExpression="'\"' + self + '\" is not the name of a variant: use lower-case letters, digits and dashes, such as fec-on'"
	Name VariantName `json:"name"`
	// containerlab contains the differences of the variant for a device of containerlab.
	// +optional
	Containerlab *ContainerlabVariant `json:"containerlab,omitempty"`
	// simulated contains the differences of the variant for a modeled device.
	// +optional
	Simulated *SimulatedVariant `json:"simulated,omitempty"`
	// physical contains the differences of the variant for a physical device.
	// +optional
	Physical *PhysicalVariant `json:"physical,omitempty"`
	// machine contains the differences of the variant for an emulated machine.
	// +optional
	Machine *MachineVariant `json:"machine,omitempty"`
}

// ContainerlabVariant is another topology with the same node and the same links, another
// image of the node, another configuration of it, or several of these.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(self.parameters) || has(self.configuration)",message="parameters are places in the configuration of the variant, and it has none: give configuration, or leave parameters out",fieldPath=".parameters"
type ContainerlabVariant struct {
	// topology is the containerlab topology file of the variant; the default is the topology
	// of the device.
	// +optional
	Topology *TopologySource `json:"topology,omitempty"`
	// image is the container image of the node in the variant; the default is the image of the device.
	// +optional
	Image DeviceImage `json:"image,omitempty"`
	// configuration of the node in the variant, for the platform of the device's configuration; the default is the configuration of the device.
	// +optional
	Configuration *DeviceConfigurationSource `json:"configuration,omitempty"`
	// parameters are the parts of the configuration that a benchmark chooses. Each has to be in the text, such as {{vlan}}.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Parameters []DeviceParameter `json:"parameters,omitempty"`
}

// SimulatedVariant is another model, another behavior, or both.
//
// +kubebuilder:validation:MinProperties=1
type SimulatedVariant struct {
	// model is the table of the variant; the default is the table of the device. Tables of
	// jitter by load are of the device's own model, and do not go with another one.
	// +optional
	Model *ModelSource `json:"model,omitempty"`
	// behaviour is the complete behavior of the variant. Without it the behavior of the device
	// applies.
	// +optional
	Behaviour *SimulatedBehaviour `json:"behaviour,omitempty"`
}

// As returns the device as a variant configures it, and whether it has a variant
// of this name. Without a name it is the device as it is.
func (d Device) As(name VariantName) (Device, bool) {
	out := *d.DeepCopy()
	if name == "" {
		return out, true
	}
	i := slices.IndexFunc(out.Variants, func(v DeviceVariant) bool { return v.Name == name })
	if i < 0 {
		return out, false
	}
	v := out.Variants[i].DeepCopy()
	if v.Containerlab != nil && out.Containerlab != nil {
		if v.Containerlab.Topology != nil {
			out.Containerlab.Topology = *v.Containerlab.Topology
		}
		out.Containerlab.Image = cmp.Or(v.Containerlab.Image, out.Containerlab.Image)
	}
	if v.Simulated != nil && out.Simulated != nil {
		if v.Simulated.Model != nil {
			out.Simulated.Model = *v.Simulated.Model
			out.Simulated.JitterAverageByLoad, out.Simulated.JitterMaximumByLoad = nil, nil // They are of the other model.
		}
		if v.Simulated.Behaviour != nil {
			out.Simulated.Behaviour = v.Simulated.Behaviour
		}
	}
	if m := out.Management(); v.Physical != nil && m != nil {
		m.Configuration = v.Physical.Configuration
	}
	if v.Machine != nil && out.Machine != nil {
		out.Machine.Configuration = v.Machine.Configuration
	}
	if c := out.NodeConfiguration(); v.Containerlab != nil && v.Containerlab.Configuration != nil && c != nil {
		c.DeviceConfigurationSource = *v.Containerlab.Configuration
	}
	return out, true
}

// From is the device with an image that a benchmark chose; without one it is the device
// itself.
func (d Device) From(image DeviceImage) Device {
	out := *d.DeepCopy()
	if out.Containerlab != nil {
		out.Containerlab.Image = cmp.Or(image, out.Containerlab.Image)
	}
	return out
}

// Allows reports whether a benchmark may choose an image of the device.
func (d *ContainerlabDevice) Allows(image DeviceImage) bool {
	return slices.ContainsFunc(d.AllowedImages, func(allowed string) bool {
		prefix, any := strings.CutSuffix(allowed, "*")
		rest, found := strings.CutPrefix(string(image), prefix)
		return found && (rest == "" || any && !strings.Contains(rest, "/"))
	})
}

// VariantsInOrder are the variants that the tests run for, in their order: the
// one without a name when the spec names none.
func (s *BenchmarkSpec) VariantsInOrder() []VariantName {
	if len(s.Variants) == 0 {
		return []VariantName{""}
	}
	return s.Variants
}

// VariantAfter is the variant that follows another one, and whether there is one.
func (s *BenchmarkSpec) VariantAfter(name VariantName) (next VariantName, found bool) {
	i := slices.Index(s.Variants, name)
	if i < 0 || i+1 >= len(s.Variants) {
		return "", false
	}
	return s.Variants[i+1], true
}

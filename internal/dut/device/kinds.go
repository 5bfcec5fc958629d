package device

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Capabilities describe the role of a device in a benchmark, and what can be done with it. An
// unknown device has none: all fields are false.
type Capabilities struct {
	// Kind is the member of the API that describes the device: containerlab.
	Kind string
	// Absent reports whether there is no device: the ports are joined to each other two by
	// two, which measures the tester and calibrates other beds.
	Absent bool
	// Modelled reports whether the figures are computed, and nothing is measured.
	Modelled bool
	// Software reports whether the device runs on processors that it shares with the tester.
	Software bool
	// Calibrated reports whether results need a calibration of the tester on the same ports.
	Calibrated bool
	// OnNode reports whether the lab starts the device on the node of the bed's ports, and
	// that its links are interfaces of that node.
	OnNode bool
	// Cabled reports whether the device is cabled to interfaces of nodes: without them there is
	// no device, and nothing can take its place.
	Cabled bool
	// Resets reports whether NoDrop can reset the device.
	Resets bool
	// Scales reports whether NoDrop can vary the number of entries of a list on the device while it is measured.
	Scales bool
	// RestartsBGP reports whether NoDrop can restart the BGP of the device in a cluster.
	RestartsBGP bool
}

// kind is one way in which a bed describes its device.
type kind struct {
	Capabilities
	given    func(v1alpha1.Device) bool
	describe func(v1alpha1.Device) string
	// name is the name of the device in a few words, and the version of its software if the
	// bed gives one; nil where the kind is the name.
	name func(v1alpha1.Device) (name, software string)
	// title is the title of the device in a drawing of the bed, and drawn the text below it; nil for none.
	title string
	drawn func(v1alpha1.Device) string
	// files are the keys of ConfigMaps that the device is made from; nil for none.
	files func(v1alpha1.Device) []v1alpha1.ConfigMapKeyReference
}

// unknownTitle is the title of a device of which nothing is known.
const unknownTitle = "Device under test"

// kinds has every member of the API's union of devices. A bed has one of them.
var kinds = []kind{
	{
		Capabilities: Capabilities{Kind: "containerlab", Software: true, OnNode: true},
		given:        func(d v1alpha1.Device) bool { return d.Containerlab != nil },
		describe: func(d v1alpha1.Device) string {
			ref := d.Containerlab.Topology.ConfigMapRef
			text := fmt.Sprintf("containerlab node %s of topology %s/%s", d.Containerlab.Node, ref.Name, ref.Key)
			var with []string
			if d.Containerlab.Image != "" {
				with = append(with, "image "+string(d.Containerlab.Image))
			}
			if c := d.Containerlab.Configuration; c != nil {
				with = append(with, fmt.Sprintf("configuration %s/%s", c.ConfigMapRef.Name, c.ConfigMapRef.Key))
			}
			if with != nil {
				text += " with " + strings.Join(with, " and ")
			}
			return text
		},
		title: "Virtual device",
		drawn: func(d v1alpha1.Device) string { return d.Containerlab.Node },
		files: func(d v1alpha1.Device) []v1alpha1.ConfigMapKeyReference {
			return []v1alpha1.ConfigMapKeyReference{d.Containerlab.Topology.ConfigMapRef}
		},
	},
	{
		Capabilities: Capabilities{Kind: "physical", Calibrated: true, Cabled: true},
		given:        func(d v1alpha1.Device) bool { return d.Physical != nil },
		describe: func(d v1alpha1.Device) string {
			text := strings.TrimSpace(strings.Join([]string{d.Physical.Vendor, d.Physical.Model, d.Physical.Software}, " "))
			if m := d.Physical.Management; m != nil {
				text += fmt.Sprintf(" with configuration %s/%s", m.Configuration.ConfigMapRef.Name, m.Configuration.ConfigMapRef.Key)
			}
			return text
		},
		name: func(d v1alpha1.Device) (string, string) {
			return d.Physical.Vendor + " " + d.Physical.Model, d.Physical.Software
		},
		title: unknownTitle,
		drawn: func(d v1alpha1.Device) string { return strings.TrimSpace(d.Physical.Vendor + " " + d.Physical.Model) },
	},
	{
		Capabilities: Capabilities{Kind: "simulated", Modelled: true, Resets: true, Scales: true, RestartsBGP: true},
		given:        func(d v1alpha1.Device) bool { return d.Simulated != nil },
		describe: func(d v1alpha1.Device) string {
			ref := d.Simulated.Model.ConfigMapRef
			text := fmt.Sprintf("modelled by %s/%s", ref.Name, ref.Key)
			if b := d.Simulated.Behaviour; b != nil {
				text += behaviour(*b)
			}
			return text
		},
		title: "Model of a device",
		files: func(d v1alpha1.Device) []v1alpha1.ConfigMapKeyReference {
			refs := []v1alpha1.ConfigMapKeyReference{d.Simulated.Model.ConfigMapRef}
			for _, t := range []*v1alpha1.ModelSource{d.Simulated.JitterAverageByLoad, d.Simulated.JitterMaximumByLoad} {
				if t != nil {
					refs = append(refs, t.ConfigMapRef)
				}
			}
			return refs
		},
	},
	{
		Capabilities: Capabilities{Kind: "backToBack", Absent: true},
		given:        func(d v1alpha1.Device) bool { return d.BackToBack != nil },
		describe: func(d v1alpha1.Device) string {
			if d.BackToBack.JoinedBy == v1alpha1.JoinedByCables {
				return "none: the bed's cables join the ports"
			}
			return "none: the ports are joined at the tester"
		},
		name:  func(v1alpha1.Device) (string, string) { return "back to back", "" },
		title: "No device",
		drawn: func(v1alpha1.Device) string { return "ports joined directly" },
	},
	{
		Capabilities: Capabilities{Kind: "machine", Software: true},
		given:        func(d v1alpha1.Device) bool { return d.Machine != nil },
		describe: func(d v1alpha1.Device) string {
			ref := d.Machine.Configuration.ConfigMapRef
			return fmt.Sprintf("emulated machine with the kernel %s, configured by %s/%s", d.Machine.Kernel, ref.Name, ref.Key)
		},
		name:  func(d v1alpha1.Device) (string, string) { return "machine", d.Machine.Kernel },
		title: "Emulated machine",
		drawn: func(d v1alpha1.Device) string { return "kernel " + d.Machine.Kernel },
	},
}

func kindOf(d v1alpha1.Device) (kind, bool) {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.given(d) })
	if i < 0 {
		return kind{}, false
	}
	return kinds[i], true
}

// Of returns the kind and the capabilities of the device of a bed.
func Of(d v1alpha1.Device) Capabilities {
	k, _ := kindOf(d)
	k.Resets = k.Resets || d.Power().Switches() || len(d.Resets()) > 0
	k.Scales = k.Scales || len(d.Scales()) > 0
	return k.Capabilities
}

// Describe returns a description of the device of a bed for the report; empty if the bed has
// none.
func Describe(d v1alpha1.Device) string {
	k, known := kindOf(d)
	if !known {
		return ""
	}
	return k.describe(d)
}

// Drawn returns the title of the device in a drawing of the bed, and its name below the title, which may be empty.
func Drawn(d v1alpha1.Device) (title, name string) {
	k, known := kindOf(d)
	switch {
	case !known:
		return unknownTitle, ""
	case k.drawn == nil:
		return k.title, ""
	}
	return k.title, k.drawn(d)
}

// Name returns the name of the device of a bed in a few words, for series of metrics, and the
// version of its software; both are empty where the bed does not say.
func Name(d v1alpha1.Device) (name, software string) {
	k, known := kindOf(d)
	if !known || k.name == nil {
		return k.Kind, ""
	}
	return k.name(d)
}

// Files returns the keys of ConfigMaps that a device refers to in any variant, each once, and the
// keys of the device without a variant first.
func Files(d v1alpha1.Device) []v1alpha1.ConfigMapKeyReference {
	k, known := kindOf(d)
	if !known || k.files == nil {
		return nil
	}
	refs := k.files(d)
	for _, v := range d.Variants {
		as, _ := d.As(v.Name)
		for _, ref := range k.files(as) {
			if !slices.Contains(refs, ref) {
				refs = append(refs, ref)
			}
		}
	}
	return refs
}

// InPods reports whether pods of the lab bring the device of a bed into the state for a benchmark, and
// restore it afterwards: they start it, or configure it.
func InPods(d v1alpha1.Device) bool { return Of(d).OnNode || d.Management() != nil }

// Configured reports whether NoDrop gives the device of a bed its configuration, over its management or through the container runtime.
func Configured(d v1alpha1.Device) bool { return d.Management() != nil || d.NodeConfiguration() != nil }

// ConfiguredInRuns reports whether NoDrop gives the device of a bed another configuration while it is measured, or its configuration
// again after it has reset it: it does for all devices that it configures.
func ConfiguredInRuns(d v1alpha1.Device) bool {
	return d.Management() != nil && (Of(d).Resets || Of(d).Scales)
}

// Configuration is the source of a configuration of a device.
type Configuration struct {
	// Variant that has it; empty for the base.
	Variant v1alpha1.VariantName
	v1alpha1.DeviceConfigurationSource
}

// Configurations are the sources of the configurations of a device: its base, then the ones that variants have in place of it;
// none where people configure it. They are not among Files: teams read those, and configurations have secrets.
func Configurations(d v1alpha1.Device) []Configuration {
	base, _ := d.Source()
	if base == nil {
		return nil
	}
	all := []Configuration{{"", *base}}
	for i := range d.Variants {
		if own, _ := d.Variants[i].Source(); own != nil {
			all = append(all, Configuration{d.Variants[i].Name, *own})
		}
	}
	return all
}

// behaviour lists what a modeled device does beyond forwarding, by the names of the
// fields: " with addressTableSize 8192, learningRate 40000". All of them are numbers,
// durations, or yes and no, so that nothing of JSON is left but its separators.
func behaviour(b v1alpha1.SimulatedBehaviour) string {
	fields, err := json.Marshal(b)
	if err != nil || string(fields) == "{}" {
		return ""
	}
	return " with " + strings.NewReplacer("{", "", "}", "", `"`, "", ":", " ", ",", ", ").Replace(string(fields))
}

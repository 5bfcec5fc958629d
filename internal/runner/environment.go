package runner

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/plan"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/version"
)

// maxListedPorts is how many ports an environment lists.
const maxListedPorts = 64

// environment says with what the result is made, in all variants.
func environment(bed v1alpha1.TestBed, variants []v1alpha1.VariantName, p plan.Plan, info traffic.Info) *v1alpha1.ResultEnvironment {
	env := &v1alpha1.ResultEnvironment{
		NoDropVersion: version.String(), Engine: v1alpha1.EngineKind(info.Engine), EngineDetail: info.Detail,
		LatencyType: info.Capabilities.LatencyType, Device: device(bed.Spec.Device), PortCount: int32(len(p.Ports)),
	}
	for _, v := range variants {
		d, _ := bed.Spec.Device.As(v)
		env.Variants = append(env.Variants, v1alpha1.VariantEnvironment{Name: v, Device: device(d)})
	}
	var notes []string
	for _, port := range info.Ports {
		for _, note := range port.Notes {
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	if len(notes) > 0 {
		env.EngineDetail += "; " + strings.Join(notes, "; ")
	}
	if d := bed.Spec.Device.Simulated; d != nil {
		for _, t := range []struct {
			what   string
			source *v1alpha1.ModelSource
		}{{"average", d.JitterAverageByLoad}, {"maximum", d.JitterMaximumByLoad}} {
			if t.source != nil {
				env.EngineDetail += fmt.Sprintf("; %s jitter by load from %s/%s", t.what, t.source.ConfigMapRef.Name, t.source.ConfigMapRef.Key)
			}
		}
	}
	for _, h := range info.Hosts {
		env.Hosts = append(env.Hosts, v1alpha1.HostEnvironment{Name: h.Name, Kernel: h.Kernel, CPU: h.CPU, CPUs: int32(h.CPUs)})
	}
	for i, port := range p.Ports {
		if i == maxListedPorts {
			break
		}
		listed := v1alpha1.PortEnvironment{Name: port.Name, Speed: port.Speed}
		for _, a := range port.Addresses {
			listed.Addresses = append(listed.Addresses, a.String())
		}
		if j := slices.IndexFunc(info.Ports, func(o traffic.PortInfo) bool { return o.Name == port.Name }); j >= 0 {
			o := info.Ports[j]
			listed.Interface, listed.Driver = o.Interface, o.Driver
			listed.MAC = o.MAC.String()
		}
		env.Ports = append(env.Ports, listed)
	}
	return env
}

// behaviour lists what a modelled device does beyond forwarding, by the names of the
// fields: " with addressTableSize 8192, learningRate 40000". All of them are numbers,
// durations, or yes and no, so that nothing of JSON is left but its separators.
func behaviour(b v1alpha1.SimulatedBehaviour) string {
	fields, err := json.Marshal(b)
	if err != nil || string(fields) == "{}" {
		return ""
	}
	return " with " + strings.NewReplacer("{", "", "}", "", `"`, "", ":", " ", ",", ", ").Replace(string(fields))
}

// device describes the device under test.
func device(d v1alpha1.Device) string {
	switch {
	case d.Containerlab != nil:
		ref := d.Containerlab.Topology.ConfigMapRef
		return fmt.Sprintf("containerlab node %s of topology %s/%s", d.Containerlab.Node, ref.Name, ref.Key)
	case d.Physical != nil:
		return strings.TrimSpace(strings.Join([]string{d.Physical.Vendor, d.Physical.Model, d.Physical.Software}, " "))
	case d.Simulated != nil:
		ref := d.Simulated.Model.ConfigMapRef
		text := fmt.Sprintf("modelled by %s/%s", ref.Name, ref.Key)
		if b := d.Simulated.Behaviour; b != nil {
			text += behaviour(*b)
		}
		return text
	case d.BackToBack != nil && d.BackToBack.JoinedBy == v1alpha1.JoinedByCables:
		return "none: the bed's cables join the ports"
	case d.BackToBack != nil:
		return "none: the ports are joined at the tester"
	}
	return ""
}

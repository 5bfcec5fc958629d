package runner

import (
	"fmt"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/version"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/dut/device/parameters"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

// maxListedPorts is the maximum number of ports that an environment lists.
const maxListedPorts = 64

// environment returns the environment in which the result is made, in all variants.
func environment(bed v1alpha1.TestBed, spec *v1alpha1.BenchmarkSpec, p plan.Plan, info traffic.Info) *v1alpha1.ResultEnvironment {
	of := bed.Spec.Device.From(spec.DeviceImage)
	env := &v1alpha1.ResultEnvironment{
		NoDropVersion: version.String(), Engine: v1alpha1.EngineKind(info.Engine), EngineDetail: info.Detail,
		LatencyType: info.Capabilities.LatencyType, Device: device.Describe(of), PortCount: int32(len(p.Ports)),
	}
	for _, v := range spec.Variants {
		d, _ := of.As(v)
		env.Variants = append(env.Variants, v1alpha1.VariantEnvironment{Name: v, Device: device.Describe(d) + parameters.Describe(parameters.Values(&of, v, spec.DeviceParameters))})
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
		env.Hosts = append(env.Hosts, v1alpha1.HostEnvironment{
			Name: h.Name, Kernel: h.Kernel, CPU: h.CPU, CPUs: int32(h.CPUs),
			TesterCPUs: traffic.CPUList(h.TesterCPUs), DeviceCPUs: traffic.CPUList(h.DeviceCPUs), Together: h.Together, Clock: clockOf(h.Clock),
		})
	}
	for i, port := range p.Ports {
		if i == maxListedPorts {
			break
		}
		listed := v1alpha1.PortEnvironment{Name: port.Name, Speed: port.Speed, VLAN: port.VLANs.String()}
		for _, a := range port.Addresses {
			listed.Addresses = append(listed.Addresses, a.String())
		}
		if j := slices.IndexFunc(info.Ports, func(o traffic.PortInfo) bool { return o.Name == port.Name }); j >= 0 {
			o := info.Ports[j]
			listed.Interface, listed.Driver = o.Interface, o.Driver
			listed.MAC = o.MAC.String()
			listed.Card = cardEnvironment(o.Card)
		}
		env.Ports = append(env.Ports, listed)
	}
	return env
}

// cardEnvironment describes a card in the terms of a result; nil for none.
func cardEnvironment(c *traffic.Card) *v1alpha1.CardEnvironment {
	if c == nil {
		return nil
	}
	e := &v1alpha1.CardEnvironment{
		DriverVersion: c.DriverVersion, Firmware: c.Firmware, PCIe: c.PCIe, InterruptCPUs: traffic.CPUList(c.InterruptCPUs),
		ReceiveRing: int32(c.ReceiveRing), TransmitRing: int32(c.TransmitRing), Coalescing: c.Coalescing,
		ReceiveQueues: int32(c.ReceiveQueues), Pause: c.Pause,
	}
	if c.NUMANode != nil {
		e.NUMANode = new(int32(*c.NUMANode))
	}
	if c.TestQueue != nil {
		e.TestQueue = new(int32(*c.TestQueue))
	}
	return e
}

// clockOf is the discipline of a clock as the API has it; nil if it is not known.
func clockOf(c *traffic.ClockDiscipline) *v1alpha1.ClockEnvironment {
	if c == nil {
		return nil
	}
	return &v1alpha1.ClockEnvironment{
		AdjustmentPPB: max(c.AdjustmentPPB, -c.AdjustmentPPB), Slowed: c.AdjustmentPPB < 0,
		Synchronized: c.Synchronized, MaxErrorNs: int64(c.MaxError),
	}
}

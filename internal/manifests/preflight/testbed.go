package preflight

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/selection"
	"nodrop.dev/nodrop/internal/dut/configure/scale"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/dut/device/parameters"
	"nodrop.dev/nodrop/internal/manifests/policy"
	"nodrop.dev/nodrop/internal/measure/plan"
)

// TestBed returns the problems of a bed that its schema does not find.
func TestBed(bed *v1alpha1.TestBed) field.ErrorList {
	spec := field.NewPath("spec")
	var problems field.ErrorList
	for i, g := range bed.Spec.Access {
		problems = append(problems, selection.Problems(spec.Child("access").Index(i).Child("selector"), g.Selector)...)
	}
	if bed.Spec.Device.Machine != nil {
		return append(problems, field.Forbidden(spec.Child("device", "machine"),
			"a cluster starts no emulated machines, since its nodes need not have QEMU and kernels: measure this bed with nodrop run on one computer, or give containerlab or physical"))
	}
	if bed.Spec.Engine.Sim != nil && bed.Spec.Engine.Sim.Ports != nil {
		return problems
	}
	ports := spec.Child("ports")
	if len(bed.Spec.Ports) < 2 {
		problems = append(problems, field.Invalid(ports, len(bed.Spec.Ports),
			"a bed needs at least two ports, one that sends and one that receives: add the port that the traffic comes back on"))
	}
	problems = append(problems, oneNode(ports, bed)...)
	if trex := bed.Spec.Engine.Server(); trex != nil {
		problems = append(problems, hugePagesProblems(spec.Child("engine", "trex", "hugePages"), trex.HugePages)...)
	}
	problems = append(problems, attachmentProblems(ports, bed)...)
	for i, p := range bed.Spec.Ports {
		problems = append(problems, portProblems(ports.Index(i), p)...)
	}
	problems = append(problems, hookProblems(spec.Child("hooks"), bed.Spec.Hooks)...)
	problems = append(problems, parameters.ValidateBed(bed)...)
	problems = append(problems, scale.ValidateBed(bed)...)
	return append(problems, planProblems(bed)...)
}

// planProblems returns the problems that a plan would find with any benchmark: addresses,
// gateways, speeds. The object is the bed itself, so the paths do not begin with its name.
func planProblems(bed *v1alpha1.TestBed) field.ErrorList {
	problems := plan.ValidateBed(bed)
	for _, p := range problems {
		p.Field = strings.TrimPrefix(p.Field, "TestBed/"+bed.Name+".")
	}
	return problems
}

// TestBedWarnings warns of settings that are allowed and probably not meant.
func TestBedWarnings(bed *v1alpha1.TestBed) []string {
	var warnings []string
	if len(bed.Spec.Access) == 0 {
		warnings = append(warnings, "spec.access is empty: no namespace can use this bed")
	}
	if device.Of(bed.Spec.Device).Calibrated && bed.Spec.Calibration == nil {
		warnings = append(warnings, "spec.calibration is not given: results are Uncalibrated until it names a bed with device backToBack on the same ports")
	}
	if n := len(bed.Spec.Ports); n%2 != 0 {
		warnings = append(warnings, fmt.Sprintf("spec.ports has %d ports: the pattern pairs needs an even number", n))
	}
	warnings = append(warnings, attachmentWarnings(bed)...)
	warnings = append(warnings, policyWarnings(bed)...)
	for i, p := range bed.Spec.Ports {
		for _, a := range p.Addresses {
			if prefix, err := netip.ParsePrefix(a); err == nil && !isBenchmarking(prefix.Addr()) {
				warnings = append(warnings, fmt.Sprintf("spec.ports[%d].addresses: %s is outside the ranges kept for benchmarks (198.18.0.0/15, 2001:2::/48): make sure that nothing else is reached there", i, a))
			}
		}
	}
	return warnings
}

// policyWarnings name ports whose own address the policy of their bed does not allow, so
// that every profile of its family is refused.
func policyWarnings(bed *v1alpha1.TestBed) []string {
	if bed.Spec.Policy == nil {
		return nil
	}
	var warnings []string
	for _, list := range []struct {
		member  string
		allowed []v1alpha1.AddressPrefix
	}{
		{"sourceAddresses", bed.Spec.Policy.SourceAddresses},
		{"destinationAddresses", bed.Spec.Policy.DestinationAddresses},
	} {
		if list.allowed == nil {
			continue
		}
		for i, p := range bed.Spec.Ports {
			for j, a := range p.Addresses {
				if prefix, err := netip.ParsePrefix(a); err == nil && !policy.Holds(list.allowed, prefix.Addr()) {
					warnings = append(warnings, fmt.Sprintf("spec.policy.%s has no prefix for spec.ports[%d].addresses[%d], %s: profiles that use it are refused", list.member, i, j, a))
				}
			}
		}
	}
	return warnings
}

// reservedInterfaces exist in every pod.
var reservedInterfaces = []string{"lo", "eth0"}

func portProblems(path *field.Path, p v1alpha1.Port) field.ErrorList {
	var problems field.ErrorList
	if slices.Contains(reservedInterfaces, p.Name) {
		problems = append(problems, field.Invalid(path.Child("name"), p.Name,
			"this interface exists in every pod already: choose another name, such as p1"))
	}
	if p.DeviceQueue != nil {
		problems = append(problems, field.Forbidden(path.Child("deviceQueue"),
			"a cluster makes no device with queues: describe the queue in the configuration of the node, or leave deviceQueue out and measure with nodrop run"))
	}
	for i, a := range p.Addresses {
		prefix, err := netip.ParsePrefix(a)
		if err == nil && prefix.Addr() == prefix.Masked().Addr() && prefix.Bits() < prefix.Addr().BitLen()-1 {
			problems = append(problems, field.Invalid(path.Child("addresses").Index(i), a,
				"this is the address of the network, not of a host in it: use one above it"))
		}
	}
	return problems
}

// oneNode checks virtual devices, whose links end on the node they run on.
func oneNode(path *field.Path, bed *v1alpha1.TestBed) field.ErrorList {
	if !device.Of(bed.Spec.Device).OnNode {
		return nil
	}
	for i, p := range bed.Spec.Ports {
		if first := bed.Spec.Ports[0].Node; p.Node != first {
			return problem(path.Index(i).Child("node"), p.Node, fmt.Sprintf(
				"a containerlab device has its links on one node, and %s is on %s: put all ports on the same node", bed.Spec.Ports[0].Name, first))
		}
	}
	return nil
}

var benchmarking = []netip.Prefix{netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("2001:2::/48")}

func isBenchmarking(a netip.Addr) bool {
	return slices.ContainsFunc(benchmarking, func(p netip.Prefix) bool { return p.Contains(a) })
}

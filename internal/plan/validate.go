package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/frame"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/capability"
)

// Validate reports everything that keeps a benchmark with this profile from
// running on this bed: what the schema cannot say since it crosses fields or
// objects, and what the engine cannot do. Paths begin with spec for the
// Benchmark, and with the kind and the name for the other two.
func Validate(b *v1alpha1.Benchmark, profile *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed) field.ErrorList {
	errs := validateTests(b)
	errs = append(errs, ValidateProfile(profile)...)
	errs = append(errs, ValidateBed(bed)...)
	if len(errs) > 0 {
		return errs // What does not hold for itself would only be reported again.
	}
	engine, ok := capability.Of(string(bed.Spec.Engine.Kind))
	if !ok {
		kinds := []v1alpha1.EngineKind{v1alpha1.EngineXDP, v1alpha1.EngineSim}
		return field.ErrorList{field.NotSupported(bedPath(bed).Child("engine", "kind"), bed.Spec.Engine.Kind, kinds)}
	}
	ports, _ := Ports(bed)
	errs = append(errs, validateSizes(profile, bed, engine)...)
	patternErrs := validatePattern(profile, bed, ports, engine)
	errs = append(errs, patternErrs...)
	if len(patternErrs) > 0 {
		return errs
	}
	errs = append(errs, validateAddresses(profile, bed, ports)...)
	errs = append(errs, validateLatency(b, profile, bed, ports, engine)...)
	errs = append(errs, validateOrdering(b, bed, engine)...)
	errs = append(errs, validateVariants(b, bed)...)
	return errs
}

// profilePath is the root of the paths in errors about a profile.
func profilePath(profile *v1alpha1.TrafficProfile) *field.Path {
	return field.NewPath("TrafficProfile/" + profile.Name).Child("spec")
}

// ValidateProfile reports what is wrong with a profile for itself.
func ValidateProfile(profile *v1alpha1.TrafficProfile) field.ErrorList {
	var errs field.ErrorList
	root := profilePath(profile)
	spec := profile.Spec
	if spec.Pattern.Pairs == nil {
		errs = append(errs, field.Required(root.Child("pattern"), "give the pattern of senders and receivers: pairs"))
	}
	if (spec.Packet.IPv4 == nil) == (spec.Packet.IPv6 == nil) {
		errs = append(errs, field.Required(root.Child("packet"), "give exactly one of ipv4 and ipv6"))
		return errs
	}
	for i, size := range frameSizes(profile) {
		path := root.Child("frameSizes").Index(i)
		if lowest := frame.MinimumSize(spec.Packet); int(size) < lowest {
			errs = append(errs, field.Invalid(path, size, fmt.Sprintf("these headers need at least %d bytes (%s): raise the frame size to %d", lowest, frame.DescribeMinimum(spec.Packet), lowest)))
		} else if size > frame.MaxSize {
			errs = append(errs, field.Invalid(path, size, fmt.Sprintf("the largest frame is %d bytes: lower the frame size", frame.MaxSize)))
		}
	}
	if udp := spec.Packet.UDP; udp != nil {
		errs = append(errs, validatePortRange(udp.SourcePorts, root.Child("packet", "udp", "sourcePorts"))...)
		errs = append(errs, validatePortRange(udp.DestinationPorts, root.Child("packet", "udp", "destinationPorts"))...)
	}
	return errs
}

func validatePortRange(r *v1alpha1.PortRange, path *field.Path) field.ErrorList {
	const end = 65536
	switch {
	case r == nil:
		return nil
	case r.First < 1 || r.First >= end:
		return field.ErrorList{field.Invalid(path.Child("first"), r.First, "give a UDP port of 1 to 65535")}
	case r.Count < 0 || r.First+r.Count > end:
		return field.ErrorList{field.Invalid(path.Child("count"), r.Count, fmt.Sprintf("ports %d up can be at most %d: lower first or count", r.First, end-r.First))}
	}
	return nil
}

// validateSizes refuses frames that the engine cannot send.
func validateSizes(profile *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed, engine traffic.Capabilities) field.ErrorList {
	var errs field.ErrorList
	for i, size := range frameSizes(profile) {
		if int(size) < engine.MinFrameSize || int(size) > engine.MaxFrameSize {
			errs = append(errs, field.Invalid(profilePath(profile).Child("frameSizes").Index(i), size,
				fmt.Sprintf("engine %s of test bed %s sends frames of %d to %d bytes: change the frame size, or choose a bed with another engine",
					bed.Spec.Engine.Kind, bed.Name, engine.MinFrameSize, engine.MaxFrameSize)))
		}
	}
	return errs
}

// validatePattern refuses patterns that the bed's ports or the engine cannot
// make.
func validatePattern(profile *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed, ports []Port, engine traffic.Capabilities) field.ErrorList {
	path := profilePath(profile).Child("pattern")
	if profile.Spec.Pattern.Pairs != nil && (len(ports) < 2 || len(ports)%2 != 0) {
		return field.ErrorList{field.Invalid(path.Child("pairs"), len(ports),
			fmt.Sprintf("test bed %s has %d ports, and pairs needs an even number of at least 2: add or remove a port, or choose another bed", bed.Name, len(ports)))}
	}
	if n := len(flows(profile, len(ports))); n > engine.MaxStreams {
		return field.ErrorList{field.Invalid(path, n,
			fmt.Sprintf("the pattern makes %d streams on the %d ports of test bed %s, and engine %s takes at most %d: use a bed with fewer ports", n, len(ports), bed.Name, bed.Spec.Engine.Kind, engine.MaxStreams))}
	}
	return nil
}

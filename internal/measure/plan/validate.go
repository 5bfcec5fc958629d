package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device/parameters"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/capability"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// Validate reports everything that keeps a benchmark with this profile from
// running on this bed: what the schema cannot say since it crosses fields or
// objects, and what the engine cannot do. Paths begin with spec for the
// Benchmark, and with the kind and the name for the other two.
func Validate(b *v1alpha1.Benchmark, profile *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed) field.ErrorList {
	if len(b.Spec.FrameSizes) == 0 {
		return validate(b, profile, bed)
	}
	if profile.Spec.OwnSizes() {
		return field.ErrorList{field.Forbidden(field.NewPath("spec", "frameSizes"), fmt.Sprintf(
			"every flow of TrafficProfile %s has a size of its own: leave frameSizes out, or name another profile", profile.Name))}
	}
	return inBenchmark(b, profile, validate(b, profile.For(&b.Spec), bed))
}

// validate is Validate of a profile with the frame sizes of the benchmark.
func validate(b *v1alpha1.Benchmark, profile *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed) field.ErrorList {
	errs := validateTests(b)
	errs = append(errs, ValidateProfile(profile)...)
	errs = append(errs, ValidateBed(bed)...)
	if len(errs) > 0 {
		return errs // What does not hold for itself would only be reported again.
	}
	engine, ok := capability.For(bed.Spec.Engine)
	if !ok {
		kinds := []v1alpha1.EngineKind{v1alpha1.EngineXDP, v1alpha1.EngineTRex, v1alpha1.EngineSim}
		return field.ErrorList{field.NotSupported(bedPath(bed).Child("engine", "kind"), bed.Spec.Engine.Kind, kinds)}
	}
	ports, _ := Ports(bed)
	for _, s := range Sections(profile) {
		errs = append(errs, validateSizes(s, bed, engine)...)
		errs = append(errs, validateRoomOn(s, bed)...)
		errs = append(errs, validateLabels(s, bed, engine)...)
		errs = append(errs, validateTags(s, bed, ports, engine)...)
		errs = append(errs, validateTunnelOn(s, bed, engine)...)
		errs = append(errs, validateCustomOn(s, bed, engine)...)
		errs = append(errs, validateRoCEOn(s, bed, engine)...)
		errs = append(errs, validateECNOn(s, bed, engine)...)
		errs = append(errs, validateNetworkLayer(s, bed, engine)...)
	}
	routingErrs := validateRouting(profile, bed, ports, engine)
	errs = append(errs, routingErrs...)
	if len(routingErrs) > 0 {
		return errs
	}
	ports = routed(profile, bed, ports, engine)
	var patternErrs field.ErrorList
	for _, s := range Sections(profile) {
		ofSection := validatePattern(s, bed, ports, engine)
		if len(ofSection) == 0 {
			ofSection = validatePIM(s, bed, ports)
		}
		patternErrs = append(patternErrs, ofSection...)
	}
	errs = append(errs, patternErrs...)
	if len(patternErrs) > 0 {
		return errs
	}
	errs = append(errs, validateMixMethods(b, profile)...)
	errs = append(errs, validateFlowsOn(b, profile, bed, ports, engine)...)
	for _, s := range Sections(profile) {
		errs = append(errs, validateMixesOn(b, s, bed, ports, engine)...)
		errs = append(errs, validateAddresses(s, bed, ports)...)
	}
	errs = append(errs, validateLatency(b, profile, bed, ports, engine)...)
	errs = append(errs, validateMicroflows(b, profile, bed, ports, engine)...)
	errs = append(errs, validateHosts(profile, bed, ports, engine)...)
	errs = append(errs, validateNeeds(b, bed, engine)...)
	errs = append(errs, validateASTF(b, bed, ports)...)
	errs = append(errs, validateCapture(b, bed, engine)...)
	errs = append(errs, validateTopologies(b, profile, bed, ports, engine)...)
	errs = append(errs, validateVariants(b, bed)...)
	errs = append(errs, validateImage(b, bed)...)
	errs = append(errs, parameters.Validate(b, bed)...)
	errs = append(errs, PortGroup(b, bed, "")...)
	errs = append(errs, validateRates(b, profile, ports)...)
	errs = append(errs, validateDeadline(b, profile, bed)...)
	if len(errs) == 0 {
		errs = validateBoundsOn(b, profile, ports)
	}
	if len(errs) == 0 {
		sessions, _ := Sessions(bed)
		errs = validateSetting(b, Setting{Bed: bed, Profile: profile.Name, Packet: profile.Spec.Packet, Engine: engine, Ports: ports, Streams: streams(profile, ports), Sessions: sessions, Announcements: announcements(profile, sessions, ports)})
	}
	return errs
}

// profilePath is the root of the paths in errors about a profile.
func profilePath(profile *v1alpha1.TrafficProfile) *field.Path {
	return field.NewPath("TrafficProfile/" + profile.Name).Child("spec")
}

// ValidateProfile reports what is wrong with a profile for itself.
func ValidateProfile(profile *v1alpha1.TrafficProfile) field.ErrorList {
	errs := validateFlows(profile)
	if len(errs) > 0 {
		return errs
	}
	for _, s := range Sections(profile) {
		errs = append(errs, validateSection(s)...)
	}
	return errs
}

// validateSection reports what is wrong with a pattern and a packet for themselves.
func validateSection(s Section) field.ErrorList {
	errs := validateProfilePattern(s.Spec, s.Path.Child("pattern"))
	packetErrs := validatePacket(s.Spec.Packet, s.Path.Child("packet"))
	errs = append(errs, packetErrs...)
	if len(packetErrs) > 0 {
		return errs
	}
	return append(errs, validateRoom(s)...)
}

// validateRoom refuses sizes into which the headers do not fit, and what is wrong with
// mixes.
func validateRoom(profile Section) field.ErrorList {
	var errs field.ErrorList
	spec := profile.Spec
	for i, size := range profile.Spec.Sizes() {
		path := profile.sizePath(i)
		if lowest := frame.MinimumSize(spec.Packet); int(size) < lowest {
			errs = append(errs, field.Invalid(path, size, fmt.Sprintf("these headers need at least %d bytes (%s): raise the frame size to %d", lowest, frame.DescribeMinimum(spec.Packet), lowest)))
		} else if size > frame.MaxSize {
			errs = append(errs, field.Invalid(path, size, fmt.Sprintf("the largest frame is %d bytes: lower the frame size", frame.MaxSize)))
		} else {
			errs = append(errs, validateWords(spec.Packet, int(size), size, path)...)
		}
	}
	return append(errs, validateMixes(profile)...)
}

// validateRoomOn refuses sizes into which the headers do not fit with the tags of ports. The
// profile is valid for itself.
func validateRoomOn(profile Section, bed *v1alpha1.TestBed) field.ErrorList {
	if profile.Spec.Packet.VLAN != nil {
		return nil
	}
	tagged := profile
	tagged.TrafficProfile = profile.DeepCopy()
	for _, p := range bed.Spec.Ports {
		if v := tagged.Spec.Packet.VLAN; p.VLAN != nil && (v == nil || v.Service == nil) {
			tagged.Spec.Packet.VLAN = p.VLAN
		}
	}
	return validateRoom(tagged)
}

// validateSizes refuses frames that the engine cannot send.
func validateSizes(profile Section, bed *v1alpha1.TestBed, engine traffic.Capabilities) field.ErrorList {
	var errs field.ErrorList
	for i, size := range profile.Spec.Sizes() {
		if int(size) < engine.MinFrameSize || int(size) > engine.MaxFrameSize {
			errs = append(errs, field.Invalid(profile.sizePath(i), size,
				fmt.Sprintf("engine %s of test bed %s sends frames of %d to %d bytes: change the frame size, or choose a bed with another engine",
					bed.Spec.Engine.Kind, bed.Name, engine.MinFrameSize, engine.MaxFrameSize)))
		}
	}
	return errs
}

package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// Bounds of the header of RoCEv2, as the schema has them.
const (
	maxPartitionKey = 1<<16 - 1
	maxQueuePair    = 1<<24 - 1
	// maxCNPMicroseconds is the longest time between two congestion notification packets.
	maxCNPMicroseconds = 1_000_000
)

// validateECN reports what is wrong with the codepoint of packets that have an IP header.
func validateECN(p v1alpha1.Packet, path *field.Path) field.ErrorList {
	known := []v1alpha1.ECNCodepoint{v1alpha1.ECT0, v1alpha1.ECT1}
	switch {
	case p.ECN == "":
		return nil
	case !slices.Contains(known, p.ECN):
		return field.ErrorList{field.NotSupported(path.Child("ecn"), p.ECN, known)}
	case p.Tunnel != nil:
		return field.ErrorList{field.Forbidden(path.Child("ecn"), "a device marks the outer header of a tunnel, and only the inner header is counted: remove ecn or tunnel")}
	}
	return nil
}

// validateRoCE reports what is wrong with the header of RoCEv2.
func validateRoCE(p v1alpha1.Packet, path *field.Path) field.ErrorList {
	r := p.RoCEv2
	if r == nil {
		return nil
	}
	var errs field.ErrorList
	if p.UDP != nil {
		errs = append(errs, field.Forbidden(path.Child("udp"), "rocev2 has its own UDP ports: remove udp, and give ranges in rocev2.sourcePorts"))
	}
	if p.Tunnel != nil {
		errs = append(errs, field.Forbidden(path.Child("tunnel"), "packets of rocev2 are sent without a tunnel: remove tunnel or rocev2"))
	}
	path = path.Child("rocev2")
	known := []v1alpha1.RoCEv2Opcode{v1alpha1.RCSendOnly, v1alpha1.RCWriteMiddle, v1alpha1.UCSendOnly}
	if r.Opcode != "" && !slices.Contains(known, r.Opcode) {
		errs = append(errs, field.NotSupported(path.Child("opcode"), r.Opcode, known))
	}
	errs = append(errs, validateBetween(r.PartitionKey, 0, maxPartitionKey, path.Child("partitionKey"))...)
	errs = append(errs, validateBetween(r.DestinationQP, 0, maxQueuePair, path.Child("destinationQP"))...)
	errs = append(errs, validatePortRange(r.SourcePorts, path.Child("sourcePorts"))...)
	return append(errs, validateCNP(p, path.Child("cnp"))...)
}

// validateCNP reports what is wrong with the answers to marked packets.
func validateCNP(p v1alpha1.Packet, path *field.Path) field.ErrorList {
	c := p.RoCEv2.CNP
	if c == nil {
		return nil
	}
	var errs field.ErrorList
	if p.ECN == "" {
		errs = append(errs, field.Forbidden(path, "no device marks packets without ecn, so that none is answered: give ecn, or remove cnp"))
	}
	if p.MPLS != nil {
		errs = append(errs, field.Forbidden(path, "packets behind labels are not answered: remove mpls or cnp"))
	}
	errs = append(errs, validateBetween(c.IntervalMicroseconds, 0, maxCNPMicroseconds, path.Child("intervalMicroseconds"))...)
	errs = append(errs, validateBetween(c.DSCP, 0, 63, path.Child("dscp"))...)
	return append(errs, validateBetween(c.QueuePair, 0, maxQueuePair, path.Child("queuePair"))...)
}

// validateWords refuses a frame size, given by a field, at which packets of RoCEv2 do not carry
// whole words.
func validateWords(packet v1alpha1.Packet, size int, given any, path *field.Path) field.ErrorList {
	below, above := frame.RoCESizes(packet, size)
	if below == size {
		return nil
	}
	return field.ErrorList{field.Invalid(path, given, fmt.Sprintf(
		"a frame of %d bytes has no payload of whole words of 4 bytes, which packets of RoCEv2 carry: change the frame size to %d or %d", size, below, above))}
}

// validateRoCEOn refuses packets of RoCEv2 that the engine does not send.
func validateRoCEOn(profile Section, bed *v1alpha1.TestBed, engine traffic.Capabilities) field.ErrorList {
	packet, pattern := profile.Spec.Packet, profile.Spec.Pattern
	path := profile.Path.Child("packet", "rocev2")
	switch {
	case packet.RoCEv2 == nil:
		return nil
	case packet.RoCEv2.CNP != nil && (pattern.FanOut != nil || pattern.NToN != nil || pattern.MixedClass != nil):
		return field.ErrorList{field.Forbidden(path.Child("cnp"),
			"the pattern is multicast, and packets to groups are not answered: remove cnp, or give pattern pairs, fullMesh or partialMesh")}
	case engine.RoCE:
		return nil
	}
	return field.ErrorList{field.Forbidden(path, fmt.Sprintf(
		"engine %s of test bed %s does not compute the invariant CRC, which changes from frame to frame: remove rocev2, or choose a bed with engine xdp", bed.Spec.Engine.Kind, bed.Name))}
}

// validateECNOn refuses packets that a device may mark if the engine does not count the marks.
func validateECNOn(profile Section, bed *v1alpha1.TestBed, engine traffic.Capabilities) field.ErrorList {
	if profile.Spec.Packet.ECN == "" || engine.CongestionMarks {
		return nil
	}
	return field.ErrorList{field.Forbidden(profile.Path.Child("packet", "ecn"), fmt.Sprintf(
		"engine %s of test bed %s does not count congestion marks: remove ecn, or choose a bed with engine xdp", bed.Spec.Engine.Kind, bed.Name))}
}

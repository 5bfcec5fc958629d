package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
)

// Bounds of the identifiers of tunnels, as the schema has them.
const (
	maxVNI  = 1<<24 - 1
	maxTEID = 1<<32 - 1
)

// validateTunnel reports what is wrong with a tunnel.
func validateTunnel(t *v1alpha1.Tunnel, path *field.Path) field.ErrorList {
	if t == nil {
		return nil
	}
	var errs field.ErrorList
	given := 0
	for _, n := range []struct {
		name    string
		network *v1alpha1.VirtualNetwork
	}{{"vxlan", t.VXLAN}, {"geneve", t.GENEVE}} {
		if n.network != nil {
			given++
			errs = append(errs, validateBetween(&n.network.VNI, 0, maxVNI, path.Child(n.name, "vni"))...)
		}
	}
	if t.GTPU != nil {
		given++
		errs = append(errs, validateBetween(&t.GTPU.TEID, 0, maxTEID, path.Child("gtpu", "teid"))...)
	}
	if t.GRE != nil {
		given++
	}
	if given != 1 {
		return field.ErrorList{field.Required(path, "give exactly one of vxlan, geneve, gre and gtpu")}
	}
	return errs
}

// validateTunnelOn refuses a tunnel that the engine cannot send, or that has no one end.
func validateTunnelOn(profile Section, bed *v1alpha1.TestBed, engine traffic.Capabilities) field.ErrorList {
	path := profile.Path.Child("packet", "tunnel")
	pattern := profile.Spec.Pattern
	switch {
	case profile.Spec.Packet.Tunnel == nil:
		return nil
	case !engine.Tunnels:
		return field.ErrorList{field.Forbidden(path, fmt.Sprintf(
			"engine %s of test bed %s counts frames by their outermost packet, and does not look into tunnels: remove tunnel, or choose a bed with another engine", bed.Spec.Engine.Kind, bed.Name))}
	case pattern.FanOut != nil || pattern.NToN != nil || pattern.MixedClass != nil:
		return field.ErrorList{field.Forbidden(path,
			"the pattern is multicast, and a tunnel goes from one port to one other: remove tunnel, or give pattern pairs, fullMesh or partialMesh")}
	}
	return nil
}

// validateTags refuses frames with more tags than the engine counts.
func validateTags(profile Section, bed *v1alpha1.TestBed, ports []Port, engine traffic.Capabilities) field.ErrorList {
	if engine.ServiceVLANs {
		return nil
	}
	text := fmt.Sprintf("engine %s of test bed %s counts frames with one tag at most: remove service, or choose a bed with another engine", bed.Spec.Engine.Kind, bed.Name)
	if v := profile.Spec.Packet.VLAN; v != nil && v.Service != nil {
		return field.ErrorList{field.Invalid(profile.Path.Child("packet", "vlan", "service", "id"), v.Service.ID, text)}
	}
	var errs field.ErrorList
	for i, p := range ports {
		if vlans := p.VLANsUnder(profile.TrafficProfile); len(vlans) > 1 {
			errs = append(errs, field.Invalid(bedPath(bed).Child("ports").Index(i).Child("vlan", "service", "id"), vlans[0].ID, text))
		}
	}
	return errs
}

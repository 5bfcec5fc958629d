package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/frame"
	"nodrop.dev/nodrop/internal/traffic"
)

// validateCustom reports what is wrong with custom bytes.
func validateCustom(p v1alpha1.Packet, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, other := range []struct {
		name  string
		given bool
	}{{"udp", p.UDP != nil}, {"tunnel", p.Tunnel != nil}, {"mpls", p.MPLS != nil}, {"dscp", p.DSCP != nil}, {"ipPrecedence", p.IPPrecedence != nil}} {
		if other.given {
			errs = append(errs, field.Forbidden(path.Child(other.name), "the bytes of custom are sent as they are: remove it, and write it into hex"))
		}
	}
	if _, err := frame.CustomBytes(*p.Custom); err != nil {
		errs = append(errs, field.Invalid(path.Child("custom", "hex"), shortened(p.Custom.Hex), err.Error()))
	}
	return errs
}

// shortened is the beginning of a text for a message.
func shortened(text string) string {
	const most = 40
	if len(text) <= most {
		return text
	}
	return text[:most] + "..."
}

// validateCustomOn refuses custom bytes that the engine does not send.
func validateCustomOn(profile Section, bed *v1alpha1.TestBed, engine traffic.Capabilities) field.ErrorList {
	if profile.Spec.Packet.Custom == nil || engine.CustomBytes {
		return nil
	}
	return field.ErrorList{field.Forbidden(profile.Path.Child("packet", "custom"), fmt.Sprintf(
		"engine %s of test bed %s counts frames by a mark in their IP header, for which custom bytes may have no place: give ipv4 or ipv6, or choose a bed with another engine", bed.Spec.Engine.Kind, bed.Name))}
}

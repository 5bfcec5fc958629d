package policy

import (
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

// announced judges the routes that sessions announce.
func (c checker) announced(profile *v1alpha1.TrafficProfile) field.ErrorList {
	_, all := plan.Announcements(profile, c.bed)
	root := field.NewPath("TrafficProfile/"+profile.Name).Child("spec", "routing", "routes")
	total := int64(0)
	var problems field.ErrorList
	for _, a := range all {
		total += int64(a.Count)
		if c.networks.free || len(problems) > 0 || holdsRange(c.networks.allowed, a.First, a.Last()) {
			continue
		}
		allows, instead := "no routes", "remove routing"
		if len(c.networks.allowed) > 0 {
			allows = fmt.Sprintf("routes within %s, and %s to %s are announced", listed(c.networks.allowed), a.First, a.Last())
			instead = "announce networks within"
		}
		needed := append(slices.Clone(c.networks.allowed), v1alpha1.AddressPrefix(covering(a.First.Addr(), a.Last().Addr()).String()))
		path, value := root.Index(a.Set).Child("first"), string(profile.Spec.Routing.Routes[a.Set].First)
		if dump := profile.Spec.Routing.Routes[a.Set].MRT; dump != nil {
			path, value = root.Index(a.Set).Child("mrt", "file"), dump.File
		}
		problems = append(problems, c.refused(path, value, c.networks.origin, allows, instead, fmt.Sprintf("routes: {prefixes: [%s]}", listed(needed)))...)
	}
	if !c.routes.free && total > c.routes.allowed {
		problems = append(problems, c.refused(root, total, c.routes.origin, fmt.Sprintf("%s routes", traffic.Grouped(c.routes.allowed)), "announce fewer", fmt.Sprintf("routes: {maxRoutes: %d}", total))...)
	}
	return problems
}

// Networks returns the networks within which routes may be announced on a bed; nil means all
// networks. lab, which may be nil, is the default policy of the lab.
func Networks(bed *v1alpha1.TestBed, lab *v1alpha1.TrafficPolicy) []netip.Prefix {
	r := of(bed, lab, nil).networks
	if r.free {
		return nil
	}
	all := []netip.Prefix{}
	for _, text := range r.allowed {
		if p, err := netip.ParsePrefix(string(text)); err == nil {
			all = append(all, p.Masked())
		}
	}
	return all
}

// holdsRange reports whether one of the prefixes has all prefixes from the first to the last.
func holdsRange(prefixes []v1alpha1.AddressPrefix, first, last netip.Prefix) bool {
	return slices.ContainsFunc(prefixes, func(text v1alpha1.AddressPrefix) bool {
		p, err := netip.ParsePrefix(string(text))
		return err == nil && p.Bits() <= first.Bits() && p.Contains(first.Addr()) && p.Contains(last.Addr())
	})
}

package plan

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic"
)

// validateRouting refuses sessions on an engine that holds none, and routes that do not
// fit the sessions of the bed.
func validateRouting(profile *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed, ports []Port, engine traffic.Capabilities) field.ErrorList {
	sessions, _ := Sessions(bed)
	if len(sessions) > 0 && !engine.Routing {
		return field.ErrorList{field.Invalid(sessions[0].Path, bed.Spec.Engine.Kind, fmt.Sprintf(
			"engine %s of test bed %s cannot hold %v sessions: choose another engine, or remove the sessions", bed.Spec.Engine.Kind, bed.Name, sessions[0].Protocol))}
	}
	if overLDP(sessions) && bed.Spec.Engine.Kind == v1alpha1.EngineSim {
		return field.ErrorList{field.Invalid(sessions[0].Path, bed.Spec.Engine.Kind, fmt.Sprintf(
			"the device that engine sim of test bed %s models has no LDP: choose the engine xdp, or sessions of BGP with the family ipv4LabeledUnicast", bed.Name))}
	}
	if profile.Spec.Routing == nil {
		return nil
	}
	root := profilePath(profile).Child("routing", "routes")
	if len(sessions) == 0 {
		return field.ErrorList{field.Invalid(root, len(profile.Spec.Routing.Routes), fmt.Sprintf(
			"test bed %s has no sessions to announce routes on: add routing.bgp or routing.ldp to the bed, or choose another bed", bed.Name))}
	}
	var errs field.ErrorList
	for i, set := range profile.Spec.Routing.Routes {
		errs = append(errs, validateSet(set, sessions, bed, root.Index(i))...)
	}
	if len(errs) > 0 {
		return errs
	}
	all := announcements(profile, sessions, ports)
	if errs := validateRanges(all, sessions, ports, profile, root); len(errs) > 0 {
		return errs
	}
	by := paths(all, sessions)
	for i, a := range all {
		list := by[a.networks()]
		if len(list) < 2 || slices.Min(list) < i {
			continue
		}
		if err := onePathEach(all, list, sessions, root); err != nil {
			errs = append(errs, err)
			break
		}
		if a, b := all[list[0]], all[list[1]]; pathLength(a, sessions) == pathLength(b, sessions) {
			errs = append(errs, field.Invalid(root.Index(b.Set).Child("asPath"), b.Attributes.ASPath, fmt.Sprintf(
				"sessions %s and %s announce %s with AS paths of one length, so that it is not known to which port frames to it come: make one path longer, or leave shared out",
				sessions[a.Session].Name, sessions[b.Session].Name, a.First)))
			break
		}
	}
	return errs
}

// onePathEach refuses paths to the same networks that replace each other on a session, and
// those of which only some have labels.
func onePathEach(all []Announcement, list []int, sessions []Session, root *field.Path) *field.Error {
	by := map[int]Announcement{}
	for _, i := range list {
		a := all[i]
		path := root.Index(a.Set)
		if first := all[list[0]]; a.Family() != first.Family() {
			return field.Invalid(path.Child("label"), a.Label(), fmt.Sprintf(
				"routes %s and %s are to the same networks, and only one has labels: devices keep them in one table or in two; give both a label, or other networks", first.Name, a.Name))
		}
		if before, twice := by[a.Session]; twice && !sessions[a.Session].AddPath {
			return field.Invalid(path.Child("first"), a.First.String(), fmt.Sprintf(
				"session %s announces the same networks as routes %s and %s, and each path replaces the one before it: give the session addPath, or name other sessions", sessions[a.Session].Name, before.Name, a.Name))
		}
		by[a.Session] = a
	}
	return nil
}

// validateSet refuses sessions that the bed does not have, or that do not carry the
// family.
func validateSet(set v1alpha1.RouteSet, sessions []Session, bed *v1alpha1.TestBed, path *field.Path) field.ErrorList {
	if set.MRT != nil {
		return validateDump(set, sessions, bed, path)
	}
	first, err := netip.ParsePrefix(string(set.First))
	if err != nil || first != first.Masked() {
		return field.ErrorList{field.Invalid(path.Child("first"), set.First, "give the first address of a network and the length of its prefix, such as 198.18.128.0/24")}
	}
	var errs field.ErrorList
	if overLDP(sessions) {
		errs = validateLDPSet(set, path)
	}
	for i, name := range set.Sessions {
		at := slices.IndexFunc(sessions, func(s Session) bool { return s.Name == name || s.Entry == name })
		switch {
		case at < 0:
			errs = append(errs, field.Invalid(path.Child("sessions").Index(i), name, fmt.Sprintf(
				"test bed %s has no session of this name: its %d sessions are %s to %s", bed.Name, len(sessions), sessions[0].Name, sessions[len(sessions)-1].Name)))
		case !sessions[at].Carries(familyOf(set, first)):
			errs = append(errs, field.Invalid(path.Child("sessions").Index(i), name, fmt.Sprintf(
				"session %s of test bed %s does not carry %s, the family of %s: add it to families of the session, or name another session", name, bed.Name, familyOf(set, first), first)))
		}
	}
	if len(set.Sessions) == 0 && !slices.ContainsFunc(sessions, func(s Session) bool { return s.Carries(familyOf(set, first)) }) {
		errs = append(errs, field.Invalid(path.Child("first"), set.First, fmt.Sprintf(
			"no session of test bed %s carries %s, the family of this prefix: add it to families of a session", bed.Name, familyOf(set, first))))
	}
	return errs
}

// validateDump refuses sets of a dump that no session of the bed announces.
func validateDump(set v1alpha1.RouteSet, sessions []Session, bed *v1alpha1.TestBed, path *field.Path) field.ErrorList {
	var on []Session
	for _, s := range sessions {
		if named(set, s) {
			on = append(on, s)
		}
	}
	routes := dumpOf(set)
	switch {
	case len(on) != 1:
		return field.ErrorList{field.Invalid(path.Child("sessions"), set.Sessions, fmt.Sprintf(
			"one session announces a dump, and these are %d of test bed %s: name one of %s to %s", len(on), bed.Name, sessions[0].Name, sessions[len(sessions)-1].Name))}
	case set.MRT.Routes != nil && !slices.ContainsFunc(routes, func(r routing.Routes) bool { return on[0].Carries(r.Family()) }):
		return field.ErrorList{field.Invalid(path.Child("mrt", "file"), set.MRT.File, fmt.Sprintf(
			"the dump has no routes of a family that session %s of test bed %s carries: add the family to the session, or name another one", on[0].Name, bed.Name))}
	}
	return nil
}

// validateRanges refuses routes beyond the last address, routes to the networks of the
// ports, and sets that share only some of their networks.
func validateRanges(all []Announcement, sessions []Session, ports []Port, profile *v1alpha1.TrafficProfile, root *field.Path) field.ErrorList {
	for _, a := range all {
		if !a.First.IsValid() || !a.Last().IsValid() {
			set := profile.Spec.Routing.Routes[a.Set]
			return field.ErrorList{field.Invalid(root.Index(a.Set).Child("count"), set.Count, fmt.Sprintf(
				"the routes of session %s go beyond the last address: lower count, or first", sessions[a.Session].Name))}
		}
		for _, p := range ports {
			own, ok := p.Address(a.First.Addr().Is6())
			if ok && own.Masked().Bits() <= a.First.Bits() && a.spans(own.Masked()) {
				return field.ErrorList{field.Invalid(root.Index(a.Set).Child("first"), a.First.String(), fmt.Sprintf(
					"the routes of session %s reach into %s, the network of port %s: announce networks that are not on a port", sessions[a.Session].Name, own.Masked(), p.Name))}
			}
		}
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int {
		a, b := all[x], all[y]
		return cmp.Or(cmp.Compare(a.First.Bits(), b.First.Bits()), a.First.Addr().Compare(b.First.Addr()), cmp.Compare(x, y))
	})
	for i := 1; i < len(order); i++ {
		a, b := all[order[i-1]], all[order[i]]
		if a.First.Bits() != b.First.Bits() || a.networks() == b.networks() || a.Last().Addr().Less(b.First.Addr()) {
			continue
		}
		return field.ErrorList{field.Invalid(root.Index(b.Set).Child("first"), b.First.String(), fmt.Sprintf(
			"the routes of session %s begin within those of session %s, which are %s to %s: two paths to the same networks need the same first, count and stride, and others must not overlap",
			sessions[b.Session].Name, sessions[a.Session].Name, a.First, a.Last()))}
	}
	return nil
}

// spans reports whether the range of prefixes touches a network.
func (a Announcement) spans(network netip.Prefix) bool {
	return !network.Contains(a.First.Addr()) && a.First.Addr().Less(network.Addr()) && !a.Last().Addr().Less(network.Addr()) ||
		network.Contains(a.First.Addr())
}

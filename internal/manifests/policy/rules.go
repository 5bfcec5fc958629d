package policy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

// Ranges reserved for benchmarks (RFC 2544 appendix C.2.2, RFC 5180).
const (
	benchmarking4 v1alpha1.AddressPrefix = "198.18.0.0/15"
	benchmarking6 v1alpha1.AddressPrefix = "2001:2::/48"
)

// rule is one member of the policy that applies to a bed.
type rule[T any] struct {
	// allowed contains the values that may be sent.
	allowed T
	// origin names the source of the rule, for a person.
	origin string
	// free reports whether there is no such rule.
	free bool
}

// rules contains the rules that apply to a bed.
type rules struct {
	vlans, labels                 rule[[]interval]
	groups, sources, destinations rule[[]v1alpha1.AddressPrefix]
	// routes limits the number of announced routes, and networks the networks that contain
	// them.
	routes                    rule[int64]
	networks                  rule[[]v1alpha1.AddressPrefix]
	ethernet, tunnels, custom rule[bool]
}

// interval is a range of numbers with its ends.
type interval struct{ first, last int32 }

// of returns the rules that apply to a bed; lab, which may be nil, is the default policy
// of the lab.
func of(bed *v1alpha1.TestBed, lab *v1alpha1.TrafficPolicy, ports []plan.Port) rules {
	var own v1alpha1.TrafficPolicy
	if bed.Spec.Policy != nil {
		own = *bed.Spec.Policy
	}
	var others v1alpha1.TrafficPolicy
	if lab != nil {
		others = *lab
	}
	l := levels{
		bed:     "spec.policy of TestBed " + bed.Name,
		lab:     fmt.Sprintf("the default policy of the lab, which holds on TestBed %s,", bed.Name),
		builtIn: fmt.Sprintf("the built-in default policy, which holds on TestBed %s,", bed.Name),
		sim:     bed.Spec.Engine.Kind == v1alpha1.EngineSim,
	}
	networks := allowedBuiltIn(ports)
	return rules{
		vlans:        pick(l, intervals(own.VLANs), intervals(others.VLANs), []interval{}),
		labels:       pick(l, intervals(own.MPLSLabels), intervals(others.MPLSLabels), []interval{}),
		groups:       pick(l, own.Groups, others.Groups, []v1alpha1.AddressPrefix{"224.0.0.0/4", "ff00::/8"}),
		sources:      pick(l, own.SourceAddresses, others.SourceAddresses, networks),
		destinations: pick(l, own.DestinationAddresses, others.DestinationAddresses, networks),
		ethernet:     pickValue(l, own.Ethernet, others.Ethernet, true),
		tunnels:      pickValue(l, own.Tunnels, others.Tunnels, false),
		routes:       pickValue(l, routesOf(own).MaxRoutes, routesOf(others).MaxRoutes, 1_000_000),
		networks:     pick(l, routesOf(own).Prefixes, routesOf(others).Prefixes, []v1alpha1.AddressPrefix{benchmarking4, benchmarking6}),
		custom:       pickValue(l, own.CustomBytes, others.CustomBytes, false),
	}
}

// levels contains the sources of rules.
type levels struct {
	// bed, lab and builtIn name the three policies.
	bed, lab, builtIn string
	// sim reports whether the bed sends nothing.
	sim bool
}

// pick takes the first of three lists that is not nil. An empty list counts.
func pick[T any](l levels, own, lab, builtIn []T) rule[[]T] {
	switch {
	case own != nil:
		return rule[[]T]{allowed: own, origin: l.bed}
	case l.sim:
		return rule[[]T]{free: true}
	case lab != nil:
		return rule[[]T]{allowed: lab, origin: l.lab}
	}
	return rule[[]T]{allowed: builtIn, origin: l.builtIn}
}

// routesOf is the policy of routes; empty when there is none.
func routesOf(p v1alpha1.TrafficPolicy) v1alpha1.RoutePolicy {
	if p.Routes == nil {
		return v1alpha1.RoutePolicy{}
	}
	return *p.Routes
}

// pickValue takes the first of three values that is given.
func pickValue[T any](l levels, own, lab *T, builtIn T) rule[T] {
	switch {
	case own != nil:
		return rule[T]{allowed: *own, origin: l.bed}
	case l.sim:
		return rule[T]{free: true}
	case lab != nil:
		return rule[T]{allowed: *lab, origin: l.lab}
	}
	return rule[T]{allowed: builtIn, origin: l.builtIn}
}

// allowedBuiltIn are the addresses of the built-in policy: those kept for benchmarks,
// and the networks of the ports.
func allowedBuiltIn(ports []plan.Port) []v1alpha1.AddressPrefix {
	allowed := []v1alpha1.AddressPrefix{benchmarking4, benchmarking6}
	for _, p := range ports {
		for _, a := range p.Addresses {
			if network := v1alpha1.AddressPrefix(a.Masked().String()); !Holds(allowed, a.Masked().Addr()) && !slices.Contains(allowed, network) {
				allowed = append(allowed, network)
			}
		}
	}
	return allowed
}

// bounds are the ends of a range as the API has them; last is 0 for one number.
type bounds struct{ First, Last int32 }

// intervals converts ranges of VLAN IDs or of MPLS labels; nil stays nil.
func intervals[R v1alpha1.VLANRange | v1alpha1.MPLSLabelRange](ranges []R) []interval {
	if ranges == nil {
		return nil
	}
	out := []interval{}
	for _, r := range ranges {
		b := bounds(r)
		out = append(out, interval{b.First, max(b.First, b.Last)})
	}
	return out
}

// within reports whether a number is in one of the intervals.
func within(intervals []interval, n int32) bool {
	return slices.ContainsFunc(intervals, func(i interval) bool { return i.first <= n && n <= i.last })
}

// Holds reports whether an address is in one of the prefixes. Malformed ones hold none.
func Holds(prefixes []v1alpha1.AddressPrefix, a netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(text v1alpha1.AddressPrefix) bool {
		p, err := netip.ParsePrefix(string(text))
		return err == nil && p.Contains(a)
	})
}

// holdsAll reports whether one of the prefixes has a whole range of addresses.
func holdsAll(prefixes []v1alpha1.AddressPrefix, first netip.Addr, count uint32) bool {
	return slices.ContainsFunc(prefixes, func(p v1alpha1.AddressPrefix) bool {
		only := []v1alpha1.AddressPrefix{p}
		return Holds(only, first) && Holds(only, traffic.Above(first, count-1))
	})
}

// describe lists intervals for a person: 100, 200 to 299.
func describe(intervals []interval) string {
	var parts []string
	for _, i := range intervals {
		if i.first == i.last {
			parts = append(parts, fmt.Sprint(i.first))
			continue
		}
		parts = append(parts, fmt.Sprintf("%d to %d", i.first, i.last))
	}
	return strings.Join(parts, ", ")
}

// asYAML is a list of intervals as YAML of a policy.
func asYAML(intervals []interval) string {
	var parts []string
	for _, i := range intervals {
		if i.first == i.last {
			parts = append(parts, fmt.Sprintf("{first: %d}", i.first))
			continue
		}
		parts = append(parts, fmt.Sprintf("{first: %d, last: %d}", i.first, i.last))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// listed joins prefixes, each as YAML can hold it in a list.
func listed(prefixes []v1alpha1.AddressPrefix) string {
	var parts []string
	for _, p := range prefixes {
		text := string(p)
		if strings.Contains(text, ":") {
			text = `"` + text + `"`
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

package doctor

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/preflight"
)

// needsWithout are the needs of a traffic pod with TRex when there is no bed: those of a
// bed without cpus.
func needsWithout(e Engine) corev1.ResourceList {
	bed := v1alpha1.TestBed{Spec: v1alpha1.TestBedSpec{
		Engine: v1alpha1.Engine{Kind: v1alpha1.EngineTRex, TRex: settingsOf(nil, e)}, Ports: []v1alpha1.Port{{Node: "any"}},
	}}
	return preflight.Needs(&bed)["any"]
}

// needs returns the resources that the traffic pod of a bed, or of any bed with the engine,
// requests from a node.
func needs(f Facts, n Node, e Engine) corev1.ResourceList {
	if f.Bed == nil {
		if e == XDP {
			return nil
		}
		return needsWithout(e)
	}
	return preflight.Needs(f.Bed)[n.Name]
}

// kindOf returns the kind of an engine in the API.
func kindOf(e Engine) v1alpha1.EngineKind {
	if e == XDP {
		return v1alpha1.EngineXDP
	}
	return v1alpha1.EngineTRex
}

// of returns the resources among needs that belong selects, by name.
func of(needs corev1.ResourceList, belongs func(corev1.ResourceName) bool) []corev1.ResourceName {
	names := slices.Sorted(maps.Keys(needs))
	return slices.DeleteFunc(names, func(name corev1.ResourceName) bool { return !belongs(name) })
}

func isHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// isDevice is true of a resource of a device plugin, whose name has a domain.
func isDevice(name corev1.ResourceName) bool { return strings.Contains(string(name), "/") }

// settingsOf returns the settings of a bed's TRex, or those of any bed with the mode.
func settingsOf(bed *v1alpha1.TestBed, e Engine) *v1alpha1.TRexEngine {
	if bed != nil && bed.Spec.Engine.Server() != nil {
		return bed.Spec.Engine.Server()
	}
	settings := v1alpha1.TRexEngine{}
	if e == TRexSoftware {
		settings.Software = &v1alpha1.TRexSoftware{}
	}
	return &settings
}

// claims reports whether a port asks for its interface by a resource claim.
func claims(p v1alpha1.Port) bool { return p.Attachment != nil && p.Attachment.ResourceClaim != nil }

// usesMultus reports whether Multus moves some interface into its pod. Without a bed it
// is true.
func usesMultus(bed *v1alpha1.TestBed) bool {
	return bed == nil || slices.ContainsFunc(bed.Spec.Ports, func(p v1alpha1.Port) bool { return p.Attachment != nil && !claims(p) })
}

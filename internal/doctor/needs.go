package doctor

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// What a TRex server has where its bed does not say: see TRexEngine.
const (
	trexCPUs           = 4
	trexSoftwareCPUs   = 2
	trexMemory         = "2Gi"
	trexSoftwareMemory = "1Gi"
)

// ports of a bed on a node.
func ports(bed *v1alpha1.TestBed, node string) []v1alpha1.Port {
	var there []v1alpha1.Port
	for _, p := range bed.Spec.Ports {
		if p.Node == node && p.Attachment != nil {
			there = append(there, p)
		}
	}
	return there
}

// demand is how many devices of a resource a bed asks of a node.
type demand struct {
	resource string
	devices  int64
}

// demands of a bed on a node, in the order of the resources' names.
func demands(bed *v1alpha1.TestBed, node string) []demand {
	counts := map[string]int64{}
	for _, p := range ports(bed, node) {
		if p.Attachment.SRIOV != nil {
			counts[p.Attachment.SRIOV.ResourceName]++
		}
	}
	var all []demand
	for name, n := range counts {
		all = append(all, demand{name, n})
	}
	slices.SortFunc(all, func(a, b demand) int { return cmp.Compare(a.resource, b.resource) })
	return all
}

// usesClaims and usesMultus say how a bed's interfaces get into pods. Without a bed
// every way is looked at.
func usesClaims(bed *v1alpha1.TestBed) bool {
	return bed == nil || slices.ContainsFunc(bed.Spec.Ports, func(p v1alpha1.Port) bool { return p.Attachment != nil && p.Attachment.ResourceClaim != nil })
}

func usesMultus(bed *v1alpha1.TestBed) bool {
	return bed == nil || slices.ContainsFunc(bed.Spec.Ports, func(p v1alpha1.Port) bool { return p.Attachment != nil && p.Attachment.ResourceClaim == nil })
}

// trexOf returns the settings of a bed's TRex, or those of a bed that says nothing.
func trexOf(bed *v1alpha1.TestBed) v1alpha1.TRexEngine {
	if bed == nil || bed.Spec.Engine.TRex == nil {
		return v1alpha1.TRexEngine{}
	}
	return *bed.Spec.Engine.TRex
}

func cpusOf(bed *v1alpha1.TestBed, e Engine) int64 {
	switch cpus := trexOf(bed).CPUs; {
	case cpus != nil:
		return int64(*cpus)
	case e == TRexSoftware:
		return trexSoftwareCPUs
	}
	return trexCPUs
}

func memoryOf(bed *v1alpha1.TestBed, e Engine) resource.Quantity {
	switch memory := trexOf(bed).Memory; {
	case memory != nil:
		return *memory
	case e == TRexSoftware:
		return resource.MustParse(trexSoftwareMemory)
	}
	return resource.MustParse(trexMemory)
}

func claims(p v1alpha1.Port) bool { return p.Attachment.ResourceClaim != nil }

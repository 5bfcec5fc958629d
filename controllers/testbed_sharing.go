package controllers

import (
	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/calibration"
)

// sharedInterface returns an interface that two beds share, as node/interface; empty if they
// share none. A bed and the one that calibrates it have the same ports, which only one
// benchmark can use at a time.
func sharedInterface(a, b *v1alpha1.TestBed) string {
	own := map[string]bool{}
	for _, name := range calibration.Interfaces(a) {
		own[name] = true
	}
	for _, name := range calibration.Interfaces(b) {
		if own[name] {
			return name
		}
	}
	return ""
}

// conflicting returns a leased bed that shares an interface with this one, and the interface;
// nil without one.
func conflicting(bed *v1alpha1.TestBed, conflicts []string, bedOf func(string) *v1alpha1.TestBed) (other *v1alpha1.TestBed, shared string) {
	for _, name := range conflicts {
		if other := bedOf(name); other != nil && other.Status.Lease != nil {
			return other, sharedInterface(bed, other)
		}
	}
	return nil, ""
}

package reservation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/selection"
	"nodrop.dev/nodrop/internal/manifests/preflight"
	"nodrop.dev/nodrop/internal/measure/calibration"
)

// claim returns the beds that a reservation can have.
func (l CalendarInput) claim(r *v1alpha1.Reservation) *Claim {
	claim := &Claim{}
	length := Length(&r.Spec)
	ns := l.Namespaces[r.Namespace]
	if ns == nil {
		ns = &corev1.Namespace{}
		ns.Name = r.Namespace
	}
	var problem string
	names := r.Spec.TestBedNames
	if r.Spec.TestBedSelector != nil {
		wanted := selection.Compile(r.Spec.TestBedSelector)
		for name, bed := range l.Beds {
			if wanted.Matches(labels.Set(bed.Labels)) {
				names = append(names, name)
			}
		}
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		bed := l.Beds[name]
		switch {
		case bed == nil:
			problem = "there is no TestBed " + name + ": kubectl get testbeds lists them"
		case r.Namespace == l.Namespace:
			claim.Beds = append(claim.Beds, name)
		default:
			if why := preflight.MayReserve(bed, ns, length); why == "" {
				claim.Beds = append(claim.Beds, name)
			} else if r.Spec.TestBedSelector == nil || len(claim.Beds) == 0 {
				problem = why
			}
		}
	}
	if r.Spec.TestBedSelector != nil && len(claim.Beds) > 0 {
		problem = "" // The others are not meant.
	}
	if len(names) == 0 {
		problem = "no TestBed has the labels of testBedSelector: see kubectl get testbeds --show-labels"
	}
	claim.Problem = problem
	return claim
}

// Sharing returns for each bed the names of those that share an interface or a device with it, sorted.
func Sharing(beds map[string]*v1alpha1.TestBed) map[string][]string {
	users := map[string][]string{}
	for name, bed := range beds {
		for _, i := range calibration.Exclusive(bed) {
			users[i] = append(users[i], name)
		}
	}
	shared := map[string][]string{}
	for name, bed := range beds {
		for _, i := range calibration.Exclusive(bed) {
			for _, other := range users[i] {
				if other != name && !slices.Contains(shared[name], other) {
					shared[name] = append(shared[name], other)
				}
			}
		}
		slices.Sort(shared[name])
	}
	return shared
}

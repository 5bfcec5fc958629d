package benchmarks

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
)

// maxSharedWith bounds status.sharedWith.
const maxSharedWith = 16

// noteSharing keeps which benchmarks have other port groups of the device while this one is
// measured, for people who judge the numbers later.
func noteSharing(ctx context.Context, cache client.Reader, s *kit.Scope) error {
	if s.Bed.Spec.PortGroup == nil {
		return nil
	}
	var beds v1alpha1.TestBedList
	if err := cache.List(ctx, &beds, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing test beds: %w", err)
	}
	for i := range beds.Items {
		other := &beds.Items[i]
		l := other.Status.Lease
		if other.Name == s.Bed.Name || l == nil || other.Spec.PortGroup == nil || other.Spec.PortGroup.Device != s.Bed.Spec.PortGroup.Device {
			continue
		}
		if len(s.Status.SharedWith) < maxSharedWith && !slices.Contains(s.Status.SharedWith, l.Holder) {
			s.Status.SharedWith = append(s.Status.SharedWith, l.Holder)
		}
	}
	return nil
}

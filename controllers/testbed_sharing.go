package controllers

import (
	"context"
	"fmt"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/calibration"
)

// inTheWay returns a bed that somebody has and that has an interface of this one,
// named as node/interface: a bed and the one that calibrates it have the same ports,
// which only one benchmark can have at a time. It returns nil when there is none.
func inTheWay(bed *v1alpha1.TestBed, beds []v1alpha1.TestBed) (other *v1alpha1.TestBed, shared string) {
	own := map[string]bool{}
	for _, name := range calibration.Interfaces(bed) {
		own[name] = true
	}
	for i := range beds {
		if beds[i].Name == bed.Name || beds[i].Status.Lease == nil {
			continue
		}
		for _, name := range calibration.Interfaces(&beds[i]) {
			if own[name] {
				return &beds[i], name
			}
		}
	}
	return nil, ""
}

// alone says whether nobody has an interface of the bed now. The caller holds
// r.leasing, so that no other look takes one in between.
func (r *benchmarkReconciler) alone(ctx context.Context, bed *v1alpha1.TestBed) (bool, error) {
	var beds v1alpha1.TestBedList
	if err := r.live.List(ctx, &beds); err != nil {
		return false, fmt.Errorf("listing test beds: %w", err)
	}
	other, _ := inTheWay(bed, beds.Items)
	return other == nil, nil
}

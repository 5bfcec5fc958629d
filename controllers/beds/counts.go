package beds

import (
	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
)

// countBed counts what ended in a bed whose benchmark is gone, once that is stored.
func (r *Reconciler) countBed(before, after *v1alpha1.TestBed) {
	switch {
	case !kit.IsQuarantined(before) && kit.IsQuarantined(after):
		r.Counts.CleanedUp(false)
		r.Counts.Quarantined(after.Name)
	case before.Status.Lease != nil && after.Status.Lease == nil:
		r.Counts.CleanedUp(true)
	}
}

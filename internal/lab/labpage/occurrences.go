package labpage

import (
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/reservation"
)

// maxPublished is the maximum number of reserved times in the status of a bed.
const maxPublished = 8

// addOccurrences adds the occurrences of recurring reservations that come after the reserved times in the status of
// beds, where that has as many as it can have. Reservations that the person may not see are in the status only.
func (v visible) addOccurrences(beds []bedView, in reservation.Span) {
	full := map[string]*bedView{}
	for i := range beds {
		if len(beds[i].Bed.Status.Reservations) >= maxPublished {
			full[beds[i].Bed.Name] = &beds[i]
		}
	}
	if len(full) == 0 {
		return
	}
	for i := range v.lab.reservations {
		r := &v.lab.reservations[i]
		if r.Spec.Recurrence == nil || !v.reservations.has(r.Namespace) || r.Status.Phase != v1alpha1.ReservationScheduled && r.Status.Phase != v1alpha1.ReservationActive ||
			!slices.ContainsFunc(r.Status.Beds, func(b v1alpha1.ReservedBed) bool { return full[b.Name] != nil }) {
			continue
		}
		times, err := reservation.Between(&r.Spec, in)
		if err != nil {
			continue // The condition Accepted of the reservation has the error.
		}
		who := v.reserver(r.Namespace + "/" + r.Name)
		for _, b := range r.Status.Beds {
			view := full[b.Name]
			if view == nil {
				continue
			}
			published := view.Bed.Status.Reservations
			last := published[len(published)-1].From.Time
			for _, t := range times {
				if t.From.After(last) {
					view.Reserved = append(view.Reserved, use{Who: who, From: t.From, Until: t.Until})
				}
			}
		}
	}
	for _, view := range full {
		slices.SortStableFunc(view.Reserved, func(a, b use) int { return a.From.Compare(b.From) })
	}
}

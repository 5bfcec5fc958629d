package reservation

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/selection"
	"nodrop.dev/nodrop/internal/manifests/team"
)

// HoldsNothing returns an error if a reservation has no bed at any of its times from now on, since
// earlier reservations have all of them; else nil.
func HoldsNothing(r *v1alpha1.Reservation, c Calendar, now time.Time) *field.Error {
	claim := c.Claims[KeyOf(r)]
	for _, bed := range claim.Beds {
		if current, next := c.Kept(KeyOf(r), bed, now); current != nil || next != nil {
			return nil
		}
	}
	from := r.Spec.From.UTC().Format(time.RFC3339)
	if len(claim.Lost) == 0 {
		return field.Invalid(field.NewPath("spec", "from"), from, fmt.Sprintf(
			"the reservation has no time within %d days from now on: give a later until or COUNT, or remove exceptions", int(2*Horizon/(24*time.Hour))))
	}
	return field.Invalid(field.NewPath("spec", "from"), from, fmt.Sprintf(
		"the reservation would hold no bed at any of its times: reservation %s; choose another time or bed, or ask its owners to release theirs", claim.Lost[0]))
}

// TooMany returns an error if the team of a new reservation, or one of its beds, has as many
// reservations as it may; else nil. The policy may be nil.
func TooMany(t team.Team, policy *v1alpha1.LabPolicy, r *v1alpha1.Reservation, l CalendarInput, c Calendar, own func(namespace string) bool, now time.Time) *field.Error {
	ofTeam := 0
	ofBed := map[string]int{}
	for _, other := range l.Reservations {
		if KeyOf(other) == KeyOf(r) || other.Namespace == l.Namespace || over(other, now) {
			continue
		}
		if own(other.Namespace) {
			ofTeam++
		}
		for _, bed := range c.Claims[KeyOf(other)].Beds {
			ofBed[bed]++
		}
	}
	if limit := int(cmp.Or(t.MaxReservations, v1alpha1.DefaultMaxReservations)); ofTeam >= limit {
		return field.Forbidden(field.NewPath("metadata", "namespace"), fmt.Sprintf(
			"team %s of namespace %s has %d reservations that have not ended, and may have %d: release some, reserve several beds or a recurring time by one, or ask the lab for a higher maxReservations (1 to 1000) in LabPolicy %s",
			t.Name, r.Namespace, ofTeam, limit, v1alpha1.LabPolicyName))
	}
	limit := v1alpha1.DefaultMaxReservationsPerBed
	if policy != nil {
		limit = int(cmp.Or(policy.Spec.MaxReservationsPerBed, v1alpha1.DefaultMaxReservationsPerBed))
	}
	for _, bed := range c.Claims[KeyOf(r)].Beds {
		if ofBed[bed] >= limit {
			path, value := BedsField(r)
			return field.Invalid(path, value, fmt.Sprintf(
				"bed %s has %d reservations that have not ended, and may have %d: choose another bed, or ask the lab for a higher maxReservationsPerBed (1 to 1000) in LabPolicy %s",
				bed, ofBed[bed], limit, v1alpha1.LabPolicyName))
		}
	}
	return nil
}

// over reports whether a reservation has ended, or is about to be gone.
func over(r *v1alpha1.Reservation, now time.Time) bool {
	return !r.DeletionTimestamp.IsZero() || r.Status.Phase == v1alpha1.ReservationEnded ||
		r.Spec.Recurrence == nil && !r.Spec.Until.After(now)
}

// BedsField returns the field that names the beds of a reservation, with its value.
func BedsField(r *v1alpha1.Reservation) (path *field.Path, value any) {
	if r.Spec.TestBedSelector != nil {
		return field.NewPath("spec", "testBedSelector"), selection.Format(r.Spec.TestBedSelector)
	}
	return field.NewPath("spec", "testBedNames"), slices.Clone(r.Spec.TestBedNames)
}

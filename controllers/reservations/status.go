package reservations

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/manifests/reservation"
)

// remindBefore is the time between the reminder of a reservation and its begin or end.
const remindBefore = 15 * time.Minute

// maxShownBeds bounds the beds in the status of a reservation.
const maxShownBeds = 64

// ShowReservation writes the status of a reservation, and returns the text of the event
// that is due; empty when none is. Status.LastReminder has its reason.
func ShowReservation(r *v1alpha1.Reservation, cal Bookings, now time.Time) (notice string) {
	claim := cal.Claims[reservation.KeyOf(r)]
	if claim == nil {
		claim = &reservation.Claim{}
	}
	s := &r.Status
	s.ObservedGeneration = r.Generation
	s.Beds = nil
	active := false
	for _, name := range claim.Beds[:min(len(claim.Beds), maxShownBeds)] {
		bed := reservedBedOf(r, name, cal, now)
		active = active || bed.Current != nil
		s.Beds = append(s.Beds, bed)
	}
	current, next := around(claim.Occurrences, now)
	switch {
	case current != nil:
		s.Occurrence = reservedTime(*current)
	case next != nil:
		s.Occurrence = reservedTime(*next)
	case r.Spec.Recurrence == nil:
		s.Occurrence = reservedTime(reservation.First(&r.Spec))
	}
	set := func(kind string, holds bool, reason, message string) {
		status := metav1.ConditionFalse
		if holds {
			status = metav1.ConditionTrue
		}
		kit.SetCondition(&s.Conditions, now, r.Generation, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message})
	}
	occupied := occupiedOf(s.Beds, cal)
	reason := v1alpha1.ReasonReservationScheduled
	switch {
	case len(claim.Beds) == 0:
		s.Phase, s.Message = v1alpha1.ReservationPending, claim.Problem
	case active:
		s.Phase, s.Message, reason = v1alpha1.ReservationActive, "has its beds until "+kit.Stamp(current.Until), v1alpha1.ReasonBegun
		if occupied != "" {
			s.Message, reason = occupied, v1alpha1.ReasonBedOccupied
		}
	case current != nil:
		s.Phase, s.Message = v1alpha1.ReservationScheduled, "an earlier reservation has its beds now, see the condition Conflict"
	case next != nil:
		s.Phase, s.Message = v1alpha1.ReservationScheduled, "begins at "+kit.Stamp(next.From)
	case ended(r, now):
		s.Phase, s.Message, reason = v1alpha1.ReservationEnded, "has ended: delete it", v1alpha1.ReasonOccurrencesEnded
	default:
		s.Phase, s.Message = v1alpha1.ReservationScheduled, "does not begin within 90 days"
	}
	if len(claim.Beds) == 0 {
		set(v1alpha1.ConditionAccepted, false, v1alpha1.ReasonNotAccepted, claim.Problem)
		set(v1alpha1.ConditionStalled, true, v1alpha1.ReasonNotAccepted, claim.Problem)
	} else {
		message := "the beds allow it"
		if claim.Problem != "" {
			message = "some of its beds are not reserved: " + claim.Problem
		}
		set(v1alpha1.ConditionAccepted, true, v1alpha1.ReasonAccepted, message)
		meta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionStalled)
	}
	set(v1alpha1.ConditionActive, active, reason, s.Message)
	if text := conflictOf(claim); text != "" {
		set(v1alpha1.ConditionConflict, true, v1alpha1.ReasonOverlap, text)
	} else {
		set(v1alpha1.ConditionConflict, false, v1alpha1.ReasonNoOverlap, "no earlier reservation has its beds at its times")
	}
	s.Message = kit.Bounded(s.Message)
	return remind(r, current, next, active, now)
}

// occupiedOf describes which benchmark still has a bed of the reservation; empty if none has.
func occupiedOf(beds []v1alpha1.ReservedBed, cal Bookings) string {
	for i := range beds {
		if beds[i].OccupiedBy == "" {
			continue
		}
		latest := ""
		if h := cal.holders[beds[i].Name]; !h.until.IsZero() {
			latest = " at " + kit.Stamp(h.until) + " at the latest"
		}
		return fmt.Sprintf("benchmark %s has had bed %s since before the reservation began, and is not stopped: it ends%s, and no other one gets the bed then",
			beds[i].OccupiedBy, beds[i].Name, latest)
	}
	return ""
}

// ended reports whether no occurrence is to come, also not after those that are known.
func ended(r *v1alpha1.Reservation, now time.Time) bool {
	if r.Spec.Recurrence == nil {
		return !now.Before(r.Spec.Until.Time)
	}
	const years = 10 * 365 * 24 * time.Hour
	more, err := reservation.Between(&r.Spec, reservation.Span{From: now, Until: now.Add(years)})
	return err == nil && len(more) == 0
}

// reservedBedOf returns the times for which a reservation has one bed.
func reservedBedOf(r *v1alpha1.Reservation, name string, cal Bookings, now time.Time) v1alpha1.ReservedBed {
	bed := v1alpha1.ReservedBed{Name: name}
	current, next := cal.Kept(reservation.KeyOf(r), name, now)
	if current != nil {
		bed.Current = reservedTime(*current)
		if h := cal.holders[name]; h != nil && h.reservation != reservation.KeyOf(r).String() {
			bed.OccupiedBy = h.name
		}
	}
	if next != nil {
		bed.Next = reservedTime(*next)
	}
	return bed
}

func reservedTime(s reservation.Span) *v1alpha1.ReservedTime {
	return &v1alpha1.ReservedTime{From: metav1.NewTime(s.From), Until: metav1.NewTime(s.Until)}
}

// around returns the occurrence in progress and the next one; each is nil if it does not
// exist.
func around(occurrences []reservation.Span, now time.Time) (current, next *reservation.Span) {
	for i := range occurrences {
		o := &occurrences[i]
		if o.Contains(now) {
			current = o
		} else if o.From.After(now) {
			return current, o
		}
	}
	return current, nil
}

// conflictOf describes what a reservation loses to others, and what to do; empty if it loses
// nothing.
func conflictOf(claim *reservation.Claim) string {
	if len(claim.Lost) == 0 {
		return ""
	}
	text := claim.Lost[0].String()
	if more := claim.LostTimes - 1; more > 0 {
		text += fmt.Sprintf(", and there are %d more such times within 90 days", more)
	}
	return "reservation " + text + "; it was created earlier: choose another time or bed, or ask its owners to release theirs"
}

// remind decides which event is due. One that was missed is not made later.
func remind(r *v1alpha1.Reservation, current, next *reservation.Span, active bool, now time.Time) (notice string) {
	last := r.Status.LastReminder
	var due v1alpha1.Reminder
	switch {
	case active && current.Until.Sub(now) <= remindBefore && current.Until.Sub(current.From) > 2*remindBefore:
		due = v1alpha1.Reminder{Reason: v1alpha1.ReasonEndsSoon, From: metav1.NewTime(current.From)}
		notice = "the reservation ends at " + kit.Stamp(current.Until) + ": kubectl nodrop extend " + r.Name + " -n " + r.Namespace + " makes it longer"
	case active:
		due = v1alpha1.Reminder{Reason: v1alpha1.ReasonBegun, From: metav1.NewTime(current.From)}
		notice = "the reservation has begun, and ends at " + kit.Stamp(current.Until)
	case last != nil && (last.Reason == v1alpha1.ReasonBegun || last.Reason == v1alpha1.ReasonEndsSoon):
		due = v1alpha1.Reminder{Reason: v1alpha1.ReasonOccurrencesEnded, From: last.From}
		notice = "the reservation has ended"
	case current == nil && next != nil && next.From.Sub(now) <= remindBefore:
		due = v1alpha1.Reminder{Reason: v1alpha1.ReasonBeginsSoon, From: metav1.NewTime(next.From)}
		notice = "the reservation begins at " + kit.Stamp(next.From)
	default:
		return ""
	}
	if last != nil && last.Reason == due.Reason && last.From.Equal(&due.From) {
		return ""
	}
	r.Status.LastReminder = &due
	return notice
}

package admission

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/reservation"
	"nodrop.dev/nodrop/internal/manifests/team"
	"nodrop.dev/nodrop/internal/manifests/team/labpolicy"
)

// Reservations judges reservations when they are created, and when their time changes.
type Reservations struct {
	// Live reads from the API server: beds and reservations are often applied within one
	// second.
	Live client.Reader
	// LabNamespace is the lab's own, whose reservations are maintenance windows.
	LabNamespace string
	// Now is the clock.
	Now func() time.Time

	// mu guards book: requests are served at the same time.
	mu   sync.Mutex
	book reservation.Book
}

var _ admission.Validator[*v1alpha1.Reservation] = (*Reservations)(nil)

// ValidateCreate refuses a reservation that can never hold, and warns of one that others
// overlap who came first.
func (v *Reservations) ValidateCreate(ctx context.Context, r *v1alpha1.Reservation) (admission.Warnings, error) {
	return v.judge(ctx, nil, r)
}

// ValidateUpdate refuses in addition to take time that others have reserved: a reservation
// that was created earlier would get it.
func (v *Reservations) ValidateUpdate(ctx context.Context, before, after *v1alpha1.Reservation) (admission.Warnings, error) {
	if !after.DeletionTimestamp.IsZero() || !addsTime(&before.Spec, &after.Spec) {
		return nil, nil
	}
	return v.judge(ctx, before, after)
}

// ValidateDelete lets everything pass.
func (v *Reservations) ValidateDelete(context.Context, *v1alpha1.Reservation) (admission.Warnings, error) {
	return nil, nil
}

// addsTime reports whether a change makes occurrences longer, or more of them.
func addsTime(before, after *v1alpha1.ReservationSpec) bool {
	if after.Until.After(before.Until.Time) {
		return true
	}
	if before.Recurrence == nil || after.Recurrence == nil {
		return (before.Recurrence == nil) != (after.Recurrence == nil)
	}
	return slices.ContainsFunc(before.Recurrence.Exceptions, func(t metav1.Time) bool {
		return !slices.ContainsFunc(after.Recurrence.Exceptions, func(o metav1.Time) bool { return o.Equal(&t) })
	})
}

func (v *Reservations) judge(ctx context.Context, before, r *v1alpha1.Reservation) (admission.Warnings, error) {
	now := v.Now()
	problems := reservation.Validate(r)
	if len(problems) == 0 {
		problems = inTime(before, r, now)
	}
	if len(problems) > 0 {
		return nil, invalidReservation(r, problems)
	}
	lab, err := v.lab(ctx, r)
	if err != nil {
		return nil, err
	}
	newest := r.DeepCopy()
	if before == nil {
		newest.CreationTimestamp = metav1.NewTime(now.Add(time.Second)) // After all others.
	}
	others := lab.Reservations
	lab.Reservations = append([]*v1alpha1.Reservation{newest}, others...)
	in := reservation.Span{From: now, Until: now.Add(2 * reservation.Horizon)}
	calendar := v.calendar(lab, in)
	claim := calendar.Claims[reservation.KeyOf(r)]
	if claim.Problem != "" {
		path, value := reservation.BedsField(r)
		return nil, invalidReservation(r, field.ErrorList{field.Invalid(path, value, claim.Problem)})
	}
	if before != nil {
		lab.Reservations = others
		if problems := takesFromOthers(v.calendar(lab, in).Of, before, newest, claim, in); len(problems) > 0 {
			return nil, invalidReservation(r, problems)
		}
	}
	warnings, problem, err := v.limits(ctx, before, lab, newest, calendar)
	switch {
	case err != nil:
		return nil, err
	case problem != nil:
		return nil, invalidReservation(r, field.ErrorList{problem})
	}
	for _, l := range claim.Lost {
		warnings = append(warnings, fmt.Sprintf("reservation %s, which was created earlier: this reservation does not have the bed then", l))
	}
	if more := claim.LostTimes - len(claim.Lost); more > 0 {
		warnings = append(warnings, fmt.Sprintf("there are %d more such times", more))
	}
	return warnings, nil
}

// calendar computes a calendar from what the last one has in common with it.
func (v *Reservations) calendar(lab reservation.CalendarInput, in reservation.Span) reservation.Calendar {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.book.Calendar(lab, in)
}

// limits judges a reservation by what its team, its beds and other teams have, and returns warnings
// about other teams that it affects. Of several reservations that are made at once, a few more can
// pass.
func (v *Reservations) limits(ctx context.Context, before *v1alpha1.Reservation, lab reservation.CalendarInput, r *v1alpha1.Reservation, c reservation.Calendar) (admission.Warnings, *field.Error, error) {
	policy, err := labpolicy.Read(ctx, v.Live)
	if err != nil {
		return nil, nil, err
	}
	if before == nil {
		if problem := reservation.HoldsNothing(r, c, v.Now()); problem != nil {
			return nil, problem, nil
		}
	}
	if r.Namespace == v.LabNamespace {
		return nil, nil, nil
	}
	teamOf := func(namespace string) team.Team { return team.OfName(policy, lab.Namespaces, namespace) }
	own := teamOf(r.Namespace)
	ofTeam := func(namespace string) bool { return namespace != v.LabNamespace && teamOf(namespace).Name == own.Name }
	if before == nil {
		if problem := reservation.TooMany(own, policy, r, lab, c, ofTeam, v.Now()); problem != nil {
			return nil, problem, nil
		}
	}
	if problem := reservation.Beyond(own, r, c, ofTeam); problem != nil {
		return nil, problem, nil
	}
	affects := reservation.NewShare(own, policy, lab, ofTeam, func(namespace string) string { return teamOf(namespace).Name })
	if problem := affects.Exceeded(r, c); problem != nil {
		return nil, problem, nil
	}
	return affects.Warnings(r, c), nil, nil
}

func invalidReservation(r *v1alpha1.Reservation, problems field.ErrorList) error {
	return apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("Reservation").GroupKind(), r.Name, problems)
}

// inTime judges the first occurrence by the clock.
func inTime(before, r *v1alpha1.Reservation, now time.Time) field.ErrorList {
	spec := field.NewPath("spec")
	first := reservation.First(&r.Spec)
	if latest := now.Add(reservation.Horizon); before == nil && first.From.After(latest) {
		return field.ErrorList{field.Invalid(spec.Child("from"), first.From.Format(time.RFC3339), fmt.Sprintf(
			"a reservation begins at most 90 days ahead, now at %s: apply it later", latest.UTC().Format(time.RFC3339)))}
	}
	if r.Spec.Recurrence == nil && !first.Until.After(now) {
		return field.ErrorList{field.Invalid(spec.Child("until"), first.Until.Format(time.RFC3339),
			"this is in the past: give a later time; kubectl nodrop release ends a reservation now")}
	}
	return nil
}

// lab reads what a calendar depends on, without the reservation that is judged.
func (v *Reservations) lab(ctx context.Context, r *v1alpha1.Reservation) (reservation.CalendarInput, error) {
	lab := reservation.CalendarInput{Beds: map[string]*v1alpha1.TestBed{}, Namespaces: map[string]*corev1.Namespace{}, Namespace: v.LabNamespace}
	var list v1alpha1.ReservationList
	if err := v.Live.List(ctx, &list); err != nil {
		return lab, fmt.Errorf("listing reservations: %w", err)
	}
	for i := range list.Items {
		if other := &list.Items[i]; reservation.KeyOf(other) != reservation.KeyOf(r) {
			lab.Reservations = append(lab.Reservations, other)
		}
	}
	var beds v1alpha1.TestBedList
	if err := v.Live.List(ctx, &beds); err != nil {
		return lab, fmt.Errorf("listing test beds: %w", err)
	}
	for i := range beds.Items {
		lab.Beds[beds.Items[i].Name] = &beds.Items[i]
	}
	var namespaces corev1.NamespaceList
	if err := v.Live.List(ctx, &namespaces); err != nil {
		return lab, fmt.Errorf("listing namespaces: %w", err)
	}
	for i := range namespaces.Items {
		lab.Namespaces[namespaces.Items[i].Name] = &namespaces.Items[i]
	}
	return lab, nil
}

// takesFromOthers compares the times that a change adds with those of other reservations.
func takesFromOthers(taken map[string][]reservation.Slice, before, after *v1alpha1.Reservation, claim *reservation.Claim, in reservation.Span) field.ErrorList {
	had, err := reservation.Between(&before.Spec, in)
	if err != nil {
		return nil
	}
	for _, o := range claim.Occurrences {
		for _, added := range reservation.Minus(o, had) {
			for _, bed := range claim.Beds {
				if there := reservation.Overlapping(taken[bed], added); len(there) > 0 {
					return field.ErrorList{field.Invalid(field.NewPath("spec", "until"), after.Spec.Until.Format(time.RFC3339), fmt.Sprintf(
						"reservation %s has bed %s %s: give a time before, or ask its owners to release it", there[0].Reservation, bed, there[0].Span))}
				}
			}
		}
	}
	return nil
}

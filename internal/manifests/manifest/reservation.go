package manifest

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
)

const kindReservation = "Reservation"

// Reservations checks the reservations that were given, beyond what their definition says.
func (s *Set) Reservations(check func(*v1alpha1.Reservation) field.ErrorList) error {
	var problems []Problem
	for _, d := range s.documents.given {
		if d.kind != kindReservation {
			continue
		}
		if err := d.override(s.overrides); err != nil {
			return err
		}
		r := &v1alpha1.Reservation{}
		if p := d.into(r); p != nil {
			problems = append(problems, p...)
			continue
		}
		problems = append(problems, d.invalid(check(r))...)
	}
	if problems != nil {
		return &InvalidError{Problems: problems}
	}
	return nil
}

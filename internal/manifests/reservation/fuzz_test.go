package reservation

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// FuzzRule holds a rule that is accepted to occurrences within the time that is asked for, and every
// rule to an answer.
func FuzzRule(f *testing.F) {
	for _, seed := range []string{"FREQ=DAILY", "FREQ=WEEKLY;BYDAY=MO,WE;COUNT=3", "FREQ=MONTHLY;BYMONTHDAY=-1", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=HOURLY", "FREQ=DAILY;UNTIL=20270101T000000Z", "FREQ=DAILY;INTERVAL=0", "FREQ=WEEKLY;BYSETPOS=400;BYDAY=MO"} {
		f.Add(seed, "UTC")
	}
	f.Add("FREQ=DAILY", "Europe/Berlin")
	from := time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, rule, zone string) {
		r := &v1alpha1.Reservation{Spec: v1alpha1.ReservationSpec{
			From: metav1.NewTime(from), Until: metav1.NewTime(from.Add(time.Hour)), Recurrence: &v1alpha1.Recurrence{Rule: rule, TimeZone: zone},
		}}
		if len(Validate(r)) > 0 {
			return
		}
		in := Span{From: from, Until: from.AddDate(1, 0, 0)}
		all, err := Between(&r.Spec, in)
		if err != nil {
			t.Errorf("%q is accepted: %v", rule, err)
		}
		for _, one := range all {
			if !one.Overlaps(in) {
				t.Errorf("%q has %v, which is not in %v", rule, one, in)
			}
		}
		if len(all) > 400 {
			t.Errorf("%q has %d occurrences in a year", rule, len(all))
		}
	})
}

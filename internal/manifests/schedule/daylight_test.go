package schedule

import (
	"slices"
	"testing"
)

func TestWarnings(t *testing.T) {
	now := at(t, "2026-11-23T12:00:00Z")
	const missing = "spec.schedule: on 2027-03-28 clocks in Europe/Berlin are set, and the firing of that day does not come: choose another hour, or timeZone UTC"
	const doubled = "spec.schedule: on 2027-10-31 clocks in Europe/Berlin are set, and the firing of that day comes twice: choose another hour, or timeZone UTC"
	for name, tc := range map[string]struct {
		expression, zone string
		want             []string
	}{
		"in the hour":             {"0 2 * * *", "Europe/Berlin", []string{missing, doubled}},
		"before it":               {"30 1 * * *", "Europe/Berlin", nil},
		"after it":                {"0 3 * * *", "Europe/Berlin", nil},
		"on other days":           {"0 2 * * 1-5", "Europe/Berlin", nil},
		"in UTC":                  {"0 2 * * *", "UTC", nil},
		"where clocks stay":       {"0 2 * * *", "Asia/Tokyo", nil},
		"every hour":              {"0 * * * *", "Europe/Berlin", nil},
		"at midnight, in Beirut":  {"0 0 * * *", "Asia/Beirut", []string{"spec.schedule: on 2027-03-28 clocks in Asia/Beirut are set, and the firing of that day does not come: choose another hour, or timeZone UTC"}},
		"what is refused already": {"0 2 * *", "Europe/Berlin", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := nightly()
			s.Spec.Schedule, s.Spec.TimeZone = tc.expression, tc.zone
			if got := Warnings(&s.Spec, now); !slices.Equal(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

package schedule

import (
	"fmt"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Warnings lists the days of the next year on which a clock change skips or repeats a firing
// of the schedule. It ignores schedules that fire several times on such a day: they lose or
// gain one of many.
func Warnings(spec *v1alpha1.BenchmarkScheduleSpec, now time.Time) []string {
	zone, err := Zone(spec.TimeZone)
	if err != nil {
		return nil
	}
	inZone, err := Parse(spec.Schedule, zone)
	if err != nil {
		return nil
	}
	onClocks, err := Parse(spec.Schedule, time.UTC)
	if err != nil {
		return nil
	}
	var all []string
	year, month, day := now.In(zone).Date()
	for n := range 366 {
		from, to := time.Date(year, month, day+n, 0, 0, 0, 0, zone), time.Date(year, month, day+n+1, 0, 0, 0, 0, zone)
		if to.Sub(from) == 24*time.Hour {
			continue
		}
		// What the clocks of a day of 24 hours would show.
		shown := time.Date(year, month, day+n, 0, 0, 0, 0, time.UTC)
		wanted := onClocks.Count(shown.Add(-time.Second), shown.AddDate(0, 0, 1), 2)
		comes := inZone.Count(from.Add(-time.Second), to, 3)
		switch {
		case wanted == 1 && comes == 0:
			all = append(all, daylight(spec, from, "does not come"))
		case wanted == 1 && comes == 2:
			all = append(all, daylight(spec, from, "comes twice"))
		}
	}
	return all
}

func daylight(spec *v1alpha1.BenchmarkScheduleSpec, day time.Time, what string) string {
	return fmt.Sprintf("spec.schedule: on %s clocks in %s are set, and the firing of that day %s: choose another hour, or timeZone UTC",
		day.Format(time.DateOnly), spec.TimeZone, what)
}

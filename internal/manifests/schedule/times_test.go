package schedule

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// at reads a time of a zone, such as 2027-03-28T01:30:00+01:00.
func at(t *testing.T, text string) time.Time {
	t.Helper()
	out, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func timesOf(t *testing.T, expression, zone string) *Times {
	t.Helper()
	z, err := Zone(zone)
	if err != nil {
		t.Fatal(err)
	}
	times, err := Parse(expression, z)
	if err != nil {
		t.Fatal(err)
	}
	return times
}

// TestDaylightSaving goes over the hours that a zone leaves out and has twice.
func TestDaylightSaving(t *testing.T) {
	for name, tc := range map[string]struct {
		expression, after string
		want              []string
	}{
		"before the missing hour": {"30 1 * * *", "2027-03-27T12:00:00Z",
			[]string{"2027-03-28T01:30:00+01:00", "2027-03-29T01:30:00+02:00"}},
		"in the missing hour": {"30 2 * * *", "2027-03-27T12:00:00Z",
			[]string{"2027-03-29T02:30:00+02:00"}},
		"every hour around the missing one": {"0 * * * *", "2027-03-28T00:30:00+01:00",
			[]string{"2027-03-28T01:00:00+01:00", "2027-03-28T03:00:00+02:00", "2027-03-28T04:00:00+02:00"}},
		"in the doubled hour": {"30 2 * * *", "2027-10-30T12:00:00Z",
			[]string{"2027-10-31T02:30:00+02:00", "2027-10-31T02:30:00+01:00", "2027-11-01T02:30:00+01:00"}},
		"every hour around the doubled one": {"0 * * * *", "2027-10-31T01:30:00+02:00",
			[]string{"2027-10-31T02:00:00+02:00", "2027-10-31T02:00:00+01:00", "2027-10-31T03:00:00+01:00"}},
	} {
		t.Run(name, func(t *testing.T) {
			times := timesOf(t, tc.expression, "Europe/Berlin")
			last := at(t, tc.after)
			names := map[string]bool{}
			for _, want := range tc.want {
				last = times.Next(last)
				if !last.Equal(at(t, want)) {
					t.Fatalf("the next time is %s, want %s", last, want)
				}
				names[FiringName(last)] = true
			}
			if len(names) != len(tc.want) {
				t.Errorf("%d firings have the names %v", len(tc.want), names)
			}
		})
	}
}

// TestLatest compares with walking over all times.
func TestLatest(t *testing.T) {
	start := at(t, "2026-02-10T11:59:30Z")
	for _, expression := range []string{"* * * * *", "*/7 3-5 * * 1", "0 2 * * *", "0 0 29 2 *", "@yearly", "59 23 31 12 *"} {
		times := timesOf(t, expression, "America/New_York")
		for _, length := range []time.Duration{0, time.Minute, 26 * time.Hour, 40 * 24 * time.Hour, 1000 * 24 * time.Hour} {
			until := start.Add(length)
			var want time.Time
			n := 0
			if expression != "* * * * *" || length < 100*24*time.Hour {
				for next := times.Next(start); !next.IsZero() && !next.After(until); next = times.Next(next) {
					want, n = next, n+1
				}
				if got := times.Latest(start, until); !got.Equal(want) {
					t.Errorf("%s in %s: %s, want %s", expression, length, got, want)
				}
				if got := times.Count(start, until.Add(time.Second), 50); got != min(n, 50) {
					t.Errorf("%s in %s: %d times, want %d", expression, length, got, min(n, 50))
				}
			}
		}
	}
}

func nightly(change ...func(*v1alpha1.BenchmarkSchedule)) *v1alpha1.BenchmarkSchedule {
	s := &v1alpha1.BenchmarkSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "nightly"}}
	s.Spec.Schedule, s.Spec.TimeZone = "0 2 * * *", "UTC"
	s.Spec.BenchmarkTemplate.Spec.TestBedName, s.Spec.BenchmarkTemplate.Spec.TrafficProfileName = "bed", "pairs"
	for _, c := range change {
		c(s)
	}
	return s
}

func timing(t *testing.T, s *v1alpha1.BenchmarkSchedule) *Timing {
	t.Helper()
	out, err := TimingOf(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func deadline(seconds int64) func(*v1alpha1.BenchmarkSchedule) {
	return func(s *v1alpha1.BenchmarkSchedule) { s.Spec.StartingDeadlineSeconds = &seconds }
}

func jitter(d time.Duration) func(*v1alpha1.BenchmarkSchedule) {
	return func(s *v1alpha1.BenchmarkSchedule) { s.Spec.Jitter = &metav1.Duration{Duration: d} }
}

func TestDue(t *testing.T) {
	for name, tc := range map[string]struct {
		change     []func(*v1alpha1.BenchmarkSchedule)
		after, now string
		want       string
		missed     int
		late       bool
	}{
		"not yet":                        {nil, "2026-11-23T02:00:00Z", "2026-11-24T01:59:59Z", "", 0, false},
		"on time":                        {nil, "2026-11-23T02:00:00Z", "2026-11-24T02:00:00Z", "2026-11-24T02:00:00Z", 0, false},
		"a day late without a deadline":  {nil, "2026-11-23T02:00:00Z", "2026-11-25T01:00:00Z", "2026-11-24T02:00:00Z", 0, false},
		"three nights away":              {nil, "2026-11-20T02:00:00Z", "2026-11-23T03:00:00Z", "2026-11-23T02:00:00Z", 2, false},
		"within the deadline":            {[]func(*v1alpha1.BenchmarkSchedule){deadline(3600)}, "2026-11-22T02:00:00Z", "2026-11-23T03:00:00Z", "2026-11-23T02:00:00Z", 0, false},
		"after the deadline":             {[]func(*v1alpha1.BenchmarkSchedule){deadline(3600)}, "2026-11-22T02:00:00Z", "2026-11-23T03:00:01Z", "2026-11-23T02:00:00Z", 0, true},
		"two years away":                 {nil, "2024-11-22T02:00:00Z", "2026-11-23T03:00:00Z", "2026-11-23T02:00:00Z", MaxMissed, false},
		"a clock that was set back":      {nil, "2026-11-23T02:00:00Z", "2026-11-22T02:30:00Z", "", 0, false},
		"the jitter of tonight is ahead": {[]func(*v1alpha1.BenchmarkSchedule){jitter(time.Hour)}, "2026-11-22T02:00:00Z", "2026-11-23T02:00:01Z", "", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := timing(t, nightly(tc.change...)).Due(at(t, tc.after), at(t, tc.now))
			if tc.want == "" {
				if !got.Firing.IsZero() {
					t.Fatalf("%+v is due", got)
				}
				return
			}
			if !got.Firing.Equal(at(t, tc.want)) || got.Missed != tc.missed || got.TooLate != tc.late {
				t.Errorf("%+v, want %s, %d missed, too late %v", got, tc.want, tc.missed, tc.late)
			}
		})
	}
}

// TestJitter spreads schedules, is the same each time, and keeps the order of firings.
func TestJitter(t *testing.T) {
	hourly := func(name string) *Timing {
		return timing(t, nightly(jitter(time.Hour), func(s *v1alpha1.BenchmarkSchedule) { s.Name, s.Spec.Schedule = name, "0 * * * *" }))
	}
	one, again, other := hourly("a"), hourly("a"), hourly("b")
	firing, last := at(t, "2026-11-23T00:00:00Z"), time.Time{}
	offsets := map[time.Duration]bool{}
	same := 0
	for range 100 {
		at := one.At(firing)
		if late := at.Sub(firing); late < 0 || late >= time.Hour {
			t.Fatalf("%s late", late)
		}
		if !at.Equal(again.At(firing)) || !at.After(last) {
			t.Fatalf("firing %s is due at %s and %s, the one before at %s", firing, at, again.At(firing), last)
		}
		if at.Equal(other.At(firing)) {
			same++
		}
		offsets[at.Sub(firing)], last, firing = true, at, firing.Add(time.Hour)
		next, due := one.Next(firing.Add(-time.Hour), last)
		if !next.Equal(firing) || !due.Equal(one.At(firing)) {
			t.Fatalf("after %s comes %s at %s, want %s", last, next, due, firing)
		}
	}
	if len(offsets) < 90 || same > 5 {
		t.Errorf("%d different times of 100, %d of them those of another schedule", len(offsets), same)
	}
}

// TestNextAfterALongTime begins at now and not at the last firing.
func TestNextAfterALongTime(t *testing.T) {
	s := timing(t, nightly(jitter(30*time.Minute)))
	firing, due := s.Next(at(t, "2020-01-01T02:00:00Z"), at(t, "2026-11-23T12:00:00Z"))
	if !firing.Equal(at(t, "2026-11-24T02:00:00Z")) || !due.Equal(s.At(firing)) {
		t.Errorf("%s, due at %s", firing, due)
	}
}

func TestValidateTiming(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.BenchmarkScheduleSpec)
		want   []string
	}{
		"as a CronJob":             {func(s *v1alpha1.BenchmarkScheduleSpec) { s.Schedule = "*/5 8-18 * JAN-NOV MON,WED" }, nil},
		"a word":                   {func(s *v1alpha1.BenchmarkScheduleSpec) { s.Schedule = "@daily" }, nil},
		"four fields":              {func(s *v1alpha1.BenchmarkScheduleSpec) { s.Schedule = "0 2 * *" }, []string{"spec.schedule", `"0 2 * *"`, "expected exactly 5 fields", "such as 0 2 * * *"}},
		"hour 25":                  {func(s *v1alpha1.BenchmarkScheduleSpec) { s.Schedule = "0 25 * * *" }, []string{"spec.schedule", `its hour "25" cannot be read: give 0 to 23`}},
		"a day by its whole name":  {func(s *v1alpha1.BenchmarkScheduleSpec) { s.Schedule = "0 2 * * MONDAY" }, []string{"spec.schedule", `its day of the week "MONDAY" cannot be read: give 0 (Sunday) to 6, or SUN to SAT`}},
		"a zone in the expression": {func(s *v1alpha1.BenchmarkScheduleSpec) { s.Schedule = "TZ=Europe/Berlin 0 2 * * *" }, []string{"spec.schedule", "give it in timeZone"}},
		"half a zone":              {func(s *v1alpha1.BenchmarkScheduleSpec) { s.Schedule = "CRON_TZ=0" }, []string{"spec.schedule", "give it in timeZone"}},
		"every five minutes":       {func(s *v1alpha1.BenchmarkScheduleSpec) { s.Schedule = "@every 5m" }, []string{"spec.schedule", "not by the clock"}},
		"a day that never comes":   {func(s *v1alpha1.BenchmarkScheduleSpec) { s.Schedule = "0 2 30 2 *" }, []string{"spec.schedule", "no day has this date"}},
		"no such zone":             {func(s *v1alpha1.BenchmarkScheduleSpec) { s.TimeZone = "Europe/Bärlin" }, []string{"spec.timeZone", "Europe/Bärlin", "such as UTC, Europe/Berlin"}},
		"a file that is no zone":   {func(s *v1alpha1.BenchmarkScheduleSpec) { s.TimeZone = "../../etc/passwd" }, []string{"spec.timeZone", "no such time zone"}},
		"the zone of the machine":  {func(s *v1alpha1.BenchmarkScheduleSpec) { s.TimeZone = "local" }, []string{"spec.timeZone", "not known"}},
		"jitter of a night":        {func(s *v1alpha1.BenchmarkScheduleSpec) { s.Jitter = &metav1.Duration{Duration: 23 * time.Hour} }, nil},
		"jitter beyond the firings": {func(s *v1alpha1.BenchmarkScheduleSpec) {
			s.Schedule, s.Jitter = "*/5 * * * *", &metav1.Duration{Duration: time.Hour}
		}, []string{"spec.jitter", `"1h"`, "firings are 5m apart at times"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := nightly()
			tc.change(&s.Spec)
			problems := ValidateTiming(&s.Spec)
			if len(tc.want) == 0 && len(problems) > 0 {
				t.Fatal(problems)
			}
			for _, want := range tc.want {
				if len(problems) != 1 || !strings.Contains(problems[0].Error(), want) {
					t.Errorf("%v lacks %q", problems, want)
				}
			}
		})
	}
}

// TestFiringTime reads the names of firings.
func TestFiringTime(t *testing.T) {
	moment := at(t, "2026-11-23T02:00:17+01:00")
	for name, want := range map[string]string{FiringName(moment): "2026-11-23T01:00:00Z", HandName(moment): "2026-11-23T01:00:17Z"} {
		if got, ok := FiringTime(name); !ok || !got.Equal(at(t, want)) {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if _, ok := FiringTime("last"); ok {
		t.Error("any text is a time")
	}
	if slices.Contains([]string{FiringName(moment)}, HandName(moment)) {
		t.Error("a firing by hand has the name of one by the schedule")
	}
}

package reservation

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/manifests/team"
)

// Week is the time in which the reservations of a team are limited.
const Week = 7 * 24 * time.Hour

// Beyond reports whether the reservations of a team have beds for longer within a week than it may,
// in a week in which one of them, r, has some; nil when they do not, or where the team has no
// limit. Own are the namespaces of the team.
func Beyond(t team.Team, r *v1alpha1.Reservation, c Calendar, own func(namespace string) bool) *field.Error {
	limit := time.Duration(t.MaxReservedBedHoursPerWeek) * time.Hour
	if limit == 0 {
		return nil
	}
	var all, added []Span
	for _, booked := range c.Of {
		for _, s := range booked {
			if s.Via != "" || !own(s.Reservation.Namespace) {
				continue
			}
			all = append(all, s.Span)
			if s.Reservation == KeyOf(r) {
				added = append(added, s.Span)
			}
		}
	}
	from, most := fullestWeek(all, added)
	if most <= limit {
		return nil
	}
	return field.Invalid(field.NewPath("spec", "until"), r.Spec.Until.UTC().Format(time.RFC3339), fmt.Sprintf(
		"team %s would have beds reserved for %s within 168h from %s on, and may for %s: give an earlier until or fewer beds, release another reservation, or ask the lab for a higher maxReservedBedHoursPerWeek in LabPolicy %s",
		t.Name, human.Duration(most), from.UTC().Format(time.RFC3339), human.Duration(limit), v1alpha1.LabPolicyName))
}

// fullestWeek returns the week with the most bed time among those that touch an added span. The
// time changes steadily while the week moves, and is highest where the week begins as a span
// does, ends as one does, or only just touches an added one.
func fullestWeek(all, added []Span) (from time.Time, most time.Duration) {
	whole := newUsage(all)
	merged := union(added)
	consider := func(t time.Time) {
		end := t.Add(Week)
		touched := func() bool {
			i := sort.Search(len(merged), func(i int) bool { return !merged[i].Until.Before(t) })
			return i < len(merged) && !merged[i].From.After(end)
		}
		if used := whole.until(end) - whole.until(t); used > most && touched() {
			from, most = t, used
		}
	}
	for _, s := range all {
		consider(s.From)
		consider(s.Until.Add(-Week))
	}
	for _, s := range added {
		consider(s.Until)
		consider(s.From.Add(-Week))
	}
	return from, most
}

// union returns the time that is in any of some spans, in order and without overlaps.
func union(spans []Span) []Span {
	sorted := slices.SortedFunc(slices.Values(spans), func(a, b Span) int { return a.From.Compare(b.From) })
	var all []Span
	for _, s := range sorted {
		if last := len(all) - 1; last >= 0 && !s.From.After(all[last].Until) {
			all[last].Until = later(all[last].Until, s.Until)
			continue
		}
		all = append(all, s)
	}
	return all
}

// usage adds up spans of time.
type usage struct {
	begins, ends []time.Time
	// begun and ended are the sums of the first begins and ends, as offsets from origin.
	begun, ended []time.Duration
	origin       time.Time
}

func newUsage(spans []Span) usage {
	var u usage
	for _, s := range spans {
		u.begins, u.ends = append(u.begins, s.From), append(u.ends, s.Until)
	}
	slices.SortFunc(u.begins, time.Time.Compare)
	slices.SortFunc(u.ends, time.Time.Compare)
	if len(u.begins) > 0 {
		u.origin = u.begins[0]
	}
	sums := func(times []time.Time) []time.Duration {
		sum := make([]time.Duration, len(times)+1)
		for i, t := range times {
			sum[i+1] = sum[i] + t.Sub(u.origin)
		}
		return sum
	}
	u.begun, u.ended = sums(u.begins), sums(u.ends)
	return u
}

// until is the time of all spans before an instant: each counts from its begin to the instant,
// less from its end to the instant.
func (u usage) until(t time.Time) time.Duration {
	at := t.Sub(u.origin)
	count := func(times []time.Time, sums []time.Duration) time.Duration {
		n := sort.Search(len(times), func(i int) bool { return !times[i].Before(t) })
		return time.Duration(n)*at - sums[n]
	}
	return count(u.begins, u.begun) - count(u.ends, u.ended)
}

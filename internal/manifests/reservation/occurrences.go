package reservation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // The image of the operator has no zones of its own.

	"github.com/teambition/rrule-go"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Horizon is the maximum time ahead at which a reservation may begin, and for which
// occurrences are known. It is longer than the longest time for which a benchmark may hold a
// bed.
const Horizon = 90 * 24 * time.Hour

// Span is the time from From until Until, which does not belong to it.
type Span struct{ From, Until time.Time }

// Overlaps reports whether two spans have an instant in common.
func (s Span) Overlaps(o Span) bool { return s.From.Before(o.Until) && o.From.Before(s.Until) }

// Contains reports whether an instant belongs to the span.
func (s Span) Contains(t time.Time) bool { return !t.Before(s.From) && t.Before(s.Until) }

// String returns both ends in UTC, in the form of RFC 3339.
func (s Span) String() string {
	return "from " + s.From.UTC().Format(time.RFC3339) + " until " + s.Until.UTC().Format(time.RFC3339)
}

// First is the first occurrence of a reservation, and the only one of most. Its ends are
// whole seconds, as the API server stores them.
func First(spec *v1alpha1.ReservationSpec) Span {
	return Span{From: spec.From.Truncate(time.Second), Until: spec.Until.Truncate(time.Second)}
}

// Length of an occurrence.
func Length(spec *v1alpha1.ReservationSpec) time.Duration {
	first := First(spec)
	return first.Until.Sub(first.From)
}

// Between returns the occurrences of a reservation that overlap a span, in their order. It
// fails where the rule or the time zone cannot be read.
func Between(spec *v1alpha1.ReservationSpec, in Span) ([]Span, error) {
	first := First(spec)
	if !first.From.Before(first.Until) {
		return nil, errors.New("until is not after from")
	}
	if spec.Recurrence == nil {
		if first.Overlaps(in) {
			return []Span{first}, nil
		}
		return nil, nil
	}
	rule, err := ruleOf(spec)
	if err != nil {
		return nil, err
	}
	length := Length(spec)
	var all []Span
	for _, from := range rule.Between(in.From.Add(-length), in.Until, true) {
		o := Span{From: from.UTC(), Until: from.Add(length).UTC()}
		if o.Overlaps(in) && !excepted(spec.Recurrence, from) {
			all = append(all, o)
		}
	}
	return all, nil
}

func excepted(r *v1alpha1.Recurrence, from time.Time) bool {
	for i := range r.Exceptions {
		if r.Exceptions[i].Time.Equal(from) {
			return true
		}
	}
	return false
}

// parts of a rule that count days. Others would count hours and less, of which there could
// be too many.
var parts = []string{"FREQ", "INTERVAL", "COUNT", "UNTIL", "BYDAY", "BYMONTHDAY", "BYMONTH", "BYSETPOS", "WKST"}

// ruleOf reads the rule of a reservation that recurs.
func ruleOf(spec *v1alpha1.ReservationSpec) (*rrule.RRule, error) {
	r := spec.Recurrence
	zone, err := zoneOf(r)
	if err != nil {
		return nil, err
	}
	given := map[string]bool{}
	for part := range strings.SplitSeq(r.Rule, ";") {
		name, _, _ := strings.Cut(part, "=")
		if !slices.Contains(parts, name) {
			return nil, ruleError(r.Rule, fmt.Sprintf("has the part %q: the parts are %s", name, strings.Join(parts, ", ")))
		}
		if given[name] {
			return nil, ruleError(r.Rule, "has "+name+" more than once: give it once")
		}
		given[name] = true
	}
	if given["COUNT"] && given["UNTIL"] {
		return nil, ruleError(r.Rule, "has COUNT and UNTIL: give one of them")
	}
	option, err := rrule.StrToROptionInLocation(r.Rule, zone)
	if err != nil {
		return nil, ruleError(r.Rule, fmt.Sprintf("cannot be read (%v): write such as FREQ=WEEKLY;BYDAY=MO,WE", err))
	}
	switch {
	case option.Freq > rrule.DAILY:
		return nil, ruleError(r.Rule, "repeats more often than daily: give FREQ DAILY, WEEKLY, MONTHLY or YEARLY")
	case option.Interval < 0 || option.Count < 0:
		return nil, ruleError(r.Rule, "has a negative number: give INTERVAL and COUNT from 1")
	}
	option.Dtstart = First(spec).From.In(zone)
	rule, err := rrule.NewRRule(*option)
	if err != nil {
		return nil, ruleError(r.Rule, fmt.Sprintf("cannot be read (%v)", err))
	}
	return rule, nil
}

func ruleError(rule, what string) error { return fmt.Errorf("rule %q %s", rule, what) }

// zoneOf is the time zone of a rule.
func zoneOf(r *v1alpha1.Recurrence) (*time.Location, error) {
	name := r.TimeZone
	if name == "" {
		name = "UTC"
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, fmt.Errorf("time zone %q is not known: give a name of the IANA database, such as Europe/Berlin or UTC", name)
	}
	return zone, nil
}

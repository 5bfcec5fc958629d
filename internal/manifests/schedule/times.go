package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // The image of the operator has no zones.

	"github.com/robfig/cron/v3"
)

// Times are the times of a cron expression in a time zone.
type Times struct {
	cron cron.Schedule
	zone *time.Location
}

const example = "give minute, hour, day of the month, month and day of the week, such as 0 2 * * * for 2:00 every night"

// reference is the begin of the search for a first time, which checks that the expression has
// one.
var reference = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Parse reads a cron expression of five fields, or one of the words @hourly to @yearly. It
// refuses what a CronJob takes and what depends on more than the clock: a zone in the
// expression, and @every.
func Parse(expression string, zone *time.Location) (*Times, error) {
	upper := strings.ToUpper(expression)
	switch {
	case strings.Contains(upper, "TZ="):
		return nil, errors.New("a time zone is no part of the expression: give it in timeZone, and " + example)
	case strings.HasPrefix(upper, "@EVERY"):
		return nil, errors.New("@every counts from the last firing and not by the clock: " + example)
	}
	parsed, err := cron.ParseStandard(expression)
	if err != nil {
		if wrong := wrongPart(expression); wrong != "" {
			return nil, errors.New(wrong)
		}
		return nil, fmt.Errorf("it is not a cron expression: %w: %s", err, example)
	}
	t := &Times{parsed, zone}
	if t.Next(reference).IsZero() {
		return nil, errors.New("no day has this date: " + example)
	}
	return t, nil
}

// parts are the fields of a cron expression, with the values that they allow.
var parts = []struct{ name, allowed string }{
	{"minute", "0 to 59"}, {"hour", "0 to 23"}, {"day of the month", "1 to 31"}, {"month", "1 to 12, or JAN to DEC"}, {"day of the week", "0 (Sunday) to 6, or SUN to SAT"},
}

// wrongPart describes the first field of a cron expression that cannot be read; empty if the expression
// has not five fields.
func wrongPart(expression string) string {
	fields := strings.Fields(expression)
	if len(fields) != len(parts) {
		return ""
	}
	for i, part := range parts {
		alone := []string{"*", "*", "*", "*", "*"}
		alone[i] = fields[i]
		if _, err := cron.ParseStandard(strings.Join(alone, " ")); err != nil {
			return fmt.Sprintf("its %s %q cannot be read: give %s, a range such as 1-5, a list such as 1,3, or a step such as */2", part.name, fields[i], part.allowed)
		}
	}
	return ""
}

// Zone finds a time zone by its name in the IANA database. It refuses Local, which is that of
// the machine that asks.
func Zone(name string) (*time.Location, error) {
	const examples = "give a name of the IANA database, such as UTC, Europe/Berlin or America/New_York"
	if strings.EqualFold(name, "Local") {
		return nil, errors.New("the zone of the operator's machine is not known where the schedule is read: " + examples)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, errors.New("there is no such time zone: " + examples)
	}
	return zone, nil
}

// Next is the first time after another one; zero when there is none within five years.
func (t *Times) Next(after time.Time) time.Time {
	next := t.cron.Next(after.In(t.zone))
	if next.IsZero() {
		return next
	}
	return next.UTC()
}

// Latest is the last time after one and up to another; zero when there is none. It looks
// back in steps that double, so that it costs as much for a year as for a minute.
func (t *Times) Latest(after, until time.Time) time.Time {
	for window := time.Minute; ; window *= 2 {
		from := until.Add(-window)
		whole := !from.After(after)
		if whole {
			from = after
		}
		var latest time.Time
		for next := t.Next(from); !next.IsZero() && !next.After(until); next = t.Next(next) {
			latest = next
		}
		if whole || !latest.IsZero() {
			return latest
		}
	}
}

// Count counts the times after one and before another, up to a limit.
func (t *Times) Count(after, before time.Time, limit int) int {
	n := 0
	for next := t.Next(after); n < limit && !next.IsZero() && next.Before(before); next = t.Next(next) {
		n++
	}
	return n
}

// Shortest is the shortest time between two of the next firings.
func (t *Times) Shortest(after time.Time) time.Duration {
	const looked = 100
	shortest := time.Duration(0)
	last := t.Next(after)
	for range looked {
		next := t.Next(last)
		if next.IsZero() {
			break
		}
		if gap := next.Sub(last); shortest == 0 || gap < shortest {
			shortest = gap
		}
		last = next
	}
	return shortest
}

package benchmarks

import (
	"fmt"
	"time"

	"nodrop.dev/nodrop/internal/base/pki"
)

// expiredError means that the certificates of a run have expired before its measurement began.
type expiredError struct{ until time.Time }

func (e *expiredError) Error() string { return expiredText(e.until) }

// hasPassed reports whether certificates that are valid until a time have expired.
func hasPassed(until, now time.Time) bool { return !until.IsZero() && !now.Before(until) }

// expiredText describes that the certificates of a run have expired. That happens only if no operator
// ran for long: otherwise the deadline of the benchmark ends the run earlier.
func expiredText(until time.Time) string {
	return fmt.Sprintf("the certificates of the run were valid until %s: the operator was away for more than %d days in the meantime; apply the benchmark again",
		until.UTC().Format(time.RFC3339), pki.MarginDays)
}

package schedule

import (
	"strings"
	"testing"
	"time"
)

// FuzzParse holds an expression that is accepted to having a next time.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"0 2 * * *", "*/5 8-18 * JAN-NOV MON,WED", "@daily", "@every 5m", "TZ=UTC 0 2 * * *", "0 2 30 2 *", "0 2 * * MONDAY", "*/0 * * * *", "59-0 * * * *"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		times, err := Parse(expression, time.UTC)
		if err != nil {
			if strings.Contains(err.Error(), "strconv") {
				t.Errorf("%q: %v", expression, err)
			}
			return
		}
		first := times.Next(reference)
		if first.IsZero() || !first.After(reference) {
			t.Errorf("%q is first due at %v", expression, first)
		}
	})
}

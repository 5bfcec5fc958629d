package human

import (
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": 0, "10s": 10 * time.Second, "10m": 10 * time.Minute, "10m30s": 630 * time.Second, "1h": time.Hour,
		"36h": 36 * time.Hour, "1h30m": 90 * time.Minute, "1h0m10s": 3610 * time.Second, "20h20m": 20*time.Hour + 20*time.Minute, "1.5ms": 1500 * time.Microsecond,
	} {
		if got := Duration(d); got != want {
			t.Errorf("%d ns: %s, want %s", d, got, want)
		}
	}
}

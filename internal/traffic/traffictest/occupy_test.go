package traffictest

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/processors"
)

// Occupy uses a processor while the test runs, and no longer.
func TestOccupy(t *testing.T) {
	usable, err := processors.Usable()
	if err != nil {
		t.Fatal(err)
	}
	used := func() time.Duration {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano())
	}
	t.Run("busy", func(t *testing.T) {
		Occupy(t, usable[len(usable)-1])
		const enough = 50 * time.Millisecond
		for begin, before := time.Now(), used(); used()-before < enough; time.Sleep(time.Millisecond) {
			if time.Since(begin) > time.Minute {
				t.Fatalf("the processor was used for %v, want %v", used()-before, enough)
			}
		}
	})
	before := used()
	time.Sleep(200 * time.Millisecond)
	if more := used() - before; more > 100*time.Millisecond {
		t.Errorf("the processor was used for %v after the test", more)
	}
}

package runner

import (
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/method"
)

// A reader of the progress is not left to wonder why a trial comes twice.
func TestARepeatedTrialSaysSo(t *testing.T) {
	e := method.Event{LoadPPM: 500_000, Duration: time.Second}
	if text := describe(e); strings.Contains(text, "repeated") {
		t.Errorf("the first says %q", text)
	}
	e.Repeats = "a link of the tester was disturbed"
	if text := describe(e); !strings.HasSuffix(text, "50% for 1s, repeated: a link of the tester was disturbed") {
		t.Errorf("the second says %q", text)
	}
}

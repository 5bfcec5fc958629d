package runner

import (
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/search"
)

// A reader of the progress is not left to wonder why a trial comes twice.
func TestARepeatedTrialSaysSo(t *testing.T) {
	e := trials.Event{LoadPPM: 500_000, Duration: time.Second}
	if text := new(progress).describe(e); strings.Contains(text, "repeated") {
		t.Errorf("the first says %q", text)
	}
	e.Repeats = "a link of the tester was disturbed"
	if text := new(progress).describe(e); !strings.HasSuffix(text, "50% for 1s, repeated: a link of the tester was disturbed") {
		t.Errorf("the second says %q", text)
	}
}

// Where a trial offered less than intended, its load says so.
func TestTheOfferedLoadOfAFinishedTrialIsSaid(t *testing.T) {
	t.Parallel()
	var p progress
	e := trials.Event{LoadPPM: 750_000, Duration: time.Second, Finished: &trials.Trial{Sending: trials.Sending{Intended: 10_000, Sent: 9_500}}}
	p.event(e, time.Time{})
	e.LoadPPM, e.Finished = 500_000, &trials.Trial{Sending: trials.Sending{Intended: 10_000, Sent: 9_995}}
	p.event(e, time.Time{})
	e.LoadPPM, e.Finished, e.Bracket = 625_000, nil, search.Bracket{PassedPPM: 500_000, FailedPPM: 750_000}
	if text, want := p.describe(e), "62.5% for 1s (50% passed, 75% (71.25% offered) did not)"; !strings.HasSuffix(text, want) {
		t.Errorf("%q, want %q at its end", text, want)
	}
}

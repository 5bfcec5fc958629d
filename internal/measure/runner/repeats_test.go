package runner

import (
	"slices"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/search"
	"nodrop.dev/nodrop/internal/traffic"
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

// The progress has loads and verdicts of the row in hand, and the rates of the trial in hand where they are sampled.
func TestTrialsOfTheRowInHand(t *testing.T) {
	t.Parallel()
	var p progress
	step := plan.Step{Test: v1alpha1.Test{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{}}, Size: plan.Size{Bytes: 64}}
	finish := func(ppm int64, sent, received uint64) {
		trial := &trials.Trial{Sending: trials.Sending{Intended: 10_000, Sent: sent, Duration: 2 * time.Second, TxTime: 2 * time.Second}, Counts: trials.Counts{Expected: sent, Received: received, Lost: sent - received}}
		p.event(trials.Event{Step: step, LoadPPM: ppm, Duration: 2 * time.Second, Finished: trial}, time.Time{})
	}
	finish(1_000_000, 10_000, 9_000)
	earlier := p.report(time.Time{})
	finish(500_000, 10_000, 10_000)
	want := []v1alpha1.ProgressTrial{{LoadPPM: 1_000_000, Verdict: v1alpha1.TrialFailed}, {LoadPPM: 500_000, Verdict: v1alpha1.TrialPassed}}
	now := p.report(time.Time{})
	if !slices.Equal(now.RowTrials, want) || !slices.Equal(earlier.RowTrials, want[:1]) {
		t.Errorf("trials %v, and before the second %v, want %v", now.RowTrials, earlier.RowTrials, want)
	}
	if *now.Rates != (v1alpha1.ProgressRates{SentFramesPerSecond: 5000, ReceivedFramesPerSecond: 5000}) || earlier.Rates.ReceivedFramesPerSecond != 4500 {
		t.Errorf("rates %+v, and before %+v", now.Rates, earlier.Rates)
	}
	p.interval(trials.Interval{Length: 500 * time.Millisecond, Ports: []trials.PortInterval{{Tx: traffic.TxSample{Sent: 400}}, {Rx: traffic.RxSample{Received: 300}}}})
	if got := p.report(time.Time{}).Rates; *got != (v1alpha1.ProgressRates{SentFramesPerSecond: 800, ReceivedFramesPerSecond: 600, InHand: true}) {
		t.Errorf("rates in hand %+v", got)
	}
	for range 2 * v1alpha1.MaxRowTrials {
		finish(250_000, 10_000, 10_000)
	}
	if n := len(p.report(time.Time{}).RowTrials); n != v1alpha1.MaxRowTrials {
		t.Errorf("%d trials are kept", n)
	}
	step.Size.Bytes = 128
	p.event(trials.Event{Step: step, LoadPPM: 500_000, Duration: time.Second}, time.Time{})
	if n := len(p.report(time.Time{}).RowTrials); n != 0 {
		t.Errorf("%d trials of the row before are kept", n)
	}
}

package result

import (
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
	"nodrop.dev/nodrop/internal/traffic"
)

// What came back and does not count as received is in the row by kind, where the
// engine checks it.
func TestRowCountsWhatIsNotReceived(t *testing.T) {
	trial := &trials.Trial{
		Sending: trials.Sending{Intended: 10, Sent: 10},
		Counts:  trials.Counts{Received: 3, Lost: 7, Late: 1, Damaged: traffic.Damage{Truncated: 2, Corrupted: 3, Fragmented: 1}},
		Notes:   []traffic.Note{{Kind: traffic.NoteDamaged, Text: "6 frames came back damaged"}, {Kind: traffic.NoteLate, Text: "1 frame was late"}, {Kind: traffic.NoteFallback, Text: "by a packet socket"}},
	}
	in := Input{Bed: objects.TestBed(""), Outcome: trials.Outcome{Trial: trial, Stale: 4, Settle: 2 * time.Second}}
	in.Info.Capabilities = traffic.Capabilities{Ordering: true, FrameChecks: true}
	row := Row(plan.Plan{}, in)
	for name, got := range map[string]*int64{
		"truncated 2": row.Frames.Truncated, "corrupted 3": row.Frames.Corrupted, "fragmented 1": row.Frames.Fragmented,
		"late 1": row.Frames.Late, "stale 4": row.Frames.Stale,
	} {
		if got == nil || *got != int64(name[len(name)-1]-'0') {
			t.Errorf("want %s, got %v", name, got)
		}
	}
	if row.Message != "6 frames came back damaged; 1 frame was late; by a packet socket" {
		t.Errorf("message %q", row.Message)
	}
	in.Info.Capabilities = traffic.Capabilities{}
	if f := Row(plan.Plan{}, in).Frames; f.Truncated != nil || f.Corrupted != nil || f.Fragmented != nil || f.Late != nil || f.Stale != nil {
		t.Errorf("%+v of an engine that checks nothing", f)
	}
}

// Frames of an earlier trial put a row in doubt, and the reason names the setting.
func TestStaleFramesNameTheSettleTime(t *testing.T) {
	trial := &trials.Trial{Sending: trials.Sending{Intended: 1, Sent: 1, Duration: time.Second}, Counts: trials.Counts{Received: 1}}
	in := Input{Bed: objects.TestBed(""), Outcome: trials.Outcome{Trial: trial, Stale: 1234, Settle: 2 * time.Second}}
	validity, reasons := Judge(in)
	if validity != v1alpha1.ValidityContended || len(reasons) != 1 {
		t.Fatalf("%s %q, want one reason", validity, reasons)
	}
	for _, want := range []string{"1,234 frames", "settleTime, which is 2s"} {
		if !strings.Contains(reasons[0], want) {
			t.Errorf("reason %q, want %q in it", reasons[0], want)
		}
	}
}

// A row in whose trials frames were lost has what the device's own counters say of them.
func TestRowHasTheCountersOfTheDevice(t *testing.T) {
	trial := func(lost uint64) *trials.Trial {
		return &trials.Trial{
			Sending: trials.Sending{LoadPPM: 500_000, Sent: 9000},
			Counts:  trials.Counts{Received: 9000 - lost, Lost: lost},
			Notes:   []traffic.Note{{Kind: traffic.NoteDeviceDropped, Text: "it dropped 7 frames at p1"}},
		}
	}
	for name, c := range map[string]struct {
		outcome trials.Outcome
		want    string
	}{
		"the trial of the row":                {trials.Outcome{Trial: trial(7)}, "it dropped 7 frames at p1"},
		"no frame was lost":                   {trials.Outcome{Trial: trial(0)}, ""},
		"the trial that ended the search":     {trials.Outcome{Trial: trial(0), Failed: trial(1007)}, "at 50%, where the search ended and 1,007 frames were lost, it dropped 7 frames at p1"},
		"the search ended for another reason": {trials.Outcome{Trial: trial(0), Failed: trial(0)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Row(plan.Plan{}, Input{Bed: objects.TestBed(""), Outcome: c.outcome}).Message; got != c.want {
				t.Errorf("message %q, want %q", got, c.want)
			}
		})
	}
}

package result

import (
	"reflect"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
	"nodrop.dev/nodrop/internal/traffic"
)

// What an engine does not count is absent, and what it counted is there, also when it
// was none.
func TestOrderThatWasNotCountedIsAbsent(t *testing.T) {
	for name, tc := range map[string]struct {
		ordering bool
		trial    *trials.Trial
		want     []*int64
	}{
		"counted":      {true, &trials.Trial{Sending: trials.Sending{Sent: 9}, Counts: trials.Counts{Received: 9, Duplicate: 1, Reordered: 2, OutOfSequence: 3}}, []*int64{new(int64(1)), new(int64(2)), new(int64(3))}},
		"none":         {true, &trials.Trial{Sending: trials.Sending{Sent: 9}, Counts: trials.Counts{Received: 9}}, []*int64{new(int64), new(int64), new(int64)}},
		"not counted":  {false, &trials.Trial{Sending: trials.Sending{Sent: 9}, Counts: trials.Counts{Received: 9}}, []*int64{nil, nil, nil}},
		"some of them": {false, &trials.Trial{Sending: trials.Sending{Sent: 9}, Counts: trials.Counts{Received: 9, Duplicate: 1}}, []*int64{nil, nil, nil}},
		"no trial":     {true, nil, []*int64{nil, nil, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			row := Row(plan.Plan{}, Input{
				Bed: objects.TestBed(""), Info: traffic.Info{Capabilities: traffic.Capabilities{Ordering: tc.ordering}}, Outcome: trials.Outcome{Trial: tc.trial},
			})
			for i, got := range []*int64{row.Frames.Duplicate, row.Frames.Reordered, row.Frames.OutOfSequence} {
				want := tc.want[i]
				if (got == nil) != (want == nil) || got != nil && *got != *want {
					t.Errorf("%+v: count %d is wrong", row, i)
				}
			}
		})
	}
}

// A row has congestion marks if the profile sends frames that a device may mark, also if there
// are none.
func TestMarksOfFramesThatMayBeMarked(t *testing.T) {
	for name, tc := range map[string]struct {
		counts     trials.Counts
		marks, ppm *int64
	}{
		"marked":         {trials.Counts{Received: 30, Congested: 7, Markable: true}, new(int64(7)), new(int64(233_333))},
		"none marked":    {trials.Counts{Received: 30, Markable: true}, new(int64), new(int64)},
		"none to mark":   {trials.Counts{Received: 30}, nil, nil},
		"none delivered": {trials.Counts{Lost: 30, Markable: true}, new(int64), new(int64)},
	} {
		t.Run(name, func(t *testing.T) {
			row := Row(plan.Plan{}, Input{Bed: objects.TestBed(""), Outcome: trials.Outcome{Trial: &trials.Trial{Counts: tc.counts}}})
			for i, want := range []*int64{tc.marks, tc.ppm} {
				got := []*int64{row.Frames.Congested, row.Frames.CongestedPPM}[i]
				if (got == nil) != (want == nil) || got != nil && *got != *want {
					t.Errorf("%+v: figure %d is wrong", row.Frames, i)
				}
			}
		})
	}
}

// A row has the frames of flow control that the ports received, and with RoCEv2 also that there were
// none.
func TestFlowControlOfARow(t *testing.T) {
	counted := traffic.PauseCount{Frames: 5, ByPriority: [8]uint64{3: 20, 7: 1}}
	for name, tc := range map[string]struct {
		counts  trials.Counts
		counter bool
		want    *v1alpha1.FlowControlSummary
	}{
		"some":              {trials.Counts{Pauses: counted}, true, &v1alpha1.FlowControlSummary{PauseFrames: 5, PFCFrames: 21, PFCPriorities: []v1alpha1.PriorityFrames{{Priority: 3, Frames: 20}, {Priority: 7, Frames: 1}}}},
		"none":              {trials.Counts{}, true, nil},
		"none with RoCEv2":  {trials.Counts{RoCE: true}, true, &v1alpha1.FlowControlSummary{}},
		"an engine without": {trials.Counts{RoCE: true}, false, nil},
		"only pauses":       {trials.Counts{Pauses: traffic.PauseCount{Frames: 2}}, true, &v1alpha1.FlowControlSummary{PauseFrames: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			info := traffic.Info{Capabilities: traffic.Capabilities{Pauses: tc.counter}}
			row := Row(plan.Plan{}, Input{Bed: objects.TestBed(""), Info: info, Outcome: trials.Outcome{Trial: &trials.Trial{Counts: tc.counts}}})
			if got := row.Frames.FlowControl; !reflect.DeepEqual(got, tc.want) {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}

// A row has the congestion notification packets if the profile asks for them, also if there were none.
func TestNotificationsOfARow(t *testing.T) {
	for name, tc := range map[string]struct {
		counts trials.Counts
		want   *v1alpha1.CNPSummary
	}{
		"some":      {trials.Counts{Answered: true, Notified: 9, Notifications: 7}, &v1alpha1.CNPSummary{Sent: 9, Received: 7}},
		"none":      {trials.Counts{Answered: true}, &v1alpha1.CNPSummary{}},
		"not asked": {trials.Counts{Markable: true, Notifications: 3}, nil},
	} {
		row := Row(plan.Plan{}, Input{Bed: objects.TestBed(""), Outcome: trials.Outcome{Trial: &trials.Trial{Counts: tc.counts}}})
		if got := row.Frames.CNP; !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

package controllers

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/benchmarks"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/kubetest/objects"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// kstatus returns the status of an object as computed by Flux, kpt and others.
func kstatus(t *testing.T, obj any) status.Status {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		t.Fatal(err)
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: content})
	if err != nil {
		t.Fatal(err)
	}
	return result.Status
}

// says returns conditions as "Status Reason" by type.
func says(all []metav1.Condition) map[string]string {
	said := map[string]string{}
	for _, c := range all {
		said[c.Type] = string(c.Status) + " " + c.Reason
	}
	return said
}

func inPhase(phase v1alpha1.BenchmarkPhase) *v1alpha1.Benchmark {
	b := objects.Benchmark("team", "b", objects.Generation(1))
	b.Status.Phase, b.Status.ObservedGeneration = phase, 1
	return b
}

// TestPhaseIsUnderstood reads every phase by kstatus.
func TestPhaseIsUnderstood(t *testing.T) {
	for phase, want := range map[v1alpha1.BenchmarkPhase]struct {
		status    status.Status
		succeeded string
	}{
		"":                         {status.InProgressStatus, "Unknown Pending"},
		v1alpha1.PhasePending:      {status.InProgressStatus, "Unknown Pending"},
		v1alpha1.PhaseQueued:       {status.InProgressStatus, "Unknown Queued"},
		v1alpha1.PhasePreparing:    {status.InProgressStatus, "Unknown Preparing"},
		v1alpha1.PhaseRunning:      {status.InProgressStatus, "Unknown Running"},
		v1alpha1.PhaseCleaningUp:   {status.InProgressStatus, "Unknown CleaningUp"},
		v1alpha1.PhasePassed:       {status.CurrentStatus, "True Passed"},
		v1alpha1.PhaseInconclusive: {status.FailedStatus, "False Inconclusive"},
		v1alpha1.PhaseFailed:       {status.FailedStatus, "False Failed"},
		v1alpha1.PhaseInvalid:      {status.FailedStatus, "False Invalid"},
		v1alpha1.PhaseAborted:      {status.FailedStatus, "False Aborted"},
		v1alpha1.PhaseError:        {status.FailedStatus, "False Error"},
	} {
		t.Run(string(phase), func(t *testing.T) {
			b := inPhase(phase)
			kit.Summarize(b, noon)
			kit.Summarize(b, noon)
			if got := kstatus(t, b); got != want.status {
				t.Errorf("kstatus %s, want %s", got, want.status)
			}
			if got := says(b.Status.Conditions)[v1alpha1.ConditionSucceeded]; got != want.succeeded {
				t.Errorf("Succeeded is %q, want %q", got, want.succeeded)
			}
			b.Generation = 2
			if got := kstatus(t, b); got != status.InProgressStatus {
				t.Errorf("kstatus %s of an edit that was not seen", got)
			}
		})
	}
}

// TestStalledBenchmark lets a benchmark wait for something that a user has to
// correct.
func TestStalledBenchmark(t *testing.T) {
	for name, tc := range map[string]struct {
		kind, reason string
		stalls       bool
	}{
		"profile missing":   {v1alpha1.ConditionAccepted, v1alpha1.ReasonNotAccepted, true},
		"bed not ready":     {v1alpha1.ConditionBedLeased, v1alpha1.ReasonBedNotReady, true},
		"others come first": {v1alpha1.ConditionBedLeased, v1alpha1.ReasonQueued, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := inPhase(v1alpha1.PhaseQueued)
			is := func(at time.Time) status.Status {
				kit.Summarize(b, at)
				return kstatus(t, b)
			}
			set := func(at time.Time, status metav1.ConditionStatus, reason string) {
				kit.SetCondition(&b.Status.Conditions, at, 1, metav1.Condition{Type: tc.kind, Status: status, Reason: reason, Message: "why"})
			}
			// For an hour the benchmark has waited for something else.
			set(noon.Add(-time.Hour), metav1.ConditionFalse, v1alpha1.ReasonQueued)
			if tc.kind == v1alpha1.ConditionAccepted {
				set(noon.Add(-time.Hour), metav1.ConditionTrue, v1alpha1.ReasonAccepted)
			}
			set(noon, metav1.ConditionFalse, tc.reason)
			if got := is(noon); got != status.InProgressStatus {
				t.Errorf("at once %s, want InProgress: an edit is made in several steps", got)
			}
			want := status.InProgressStatus
			if tc.stalls {
				want = status.FailedStatus
				if wake := kit.Summarize(b, noon.Add(20*time.Second)); wake != 40*time.Second {
					t.Errorf("reconciled again after %s, want 40s", wake)
				}
			}
			for _, later := range []time.Duration{kit.StallAfter, 2 * kit.StallAfter} {
				if got := is(noon.Add(later)); got != want {
					t.Errorf("after %s %s, want %s", later, got, want)
				}
			}
			b.Status.Phase, b.Status.TestBedName = v1alpha1.PhasePreparing, "bed"
			set(noon, metav1.ConditionTrue, "Good")
			if got := is(noon.Add(3 * kit.StallAfter)); got != status.InProgressStatus || says(b.Status.Conditions)[v1alpha1.ConditionStalled] != "" {
				t.Errorf("after it went on %s, %v", got, says(b.Status.Conditions))
			}
		})
	}
}

// TestBedIsUnderstood reads beds by kstatus, at once and after a while.
func TestBedIsUnderstood(t *testing.T) {
	for name, tc := range map[string]struct {
		conditions []metav1.Condition
		now, later status.Status
	}{
		"not checked": {nil, status.InProgressStatus, status.InProgressStatus},
		"ready": {[]metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonBedReady},
		}, status.CurrentStatus, status.CurrentStatus},
		"invalid": {[]metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonBedInvalid},
		}, status.InProgressStatus, status.FailedStatus},
		"quarantined": {[]metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonBedQuarantined},
			{Type: v1alpha1.ConditionQuarantined, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonCleanUpFailed},
		}, status.InProgressStatus, status.FailedStatus},
		"cleaned up after an orphan": {[]metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonBedReady},
			{Type: v1alpha1.ConditionQuarantined, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonCleaningUp},
		}, status.InProgressStatus, status.InProgressStatus},
	} {
		t.Run(name, func(t *testing.T) {
			bed := objects.TestBed("bed", objects.Generation(1))
			bed.Status.ObservedGeneration, bed.Status.Conditions = 1, tc.conditions
			for at, want := range map[time.Duration]status.Status{0: tc.now, kit.StallAfter: tc.later} {
				bed := bed.DeepCopy()
				kit.SummarizeBed(bed, noon)
				kit.SummarizeBed(bed, noon.Add(at))
				if got := kstatus(t, bed); got != want {
					t.Errorf("after %s %s, want %s", at, got, want)
				}
			}
		})
	}
}

// TestConditionsAfterTheEnd ends benchmarks in every way, and checks the whole set
// of conditions, which api/v1alpha1/conditions.go documents.
func TestConditionsAfterTheEnd(t *testing.T) {
	const (
		accepted, leased    = v1alpha1.ConditionAccepted, v1alpha1.ConditionBedLeased
		device, traffic     = v1alpha1.ConditionDeviceReady, v1alpha1.ConditionTrafficReady
		measured, cleanedUp = v1alpha1.ConditionMeasured, v1alpha1.ConditionCleanedUp
	)
	waits := map[string]string{accepted: "True Accepted", leased: "False Queued"}
	starts := map[string]string{accepted: "True Accepted", leased: "True BedLeased", device: "False DeviceStarting"}
	deviceUp := map[string]string{accepted: "True Accepted", leased: "True BedLeased", device: "True DeviceReady", traffic: "False TrafficStarting"}
	runs := map[string]string{
		accepted: "True Accepted", leased: "True BedLeased", device: "True DeviceReady", traffic: "True TrafficReady", measured: "Unknown Measuring",
	}
	removed := func(measuredSays string, change ...string) map[string]string {
		want := map[string]string{
			accepted: "True Accepted", leased: "False BedReleased", device: "False Removed", traffic: "False Removed",
			measured: measuredSays, cleanedUp: "True CleanedUp",
		}
		for i := 0; i < len(change); i += 2 {
			want[change[i]] = change[i+1]
			if change[i+1] == "" {
				delete(want, change[i])
			}
		}
		return want
	}
	for name, tc := range map[string]struct {
		before       map[string]string
		outcome      v1alpha1.BenchmarkPhase
		kind, reason string
		left         bool
		want         map[string]string
	}{
		"everything measured":   {runs, v1alpha1.PhasePassed, measured, v1alpha1.ReasonAllMeasured, false, removed("True AllMeasured")},
		"measured, in doubt":    {runs, v1alpha1.PhaseInconclusive, measured, v1alpha1.ReasonInconclusive, false, removed("True Inconclusive")},
		"nothing forwarded":     {runs, v1alpha1.PhaseFailed, measured, v1alpha1.ReasonNothingForwarded, false, removed("True NothingForwarded")},
		"tester too slow":       {runs, v1alpha1.PhaseInvalid, measured, v1alpha1.ReasonGeneratorBound, false, removed("False GeneratorBound")},
		"aborted":               {runs, v1alpha1.PhaseAborted, measured, v1alpha1.ReasonAborted, false, removed("False Aborted")},
		"too long":              {runs, v1alpha1.PhaseInvalid, measured, v1alpha1.ReasonDeadlineExceeded, false, removed("False DeadlineExceeded")},
		"agent lost":            {runs, v1alpha1.PhaseError, measured, v1alpha1.ReasonAgentLost, false, removed("False AgentLost")},
		"lease lost":            {runs, v1alpha1.PhaseError, leased, v1alpha1.ReasonLeaseLost, false, removed("False Ended", leased, "False LeaseLost")},
		"device failed":         {starts, v1alpha1.PhaseError, device, v1alpha1.ReasonDeviceFailed, false, removed("False Ended", device, "False DeviceFailed", traffic, "")},
		"traffic failed":        {deviceUp, v1alpha1.PhaseError, traffic, v1alpha1.ReasonTrafficFailed, false, removed("False Ended", traffic, "False TrafficFailed")},
		"aborted while started": {starts, v1alpha1.PhaseAborted, measured, v1alpha1.ReasonAborted, false, removed("False Aborted", traffic, "")},
		"aborted in the queue": {waits, v1alpha1.PhaseAborted, measured, v1alpha1.ReasonAborted, false, map[string]string{
			accepted: "True Accepted", leased: "False Ended", measured: "False Aborted", cleanedUp: "True CleanedUp",
		}},
		"not accepted": {nil, v1alpha1.PhaseError, accepted, v1alpha1.ReasonNotAccepted, false, map[string]string{
			accepted: "False NotAccepted", measured: "False Ended", cleanedUp: "True CleanedUp",
		}},
		"measured, not cleaned up": {runs, v1alpha1.PhasePassed, measured, v1alpha1.ReasonAllMeasured, true, removed("True AllMeasured",
			leased, "False BedQuarantined", device, "Unknown CleanUpFailed", traffic, "Unknown CleanUpFailed", cleanedUp, "False CleanUpFailed")},
	} {
		t.Run(name, func(t *testing.T) {
			b := inPhase(v1alpha1.PhaseRunning)
			if tc.before[leased] == "True BedLeased" {
				b.Status.TestBedName = "bed"
			}
			s := kit.NewScope(b, noon, kit.NewTimers())
			for kind, said := range tc.before {
				var status, reason string
				for i := range said {
					if said[i] == ' ' {
						status, reason = said[:i], said[i+1:]
					}
				}
				s.Set(kind, metav1.ConditionStatus(status), reason, "before")
			}
			kit.Summarize(b, noon)
			s.End(tc.outcome, tc.kind, tc.reason, "why it ended")
			if tc.left {
				benchmarks.Cleaned(s, metav1.ConditionFalse, v1alpha1.ReasonCleanUpFailed, "pods are left")
			} else {
				benchmarks.Cleaned(s, metav1.ConditionTrue, v1alpha1.ReasonCleanedUp, "nothing is left")
			}
			benchmarks.Finish(s)
			kit.Summarize(b, noon)

			want := map[string]string{v1alpha1.ConditionSucceeded: "False " + string(tc.outcome), v1alpha1.ConditionStalled: "True " + string(tc.outcome)}
			if tc.outcome == v1alpha1.PhasePassed {
				want = map[string]string{v1alpha1.ConditionSucceeded: "True Passed"}
			}
			for kind, said := range tc.want {
				want[kind] = said
			}
			if diff := cmp.Diff(want, says(b.Status.Conditions)); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			if b.Status.Phase != tc.outcome || b.Status.Message != "why it ended" {
				t.Errorf("ended as %s: %s", b.Status.Phase, b.Status.Message)
			}
		})
	}
}

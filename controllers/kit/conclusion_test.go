package kit

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// noon is the time in these tests.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// inPhase returns a benchmark in a phase, whose specification was seen.
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
		v1alpha1.PhaseMeasured:     {status.CurrentStatus, "True Measured"},
		v1alpha1.PhaseInconclusive: {status.FailedStatus, "False Inconclusive"},
		v1alpha1.PhaseFailed:       {status.FailedStatus, "False Failed"},
		v1alpha1.PhaseInvalid:      {status.FailedStatus, "False Invalid"},
		v1alpha1.PhaseAborted:      {status.FailedStatus, "False Aborted"},
		v1alpha1.PhaseError:        {status.FailedStatus, "False Error"},
	} {
		t.Run(string(phase), func(t *testing.T) {
			b := inPhase(phase)
			Summarize(b, noon)
			Summarize(b, noon)
			if got := kubetest.KStatus(t, b); got != want.status {
				t.Errorf("kstatus %s, want %s", got, want.status)
			}
			if got := kubetest.Conditions(b.Status.Conditions)[v1alpha1.ConditionSucceeded]; got != want.succeeded {
				t.Errorf("Succeeded is %q, want %q", got, want.succeeded)
			}
			b.Generation = 2
			if got := kubetest.KStatus(t, b); got != status.InProgressStatus {
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
				Summarize(b, at)
				return kubetest.KStatus(t, b)
			}
			set := func(at time.Time, status metav1.ConditionStatus, reason string) {
				SetCondition(&b.Status.Conditions, at, 1, metav1.Condition{Type: tc.kind, Status: status, Reason: reason, Message: "why"})
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
				if wake := Summarize(b, noon.Add(20*time.Second)); wake != 40*time.Second {
					t.Errorf("reconciled again after %s, want 40s", wake)
				}
			}
			for _, later := range []time.Duration{StallAfter, 2 * StallAfter} {
				if got := is(noon.Add(later)); got != want {
					t.Errorf("after %s %s, want %s", later, got, want)
				}
			}
			b.Status.Phase, b.Status.TestBedName = v1alpha1.PhasePreparing, "bed"
			set(noon, metav1.ConditionTrue, "Good")
			if got := is(noon.Add(3 * StallAfter)); got != status.InProgressStatus || kubetest.Conditions(b.Status.Conditions)[v1alpha1.ConditionStalled] != "" {
				t.Errorf("after it went on %s, %v", got, kubetest.Conditions(b.Status.Conditions))
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
			for at, want := range map[time.Duration]status.Status{0: tc.now, StallAfter: tc.later} {
				bed := bed.DeepCopy()
				SummarizeBed(bed, noon)
				SummarizeBed(bed, noon.Add(at))
				if got := kubetest.KStatus(t, bed); got != want {
					t.Errorf("after %s %s, want %s", at, got, want)
				}
			}
		})
	}
}

package benchmarks

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

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
		"everything measured":   {runs, v1alpha1.PhaseMeasured, measured, v1alpha1.ReasonAllMeasured, false, removed("True AllMeasured")},
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
		"measured, not cleaned up": {runs, v1alpha1.PhaseMeasured, measured, v1alpha1.ReasonAllMeasured, true, removed("True AllMeasured",
			leased, "False BedQuarantined", device, "Unknown CleanUpFailed", traffic, "Unknown CleanUpFailed", cleanedUp, "False CleanUpFailed")},
	} {
		t.Run(name, func(t *testing.T) {
			b := objects.Benchmark("team", "b", objects.Generation(1))
			b.Status.Phase, b.Status.ObservedGeneration = v1alpha1.PhaseRunning, 1
			noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
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
				cleaned(s, metav1.ConditionFalse, v1alpha1.ReasonCleanUpFailed, "pods are left")
			} else {
				cleaned(s, metav1.ConditionTrue, v1alpha1.ReasonCleanedUp, "nothing is left")
			}
			finish(s)
			kit.Summarize(b, noon)

			want := map[string]string{v1alpha1.ConditionSucceeded: "False " + string(tc.outcome), v1alpha1.ConditionStalled: "True " + string(tc.outcome)}
			if tc.outcome == v1alpha1.PhaseMeasured {
				want = map[string]string{v1alpha1.ConditionSucceeded: "True Measured"}
			}
			for kind, said := range tc.want {
				want[kind] = said
			}
			if diff := cmp.Diff(want, kubetest.Conditions(b.Status.Conditions)); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			if b.Status.Phase != tc.outcome || b.Status.Message != "why it ended" {
				t.Errorf("ended as %s: %s", b.Status.Phase, b.Status.Message)
			}
		})
	}
}

// A clock that is set back during a benchmark does not let it end before it started.
func TestEndIsNotBeforeTheStart(t *testing.T) {
	started := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	b := objects.Benchmark("team", "b")
	b.Status = v1alpha1.BenchmarkStatus{Phase: v1alpha1.PhaseCleaningUp, Outcome: v1alpha1.PhaseMeasured, StartTime: &metav1.Time{Time: started}}
	s := kit.NewScope(b, started.Add(-time.Hour), kit.NewTimers())
	finish(s)
	if got := s.Status.CompletionTime.Time; !got.Equal(started) {
		t.Errorf("it ended at %s, want %s: the time at which it started", got, started)
	}
}

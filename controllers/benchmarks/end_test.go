package benchmarks

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/crashtest"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// operatorOn returns the end of a benchmark by one of several operators on an API, and the state of
// its reconcile: the benchmark is Running, and the operator has read its result.
func operatorOn(t *testing.T, c client.Client, rows ...v1alpha1.ResultRow) (*ending, *kit.Scope) {
	t.Helper()
	ls := &ledgers{client: c, live: c}
	e := &ending{client: c, live: c, ledgers: ls, poller: NewPoller(nil, 0)}
	b := objects.Benchmark("team", "b", objects.UID("0f8fad5b-d9cb-469f-a165-70867728950e"))
	b.Status.Phase, b.Status.TestBedName = v1alpha1.PhaseRunning, "bed"
	s := kit.NewScope(b, time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), kit.NewTimers())
	l, err := ls.open(t.Context(), s)
	if err == nil {
		_, err = l.Add(rows...)
	}
	if err == nil {
		err = ls.store(t.Context(), s, l)
	}
	if err != nil {
		t.Fatal(err)
	}
	return e, s
}

var firstRow = v1alpha1.ResultRow{RowID: v1alpha1.RowID{Test: "throughput", Method: v1alpha1.MethodThroughput, FrameSize: 64}, Validity: v1alpha1.ValidityValid}

// TestTwoOperatorsEndAMeasurement lets two operators that both believe to lead end a measurement
// differently: the end that is stored first counts for both.
func TestTwoOperatorsEndAMeasurement(t *testing.T) {
	api := crashtest.NewFakeAPI(t, 0, false)
	first, s1 := operatorOn(t, api, firstRow)
	second, s2 := operatorOn(t, api)
	s1.End(v1alpha1.PhaseMeasured, v1alpha1.ConditionMeasured, v1alpha1.ReasonAllMeasured, "all rows were measured")
	if safe, err := first.storeEnding(t.Context(), s1); !safe || err != nil {
		t.Fatalf("the end was not stored: %v, %v", safe, err)
	}
	s2.End(v1alpha1.PhaseError, v1alpha1.ConditionMeasured, v1alpha1.ReasonRunnerFailed, "the runner was lost")
	if _, err := second.begin(t.Context(), s2); !apierrors.IsConflict(err) {
		t.Fatalf("the second end had the error %v, want a conflict", err)
	}
	if s2.Ending() || s2.Status.Phase != v1alpha1.PhaseRunning {
		t.Errorf("after the conflict, the outcome is %q in phase %s", s2.Status.Outcome, s2.Status.Phase)
	}
	if _, err := second.recall(t.Context(), s2); err != nil {
		t.Fatal(err)
	}
	if s2.Status.Outcome != v1alpha1.PhaseMeasured || s2.Status.Message != "all rows were measured" {
		t.Errorf("the second operator continues the end %q: %s", s2.Status.Outcome, s2.Status.Message)
	}
	if safe, err := second.storeEnding(t.Context(), s2); !safe || err != nil {
		t.Errorf("the end that was read is not safe: %v, %v", safe, err)
	}
}

// TestEndingOfAnEarlierAttempt stores an end, after which the benchmark was preempted: the end does not
// count for the next attempt.
func TestEndingOfAnEarlierAttempt(t *testing.T) {
	api := crashtest.NewFakeAPI(t, 0, false)
	first, s := operatorOn(t, api, firstRow)
	s.End(v1alpha1.PhaseMeasured, v1alpha1.ConditionMeasured, v1alpha1.ReasonAllMeasured, "all rows were measured")
	if safe, err := first.storeEnding(t.Context(), s); !safe || err != nil {
		t.Fatalf("the end was not stored: %v, %v", safe, err)
	}
	next, s := operatorOn(t, api)
	s.Status.Attempt++
	if _, err := next.recall(t.Context(), s); err != nil || s.Ending() {
		t.Errorf("attempt %d ended %q: %v", s.Status.Attempt, s.Status.Outcome, err)
	}
}

// TestEndingWithoutItsField has an API server with an older definition, which drops the end: it is not
// safe, and stored in the status first.
func TestEndingWithoutItsField(t *testing.T) {
	api := crashtest.NewFakeAPI(t, 0, false)
	older := interceptor.NewClient(api.WithWatch, interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			if part, is := obj.(*v1alpha1.BenchmarkResult); is {
				part.Spec.Ending = nil
			}
			return c.Update(ctx, obj, opts...)
		},
	})
	e, s := operatorOn(t, older, firstRow)
	s.End(v1alpha1.PhaseMeasured, v1alpha1.ConditionMeasured, v1alpha1.ReasonAllMeasured, "all rows were measured")
	if safe, err := e.storeEnding(t.Context(), s); safe || err != nil {
		t.Errorf("an end that was dropped is safe: %v, %v", safe, err)
	}
	if s.Status.Results.Digest == "" {
		t.Error("the result is not complete")
	}
}

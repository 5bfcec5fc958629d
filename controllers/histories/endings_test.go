package histories

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// lives follows the benchmark b and what is of it.
type lives struct {
	// statuses counts the versions of the status, from the first version with the phase Running on.
	statuses int
	// ending is the end that is stored with the result.
	ending *v1alpha1.ResultEnding
	// last is the last version.
	last *v1alpha1.Benchmark
	// early describes versions with an outcome that contain nothing of the clean-up.
	early []string
	// runners counts pods of runners.
	runners int
}

func (l *lives) see(ch change) {
	switch after := ch.after.(type) {
	case *v1alpha1.Benchmark:
		if after.Name != "b" {
			return
		}
		if l.last == nil || l.last.Status.Phase != after.Status.Phase || l.last.Status.Outcome != after.Status.Outcome {
			if after.Status.Outcome != "" && meta.FindStatusCondition(after.Status.Conditions, v1alpha1.ConditionCleanedUp) == nil {
				l.early = append(l.early, string(after.Status.Phase)+" "+string(after.Status.Outcome))
			}
		}
		if after.Status.Phase == v1alpha1.PhaseRunning || l.statuses > 0 {
			l.statuses++
		}
		l.last = after
	case *v1alpha1.BenchmarkResult:
		if after.Spec.BenchmarkName == "b" && after.Spec.Ending != nil {
			l.ending = after.Spec.Ending
		}
	case *corev1.Pod:
		if ch.before == nil && after.Labels[labobjects.LabelRole] == labobjects.RoleRunner {
			l.runners++
		}
	}
}

// measureWithDeath lets operators measure the benchmark b. The first one dies after the first change
// for which dies returns true; gone is called before the next one starts. Dies may be nil.
func measureWithDeath(t *testing.T, dies func(*lives, change) bool, gone func(context.Context, *world), want v1alpha1.BenchmarkPhase) (l lives) {
	t.Helper()
	inBubble(t, 1, func(w *world, api *fakeAPI) {
		ctx := context.Background()
		var dead atomic.Bool
		seen := api.seen
		api.seen = func(ch change) {
			seen(ch)
			l.see(ch)
			if dies == nil || dead.Load() || !dies(&l, ch) {
				return
			}
			dead.Store(true)
			link := w.operator().link
			link.mu.Lock()
			link.die()
			link.mu.Unlock()
		}
		stop := w.begin(ctx)
		defer func() { stop() }()
		if err := w.Create(ctx, benchmark("b", "sim", 0)); err != nil {
			t.Fatal(err)
		}
		if dies != nil {
			w.until(ctx, t, "the operator dies", 10*time.Minute, dead.Load)
			w.operator().stop()
			if gone != nil {
				gone(ctx, w)
			}
			w.revive()
		}
		w.until(ctx, t, "b is "+string(want), 20*time.Minute, func() bool { return w.phaseOf(ctx, "b") == want })
		for _, v := range w.check.violations() {
			t.Error(v)
		}
	})
	return l
}

// TestOutcomeCostsNoWrite measures a benchmark: the outcome is stored with the part of the result that is
// completed last. In the status it comes with the clean-up.
func TestOutcomeCostsNoWrite(t *testing.T) {
	l := measureWithDeath(t, nil, nil, v1alpha1.PhaseMeasured)
	if len(l.early) > 0 {
		t.Errorf("the outcome cost writes of the status: %s", strings.Join(l.early, ", "))
	}
	if l.ending == nil || l.ending.Outcome != v1alpha1.PhaseMeasured || l.ending.Reason != v1alpha1.ReasonAllMeasured {
		t.Errorf("the result ended with %+v", l.ending)
	}
	t.Logf("%d writes of the status from the first trial on", l.statuses)
}

// TestOperatorDiesBeforeOutcomeIsInStatus lets the operator die when it has stored the end with the
// result, and when it has removed the runner since. The next one takes the outcome over, and
// starts no other runner.
func TestOperatorDiesBeforeOutcomeIsInStatus(t *testing.T) {
	for name, dies := range map[string]func(*lives, change) bool{
		"the result is complete": func(l *lives, _ change) bool { return l.ending != nil },
		"the runner is removed": func(l *lives, ch change) bool {
			pod, is := ch.after.(*corev1.Pod)
			return is && l.ending != nil && pod.Labels[labobjects.LabelRole] == labobjects.RoleRunner && !pod.DeletionTimestamp.IsZero()
		},
	} {
		t.Run(name, func(t *testing.T) {
			var before v1alpha1.BenchmarkStatus
			l := measureWithDeath(t, func(l *lives, ch change) bool {
				if !dies(l, ch) {
					return false
				}
				before = l.last.Status
				return true
			}, nil, v1alpha1.PhaseMeasured)
			if before.Outcome != "" {
				t.Errorf("the status had the outcome %s before the operator died", before.Outcome)
			}
			if l.runners != 1 {
				t.Errorf("%d runners were started, want 1", l.runners)
			}
			if got := l.last.Status.Message; got != "all rows were measured" {
				t.Errorf("the message is %q", got)
			}
			if got := l.last.Status.Results.Rows; got != int32(len(sizes)) {
				t.Errorf("%d rows are in the status, want %d", got, len(sizes))
			}
		})
	}
}

// TestRowsKeptAfterDeath lets the operator die between the writes of a row and of the status. The
// message of the end counts the row, although no operator has counted it in the status.
func TestRowsKeptAfterDeath(t *testing.T) {
	l := measureWithDeath(t, func(_ *lives, ch change) bool {
		part, is := ch.after.(*v1alpha1.BenchmarkResult)
		return is && len(part.Spec.Rows) > 0
	}, func(ctx context.Context, w *world) {
		var pods corev1.PodList
		if err := w.List(ctx, &pods); err != nil {
			t.Fatal(err)
		}
		for i := range pods.Items {
			if pod := &pods.Items[i]; pod.Labels[labobjects.LabelRole] == labobjects.RoleRunner {
				pod.Finalizers = nil
				if err := w.Update(ctx, pod); err != nil {
					t.Fatal(err)
				}
				_ = w.Delete(ctx, pod)
			}
		}
		w.check.allow("b", v1alpha1.PhaseAborted)
		w.changeBenchmark(ctx, "b", func(b *v1alpha1.Benchmark) { b.Spec.Abort = true })
	}, v1alpha1.PhaseAborted)
	if got, want := l.last.Status.Message, "spec.abort was set; 1 finished row is kept"; got != want {
		t.Errorf("the message is %q, want %q", got, want)
	}
}

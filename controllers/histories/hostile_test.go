package histories

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
)

// hostile are teams that change the metadata of their own benchmarks before every write of an
// operator to them, which is the worst that any rate of writes can do. They go on to the end of
// a history.
type hostile struct {
	mu sync.Mutex
	// targets are the benchmarks.
	targets map[types.NamespacedName]bool
	// writes is the number of writes of the teams.
	writes int
}

// begin adds a benchmark.
func (h *hostile) begin(key types.NamespacedName) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.targets == nil {
		h.targets = map[types.NamespacedName]bool{}
	}
	h.targets[key] = true
}

// writesTo counts a write to a benchmark, and returns its number; 0 if its team is not hostile.
func (h *hostile) writesTo(key types.NamespacedName) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.targets[key] {
		return 0
	}
	h.writes++
	return h.writes
}

// meddle writes to an object that an operator is about to write.
func (h *hostile) meddle(ctx context.Context, c client.Client, obj client.Object) error {
	if _, is := obj.(*v1alpha1.Benchmark); is {
		h.write(ctx, c, client.ObjectKeyFromObject(obj))
	}
	return nil
}

// meddleRequest does so before a request to a real API server.
func (h *hostile) meddleRequest(c client.Client, req *http.Request) {
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/") // apis/nodrop.dev/v1alpha1/namespaces/N/benchmarks/B
	if (req.Method == http.MethodPatch || req.Method == http.MethodPut) && len(parts) >= 7 && parts[5] == "benchmarks" {
		h.write(req.Context(), c, types.NamespacedName{Namespace: parts[4], Name: parts[6]})
	}
}

func (h *hostile) write(ctx context.Context, c client.Client, key types.NamespacedName) {
	n := h.writesTo(key)
	if n == 0 {
		return
	}
	body := fmt.Sprintf(`{"metadata":{"annotations":{"team/n":"%d"},"labels":{"team":"%d"}}}`, n, n)
	target := &v1alpha1.Benchmark{}
	target.Namespace, target.Name = key.Namespace, key.Name
	_ = c.Patch(ctx, target, client.RawPatch(types.MergePatchType, []byte(body))) // It may be gone.
}

// TestUnwritableBenchmark has benchmarks whose status can never be written once they measure: by
// what the lease contains, each bed becomes free and nothing is left in the lab, and the next
// benchmark measures.
func TestUnwritableBenchmark(t *testing.T) {
	const deadline = 10 * time.Minute
	const gone = "" // Its lease needs no end.
	within := kit.DefaultDeadlines().Return(&v1alpha1.Benchmark{}) + 2*time.Minute
	for name, tc := range map[string]struct {
		happen func(context.Context, *world)
		reason string
		within time.Duration
	}{
		"the deadline passes": {func(context.Context, *world) {}, v1alpha1.ReasonDeadlineExceeded, deadline + within},
		"it is deleted": {func(ctx context.Context, w *world) {
			_ = w.Delete(ctx, benchmark("b", "", 0))
		}, gone, within},
		"it is aborted": {func(ctx context.Context, w *world) {
			w.changeBenchmark(ctx, "b", func(b *v1alpha1.Benchmark) { b.Spec.Abort = true })
		}, v1alpha1.ReasonAborted, within},
		"it is preempted": {func(ctx context.Context, w *world) { w.askFor(ctx, "frr1") }, v1alpha1.ReasonPreempted, within},
		"the operator is replaced before the deadline": {func(_ context.Context, w *world) {
			time.Sleep(deadline / 2)
			w.replace(time.Second)
		}, v1alpha1.ReasonDeadlineExceeded, deadline + within},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 2, func(w *world, api *fakeAPI) {
				ctx := context.Background()
				stop := w.begin(ctx)
				defer stop()
				w.lab.runners.silence(24 * time.Hour) // It does not end by itself.
				b := benchmark("b", "frr1", 0)
				b.Spec.Preemptible, b.Spec.ActiveDeadlineSeconds = true, int64(deadline/time.Second)
				_ = w.Create(ctx, b)
				w.until(ctx, t, "b measures", 5*time.Minute, func() bool { return w.phaseOf(ctx, "b") == v1alpha1.PhaseRunning })
				w.check.allow("b", v1alpha1.PhaseAborted)
				invalid := apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("Benchmark").GroupKind(), "b", field.ErrorList{field.TooLong(field.NewPath("status"), "", 1)})
				api.meddleWith(func(obj client.Object) error {
					if _, is := obj.(*v1alpha1.Benchmark); is && obj.GetName() == "b" {
						return invalid
					}
					return nil
				})
				reason := gone
				tc.happen(ctx, w)
				w.until(ctx, t, "the bed is free", tc.within, func() bool {
					bed := &v1alpha1.TestBed{}
					_ = w.Get(ctx, client.ObjectKey{Name: "frr1"}, bed)
					if l := bed.Status.Lease; l != nil && l.End != nil {
						reason = l.End.Reason
					}
					return bed.Status.Lease == nil
				})
				if reason != tc.reason {
					t.Errorf("the lease was ended for %q, want %q", reason, tc.reason)
				}
				w.until(ctx, t, "nothing is left in the lab", options(w, w.unit, time.Now).Sweep+time.Minute, func() bool {
					return len(w.lab.podsOf(ctx, b.UID, "")) == 0
				})
				w.lab.runners.silence(0)
				_ = w.Create(ctx, benchmark("next", "frr1", 0))
				w.until(ctx, t, "the next one is measured", 5*time.Minute, func() bool { return w.phaseOf(ctx, "next") == v1alpha1.PhaseMeasured })
				for _, v := range w.check.violations() {
					t.Error(v)
				}
			})
		})
	}
}

// TestMovedFinalizers has a team move the finalizers of its benchmark before every write of the
// operator: its benchmark and the one behind it are measured.
func TestMovedFinalizers(t *testing.T) {
	inBubble(t, 2, func(w *world, api *fakeAPI) {
		ctx := context.Background()
		n := 0
		api.meddleWith(func(obj client.Object) error {
			if _, is := obj.(*v1alpha1.Benchmark); is && obj.GetName() == "b" {
				n++
				_ = w.Patch(ctx, benchmark("b", "", 0), kit.MergePatch(map[string]any{"metadata": map[string]any{"finalizers": []string{fmt.Sprintf("team/%d", n)}}}))
			}
			return nil
		})
		_ = w.Create(ctx, benchmark("b", "sim", 100))
		stop := w.begin(ctx)
		defer stop()
		_ = w.Create(ctx, benchmark("next", "sim", 0))
		for _, name := range []string{"b", "next"} {
			w.until(ctx, t, name+" is measured", 5*time.Minute, func() bool { return w.phaseOf(ctx, name) == v1alpha1.PhaseMeasured })
		}
		before := n
		time.Sleep(10 * time.Minute)
		if perMinute := (n - before) / 10; perMinute > 10 {
			t.Errorf("the operator tried to write the benchmark %d times per minute, want 10 at most", perMinute)
		}
	})
}

// TestDeletedInProgress deletes a benchmark while the operator asks for one of its pods, and has the API
// server answer late: the bed stays leased until nothing more can be started on it.
func TestDeletedInProgress(t *testing.T) {
	inBubble(t, 2, func(w *world, api *fakeAPI) {
		ctx := context.Background()
		var once sync.Once
		var appeared time.Time
		api.creating = func(client.Object) {
			once.Do(func() {
				_ = w.Delete(ctx, benchmark("b", "", 0))
				time.Sleep(time.Minute)
				appeared = time.Now()
			})
		}
		stop := w.begin(ctx)
		defer stop()
		_ = w.Create(ctx, benchmark("b", "sim", 0))
		_ = w.Create(ctx, benchmark("next", "sim", 0))
		w.until(ctx, t, "the next one is measured", 10*time.Minute, func() bool { return w.phaseOf(ctx, "next") == v1alpha1.PhaseMeasured })
		next := &v1alpha1.Benchmark{}
		_ = w.Get(ctx, keyOf("next"), next)
		if appeared.IsZero() || next.Status.StartTime.Time.Before(appeared.Truncate(time.Second)) {
			t.Errorf("the next one has its bed since %s, and the pod of the deleted one was made at %s", next.Status.StartTime, appeared)
		}
		for _, v := range w.check.violations() {
			t.Error(v)
		}
	})
}

// begin starts the lab and an operator, and returns what stops both.
func (w *world) begin(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	w.current = w.newOperator()
	w.all.Go(func() { w.lab.work(ctx) })
	return func() {
		w.operator().stop()
		cancel()
		w.all.Wait()
	}
}

// until waits in simulated time until something is so.
func (w *world) until(ctx context.Context, t *testing.T, what string, limit time.Duration, is func() bool) {
	t.Helper()
	began := time.Now()
	for !is() {
		if time.Since(began) > limit {
			b := &v1alpha1.Benchmark{}
			_ = w.Get(ctx, keyOf("b"), b)
			var beds v1alpha1.TestBedList
			_ = w.List(ctx, &beds)
			t.Errorf("not within %s: %s; benchmark b is %s: %s", limit, what, b.Status.Phase, b.Status.Message)
			for i := range beds.Items {
				t.Logf("bed %s: lease %+v, wait %+v", beds.Items[i].Name, beds.Items[i].Status.Lease, beds.Items[i].Status.Wait)
			}
			return
		}
		time.Sleep(w.unit)
	}
	t.Logf("%s after %s", what, time.Since(began).Round(time.Second))
}

func (w *world) phaseOf(ctx context.Context, name string) v1alpha1.BenchmarkPhase {
	b := &v1alpha1.Benchmark{}
	_ = w.Get(ctx, keyOf(name), b)
	return b.Status.Phase
}

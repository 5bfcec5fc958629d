package controllers_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
)

// hostileWriter is a team that changes the metadata of its own benchmark "b".
type hostileWriter struct {
	c client.Client
	// active reports whether the team writes.
	active atomic.Bool
	// before is the number of its writes between a read and a write of the operator, and flood
	// that of the others.
	before, flood atomic.Int64
	// moves reports whether the team replaces the finalizers too.
	moves bool
}

// hostile lets the team write immediately before each write of the operator to a benchmark,
// which is the worst that any rate of writes can do.
func hostile(w *world) *hostileWriter {
	h := &hostileWriter{}
	w.server.operator = rest.CopyConfig(w.server.operator)
	w.server.operator.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			changes := req.Method == http.MethodPatch || req.Method == http.MethodPut
			if changes && strings.Contains(req.URL.Path, "/namespaces/"+team+"/benchmarks/b") && h.active.Load() {
				h.before.Add(h.write(req.Context()))
			}
			return next.RoundTrip(req)
		})
	})
	cfg := rest.CopyConfig(w.server.admin)
	cfg.QPS = -1
	h.c = newClient(w.t, cfg)
	return h
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// write changes an annotation and a label, and returns the number of writes.
func (h *hostileWriter) write(ctx context.Context) int64 {
	n := fmt.Sprint(time.Now().UnixNano())
	finalizers := ""
	if h.moves {
		finalizers = `"finalizers":["team/` + n + `"],`
	}
	body := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{`+finalizers+`"annotations":{"team/a":"`+n+`"},"labels":{"team":"`+n+`"}}}`))
	if err := h.c.Patch(ctx, benchmark("b", ""), body); err != nil {
		return 0
	}
	return 1
}

// begin lets the team write until the test ends. In the long tests it also writes 500 times per
// second, or as fast as the machine can.
func (h *hostileWriter) begin(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	h.active.Store(true)
	began := time.Now()
	var all sync.WaitGroup
	writers := 10
	if testing.Short() {
		writers = 0
	}
	for range writers {
		all.Go(func() {
			pace := time.NewTicker(20 * time.Millisecond)
			defer pace.Stop()
			for ctx.Err() == nil {
				h.flood.Add(h.write(ctx))
				<-pace.C
			}
		})
	}
	t.Cleanup(func() {
		h.active.Store(false)
		cancel()
		all.Wait()
		t.Logf("the team wrote %.0f times per second for %s, and %d times between a read and a write of the operator",
			float64(h.flood.Load())/time.Since(began).Seconds(), time.Since(began).Round(time.Millisecond), h.before.Load())
	})
}

// TestHostileWriter has a team change the metadata of its own benchmark before every write of
// the operator: the bed becomes free and the end is stored.
func TestHostileWriter(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world, *hostileWriter){
		"the deadline passes": hostileDeadline,
		"it is preempted":     hostilePreempted,
		"it is deleted":       hostileDeleted,
		"it is aborted":       hostileAborted,
		"it is measured":      hostileMeasured,
		"all its life":        hostileFromTheBegin,
		"finalizers":          hostileFinalizers,
	} {
		t.Run(name, func(t *testing.T) {
			var h *hostileWriter
			w := newWorld(t, server, func(w *world) { h = hostile(w) })
			tc(w, h)
		})
	}
}

func hostileDeadline(w *world, h *hostileWriter) {
	w.measuringOnModel()
	h.begin(w.t)
	w.pass(2 * time.Hour)
	b := w.reaches("b", v1alpha1.PhaseInvalid)
	w.Expect(b.Status.Message).To(ContainSubstring("activeDeadlineSeconds"))
	w.Expect(w.rows(b)).To(HaveLen(1))
	w.bedIsClean("sim")
	w.Eventually(func() []string { return w.benchmark("b").Finalizers }).Should(BeEmpty())
}

func hostilePreempted(w *world, h *hostileWriter) {
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("sim"), profile(), benchmark("b", "sim", preemptible))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.runners.report(b, inEnvironment(measuring(row(64))))
	w.Eventually(func() []v1alpha1.ResultRow { return w.rows(w.benchmark("b")) }).Should(HaveLen(1))
	h.begin(w.t)
	w.preempt("sim")
	w.Eventually(func() int32 { return w.benchmark("b").Status.Preemptions }).Should(Equal(int32(1)))
	// No other benchmark waits, so that it gets the bed again, resumes and ends.
	w.resumes(1)
	w.bedIsClean("sim")
}

func hostileDeleted(w *world, h *hostileWriter) {
	b := w.measuringOnModel()
	h.begin(w.t)
	w.Expect(w.c.Delete(w.t.Context(), b)).To(Succeed())
	w.bedIsCleanEventually("sim")
	w.Eventually(func() bool {
		return apierrors.IsNotFound(w.c.Get(w.t.Context(), client.ObjectKeyFromObject(b), b))
	}).Should(BeTrue(), "the benchmark is gone")
}

func hostileAborted(w *world, h *hostileWriter) {
	w.measuringOnModel()
	h.begin(w.t)
	w.Expect(w.c.Patch(w.t.Context(), benchmark("b", ""), kit.MergePatch(map[string]any{"spec": map[string]any{"abort": true}}))).To(Succeed())
	w.reaches("b", v1alpha1.PhaseAborted)
	w.bedIsClean("sim")
}

func hostileMeasured(w *world, h *hostileWriter) {
	b := w.measuringOnModel()
	h.begin(w.t)
	w.runners.report(b, measured(row(64), row(128)))
	b = w.reaches("b", v1alpha1.PhaseMeasured)
	w.Expect(w.rows(b)).To(HaveLen(2))
	w.bedIsClean("sim")
	w.Eventually(func() []string { return w.benchmark("b").Finalizers }).Should(BeEmpty())
}

// hostileFromTheBegin lets the team write while its benchmark waits, gets its bed and measures.
func hostileFromTheBegin(w *world, h *hostileWriter) {
	create(w.t, w.c, configMap("model", "model.csv", table), profile(), benchmark("b", "sim"))
	h.begin(w.t)
	create(w.t, w.c, modelled("sim"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.runners.report(b, measured(row(64), row(128)))
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.bedIsClean("sim")
}

// hostileFinalizers lets the team replace the finalizers of its benchmark in a lab with an archive.
func hostileFinalizers(w *world, h *hostileWriter) {
	w.archiving()
	create(w.t, w.c, configMap("model", "model.csv", table), profile(), benchmark("b", "sim"))
	h.moves = true
	h.begin(w.t)
	create(w.t, w.c, modelled("sim"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.runners.report(b, measured(row(64), row(128)))
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.says("b", v1alpha1.ConditionArchived, v1alpha1.ReasonArchived)
	w.bedIsClean("sim")
	h.active.Store(false)
	w.force("b")
}

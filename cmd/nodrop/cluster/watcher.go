//go:build !standalone

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/cmd/nodrop/terminal"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/reporting/stored"
)

// Watcher follows one benchmark. A connection that breaks is made anew; status and
// stored rows have everything measured so far, so that nothing is missed.
type Watcher struct {
	Client client.WithWatch
	Key    client.ObjectKey
	Live   *terminal.Live
	// Retry is waited between attempts to reach the cluster again.
	Retry time.Duration

	uid   types.UID
	phase v1alpha1.BenchmarkPhase
	rows  int32
	// resized receives when the size of the terminal has changed.
	resized <-chan os.Signal
	// stored reads the rows that the status counts.
	stored stored.Follower
}

var (
	// errWatchClosed is nothing unusual: the API server ends every watch after a while.
	errWatchClosed = errors.New("the server closed the watch")
	errDeleted     = errors.New("the benchmark was deleted while it was watched")
)

// UntilFinished returns the benchmark once it is in one of its last phases.
func (w *Watcher) UntilFinished(ctx context.Context) (*v1alpha1.Benchmark, error) {
	benchmark, err := GetBenchmark(ctx, w.Client, w.Key)
	if err != nil {
		return nil, err
	}
	w.uid = benchmark.UID
	if benchmark.Status.Phase.Finished() {
		return benchmark, nil // Its result has everything that there is to show.
	}
	resized, stop := terminal.Resized()
	defer stop()
	w.resized = resized
	for {
		finished, err := w.follow(ctx, benchmark)
		if finished != nil || ctx.Err() != nil || !temporary(err) {
			return finished, err
		}
		if !errors.Is(err, errWatchClosed) {
			w.Live.Update("lost", "the connection to the cluster is lost, trying again: "+err.Error())
		}
		if benchmark, err = w.again(ctx); err != nil {
			return nil, err
		}
	}
}

// again reads the benchmark, as often as it takes.
func (w *Watcher) again(ctx context.Context) (*v1alpha1.Benchmark, error) {
	for {
		var benchmark v1alpha1.Benchmark
		err := w.Client.Get(ctx, w.Key, &benchmark)
		switch {
		case err == nil:
			return &benchmark, nil
		case apierrors.IsNotFound(err):
			return nil, errDeleted
		case !temporary(err):
			return nil, Unreachable(err)
		}
		w.Live.Update("lost", "the connection to the cluster is lost, trying again: "+err.Error())
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(w.Retry):
		}
	}
}

// follow shows a state and every later one, until the benchmark has finished or
// the connection breaks.
func (w *Watcher) follow(ctx context.Context, benchmark *v1alpha1.Benchmark) (*v1alpha1.Benchmark, error) {
	if done, err := w.see(ctx, benchmark); err != nil {
		return nil, err
	} else if done {
		return benchmark, nil
	}
	changes, err := w.Client.Watch(ctx, &v1alpha1.BenchmarkList{}, client.InNamespace(w.Key.Namespace),
		client.MatchingFields{"metadata.name": w.Key.Name},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: benchmark.ResourceVersion}})
	if err != nil {
		return nil, err
	}
	defer changes.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-w.resized:
			w.Live.Redraw()
		case event, open := <-changes.ResultChan():
			switch {
			case !open:
				return nil, errWatchClosed
			case event.Type == watch.Error:
				return nil, apierrors.FromObject(event.Object)
			case event.Type == watch.Deleted:
				return nil, errDeleted
			}
			changed, isBenchmark := event.Object.(*v1alpha1.Benchmark)
			if !isBenchmark {
				continue
			}
			if done, err := w.see(ctx, changed); err != nil {
				return nil, err
			} else if done {
				return changed, nil
			}
		}
	}
}

// see shows a state, and reports whether it is the last one.
func (w *Watcher) see(ctx context.Context, benchmark *v1alpha1.Benchmark) (finished bool, err error) {
	if benchmark.UID != w.uid {
		return false, errDeleted
	}
	status := &benchmark.Status
	if r := status.Results; r != nil && r.Rows < w.rows {
		w.rows = r.Rows // It begins anew, and earlier rows do not count.
	}
	if r := status.Results; r != nil && r.Rows > w.rows {
		rows, err := w.stored.Read(ctx, w.Client, benchmark)
		for _, row := range rows {
			w.Live.KeepVerdict(report.RowLine(row), string(row.Validity))
		}
		if err != nil {
			return false, err
		}
		w.rows = r.Rows
	}
	phase := status.Phase
	if phase == "" {
		phase = v1alpha1.PhasePending
	}
	if phase != w.phase {
		w.phase = phase
		text := human.Join(": ", string(phase), explanation(benchmark))
		w.Live.KeepVerdict(text, string(phase))
		w.Live.Key = text // An update that says the same is not shown again.
	} else {
		w.progress(benchmark)
		w.Live.Update(phaseLine(benchmark))
	}
	return phase.Finished(), nil
}

// progress sets the bar of a benchmark that measures.
func (w *Watcher) progress(benchmark *v1alpha1.Benchmark) {
	p, began := benchmark.Status.Progress, benchmark.Status.StartTime
	if benchmark.Status.Phase != v1alpha1.PhaseRunning || p == nil || began == nil {
		w.Live.Progress(-1)
		return
	}
	took := w.Live.Now().Sub(began.Time).Seconds()
	if all := took + float64(p.SecondsLeft); took >= 0 && all > 0 {
		w.Live.Progress(took / all)
	}
}

// phaseLine describes a state in a line, and gives a key that changes whenever
// more than the time left does.
func phaseLine(benchmark *v1alpha1.Benchmark) (key, text string) {
	status := &benchmark.Status
	if p := status.Progress; status.Phase == v1alpha1.PhaseRunning && p != nil {
		return fmt.Sprint(p.Trial, " ", p.RowsDone, " ", p.TrialsDone), human.Join(": ", "Running", p.Summary, p.Trial)
	}
	text = human.Join(": ", string(cmp.Or(status.Phase, v1alpha1.PhasePending)), explanation(benchmark))
	return text, text
}

// explanation returns the reason for the phase of a benchmark: the place in the queue, or the
// steps that it waits for while it is prepared.
func explanation(benchmark *v1alpha1.Benchmark) string {
	status := &benchmark.Status
	var conditions []string
	switch status.Phase {
	case v1alpha1.PhaseQueued:
		conditions = []string{v1alpha1.ConditionBedLeased}
	case v1alpha1.PhasePreparing:
		conditions = []string{v1alpha1.ConditionBedPrepared, v1alpha1.ConditionDeviceReady, v1alpha1.ConditionTrafficReady}
	}
	for _, name := range conditions {
		c := meta.FindStatusCondition(status.Conditions, name)
		if c != nil && c.Status != metav1.ConditionTrue && c.Message != "" {
			return c.Message
		}
	}
	if status.Message == "" && status.Phase == v1alpha1.PhaseRunning && status.Progress != nil {
		return status.Progress.Summary
	}
	return status.Message
}

package histories

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/measure/runner"
)

// sizes are the rows of every benchmark.
var sizes = []int32{64, 128, 256}

// fakeRunners are the runners in all pods. A runner finishes one row after another, as
// time passes.
type fakeRunners struct {
	client.Client
	unit  time.Duration
	check *checker

	mu   sync.Mutex
	pods map[types.UID]*fakeRunner
	// silentUntil is the time until which no runner answers.
	silentUntil time.Time
	// lost has the UIDs of runs whose devices were lost.
	lost map[string]bool
}

// fakeRunner is the runner of one pod.
type fakeRunner struct {
	// process counts its processes; begun reports whether this one was started.
	process int
	begun   bool
	began   time.Time
	// given are the rows that it began with, and checkpoint those that it measured in
	// earlier processes.
	given      map[int32]bool
	checkpoint []int32
	// uid identifies the benchmark.
	uid string
	// failed is why the run ended before all rows were measured; "" if it goes on.
	failed string
}

var _ kit.RunnerClient = (*fakeRunners)(nil)

func newFakeRunners(c client.Client, unit time.Duration, check *checker) *fakeRunners {
	return &fakeRunners{Client: c, unit: unit, check: check, pods: map[types.UID]*fakeRunner{}, lost: map[string]bool{}}
}

// rowTakes is the duration of a row, in units.
const rowTakes = 4

func (f *fakeRunners) silence(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.silentUntil = time.Now().Add(d)
}

// end stops the runner of a pod.
func (f *fakeRunners) end(pod *corev1.Pod) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.pods, pod.UID)
}

// podOf finds the pod that serves under a name.
func (f *fakeRunners) podOf(ctx context.Context, serverName string) (*corev1.Pod, error) {
	uid := strings.TrimSuffix(strings.TrimPrefix(serverName, "runner."), ".nodrop")
	var pods corev1.PodList
	err := f.List(ctx, &pods, client.InNamespace(labNamespace), client.MatchingLabels{labobjects.LabelUID: uid, labobjects.LabelRole: labobjects.RoleRunner})
	if err != nil {
		return nil, err
	}
	for i := range pods.Items {
		if pods.Items[i].Status.Phase == corev1.PodRunning && pods.Items[i].DeletionTimestamp.IsZero() {
			return &pods.Items[i], nil
		}
	}
	return nil, errors.New("connection refused")
}

// of returns the runner of a pod. The caller holds the lock.
func (f *fakeRunners) of(pod types.UID) *fakeRunner {
	if f.pods[pod] == nil {
		f.pods[pod] = &fakeRunner{}
	}
	return f.pods[pod]
}

// kill ends the process of the runner in a pod; the next one waits to begin.
func (f *fakeRunners) kill(pod types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.of(pod)
	r.checkpoint = r.log(f.unit)
	r.process, r.begun = r.process+1, false
}

// log are the frame sizes that the runner has measured itself, in their order.
func (r *fakeRunner) log(unit time.Duration) []int32 {
	log := slices.DeleteFunc(slices.Clone(r.checkpoint), func(size int32) bool { return r.given[size] })
	if !r.begun || r.failed != "" {
		return log
	}
	at := r.began
	for _, size := range sizes {
		if r.given[size] || slices.Contains(r.checkpoint, size) {
			continue
		}
		if at = at.Add(rowTakes * unit); time.Now().Before(at) {
			break
		}
		log = append(log, size)
	}
	return log
}

func row(size int32, variant v1alpha1.VariantName) v1alpha1.ResultRow {
	return v1alpha1.ResultRow{
		RowID:    v1alpha1.RowID{Test: "throughput", Variant: variant, Method: v1alpha1.MethodThroughput, FrameSize: size},
		Validity: v1alpha1.ValidityValid,
		Frames:   &v1alpha1.FrameSection{LineRatePPM: 500_000, FramesPerSecond: 100, BitsPerSecond: 51_200},
	}
}

// row returns a row of a benchmark.
func (f *fakeRunners) row(uid string, size int32) v1alpha1.ResultRow {
	found := row(size, f.check.variantOf(uid))
	if f.check.scales(uid) {
		found.Method, found.Load = v1alpha1.MethodConfigurationScale, "10%"
		found.ConfigurationScale = &v1alpha1.ConfigurationScaleSummary{Entries: 1, FailedEntries: 4000, MinimumEntries: 1, MaximumEntries: 4000, Configurations: 2, Effect: v1alpha1.ScaleLosesFrames, Capped: true}
	}
	return found
}

// reach finds the runner that a request is for. The caller holds the lock.
func (f *fakeRunners) reach(ctx context.Context, target kit.RunnerTarget) (*fakeRunner, *corev1.Pod, error) {
	if time.Now().Before(f.silentUntil) {
		return nil, nil, errors.New("connection refused")
	}
	pod, err := f.podOf(ctx, target.ServerName)
	if err != nil {
		return nil, nil, err
	}
	if !kit.IsReady(pod) {
		return nil, nil, errors.New("connection refused")
	}
	r := f.of(pod.UID)
	r.uid = pod.Labels[labobjects.LabelUID]
	if f.lost[r.uid] && r.failed == "" && r.process > 0 {
		r.failed = "no neighbor answers"
	}
	return r, pod, nil
}

func (f *fakeRunners) State(ctx context.Context, target kit.RunnerTarget, after int) (runner.Answer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, pod, err := f.reach(ctx, target)
	if err != nil {
		return runner.Answer{}, err
	}
	answer := runner.Answer{Log: fmt.Sprint(pod.UID, "-", r.process), Begun: r.begun}
	if !r.begun {
		return answer, nil
	}
	log := r.log(f.unit)
	answer.After = min(after, len(log))
	end := min(answer.After+2, len(log))
	for _, size := range log[answer.After:end] {
		answer.LogRows = append(answer.LogRows, f.row(r.uid, size))
	}
	answer.More = end < len(log)
	done := len(log) + len(r.given)
	answer.Progress = v1alpha1.Progress{Summary: "rows", RowsDone: int32(done), RowsTotal: int32(len(sizes))}
	if r.failed != "" {
		answer.Done, answer.Outcome, answer.Reason, answer.Message = true, v1alpha1.PhaseError, v1alpha1.ReasonRunnerFailed, r.failed
	} else if done == len(sizes) {
		answer.Done, answer.Outcome, answer.Reason, answer.Message = true, v1alpha1.PhaseMeasured, v1alpha1.ReasonAllMeasured, "all rows were measured"
	}
	return answer, nil
}

func (f *fakeRunners) Begin(ctx context.Context, target kit.RunnerTarget, rows []v1alpha1.ResultRow) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, _, err := f.reach(ctx, target)
	if err != nil || r.begun {
		return err
	}
	r.begun, r.began, r.given = true, time.Now(), map[int32]bool{}
	for i := range rows {
		r.given[rows[i].FrameSize] = true
	}
	known := maps.Clone(r.given)
	for _, size := range r.checkpoint {
		known[size] = true
	}
	if f.check.nodeIsLost(r.uid) {
		r.failed = "no neighbor answers"
		return nil
	}
	if !f.check.restoreFirst(r.uid) {
		r.failed = "the pod that resets the device does not answer"
		return nil
	}
	f.check.began(r.uid, known)
	return nil
}

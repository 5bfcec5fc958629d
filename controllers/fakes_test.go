package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/lab/bedprobe"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/measure/runner"
)

// fakeRunners answers in place of runner pods; it knows them by the name in
// their certificates.
type fakeRunners struct {
	mu      sync.Mutex
	runners map[string]*fakeRunner
	// hanging are the runners that take requests and never answer, with the number of open
	// requests.
	hanging map[string]int
	// rest is the state of runners without a state of their own.
	rest   runner.State
	silent bool
}

// fakeRunner is one of them.
type fakeRunner struct {
	state runner.State
	begun bool
	// given are the rows that it received before it began.
	given []v1alpha1.ResultRow
	// pod is the pod in which it runs, and starts counts its processes.
	pod    types.UID
	starts int
}

var _ kit.RunnerClient = (*fakeRunners)(nil)

func newFakeRunners() *fakeRunners { return &fakeRunners{runners: map[string]*fakeRunner{}} }

func (f *fakeRunners) reach(target kit.RunnerTarget) (*fakeRunner, error) {
	if len(target.Certificate.Cert) == 0 || len(target.Certificate.CA) == 0 {
		return nil, errors.New("the operator has no certificate")
	}
	if target.Address != "10.1.2.3:7444" {
		return nil, errors.New("no runner listens on " + target.Address)
	}
	if f.silent {
		return nil, errors.New("connection refused")
	}
	r := f.named(target.ServerName)
	if r.pod != target.Pod {
		*r = fakeRunner{state: r.state, starts: r.starts + 1, pod: target.Pod}
	}
	return r, nil
}

func (f *fakeRunners) named(name string) *fakeRunner {
	if f.runners[name] == nil {
		f.runners[name] = &fakeRunner{state: f.rest}
	}
	return f.runners[name]
}

// of is the runner of a benchmark.
func (f *fakeRunners) of(b *v1alpha1.Benchmark) *fakeRunner {
	return f.named("runner." + string(b.UID) + ".nodrop")
}

// log has the rows of the state that the runner measured itself.
func (r *fakeRunner) log() []v1alpha1.ResultRow {
	return slices.DeleteFunc(slices.Clone(r.state.Rows), func(row v1alpha1.ResultRow) bool {
		return slices.ContainsFunc(r.given, func(g v1alpha1.ResultRow) bool { return g.RowID == row.RowID })
	})
}

func (f *fakeRunners) State(ctx context.Context, target kit.RunnerTarget, after int) (runner.Answer, error) {
	if err := f.hangs(ctx, target.ServerName); err != nil {
		return runner.Answer{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r, err := f.reach(target)
	if err != nil {
		return runner.Answer{}, err
	}
	answer := runner.Answer{Log: fmt.Sprint("log-", r.starts), Begun: r.begun}
	if r.begun {
		log := r.log()
		answer.State, answer.After = r.state.DeepCopy(), min(after, len(log))
		end := min(answer.After+8, len(log))
		for _, row := range log[answer.After:end] {
			answer.LogRows = append(answer.LogRows, *row.DeepCopy())
		}
		answer.More = end < len(log)
	}
	return answer, nil
}

func (f *fakeRunners) Begin(_ context.Context, target kit.RunnerTarget, rows []v1alpha1.ResultRow) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, err := f.reach(target)
	if err != nil {
		return err
	}
	if !r.begun {
		r.begun, r.given = true, rows
	}
	return nil
}

// always sets the state that every other runner reports from now on.
func (f *fakeRunners) always(s runner.State) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rest = s
}

// hang lets the runner of a benchmark take requests, and answer none.
func (f *fakeRunners) hang(b *v1alpha1.Benchmark) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hanging == nil {
		f.hanging = map[string]int{}
	}
	f.hanging["runner."+string(b.UID)+".nodrop"] = 0
}

// hangs waits, where the runner hangs, until the request is given up.
func (f *fakeRunners) hangs(ctx context.Context, name string) error {
	count := func(n int) bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		_, hangs := f.hanging[name]
		if hangs {
			f.hanging[name] += n
		}
		return hangs
	}
	if !count(1) {
		return nil
	}
	defer count(-1)
	<-ctx.Done()
	return ctx.Err()
}

// asked returns the number of hanging runners that have an open request.
func (f *fakeRunners) asked() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, open := range f.hanging {
		n += min(open, 1)
	}
	return n
}

// report sets the state that the runner of a benchmark reports from now on.
func (f *fakeRunners) report(b *v1alpha1.Benchmark, s runner.State) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of(b).state = s
}

// restart is another process of the runner of a benchmark, which waits to begin.
func (f *fakeRunners) restart(b *v1alpha1.Benchmark) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.of(b)
	*r = fakeRunner{state: r.state, starts: r.starts + 1, pod: r.pod}
}

// given are the rows that the runner of a benchmark began with, once it has begun.
func (f *fakeRunners) given(b *v1alpha1.Benchmark) (rows []v1alpha1.ResultRow, begun bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.of(b)
	return r.given, r.begun
}

// silence keeps all runners from answering, or lets them.
func (f *fakeRunners) silence(silent bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.silent = silent
}

// measured is the state of a runner that has measured everything.
func measured(rows ...v1alpha1.ResultRow) runner.State {
	return runner.State{
		Done: true, Outcome: v1alpha1.PhaseMeasured, Reason: v1alpha1.ReasonAllMeasured, Message: "all rows were measured",
		Progress:    v1alpha1.Progress{Summary: "1/1 rows, 100%", RowsDone: 1, RowsTotal: 1},
		Rows:        rows,
		Environment: &v1alpha1.ResultEnvironment{NoDropVersion: "test", Engine: v1alpha1.EngineSim},
	}
}

// measuring is the state of a runner during a measurement.
func measuring(rows ...v1alpha1.ResultRow) runner.State {
	return runner.State{
		Progress: v1alpha1.Progress{Summary: "1/2 rows", Trial: "throughput 128 B: 50% for 1s", RowsDone: int32(len(rows)), RowsTotal: 2},
		Rows:     rows,
	}
}

func row(size int32) v1alpha1.ResultRow {
	return v1alpha1.ResultRow{
		RowID:  v1alpha1.RowID{Test: "throughput", Method: v1alpha1.MethodThroughput, FrameSize: size},
		Frames: &v1alpha1.FrameSection{LineRatePPM: 500_000, FramesPerSecond: 100, BitsPerSecond: 51_200}, Validity: v1alpha1.ValidityValid,
	}
}

// fakeKubelet plays the kubelet: it makes pods ready, lets the device's pods
// succeed, and does nothing with pods that are held.
type fakeKubelet struct {
	client.Client
	mu sync.Mutex
	// held and failing are suffixes of pod names.
	held, failing map[string]bool
	// links are the interfaces that differ from one that works, by name.
	links map[string]bedprobe.Link
	// behind is the time by which the clock of each node is behind.
	behind time.Duration
	// devices are the configurations of devices by their addresses.
	devices map[string]string
	// played are the pods that were started, which the cache may show as they were before.
	played map[types.UID]bool
	// ran are the hooks that have run, in their order.
	ran []hookRun
	// inSteps lets pods start and end in the steps of a real kubelet, and stepped is when each pod made its last one.
	inSteps bool
	stepped map[types.UID]time.Time
}

func startKubelet(t *testing.T, cfg *rest.Config) *fakeKubelet {
	t.Helper()
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	// The operator's own cache has only the pods of runs.
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{labNamespace: {}}},
		Controller: config.Controller{SkipNameValidation: new(true), UsePriorityQueue: new(false)},
	})
	if err != nil {
		t.Fatal(err)
	}
	k := &fakeKubelet{Client: mgr.GetClient(), held: map[string]bool{}, failing: map[string]bool{}, links: map[string]bedprobe.Link{}, devices: map[string]string{}, played: map[types.UID]bool{}, stepped: map[types.UID]time.Time{}}
	err = ctrl.NewControllerManagedBy(mgr).Named("kubelet").For(&corev1.Pod{}).Complete(reconcile.Func(k.play))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(run(t, func() (ctrl.Manager, error) { return mgr, nil }))
	return k
}

func (k *fakeKubelet) play(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	pod := &corev1.Pod{}
	if err := k.Get(ctx, req.NamespacedName, pod); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if k.inSteps {
		return k.step(ctx, pod)
	}
	if k.played[pod.UID] || pod.Status.Phase != "" && pod.Status.Phase != corev1.PodPending {
		return reconcile.Result{}, nil
	}
	if pod.Labels[labobjects.LabelUID] == "" && pod.Labels[labobjects.LabelRole] != labobjects.RoleProbe && pod.Labels[labobjects.LabelRole] != labobjects.RoleConfigure {
		return reconcile.Result{}, nil
	}
	role := pod.Name[strings.Index(pod.Name[3:], "-")+4:]
	if k.held[role] {
		return reconcile.Result{}, nil
	}
	switch {
	case k.failing[role]:
		failed(pod, "Error: node dut: no such image")
	case pod.Labels[labobjects.LabelRole] == labobjects.RoleConfigure:
		if err := k.configure(ctx, pod); err != nil {
			return reconcile.Result{}, err
		}
	case pod.Labels[labobjects.LabelRole] == labobjects.RoleHook:
		k.hook(pod)
	case strings.HasPrefix(role, "device-") && slices.Contains(pod.Spec.Containers[0].Args, "--configuration"):
		if err := k.startNode(ctx, pod); err != nil {
			return reconcile.Result{}, err
		}
	case strings.HasPrefix(role, "device-"):
		succeeded(pod)
	case strings.HasPrefix(role, "probe-"):
		if err := k.probe(pod); err != nil {
			return reconcile.Result{}, err
		}
	default:
		ready(pod)
	}
	err := k.Status().Update(ctx, pod)
	if err == nil {
		k.played[pod.UID] = true
	}
	return reconcile.Result{}, client.IgnoreNotFound(err)
}

// hold keeps pods of these roles from starting; letGo undoes it.
func (k *fakeKubelet) hold(roles ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range roles {
		k.held[r] = true
	}
}

func (k *fakeKubelet) fail(role string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failing[role] = true
}

// probe lets a pod that probes a bed end with what it finds on its node.
func (k *fakeKubelet) probe(pod *corev1.Pod) error {
	var ports []bedprobe.Port
	for _, arg := range pod.Spec.Containers[0].Args {
		if port, err := bedprobe.ParsePort(arg); err == nil {
			ports = append(ports, port)
		}
	}
	answer, err := bedprobe.Probe(ports, bedprobe.Options{}, time.Now().Add(-k.behind), func(name string) (bedprobe.Link, error) {
		if link, differs := k.links[name]; differs {
			return link, nil
		}
		return bedprobe.Link{Exists: true, Up: true, Carrier: true}, nil
	})
	if err != nil {
		return err
	}
	text, err := answer.Encode()
	if err != nil {
		return err
	}
	pod.Status.Phase = corev1.PodSucceeded
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "probe", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", Message: string(text)}},
	}}
	return nil
}

// link sets an interface of the nodes; without a link it works.
func (k *fakeKubelet) link(name string, link ...bedprobe.Link) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.links, name)
	for _, l := range link {
		k.links[name] = l
	}
}

// slow sets back the clocks of the nodes.
func (k *fakeKubelet) slow(behind time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.behind = behind
}

func ready(pod *corev1.Pod) {
	pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, "10.1.2.3"
	pod.Status.PodIPs = []corev1.PodIP{{IP: "10.1.2.3"}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
}

// succeeded lets a pod of the device end, with what one that starts the device reports.
func succeeded(pod *corev1.Pod) {
	pod.Status.Phase = corev1.PodSucceeded
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name:  "device",
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", Message: `{"tester":[0],"device":[1]}`}},
	}}
}

func failed(pod *corev1.Pod, words string) {
	pod.Status.Phase = corev1.PodFailed
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name:  "device",
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: words}},
	}}
}

// release starts every pod that was held.
func (k *fakeKubelet) release(w *world) {
	w.t.Helper()
	k.mu.Lock()
	k.held = map[string]bool{}
	k.mu.Unlock()
	var pods corev1.PodList
	w.Expect(k.List(w.t.Context(), &pods, client.InNamespace(labNamespace))).To(Succeed())
	for i := range pods.Items {
		_, err := k.play(w.t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&pods.Items[i])})
		w.Expect(err).NotTo(HaveOccurred())
	}
}

// letGo starts one held pod of a benchmark, and drops the others.
func (w *world) letGo(benchmark, role string) {
	w.t.Helper()
	w.letGoOf(w.benchmark(benchmark), role)
}

// letGoOf does so for a benchmark that may be gone.
func (w *world) letGoOf(b *v1alpha1.Benchmark, role string) {
	w.t.Helper()
	w.kubelet.mu.Lock()
	w.kubelet.held = map[string]bool{}
	w.kubelet.mu.Unlock()
	w.Eventually(func() error {
		pod := w.podOf(b, role)
		if pod == nil {
			return errors.New("there is no such pod")
		}
		if strings.HasPrefix(role, "device-") {
			succeeded(pod)
		} else {
			ready(pod)
		}
		return w.c.Status().Update(w.t.Context(), pod)
	}).Should(Succeed())
}

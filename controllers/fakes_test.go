package controllers_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers"
	"nodrop.dev/nodrop/internal/operator"
	"nodrop.dev/nodrop/internal/runner"
)

// fakeRunners answers in place of runner pods; it knows them by the name in
// their certificates.
type fakeRunners struct {
	mu     sync.Mutex
	states map[string]runner.State
	// rest is what runners say that were not given anything to say.
	rest   runner.State
	silent bool
}

var _ controllers.RunnerClient = (*fakeRunners)(nil)

func newFakeRunners() *fakeRunners { return &fakeRunners{states: map[string]runner.State{}} }

func (f *fakeRunners) State(_ context.Context, target controllers.RunnerTarget) (runner.State, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(target.Certificate.Cert) == 0 || len(target.Certificate.CA) == 0 {
		return runner.State{}, errors.New("the operator has no certificate")
	}
	if target.Address != "10.1.2.3:7444" {
		return runner.State{}, errors.New("nobody listens on " + target.Address)
	}
	if f.silent {
		return runner.State{}, errors.New("connection refused")
	}
	if state, ok := f.states[target.ServerName]; ok {
		return state, nil
	}
	return f.rest, nil
}

// always lets every other runner say something from now on.
func (f *fakeRunners) always(s runner.State) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rest = s
}

// tell lets the runner of a benchmark say something from now on.
func (f *fakeRunners) tell(b *v1alpha1.Benchmark, s runner.State) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.states["runner."+string(b.UID)+".nodrop"] = s
}

func (f *fakeRunners) hush(silent bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.silent = silent
}

// measured is what a runner says that is done with everything.
func measured(rows ...v1alpha1.ResultRow) runner.State {
	return runner.State{
		Done: true, Outcome: v1alpha1.PhasePassed, Reason: v1alpha1.ReasonAllMeasured, Message: "all rows were measured",
		Progress:    v1alpha1.Progress{Summary: "1/1 rows, 100%", RowsDone: 1, RowsTotal: 1},
		Rows:        rows,
		Environment: &v1alpha1.ResultEnvironment{NoDropVersion: "test", Engine: v1alpha1.EngineSim},
	}
}

// measuring is what a runner says in the middle.
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
}

func startKubelet(t *testing.T, cfg *rest.Config) *fakeKubelet {
	t.Helper()
	mgr, err := operator.NewManager(cfg, operator.Config{Namespace: operatorNamespace, Lab: labSettings(), MetricsAddress: "0", HealthAddress: "0"})
	if err != nil {
		t.Fatal(err)
	}
	k := &fakeKubelet{Client: mgr.GetClient(), held: map[string]bool{}, failing: map[string]bool{}}
	err = ctrl.NewControllerManagedBy(mgr).Named("kubelet").For(&corev1.Pod{}).Complete(reconcile.Func(k.play))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(run(t, mgr))
	return k
}

func (k *fakeKubelet) play(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	pod := &corev1.Pod{}
	if err := k.Get(ctx, req.NamespacedName, pod); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if pod.Status.Phase != "" && pod.Status.Phase != corev1.PodPending {
		return reconcile.Result{}, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	role := pod.Name[strings.Index(pod.Name[3:], "-")+4:]
	if k.held[role] {
		return reconcile.Result{}, nil
	}
	switch {
	case k.failing[role]:
		failed(pod, "Error: node dut: no such image")
	case strings.HasPrefix(role, "device-"):
		pod.Status.Phase = corev1.PodSucceeded
	default:
		ready(pod)
	}
	return reconcile.Result{}, client.IgnoreNotFound(k.Status().Update(ctx, pod))
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

func ready(pod *corev1.Pod) {
	pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, "10.1.2.3"
	pod.Status.PodIPs = []corev1.PodIP{{IP: "10.1.2.3"}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
}

func failed(pod *corev1.Pod, words string) {
	pod.Status.Phase = corev1.PodFailed
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name:  "device",
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: words}},
	}}
}

// release forgets what was held, and starts every pod that was.
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

// letGo forgets what was held and starts one pod of a benchmark that was.
func (w *world) letGo(benchmark, role string) {
	w.t.Helper()
	w.kubelet.mu.Lock()
	w.kubelet.held = map[string]bool{}
	w.kubelet.mu.Unlock()
	w.Eventually(func() error {
		pod := w.pod(benchmark, role)
		if pod == nil {
			return errors.New("there is no such pod")
		}
		if strings.HasPrefix(role, "device-") {
			pod.Status.Phase = corev1.PodSucceeded
		} else {
			ready(pod)
		}
		return w.c.Status().Update(w.t.Context(), pod)
	}).Should(Succeed())
}

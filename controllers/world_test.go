package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/reporting/opmetrics"
	"nodrop.dev/nodrop/internal/reporting/stored"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

const (
	labNamespace = operator.DefaultLabNamespace
	// operatorNamespace is the namespace in which the operator has its lease.
	operatorNamespace = operator.DefaultNamespace
	team              = "team-routing"
)

// patience bounds every wait of a test; it is reached only when one fails.
const patience = 2 * time.Minute

// server is an API server. One test has it at a time.
type server struct {
	// admin has all rights; operator only those of config/rbac.
	admin, operator *rest.Config
	stop            func() error
}

// servers contains the running servers: as many as tests that run at once.
var servers struct {
	sync.Mutex
	all, free []server
}

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	if file := os.Getenv(labOperator); file != "" {
		if err := operateLab(file); err != nil {
			fmt.Fprintln(os.Stderr, "simulating a lab:", err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	for _, s := range servers.all {
		if err := s.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the API server:", err)
			code = 1
		}
	}
	if code == 0 {
		for _, problem := range append(unusedRights(), unknownCases()...) {
			fmt.Fprintln(os.Stderr, problem)
			code = 1
		}
	}
	os.Exit(code)
}

// startServer lets a test run in parallel with others, with an API server that no other
// test uses meanwhile.
func startServer(t *testing.T) server {
	t.Helper()
	t.Parallel()
	return takeServer(t)
}

// takeServer is startServer for a test that sets the environment, which runs alone.
func takeServer(t *testing.T) server {
	t.Helper()
	s, found := freeServer()
	if !found {
		s = launchServer(t)
		servers.Lock()
		servers.all = append(servers.all, s)
		servers.Unlock()
	}
	t.Cleanup(func() {
		servers.Lock()
		servers.free = append(servers.free, s)
		servers.Unlock()
	})
	return s
}

func freeServer() (server, bool) {
	servers.Lock()
	defer servers.Unlock()
	last := len(servers.free) - 1
	if last < 0 {
		return server{}, false
	}
	s := servers.free[last]
	servers.free = servers.free[:last]
	return s, true
}

// launchServer starts an API server with the lab's namespaces and rights. Changes add to it
// before it starts.
func launchServer(t *testing.T, changes ...func(*envtest.Environment)) server {
	t.Helper()
	cfg, env := testserver.LaunchAPIServer(t, func(env *envtest.Environment) {
		env.CRDDirectoryPaths = append(env.CRDDirectoryPaths, filepath.Join("testdata", "crds"))
		for _, change := range changes {
			change(env)
		}
	})
	s := server{admin: cfg, stop: env.Stop}
	c := newClient(t, cfg)
	// The levels that the chart's README requires apply to all tests.
	for name, level := range map[string]string{labNamespace: "privileged", operatorNamespace: "restricted", team: "restricted", "team-other": "restricted"} {
		create(t, c, namespace(name, level))
	}
	for _, name := range []string{"node1", "cards-1", "cards-2"} {
		create(t, c, cardNode(name))
	}
	root := kubetest.Root(t)
	rights := chartRole(t, "connections.yaml", "nodrop-operator-connections")
	for _, file := range []string{"role.yaml", "role_binding.yaml"} {
		for _, o := range kubetest.Objects(t, filepath.Join(root, "config", "rbac", file)) {
			rights = append(rights, o)
		}
	}
	kubetest.Grant(t, c, rights...)
	const account = "system:serviceaccount:" + operatorNamespace
	user, err := env.AddUser(envtest.User{
		Name:   account + ":nodrop-operator",
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + operatorNamespace, "system:authenticated"},
	}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	limited := user.Config()
	limited.QPS, limited.Burst = cfg.QPS, cfg.Burst
	recordRights(limited)
	s.operator = limited
	return s
}

func newClient(t *testing.T, cfg *rest.Config) client.Client {
	t.Helper()
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func create(t *testing.T, c client.Client, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatalf("creating %T %s: %v", o, o.GetName(), err)
		}
	}
}

// world is one operator with one lab, for one case.
type world struct {
	*WithT
	t       *testing.T
	server  server
	c       client.Client
	runners *fakeRunners
	kubelet *fakeKubelet
	// ahead is the time by which the operator's clock is ahead of the real one.
	ahead *atomic.Int64
	// asked is the number of times that the operator has read its clock.
	asked atomic.Int64
	// deadlines of the operators that are started from now on.
	deadlines kit.Deadlines
	// change adds to the options of the operators that are started from now on.
	change func(*kit.Options)
	// crowded lets several operators act at once.
	crowded bool
	// requests counts the operator's requests to the API server; nil counts nothing.
	requests *requestCounter
	// recheck and refresh are the operator's intervals of these names.
	recheck, refresh time.Duration
	// defaultPolicy of the operators that are started from now on.
	defaultPolicy *v1alpha1.TrafficPolicy
	// kueue reports whether the operators that are started from now on work with Kueue.
	kueue bool
	// connections reports whether they hand out connection data.
	connections bool
	// counts contains the counts of all operators of the case.
	counts *opmetrics.Operator
	stop   func()
}

// counted counts the requests of the operator, and lengthens its intervals: what is
// counted does not depend on how long a test takes.
func counted(w *world) {
	w.requests = &requestCounter{}
	w.recheck, w.refresh = time.Minute, time.Minute
	w.server.operator = w.requests.count(w.server.operator)
}

func newWorld(t *testing.T, s server, change ...func(*world)) *world {
	t.Helper()
	leaveToLong(t)
	w := &world{
		WithT: NewWithT(t), t: t, server: s, c: newClient(t, s.admin),
		runners: newFakeRunners(), ahead: &atomic.Int64{}, deadlines: kit.DefaultDeadlines(), counts: opmetrics.NewOperator(),
		recheck: 200 * time.Millisecond, refresh: 100 * time.Millisecond,
	}
	w.SetDefaultEventuallyTimeout(patience)
	w.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	t.Cleanup(w.wipe)
	for _, c := range change {
		c(w)
	}
	w.kubelet = startKubelet(t, s.admin)
	w.start()
	t.Cleanup(func() { w.stop() })
	return w
}

// operatorName is the name of all operators of a case, of which one acts at a time.
const operatorName = "operator"

// start runs an operator; stop ends it and waits for its end.
func (w *world) start() { w.stop = w.startOperator() }

func (w *world) startOperator() (stop func()) {
	w.t.Helper()
	settings := labSettings()
	config := operator.Config{
		Namespace: operatorNamespace, Lab: settings, MetricsAddress: "0", HealthAddress: "0", LeaderElect: !w.crowded, Kueue: w.kueue,
		// A machine that is busy delays a test, and does not end its operator.
		RenewDeadline: patience / 2,
		// One that is stopped as it starts may leave its lease. The next one has the same name, and takes it at once.
		Identity: operatorName,
	}
	options := kit.Options{
		Lab: settings, Runner: w.runners, DefaultPolicy: w.defaultPolicy, Counts: w.counts,
		Now: func() time.Time {
			w.asked.Add(1)
			return time.Now().Add(time.Duration(w.ahead.Load()))
		},
		Deadlines: w.deadlines, Poll: 50 * time.Millisecond, ProgressEvery: 100 * time.Millisecond,
		Recheck: w.recheck, Refresh: w.refresh, Kueue: w.kueue, Connections: w.connections,
	}
	if w.change != nil {
		w.change(&options)
	}
	account := w.server.operator
	return run(w.t, func() (ctrl.Manager, error) {
		mgr, err := operator.NewManager(account, config)
		if err != nil {
			return nil, err
		}
		return mgr, controllers.SetupWithManager(mgr, options)
	})
}

// run starts a manager and returns what stops it. A manager that ends by itself is followed by another one, as the kubelet
// starts a pod again; the test fails if it ended for another reason than a lost lease.
func run(t *testing.T, build func() (ctrl.Manager, error)) (stop func()) {
	t.Helper()
	mgr, err := build()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		var ends []error
		for {
			err := mgr.Start(ctx)
			for err != nil && ctx.Err() == nil && len(ends) < mostEnds {
				if !strings.Contains(err.Error(), leaseLost) {
					ends = append(ends, err)
				}
				mgr, err = build()
			}
			if ctx.Err() != nil || len(ends) >= mostEnds {
				done <- errors.Join(append(ends, err)...)
				return
			}
		}
	}()
	var stopped atomic.Bool
	return func() {
		cancel()
		if stopped.CompareAndSwap(false, true) {
			if err := <-done; err != nil {
				t.Errorf("the manager ended: %v", err)
			}
		}
	}
}

// mostEnds is the number of times that a manager may end for another reason than a lost lease before no other follows.
const mostEnds = 5

// leaseLost is part of the error with which a manager of controller-runtime ends when it loses its lease.
const leaseLost = "leader election lost"

// impatient replaces the operator by one with other deadlines: a case that waits for
// one makes it short, and leaves the others as long as they are.
func (w *world) impatient(change func(*kit.Deadlines)) {
	w.t.Helper()
	w.stop()
	change(&w.deadlines)
	w.start()
}

// short is a deadline that a case waits for.
const short = 400 * time.Millisecond

func shortDevice(d *kit.Deadlines)  { d.Device = short }
func shortTraffic(d *kit.Deadlines) { d.Traffic = short }
func shortRunner(d *kit.Deadlines)  { d.Runner = short }
func shortCleanUp(d *kit.Deadlines) { d.CleanUp = short }

// pass lets the operator's clock jump.
func (w *world) pass(d time.Duration) { w.ahead.Add(int64(d)) }

// wipe removes what a case left, so that the next one begins with nothing.
func (w *world) wipe() {
	err := testserver.DeleteAll(context.Background(), w.c, append(testserver.Kinds(), &corev1.ConfigMapList{}, &corev1.PodList{}, &corev1.SecretList{}, networks())...)
	if err != nil {
		w.t.Fatal(err)
	}
}

// benchmark reads a benchmark of the team.
func (w *world) benchmark(name string) *v1alpha1.Benchmark {
	b := &v1alpha1.Benchmark{}
	w.Expect(w.c.Get(w.t.Context(), client.ObjectKey{Namespace: team, Name: name}, b)).To(Succeed())
	return b
}

// stored reads what is stored of a benchmark's result.
func (w *world) stored(b *v1alpha1.Benchmark) stored.Result {
	w.t.Helper()
	r, err := stored.Read(w.t.Context(), w.c, b)
	w.Expect(err).NotTo(HaveOccurred())
	return r
}

func (w *world) rows(b *v1alpha1.Benchmark) []v1alpha1.ResultRow {
	w.t.Helper()
	return w.stored(b).Rows
}

func (w *world) bed(name string) *v1alpha1.TestBed {
	b := &v1alpha1.TestBed{}
	w.Expect(w.c.Get(w.t.Context(), client.ObjectKey{Name: name}, b)).To(Succeed())
	return b
}

// reaches waits until a benchmark is in a phase.
func (w *world) reaches(name string, phase v1alpha1.BenchmarkPhase) *v1alpha1.Benchmark {
	w.t.Helper()
	w.Eventually(func() string {
		b := w.benchmark(name)
		return string(b.Status.Phase) + " " + b.Status.Message
	}).Should(HavePrefix(string(phase)+" "), "the phase of %s", name)
	return w.benchmark(name)
}

// says waits until a condition of a benchmark has a reason, and returns it.
func (w *world) says(name, kind, reason string) *metav1.Condition {
	w.t.Helper()
	var c *metav1.Condition
	w.Eventually(func() string {
		if c = meta.FindStatusCondition(w.benchmark(name).Status.Conditions, kind); c == nil {
			return ""
		}
		return c.Reason
	}).Should(Equal(reason), "the reason of %s of %s", kind, name)
	return c
}

// bedIsClean checks that nothing of any run is left, and that the bed is free.
func (w *world) bedIsClean(bed string) {
	w.t.Helper()
	w.Expect(w.leftovers()).To(BeEmpty(), "what is left in the lab")
	w.Eventually(func() *v1alpha1.BedLease { return w.bed(bed).Status.Lease }).Should(BeNil(), "the lease of %s", bed)
}

// bedIsCleanEventually is for beds without a benchmark that shows when.
func (w *world) bedIsCleanEventually(bed string) {
	w.t.Helper()
	w.Eventually(w.leftovers).Should(BeEmpty(), "what is left in the lab")
	w.bedIsClean(bed)
}

// leftovers names everything of runs in the lab's namespace.
func (w *world) leftovers() []string {
	var names []string
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.SecretList{}, networks()} {
		w.Expect(w.c.List(w.t.Context(), list, client.InNamespace(labNamespace), client.HasLabels{labobjects.LabelUID})).To(Succeed())
		items, err := meta.ExtractList(list)
		w.Expect(err).NotTo(HaveOccurred())
		for _, item := range items {
			names = append(names, item.(client.Object).GetName())
		}
	}
	return names
}

// pod reads a pod of a benchmark by its role's name; nil if it does not exist.
func (w *world) pod(benchmark, role string) *corev1.Pod {
	w.t.Helper()
	return w.podOf(w.benchmark(benchmark), role)
}

// podOf reads a pod of a benchmark that may be gone.
func (w *world) podOf(b *v1alpha1.Benchmark, role string) *corev1.Pod {
	w.t.Helper()
	pod := &corev1.Pod{}
	key := client.ObjectKey{Namespace: labNamespace, Name: labobjects.RunOf(b).Prefix() + "-" + role}
	if err := w.c.Get(w.t.Context(), key, pod); err != nil {
		w.Expect(client.IgnoreNotFound(err)).To(Succeed())
		return nil
	}
	return pod
}

// appears waits for a pod of a benchmark.
func (w *world) appears(benchmark, role string) *corev1.Pod {
	w.t.Helper()
	w.Eventually(func() *corev1.Pod { return w.pod(benchmark, role) }).ShouldNot(BeNil(), "pod %s of %s", role, benchmark)
	return w.pod(benchmark, role)
}

func networks() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(labobjects.NetworkGVK)
	return list
}

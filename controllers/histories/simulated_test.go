package histories

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/controllers"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/operator"
)

func TestMain(m *testing.M) {
	logger := logr.Discard()
	if os.Getenv("HISTORY_LOG") != "" {
		logger = funcr.New(func(prefix, args string) { fmt.Println(time.Now().Format("15:04:05.000"), prefix, args) }, funcr.Options{})
	}
	ctrl.SetLogger(logger)
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// seeds returns the seeds of this run: one, or as many as asked for, or a number that is a
// twelfth in short.
func seeds(t *testing.T, variable string, normally int) []uint64 {
	t.Helper()
	if testing.Short() {
		normally = max(1, normally/12)
	}
	if s := os.Getenv("HISTORY_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return []uint64{seed}
	}
	if s := os.Getenv(variable); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		normally = n
	}
	first := uint64(1)
	if s := os.Getenv("HISTORY_FIRST"); s != "" {
		var err error
		if first, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	all := make([]uint64, normally)
	for i := range all {
		all[i] = first + uint64(i)
	}
	return all
}

// TestSimulatedHistories runs histories in simulated time: three teams share the lab by a
// LabPolicy that changes, with weights, limits, aging and a class that preempts, with
// reservations and gangs, and with operators that die. In each no bed is held twice, no
// reservation is overrun, gangs get their beds together, and no row of a preempted benchmark is
// lost.
//
// The operator is the real one: all its controllers, the allocator and the queue. The API
// server, the cache, the kubelet, the runners and time are simulated, without admission.
func TestSimulatedHistories(t *testing.T) {
	all := seeds(t, "HISTORIES_SIMULATED", 600)
	began := time.Now()
	var next, writes, simulated, failed, inReserved, preempted, resumed, askedFor, inGangs, configured, broken, hostile, hooksRun, resets, restoredFirst, listsGiven, listsRestored, nodesStarted, nodesBroken, passedOn atomic.Int64
	t.Run("of", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("workers", func(t *testing.T) {
				t.Parallel()
				for i := next.Add(1); int(i) <= len(all) && failed.Load() < 3; i = next.Add(1) {
					o := explore(t, all[i-1])
					failed.Add(int64(min(len(o.wrong), 1)))
					writes.Add(int64(o.writes))
					inReserved.Add(int64(o.inReserved))
					preempted.Add(int64(o.preempted))
					resumed.Add(int64(o.resumed))
					askedFor.Add(int64(o.askedFor))
					inGangs.Add(int64(o.inGangs))
					configured.Add(int64(o.configured))
					broken.Add(int64(o.broken))
					hostile.Add(int64(o.hostile))
					hooksRun.Add(int64(o.hooksRun))
					resets.Add(int64(o.resets))
					restoredFirst.Add(int64(o.restoredFirst))
					passedOn.Add(int64(o.passedOn))
					listsGiven.Add(int64(o.listsGiven))
					listsRestored.Add(int64(o.listsRestored))
					nodesStarted.Add(int64(o.nodesStarted))
					nodesBroken.Add(int64(o.nodesBroken))
					if i%500 == 0 {
						t.Logf("%d histories after %s", i, time.Since(began).Round(time.Second))
					}
					simulated.Add(int64(o.took))
				}
			})
		}
	})
	t.Logf("%d histories, %s of simulated time, %d writes, %d leases within a reservation and %d preemptions, %d of them with finished rows, in %s",
		len(all), time.Duration(simulated.Load()).Round(time.Minute), writes.Load(), inReserved.Load(), preempted.Load(), resumed.Load(), time.Since(began).Round(time.Second))
	t.Logf("%d beds were taken for a class that preempts; %d members of gangs began; %d beds were passed on to the next benchmark by one write",
		askedFor.Load(), inGangs.Load(), passedOn.Load())
	t.Logf("the device was configured or restored %d times, and %d times a pod was lost that had begun to", configured.Load(), broken.Load())
	t.Logf("%d hooks succeeded; the device was reset %d times, and %d runners began after a runner that was lost in a reset", hooksRun.Load(), resets.Load(), restoredFirst.Load())
	t.Logf("the device got %d lists, and %d runners began after a runner that was lost with a list; %d configured nodes were started, and %d times a pod was lost that had begun to start or destroy one",
		listsGiven.Load(), listsRestored.Load(), nodesStarted.Load(), nodesBroken.Load())
	t.Logf("hostile teams wrote %d times between a read and a write of the operator", hostile.Load())
	for what, n := range map[string]int64{
		"a team that writes without pause": hostile.Load(),
		"a lease within a reservation":     inReserved.Load(), "a preemption with finished rows": resumed.Load(),
		"a bed that was passed on":              passedOn.Load(),
		"a bed taken for a class that preempts": askedFor.Load(), "a gang that began": inGangs.Load(),
		"a pod that was lost while it configured the device": broken.Load(),
		"a hook that succeeded":                              hooksRun.Load(), "a reset of the device": resets.Load(),
		"a runner that began after a runner that was lost in a reset": restoredFirst.Load(),
		"a list on the device": listsGiven.Load(), "a runner that began after a runner that was lost with a list": listsRestored.Load(),
		"a configured node": nodesStarted.Load(), "a pod that was lost while it started or destroyed a node": nodesBroken.Load(),
	} {
		if len(all) >= 100 && n == 0 {
			t.Errorf("the histories do not show %s", what)
		}
	}
}

// explore runs the history of a seed, and searches for a shorter one when it fails.
func explore(t *testing.T, seed uint64) outcome {
	t.Helper()
	script := newScript(seed)
	o := simulate(t, seed, script)
	if len(o.wrong) == 0 {
		return o
	}
	script = shrink(script, func(s []event) bool {
		again := simulate(t, seed, s)
		if len(again.wrong) > 0 {
			o = again
		}
		return len(again.wrong) > 0
	})
	t.Errorf("HISTORY_SEED=%d; the shortest history that was seen to fail:\n  %s\nwith: %s",
		seed, strings.Join(texts(script), "\n  "), strings.Join(o.wrong, "\n  "))
	return o
}

func texts(script []event) []string {
	var all []string
	for _, e := range script {
		all = append(all, e.String())
	}
	return all
}

// outcome is the result of a history.
type outcome struct {
	wrong  []string
	took   time.Duration
	writes int
	// leases within a reservation.
	inReserved int
	// preempted counts returned beds, and resumed those of benchmarks with finished rows.
	preempted, resumed int
	// inGangs counts the members of gangs that began.
	inGangs int
	// configured and broken count how often the device was configured, and how often that was broken off.
	configured, broken int
	// hooksRun, resets and restoredFirst are the numbers of hooks that succeeded, of resets of the device, and of runners that began after a runner that was
	// lost in a reset.
	hooksRun, resets, restoredFirst int
	// listsGiven and listsRestored are the numbers of lists on the device, and of runners that began after a runner that was lost with one.
	listsGiven, listsRestored int
	// nodesStarted and nodesBroken count how often a configured node was started, and how often that, or its end, was broken off.
	nodesStarted, nodesBroken int
	// deaths is the number of operators that ended at a write.
	deaths int
	// askedFor counts the beds that the allocator took for a benchmark that preempts.
	askedFor int
	// passedOn counts the leases that replaced one of a benchmark that had ended.
	passedOn int
	// hostile is the number of writes of hostile teams.
	hostile int
}

// simulate runs one history.
func simulate(t *testing.T, seed uint64, script []event) (o outcome) {
	t.Helper()
	baseline := emptyOperator(t)
	inBubble(t, seed, func(w *world, api *fakeAPI) {
		w.check.stores, w.check.requests = newFakeStores(w.check), newRequestCounts()
		w.baseline = baseline
		began := time.Now()
		o.wrong = w.play(context.Background(), script)
		o.took, o.writes = time.Since(began), api.version
		o.hostile = w.hostile.writes
		o.inReserved = w.check.inReserved[true]
		o.preempted, o.resumed = w.check.preempted, w.check.resumed
		o.deaths, o.askedFor, o.inGangs = w.deaths, w.check.askedFor, w.check.inGangs
		o.passedOn = w.check.passedOn
		o.hooksRun, o.resets, o.restoredFirst = w.check.hooksRun, w.check.resets, w.check.restoredFirst
		o.listsGiven, o.listsRestored = w.check.listsGiven, w.check.listsRestored
		o.nodesStarted, o.nodesBroken = w.check.node.started, w.check.node.broken
		o.configured, o.broken = w.check.configured, w.check.broken
	})
	return o
}

// inBubble makes a lab in simulated time. What runs in it has to end with f.
func inBubble(t *testing.T, seed uint64, f func(*world, *fakeAPI)) {
	t.Helper()
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		api := newFakeAPI(scheme)
		check := newChecker()
		api.seen = check.see
		admin := &fakeClient{api: api}
		w := &world{
			Client: admin, unit: time.Second, rng: rand.New(rand.NewPCG(seed, 3)), check: check,
			lab: newFakeLab(admin, time.Second, check), losses: map[string]int{},
		}
		w.api = api
		api.meddleWith(func(obj client.Object) error { return w.hostile.meddle(context.Background(), admin, obj) })
		w.run = func(ctx context.Context, l *link) {
			m := &fakeManager{api: api, link: l, cache: newFakeCache(api, 500*time.Millisecond, rand.New(rand.NewPCG(seed, 4)))}
			if err := controllers.SetupWithManager(m, options(w, time.Second, l.now)); err != nil {
				panic(err)
			}
			l.runnables = m.runnables
			_ = m.Start(ctx)
		}
		for _, make := range []func(context.Context, client.Client) error{prepare, populate} {
			if err := make(t.Context(), admin); err != nil {
				t.Fatal(err)
			}
		}
		f(w, api)
	})
}

// inLab is inBubble with an operator that runs for a while already.
func inLab(t *testing.T, seed uint64, f func(context.Context, *world)) {
	t.Helper()
	inBubble(t, seed, func(w *world, _ *fakeAPI) {
		ctx, cancel := context.WithCancel(context.Background())
		defer w.all.Wait()
		defer cancel()
		w.current = w.newOperator()
		defer w.current.stop()
		w.all.Go(func() { w.lab.work(ctx) })
		time.Sleep(10 * time.Second)
		f(ctx, w)
	})
}

// options of an operator, with everything at the pace of the history.
func options(w *world, unit time.Duration, now func() time.Time) kit.Options {
	o := kit.Options{
		Lab: settings(), Runner: w.lab.runners,
		Now:       now,
		Deadlines: kit.DefaultDeadlines(),
		Poll:      unit, ProgressEvery: 5 * unit, Recheck: 15 * unit, Refresh: 10 * unit, Sweep: 100 * unit,
	}
	if s := w.check.stores; s != nil {
		o.Archive, o.Metrics = s, fakeRecorder{s}
	}
	return o
}

// prepare makes what all histories have in common.
func prepare(ctx context.Context, c client.Client) error {
	for _, name := range append([]string{labNamespace}, teams...) {
		if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return fmt.Errorf("making namespace %s: %w", name, err)
		}
	}
	if err := c.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node1"}}); err != nil {
		return fmt.Errorf("making a node: %w", err)
	}
	return nil
}

// populate makes what is there before a history begins.
func populate(ctx context.Context, c client.Client) error {
	for _, obj := range []client.Object{
		configMap("model", "model.csv", table), configMap("router", "topology.clab.yaml", "name: router"),
		profileOf(teams[0]), profileOf(teams[1]), profileOf(teams[2]), policy(0),
		modelled(bedNames[0]), virtual(bedNames[1]), configuredNode(nodeBed),
		configMap(managedBed, "base.conf", string(baseText)), configMap("acl", "acl.conf", string(aclText)), accessToDevice(), managed(managedBed),
	} {
		if err := c.Create(ctx, obj); err != nil {
			return fmt.Errorf("making %s: %w", obj.GetName(), err)
		}
	}
	return nil
}

// shrink leaves events out as long as the history fails without them.
func shrink(script []event, fails func([]event) bool) []event {
	for shorter := true; shorter; {
		shorter = false
		for i := range script {
			without := append(append([]event{}, script[:i]...), script[i+1:]...)
			if fails(without) {
				script, shorter = without, true
				break
			}
		}
	}
	return script
}

package controllers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/testkit/honestteams"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// labSize is the size of a simulated lab.
type labSize struct {
	benchmarks, beds, namespaces int
	// policy reports whether there is a LabPolicy: a team for each namespace, with weights of 1 to 4.
	policy bool
	// run is the time for which a benchmark has its bed; with mixed it is one to four times that,
	// by what it measures, and up to a tenth more or less.
	run   time.Duration
	mixed bool
	// preemptible reports whether beds may be taken from benchmarks.
	preemptible bool
}

// labLook follows a simulated lab.
type labLook interface {
	// bed sees each version of a bed.
	bed(b *v1alpha1.TestBed, now time.Time)
	// look is called again and again with the number of benchmarks that have ended, and reports
	// whether it has seen enough.
	look(ctx context.Context, c client.Client, ended int) (enough bool, _ error)
}

// fakeBench lets every benchmark pass after a while, without any pods.
type fakeBench struct {
	run   func(*v1alpha1.Benchmark) time.Duration
	mu    sync.Mutex
	ready map[string]time.Time
}

var _ kit.Bench = (*fakeBench)(nil)

func (f *fakeBench) Run(_ context.Context, b *v1alpha1.Benchmark) (v1alpha1.BenchmarkPhase, time.Duration, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	uid := string(b.UID)
	if f.ready == nil {
		f.ready = map[string]time.Time{}
	}
	if f.ready[uid].IsZero() {
		f.ready[uid] = time.Now().Add(f.run(b))
	}
	if left := time.Until(f.ready[uid]); left > 0 {
		return "", left, nil
	}
	return v1alpha1.PhaseMeasured, 0, nil
}

func (f *fakeBench) Sweep(context.Context, labobjects.Run) (string, error) { return "", nil }

// labReport contains the observations of an operator in a simulated lab.
type labReport struct {
	Passed, Other int
	// Cleaning is the number of benchmarks with a status of the phase CleaningUp.
	Cleaning        int
	Quarantined     int
	Admissions      int
	Seconds         float64
	P50, P99        float64
	HeapMiB, RSSMiB float64
	CPUSeconds      float64
	// ServerCPU is the processor time that the API server and etcd have used, in seconds.
	ServerCPU         map[string]float64
	Requests          map[string]int
	RequestsPerSecond float64
}

// labObserver follows beds and benchmarks through the cache of an operator.
type labObserver struct {
	want int
	done chan struct{}

	mu          sync.Mutex
	finished    map[string]v1alpha1.BenchmarkPhase
	endedAt     map[string]time.Time
	freed       map[string]time.Time
	gaps        []time.Duration
	first, last time.Time
	admissions  int
	quarantined map[string]bool
	cleaning    map[string]bool
	look        labLook
}

func (o *labObserver) benchmark(obj any) {
	b, ok := obj.(*v1alpha1.Benchmark)
	if !ok || !b.Status.Phase.Finished() && b.Status.Phase != v1alpha1.PhaseCleaningUp {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	key := b.Namespace + "/" + b.Name
	if b.Status.Phase == v1alpha1.PhaseCleaningUp {
		o.cleaning[key] = true
		return
	}
	if _, known := o.finished[key]; known {
		return
	}
	o.endedAt[key] = time.Now()
	if o.finished[key] = b.Status.Phase; len(o.finished) == o.want {
		close(o.done)
	}
}

// bed notes for how long a bed was free until it was leased again. One that is passed on is free from the last
// phase of the benchmark that had it.
func (o *labObserver) bed(old, obj any) {
	before, ok1 := old.(*v1alpha1.TestBed)
	after, ok2 := obj.(*v1alpha1.TestBed)
	if !ok1 || !ok2 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if o.look != nil {
		o.look.bed(after, now)
	}
	for _, c := range after.Status.Conditions {
		if c.Type == v1alpha1.ConditionQuarantined && c.Status == metav1.ConditionTrue {
			o.quarantined[after.Name] = true
		}
	}
	was, is := before.Status.Lease, after.Status.Lease
	if is != nil && (was == nil || was.UID != is.UID) {
		o.admissions++
		o.last = now
		if o.first.IsZero() {
			o.first = now
		}
		freed, known := o.freed[after.Name]
		if was != nil {
			freed, known = o.endedAt[was.Holder]
		}
		if known {
			o.gaps = append(o.gaps, now.Sub(freed))
		}
	}
	if is == nil && was != nil {
		o.freed[after.Name] = now
	}
}

// simulateOperator runs an operator until every benchmark has ended, or the look has seen enough,
// and reports. The look may be nil.
func simulateOperator(ctx context.Context, cfg *rest.Config, size labSize, look labLook) (labReport, error) {
	requests := &requestCounter{}
	mgr, err := operator.NewManager(requests.count(cfg), operator.Config{
		Namespace: operatorNamespace, Lab: labSettings(), MetricsAddress: "0", HealthAddress: "0", LeaderElect: true,
	})
	if err != nil {
		return labReport{}, err
	}
	err = controllers.SetupWithManager(mgr, kit.Options{
		Lab: labSettings(), Runner: newFakeRunners(), Bench: &fakeBench{run: size.runOf}, Now: time.Now,
	})
	if err != nil {
		return labReport{}, err
	}
	seen := &labObserver{
		want: size.benchmarks, done: make(chan struct{}), finished: map[string]v1alpha1.BenchmarkPhase{}, endedAt: map[string]time.Time{},
		freed: map[string]time.Time{}, quarantined: map[string]bool{}, cleaning: map[string]bool{}, look: look,
	}
	for obj, handler := range map[client.Object]toolscache.ResourceEventHandlerFuncs{
		&v1alpha1.Benchmark{}: {AddFunc: seen.benchmark, UpdateFunc: func(_, obj any) { seen.benchmark(obj) }},
		&v1alpha1.TestBed{}:   {UpdateFunc: seen.bed},
	} {
		informer, err := mgr.GetCache().GetInformer(ctx, obj, cache.BlockUntilSynced(false))
		if err != nil {
			return labReport{}, err
		}
		if _, err := informer.AddEventHandler(handler); err != nil {
			return labReport{}, err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	var heap uint64
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	looks := make(<-chan time.Time)
	if look != nil {
		often := time.NewTicker(100 * time.Millisecond)
		defer often.Stop()
		looks = often.C
	}
	for waiting := true; waiting; {
		select {
		case <-seen.done:
			waiting = false
		case err := <-ended:
			return labReport{}, fmt.Errorf("the operator ended: %w", err)
		case <-ctx.Done():
			return labReport{}, ctx.Err()
		case <-tick.C:
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			heap = max(heap, m.HeapInuse)
		case <-looks:
			enough, err := look.look(ctx, mgr.GetClient(), seen.ended())
			if err != nil {
				return labReport{}, err
			}
			waiting = !enough
		}
	}
	return seen.report(requests, heap), nil
}

func (o *labObserver) ended() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.finished)
}

func (o *labObserver) report(requests *requestCounter, heap uint64) labReport {
	o.mu.Lock()
	defer o.mu.Unlock()
	slices.Sort(o.gaps)
	r := labReport{
		Admissions: o.admissions, Seconds: o.last.Sub(o.first).Seconds(), Quarantined: len(o.quarantined), Cleaning: len(o.cleaning),
		P50: honestteams.Quantile(o.gaps, 0.5), P99: honestteams.Quantile(o.gaps, 0.99),
		HeapMiB: float64(heap) / (1 << 20), RSSMiB: peakRSS(), Requests: requests.copy(),
	}
	for _, phase := range o.finished {
		if phase == v1alpha1.PhaseMeasured {
			r.Passed++
		} else {
			r.Other++
		}
	}
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) == nil {
		r.CPUSeconds = float64(usage.Utime.Sec+usage.Stime.Sec) + float64(usage.Utime.Usec+usage.Stime.Usec)/1e6
	}
	r.RequestsPerSecond = float64(requests.of()) / max(r.Seconds, 0.001)
	return r
}

// peakRSS is the most memory that the process has had, in MiB.
func peakRSS() float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kib / 1024
		}
	}
	return 0
}

// fill makes namespaces, beds, profiles and benchmarks. A tenth of the benchmarks name
// their bed, the others select those of two racks, or of all.
func (size labSize) fill(t *testing.T, cfg *rest.Config) {
	t.Helper()
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	c := newClient(t, cfg)
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(16)
	add := func(o client.Object) {
		group.Go(func() error {
			if err := c.Create(ctx, o); err != nil {
				return fmt.Errorf("creating %s: %w", o.GetName(), err)
			}
			return nil
		})
	}
	create(t, c, configMap("model", "model.csv", table))
	if size.policy {
		create(t, c, size.labPolicy())
	}
	for i := range size.namespaces {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("sim-team-%02d", i), Labels: map[string]string{"lab": "sim"}}}
		if err := c.Create(t.Context(), ns); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
	for i := range size.beds {
		bed := modelled(fmt.Sprintf("sim-%03d", i))
		bed.Labels = map[string]string{"rack": fmt.Sprintf("r%d", i%8)}
		bed.Spec.Access = []v1alpha1.AccessGrant{{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"lab": "sim"}}, MaxPriority: 100}}
		add(bed)
	}
	for i := range size.namespaces {
		p := profile()
		p.Namespace = fmt.Sprintf("sim-team-%02d", i)
		add(p)
	}
	for i := range size.benchmarks {
		b := benchmark(fmt.Sprintf("b-%05d", i), "")
		b.Namespace = fmt.Sprintf("sim-team-%02d", i%size.namespaces)
		b.Spec.Priority, b.Spec.Preemptible = int32(i%3), size.preemptible
		switch racks := []string{fmt.Sprintf("r%d", i%8), fmt.Sprintf("r%d", (i+3)%8)}; {
		case i%10 == 0:
			b.Spec.TestBedName = fmt.Sprintf("sim-%03d", (i/10)%size.beds)
		case i%10 < 6:
			b.Spec.TestBedSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "rack", Operator: metav1.LabelSelectorOpIn, Values: racks}}}
		default:
			b.Spec.TestBedSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "rack", Operator: metav1.LabelSelectorOpExists}}}
		}
		if size.mixed {
			b.Spec.FrameSizes = []v1alpha1.FrameSize{frameSizesOfKinds[i/size.namespaces%len(frameSizesOfKinds)]}
		}
		add(b)
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// frameSizesOfKinds are the frame sizes of what benchmarks measure in a lab with mixed durations.
var frameSizesOfKinds = []v1alpha1.FrameSize{64, 128, 256, 512}

// runOf returns the time for which a benchmark has its bed.
func (size labSize) runOf(b *v1alpha1.Benchmark) time.Duration {
	if !size.mixed {
		return size.run
	}
	kind := 1 + slices.Index(frameSizesOfKinds, b.Spec.FrameSizes[0])
	name := fnv.New32()
	_, _ = name.Write([]byte(b.Name)) // A hash returns no error.
	return time.Duration(kind) * size.run * time.Duration(900+name.Sum32()%201) / 1000
}

func (size labSize) labPolicy() *v1alpha1.LabPolicy {
	policy := &v1alpha1.LabPolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LabPolicyName}}
	policy.Spec.PriorityClasses = []v1alpha1.PriorityClass{{Name: "urgent", Value: 100, Preempts: true}}
	for i := range size.namespaces {
		policy.Spec.Teams = append(policy.Spec.Teams, v1alpha1.Team{
			Name: fmt.Sprintf("team-%02d", i), Namespaces: []string{fmt.Sprintf("sim-team-%02d", i)}, TeamShare: v1alpha1.TeamShare{Weight: int32(1 + i%4)},
		})
	}
	return policy
}

func (r labReport) writes() int {
	n := 0
	for kind, count := range r.Requests {
		if !strings.HasPrefix(kind, "GET") {
			n += count
		}
	}
	return n
}

// TestLabSim runs a small lab without pods. What is asserted does not depend on time.
func TestLabSim(t *testing.T) {
	s := startServer(t)
	w := &world{WithT: NewWithT(t), t: t, server: s, c: newClient(t, s.admin)}
	t.Cleanup(w.wipe)
	size := labSize{benchmarks: 300, beds: 20, namespaces: 4, policy: true}
	if testing.Short() {
		size.benchmarks = 60
	}
	size.fill(t, s.admin)
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	r, err := simulateOperator(ctx, s.operator, size, nil)
	w.Expect(err).NotTo(HaveOccurred())
	t.Log("\n" + labTable([]labSize{size}, []labReport{r}))
	w.Expect(r.Passed).To(Equal(size.benchmarks))
	w.Expect(r.Quarantined).To(BeZero())
	w.Expect(r.Admissions).To(Equal(size.benchmarks), "leases: one for each benchmark")
	w.Expect(r.Requests["PATCH testbeds/status"]).To(BeNumerically("<", size.benchmarks+8*size.beds), "writes of beds: a lease for each benchmark, and what a bed needs before the first and after the last")
	w.Expect(r.Cleaning).To(BeNumerically("<", size.benchmarks/2), "writes of the outcome alone: only if no other benchmark waits for the bed")
	w.Expect(float64(r.Requests["GET benchmarks"]) / float64(size.benchmarks)).To(BeNumerically("<", 2))
	w.Expect(r.Requests["GET testbeds (list)"]).To(BeNumerically("<", 3))
}

// TestMeasureLab measures labs of the sizes that NODROP_LAB_SIM lists, such as
// 1500,4000x20, which is 1,500 benchmarks on 200 beds and 4,000 on 20, each without and with a
// LabPolicy, and with an API server and an operator in processes of their own. It is run by make lab-sim; without the variable there is nothing to measure.
func TestMeasureLab(t *testing.T) {
	list := os.Getenv("NODROP_LAB_SIM")
	if list == "" {
		t.Skip("NODROP_LAB_SIM is not set: make lab-sim")
	}
	var sizes []labSize
	var reports []labReport
	for _, size := range labSizes(t, list) {
		size.run = 200 * time.Millisecond
		for _, size.policy = range []bool{false, true} {
			sizes, reports = append(sizes, size), append(reports, measureLab(t, size))
			t.Log("\n" + labTable(sizes, reports))
		}
	}
	for i, r := range reports {
		if r.Passed != sizes[i].benchmarks || r.Quarantined > 0 {
			t.Errorf("%d of %d passed, %d beds are quarantined", r.Passed, sizes[i].benchmarks, r.Quarantined)
		}
	}
}

// labSizes are the sizes that a text such as 1500,4000x20 lists; a lab without a number of
// beds has 200.
func labSizes(t *testing.T, list string) []labSize {
	t.Helper()
	var sizes []labSize
	for text := range strings.SplitSeq(list, ",") {
		size := labSize{beds: 200, namespaces: 40}
		var err error
		benchmarks, beds, given := strings.Cut(text, "x")
		if size.benchmarks, err = strconv.Atoi(benchmarks); err != nil {
			t.Fatal(err)
		}
		if given {
			if size.beds, err = strconv.Atoi(beds); err != nil {
				t.Fatal(err)
			}
		}
		sizes = append(sizes, size)
	}
	return sizes
}

// labOperator is the environment variable with the file that says what an operator
// process works with.
const labOperator = "NODROP_LAB_SIM_OPERATOR"

// labTask is the content of that file.
type labTask struct {
	Host          string
	CA, Cert, Key []byte
	Benchmarks    int
	Run           time.Duration
	// Serving lets the operator run until it is asked to end; nil until all benchmarks have ended.
	Serving *hostileServing
}

func measureLab(t *testing.T, size labSize) labReport {
	t.Helper()
	s := launchServer(t)
	defer func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	}()
	start := time.Now()
	size.fill(t, s.admin)
	t.Logf("%d benchmarks were created in %.0f s", size.benchmarks, time.Since(start).Seconds())
	text, err := json.Marshal(labTask{
		Host: s.operator.Host, CA: s.operator.CAData, Cert: s.operator.CertData, Key: s.operator.KeyData,
		Benchmarks: size.benchmarks, Run: size.run,
	})
	if err != nil {
		t.Fatal(err)
	}
	file := t.TempDir() + "/task.json"
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), labOperator+"="+file, "GOGC=100") // The operator as it is deployed.
	cmd.Stderr = os.Stderr
	before := serverCPU(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the operator's process: %v", err)
	}
	after := serverCPU(t)
	var r labReport
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("reading what the operator said: %v: %s", err, out)
	}
	r.ServerCPU = map[string]float64{}
	for _, name := range testserver.Programs {
		r.ServerCPU[name] = after[name] - before[name]
	}
	return r
}

// serverCPU returns the processor time of this process's API server and etcd until
// now, in seconds, by program.
func serverCPU(t *testing.T) map[string]float64 {
	t.Helper()
	cpu, _, err := testserver.Usage(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return cpu
}

// operateLab is the whole of an operator process.
func operateLab(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var task labTask
	if err := json.Unmarshal(text, &task); err != nil {
		return err
	}
	cfg := &rest.Config{Host: task.Host, TLSClientConfig: rest.TLSClientConfig{CAData: task.CA, CertData: task.Cert, KeyData: task.Key}}
	if task.Serving != nil {
		return operateHostileLab(ctrl.SetupSignalHandler(), cfg, task.Run, task.Serving)
	}
	r, err := simulateOperator(ctrl.SetupSignalHandler(), cfg, labSize{benchmarks: task.Benchmarks, run: task.Run}, nil)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// labTable prints one column for each size.
func labTable(sizes []labSize, reports []labReport) string {
	var b strings.Builder
	line := func(name string, value func(i int) string) {
		fmt.Fprintf(&b, "%-38s", name)
		for i := range reports {
			fmt.Fprintf(&b, "%14s", value(i))
		}
		b.WriteByte('\n')
	}
	number := func(format string, of func(labReport) float64) func(int) string {
		return func(i int) string { return fmt.Sprintf(format, of(reports[i])) }
	}
	each := func(n func(labReport) int) func(int) string {
		return func(i int) string {
			return fmt.Sprintf("%.2f", float64(n(reports[i]))/float64(sizes[i].benchmarks))
		}
	}
	line("benchmarks", func(i int) string { return fmt.Sprint(sizes[i].benchmarks) })
	line("LabPolicy", func(i int) string { return fmt.Sprint(sizes[i].policy) })
	line("beds", func(i int) string { return fmt.Sprint(sizes[i].beds) })
	line("passed", func(i int) string { return fmt.Sprint(reports[i].Passed) })
	line("namespaces", func(i int) string { return fmt.Sprint(sizes[i].namespaces) })
	line("beds quarantined", func(i int) string { return fmt.Sprint(reports[i].Quarantined) })
	line("admissions/s", func(i int) string { return fmt.Sprintf("%.1f", float64(reports[i].Admissions)/reports[i].Seconds) })
	line("bed free to leased, p50, s", number("%.3f", func(r labReport) float64 { return r.P50 }))
	line("bed free to leased, p99, s", number("%.3f", func(r labReport) float64 { return r.P99 }))
	line("operator heap, MiB", number("%.0f", func(r labReport) float64 { return r.HeapMiB }))
	line("operator RSS, peak, MiB", number("%.0f", func(r labReport) float64 { return r.RSSMiB }))
	line("operator CPU, ms per benchmark", func(i int) string {
		return fmt.Sprintf("%.2f", 1000*reports[i].CPUSeconds/float64(sizes[i].benchmarks))
	})
	for _, name := range testserver.Programs {
		line(name+" CPU, ms per benchmark", func(i int) string {
			return fmt.Sprintf("%.2f", 1000*reports[i].ServerCPU[name]/float64(sizes[i].benchmarks))
		})
	}
	line("processors of the machine", func(int) string { return fmt.Sprint(runtime.NumCPU()) })
	line("requests/s", number("%.0f", func(r labReport) float64 { return r.RequestsPerSecond }))
	line("writes per benchmark", each(labReport.writes))
	kinds := map[string]bool{}
	for _, r := range reports {
		for kind := range r.Requests {
			kinds[kind] = true
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		line("  "+kind, each(func(r labReport) int { return r.Requests[kind] }))
	}
	return b.String()
}

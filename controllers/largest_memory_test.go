package controllers_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/procfs"
	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/reporting/stored"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// largestShape is a result as large as preflight allows: so many rows of so many bytes as JSON.
type largestShape struct{ rows, bytes int }

// largestTests is the number of tests of a largest benchmark.
const largestTests = 20

// operatorLimit is the memory that the operator may use with the largest results, in MB.
const operatorLimit = 400

// TestMeasureLargest lets two benchmarks with the largest results that preflight allows end at
// the same time. They are judged against a third one of that size and against the trend, archived,
// used in a trend and shown on the lab page, many times at once. The operator is the command nodrop
// operator in a process of its own, with the settings of its container. The most memory that it has
// used is read. It is run by make largest; NODROP_LARGEST lists the numbers of rows with their bytes.
func TestMeasureLargest(t *testing.T) {
	list := os.Getenv("NODROP_LARGEST")
	if list == "" {
		t.Skip("NODROP_LARGEST is not set: make largest")
	}
	binary := filepath.Join(t.TempDir(), "nodrop")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/nodrop")
	build.Dir = kubetest.Root(t)
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the operator: %v: %s", err, text)
	}
	for text := range strings.SplitSeq(list, ",") {
		var shape largestShape
		if _, err := fmt.Sscanf(text, "%dx%d", &shape.rows, &shape.bytes); err != nil {
			t.Fatalf("NODROP_LARGEST has %q, and a number of rows and their bytes is needed, such as 20000x3072: %v", text, err)
		}
		t.Run(text, func(t *testing.T) { measureLargest(t, binary, shape) })
	}
}

func measureLargest(t *testing.T, binary string, shape largestShape) {
	t.Helper()
	s := launchServer(t)
	defer func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	}()
	w := &world{WithT: NewWithT(t), t: t, server: s, c: newClient(t, s.admin)}
	w.SetDefaultEventuallyTimeout(10 * time.Minute)
	w.SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	lab := newLargestLab(w, binary)

	names := []string{"base", "large-a", "large-b"}
	w.endTogether(shape, "base")
	lab.start()
	lab.settled("base")
	lab.report("the first result ends")
	lab.process.Stop()

	w.endTogether(shape, names[1:]...)
	lab.start()
	lab.settled(names[1:]...)
	lab.report("two results end together")

	var uids []string
	for _, name := range names {
		uids = append(uids, string(w.benchmark(name).UID))
	}
	for _, view := range []struct{ name, path string }{
		{"report", "/results/TEAM/NAME"},
		{"report as JSON", "/results/TEAM/NAME?format=json"},
		{"report as CSV", "/results/TEAM/NAME?format=csv"},
		{"comparison", "/comparisons/TEAM/NAME?with=base"},
		{"archived report", "/archive/TEAM/large/UID"},
		{"archived report as JSON", "/archive/TEAM/large/UID?format=json"},
		{"history", "/history/TEAM/large"},
	} {
		var paths []string
		for i := range 6 {
			which := 1 + i%2
			paths = append(paths, strings.NewReplacer("TEAM", team, "NAME", names[which], "UID", uids[which]).Replace(view.path))
		}
		lab.open(paths)
		lab.report("page: " + view.name)
	}
}

// endTogether makes benchmarks with a largest result that the operator has to clean up.
func (w *world) endTogether(shape largestShape, names ...string) {
	w.t.Helper()
	var work errgroup.Group
	for _, name := range names {
		work.Go(func() error { return w.endsWith(shape, name) })
	}
	began := time.Now()
	w.Expect(work.Wait()).To(Succeed())
	w.t.Logf("%d results were stored in %.0f s", len(names), time.Since(began).Seconds())
}

func (w *world) endsWith(shape largestShape, name string) error {
	b := benchmark(name, "sim")
	b.Spec.HistoryName, b.Spec.Tests = "large", nil
	b.Finalizers = []string{v1alpha1.FinalizerArchive}
	for i := range largestTests {
		test := benchmark("", "").Spec.Tests[0]
		test.Name = fmt.Sprintf("t%d", i)
		b.Spec.Tests = append(b.Spec.Tests, test)
	}
	tolerance := v1alpha1.Tolerance("5%")
	for i := range 8 {
		from := v1alpha1.GateBaseline{BenchmarkName: "base"}
		if i%2 == 1 {
			from = v1alpha1.GateBaseline{Trend: &v1alpha1.TrendBaseline{MinRuns: 1}}
		}
		b.Spec.Gates = append(b.Spec.Gates, v1alpha1.Gate{
			Name: fmt.Sprintf("g%d", i), Test: b.Spec.Tests[i].Name, Metric: "Throughput",
			Relative: &v1alpha1.RelativeBound{Baseline: from, MaxDecrease: &tolerance},
		})
	}
	if err := w.c.Create(w.t.Context(), b); err != nil {
		return err
	}
	parts, digests, err := w.largestParts(b, shape)
	if err != nil {
		return err
	}
	now := metav1.Now()
	b.Status = v1alpha1.BenchmarkStatus{
		ObservedGeneration: b.Generation, Phase: v1alpha1.PhaseCleaningUp, Outcome: v1alpha1.PhaseMeasured, TestBedName: "sim", StartTime: &now, LeaseTime: &now,
		Results: &v1alpha1.ResultSummary{Rows: int32(shape.rows), Parts: parts, Digest: stored.Digest(digests)},
	}
	return w.c.Status().Update(w.t.Context(), b)
}

// largestParts stores the rows of a benchmark.
func (w *world) largestParts(b *v1alpha1.Benchmark, shape largestShape) (parts int32, digests []string, _ error) {
	var part *v1alpha1.BenchmarkResult
	size := 0
	store := func() error {
		digest, err := stored.PartDigest(&part.Spec)
		if err != nil {
			return err
		}
		part.Spec.Complete, part.Spec.Digest = true, digest
		digests = append(digests, digest)
		return w.c.Create(w.t.Context(), part)
	}
	each := shape.rows / largestTests
	for i := range shape.rows {
		row := largestRowOf(fmt.Sprintf("t%d", i/each), int32(64+i%each), shape.bytes)
		if part == nil || part.Spec.Test != row.Test || size+shape.bytes > 110<<10 {
			if part != nil {
				if err := store(); err != nil {
					return 0, nil, err
				}
			}
			parts++
			part, size = stored.NewPart(b, parts, row.Test, ""), 0
		}
		part.Spec.Rows, size = append(part.Spec.Rows, row), size+shape.bytes
	}
	return parts, digests, store()
}

// largestRowOf is a row with so many trials that it has about so many bytes.
func largestRowOf(test string, size int32, bytes int) v1alpha1.ResultRow {
	r := rate(size, 1_000_000+int64(size))
	r.Test, r.TrialRecords = test, &v1alpha1.TrialLog{ElapsedNs: 60_000_000_000}
	r.Latency = &v1alpha1.LatencySummary{MinNs: 1500, AvgNs: 2300, MaxNs: 4200, P50Ns: 2200, P90Ns: 3100, P99Ns: 4000, P999Ns: 4100}
	text, _ := json.Marshal(r)
	for i := int64(0); len(text) < bytes; i++ {
		n := 446_428_560 + i*int64(size)
		r.TrialRecords.Trials = append(r.TrialRecords.Trials, v1alpha1.TrialRecord{
			Number: int32(i + 1), Verdict: v1alpha1.TrialPassed, LoadPPM: 500_000 + i, DurationNs: 60_000_000_000, SendingNs: 60_000_001_000 + i,
			Intended: n, Sent: n, Expected: n, Received: n, ForwardingRate: n / 60,
			Latency: &v1alpha1.LatencyRecord{Count: n, SumNs: 2 * n, Buckets: []int64{900, n / 2, 3, n / 4, 2, n / 4}},
		})
		text, _ = json.Marshal(r)
	}
	return r
}

// largestLab is the operator in a process of its own.
type largestLab struct {
	*world
	process testserver.Process
	page    string
	token   string
	started bool
	// children is the peak of the processes that the operator starts.
	children childPeak
}

// childPeak watches the memory of the processes that another one starts.
type childPeak struct {
	// parent is the number of that process.
	parent atomic.Int64
	mu     sync.Mutex
	most   float64
}

func (p *childPeak) reset() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	most := p.most
	p.most = 0
	return most
}

// watch looks at all processes until a context ends.
func (p *childPeak) watch(ctx context.Context) {
	for ctx.Err() == nil {
		all, _ := procfs.AllProcs()
		sum := 0.0
		for _, one := range all {
			// A process that has ended since has no status any more.
			if stat, err := one.Stat(); err == nil && int64(stat.PPID) == p.parent.Load() {
				sum += float64(stat.ResidentMemory()) / 1e6
			}
		}
		p.mu.Lock()
		p.most = max(p.most, sum)
		p.mu.Unlock()
		time.Sleep(50 * time.Millisecond)
	}
}

func newLargestLab(w *world, binary string) *largestLab {
	lab := &largestLab{world: w, page: testserver.FreeAddress(w.t)}
	health := testserver.FreeAddress(w.t)
	dir := w.t.TempDir()
	bundle, err := pki.IssueServer([]string{"page"}, time.Now(), time.Now().Add(24*time.Hour))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(os.WriteFile(filepath.Join(dir, pki.CertFile), bundle.Cert, 0o600)).To(Succeed())
	w.Expect(os.WriteFile(filepath.Join(dir, pki.KeyFile), bundle.Key, 0o600)).To(Succeed())
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: w.server.admin.Host, CertificateAuthorityData: w.server.admin.CAData}
	config.AuthInfos["test"] = &clientcmdapi.AuthInfo{ClientCertificateData: w.server.admin.CertData, ClientKeyData: w.server.admin.KeyData}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	config.CurrentContext = "test"
	kubeconfig := filepath.Join(dir, "kubeconfig")
	w.Expect(clientcmd.WriteToFile(*config, kubeconfig)).To(Succeed())
	lab.process = testserver.Process{
		What: "operator", Health: "http://" + health + "/readyz", Status: http.StatusOK,
		Command: []string{
			binary, "operator", "--namespace", operatorNamespace, "--lab-namespace", labNamespace, "--image", "image", "--device-image", "image", "--webhook-port", "0",
			"--page-bind-address", lab.page, "--page-cert-dir", dir, "--health-probe-bind-address", health, "--archive-url", filepath.Join(dir, "archive"),
		},
		Env: []string{"KUBECONFIG=" + kubeconfig, "GOGC=100", "GOMEMLIMIT=512MiB"}, // as the chart has it
	}
	lab.viewer()
	return lab
}

// viewer makes a person who may read everything.
func (l *largestLab) viewer() {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "viewer"}}
	kubetest.Grant(l.t, l.c, account, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "viewer"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: "viewer"}},
	})
	request := &authenticationv1.TokenRequest{}
	l.Expect(l.c.SubResource("token").Create(l.t.Context(), account, request)).To(Succeed())
	l.token = request.Status.Token
}

func (l *largestLab) start() {
	if l.started {
		l.process.Resume()
	} else {
		l.started = true
		l.process.Start(l.t)
		go l.children.watch(l.t.Context())
	}
	l.children.parent.Store(int64(l.process.PID()))
}

// settled waits until benchmarks are judged, archived and a part of the trend.
func (l *largestLab) settled(names ...string) {
	l.t.Helper()
	for _, name := range names {
		l.Eventually(func() map[string]string {
			seen := map[string]string{}
			for _, c := range l.benchmark(name).Status.Conditions {
				seen[c.Type] = c.Reason + ": " + c.Message
			}
			return seen
		}).Should(And(
			HaveKeyWithValue(v1alpha1.ConditionArchived, HavePrefix(v1alpha1.ReasonArchived)),
			HaveKeyWithValue(v1alpha1.ConditionRegression, HavePrefix(v1alpha1.ReasonNoRegression)),
			HaveKey(v1alpha1.ConditionGatesPassed),
		), name)
		for _, c := range l.benchmark(name).Status.Conditions {
			l.t.Logf("%s: %s %s: %s", name, c.Type, c.Reason, c.Message)
		}
	}
}

// open requests pages, all at once.
func (l *largestLab) open(paths []string) {
	l.t.Helper()
	browser := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	var work errgroup.Group
	for _, path := range paths {
		work.Go(func() error {
			ctx, cancel := context.WithTimeout(l.t.Context(), 5*time.Minute)
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+l.page+path, nil)
			if err != nil {
				return err
			}
			r.Header.Set("Authorization", "Bearer "+l.token)
			began := time.Now()
			answer, err := browser.Do(r)
			if err != nil {
				return err
			}
			defer func() { _ = answer.Body.Close() }()
			n, err := io.Copy(io.Discard, answer.Body)
			l.t.Logf("%s: %s, %.1f MiB in %.1f s, %v", path, answer.Status, float64(n)/(1<<20), time.Since(began).Seconds(), err)
			return nil
		})
	}
	l.Expect(work.Wait()).To(Succeed())
}

// report logs the most memory that the operator has used since the last report.
func (l *largestLab) report(of string) {
	l.t.Helper()
	pid := l.process.PID()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	l.Expect(err).NotTo(HaveOccurred())
	var peak float64
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			l.Expect(err).NotTo(HaveOccurred())
			peak = kib * 1024 / 1e6
		}
	}
	l.t.Logf("%-28s %4.0f MB, processes for large results %4.0f MB", of, peak, l.children.reset())
	if peak >= operatorLimit {
		l.t.Errorf("%s: the operator has used %.0f MB, and at most %d are allowed", of, peak, operatorLimit)
	}
	// The peak is counted anew.
	l.Expect(os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)).To(Succeed())
}

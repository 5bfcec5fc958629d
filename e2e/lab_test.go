//go:build e2e

package e2e

import (
	"context"
	"crypto/x509"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/reporting/stored"
)

const (
	operatorNamespace = "nodrop-system"
	labNamespace      = "nodrop-lab"
	teamNamespace     = "team-routing"
	bedName           = "frr-router"

	poll = 500 * time.Millisecond
)

// runTimeout bounds one benchmark from apply to its last phase. In an emulated machine
// everything takes longer.
var runTimeout = func() time.Duration {
	if os.Getenv("NODROP_VM") != "" {
		return 20 * time.Minute
	}
	return 8 * time.Minute
}()

// lab is the cluster under test.
type lab struct {
	client.Client
	root string
}

// newLab connects to the cluster that KUBECONFIG names.
func newLab(t *testing.T) *lab {
	t.Helper()
	if os.Getenv("KUBECONFIG") == "" {
		t.Fatal("KUBECONFIG is not set: run these tests with make e2e")
	}
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	root := os.Getenv("NODROP_ROOT")
	if root == "" {
		t.Fatal("NODROP_ROOT is not set: run these tests with make e2e")
	}
	return &lab{Client: c, root: root}
}

// path of a file in the repository.
func (l *lab) path(elem ...string) string {
	return filepath.Join(append([]string{l.root}, elem...)...)
}

// kubectl runs kubectl as a user would, with manifest on its standard input.
func (l *lab) kubectl(t *testing.T, manifest string, args ...string) (string, error) {
	t.Helper()
	// Also used to clean up, when the test's own context has ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "kubectl", args...)
	cmd.Stdin = strings.NewReader(manifest)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// admits waits until the operator's webhooks are called: its pod is ready a moment before its
// Service leads to it. What the bed of the sample is refused for is then that it is there.
func (l *lab) admits(t *testing.T) {
	t.Helper()
	NewWithT(t).Eventually(func() string {
		out, _ := l.kubectl(t, "", "create", "--dry-run=server", "-f", l.path("config", "samples", "frr", "testbed.yaml"))
		return out
	}, time.Minute, poll).Should(ContainSubstring("already exists"))
}

// apply applies a file of the repository and fails the test when it is refused.
func (l *lab) apply(t *testing.T, elem ...string) {
	t.Helper()
	if out, err := l.kubectl(t, "", "apply", "-f", l.path(elem...)); err != nil {
		t.Fatalf("kubectl apply -f %s: %v\n%s", filepath.Join(elem...), err, out)
	}
}

// create applies the FRR sample's benchmark under another name, after edits of
// its text.
func (l *lab) create(t *testing.T, name string, edits ...string) client.ObjectKey {
	t.Helper()
	text, err := os.ReadFile(l.path("config", "samples", "frr", "benchmark.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	manifest := string(text)
	for i := 0; i+1 < len(edits); i += 2 {
		if !strings.Contains(manifest, edits[i]) {
			t.Fatalf("the sample benchmark does not contain %q", edits[i])
		}
		manifest = strings.ReplaceAll(manifest, edits[i], edits[i+1])
	}
	var sample v1alpha1.Benchmark
	decode(t, manifest, &sample)
	sample.Name, sample.Namespace = name, teamNamespace
	if err := l.Create(t.Context(), &sample); err != nil {
		t.Fatalf("creating benchmark %s: %v", name, err)
	}
	t.Cleanup(func() { l.remove(t, &sample) })
	return client.ObjectKeyFromObject(&sample)
}

// remove deletes a benchmark and waits until it is gone.
func (l *lab) remove(t *testing.T, b *v1alpha1.Benchmark) {
	g := NewWithT(t)
	g.Expect(client.IgnoreNotFound(l.Delete(context.Background(), b))).To(Succeed())
	g.Eventually(func() error {
		return client.IgnoreNotFound(l.get(client.ObjectKeyFromObject(b), b, true))
	}, 3*time.Minute, poll).Should(Succeed(), "benchmark %s was not removed", b.Name)
}

// get reads an object; with wantGone it fails while the object still exists.
func (l *lab) get(key client.ObjectKey, o client.Object, wantGone bool) error {
	err := l.Get(context.Background(), key, o)
	if wantGone && err == nil {
		return fmt.Errorf("%s still exists", key)
	}
	return err
}

// awaitBeds waits until so many beds with a label are ready.
func (l *lab) awaitBeds(t *testing.T, label string, count int) {
	t.Helper()
	NewWithT(t).Eventually(func(g Gomega) {
		var beds v1alpha1.TestBedList
		g.Expect(l.List(t.Context(), &beds, client.MatchingLabels{label: "yes"})).To(Succeed())
		g.Expect(beds.Items).To(HaveLen(count))
		for _, bed := range beds.Items {
			g.Expect(meta.IsStatusConditionTrue(bed.Status.Conditions, v1alpha1.ConditionReady)).To(BeTrue(), bed.Name)
		}
	}, time.Minute, poll).Should(Succeed())
}

// webhookRoots returns the authorities of the certificate of the operator's webhooks, metrics and page.
func (l *lab) webhookRoots(t *testing.T) *x509.CertPool {
	t.Helper()
	g := NewWithT(t)
	var secret corev1.Secret
	g.Expect(l.Get(t.Context(), client.ObjectKey{Namespace: operatorNamespace, Name: operator.WebhookSecret}, &secret)).To(Succeed())
	roots := x509.NewCertPool()
	g.Expect(roots.AppendCertsFromPEM(secret.Data["ca.crt"])).To(BeTrue())
	return roots
}

// benchmark reads a benchmark.
func (l *lab) benchmark(g Gomega, key client.ObjectKey) *v1alpha1.Benchmark {
	var b v1alpha1.Benchmark
	g.ExpectWithOffset(1, l.Get(context.Background(), key, &b)).To(Succeed())
	return &b
}

// rows are the rows that are stored of a benchmark.
func (l *lab) rows(t *testing.T, b *v1alpha1.Benchmark) []v1alpha1.ResultRow {
	t.Helper()
	return l.stored(t, b).Rows
}

// environment returns the environment in which a benchmark was measured.
func (l *lab) environment(t *testing.T, b *v1alpha1.Benchmark) *v1alpha1.ResultEnvironment {
	t.Helper()
	return l.stored(t, b).Environment
}

func (l *lab) stored(t *testing.T, b *v1alpha1.Benchmark) stored.Result {
	t.Helper()
	r, err := stored.Read(context.WithoutCancel(t.Context()), l, b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// finish waits for the last phase of a benchmark.
func (l *lab) finish(t *testing.T, key client.ObjectKey) *v1alpha1.Benchmark {
	t.Helper()
	g := NewWithT(t)
	var b *v1alpha1.Benchmark
	g.Eventually(func(g Gomega) {
		b = l.benchmark(g, key)
		g.Expect(b.Status.Phase.Finished()).To(BeTrue(), "phase %s: %s", b.Status.Phase, b.Status.Message)
	}, runTimeout, poll).Should(Succeed())
	for _, c := range b.Status.Conditions {
		t.Logf("%s: %s=%s %s %s", key.Name, c.Type, c.Status, c.Reason, c.Message)
	}
	return b
}

// expectAllMeasured checks that a benchmark measured every row. On a busy machine rows with
// real frames are not conclusive, and a device without a calibration has none that are.
func expectAllMeasured(g *WithT, b *v1alpha1.Benchmark) {
	g.Expect(b.Status.Phase).To(BeElementOf(v1alpha1.PhasePassed, v1alpha1.PhaseMeasured, v1alpha1.PhaseInconclusive), b.Status.Message)
}

// running waits until trials of a benchmark run.
func (l *lab) running(t *testing.T, key client.ObjectKey) *v1alpha1.Benchmark {
	t.Helper()
	g := NewWithT(t)
	var b *v1alpha1.Benchmark
	g.Eventually(func(g Gomega) {
		b = l.benchmark(g, key)
		g.Expect(b.Status.Phase).To(Equal(v1alpha1.PhaseRunning), b.Status.Message)
		g.Expect(b.Status.Progress).NotTo(BeNil())
		g.Expect(b.Status.Progress.TrialsDone).To(BeNumerically(">", 0))
	}, runTimeout, poll).Should(Succeed())
	return b
}

// expectClean checks that the bed is free and nothing of a benchmark is left.
func (l *lab) expectClean(t *testing.T, b *v1alpha1.Benchmark) {
	t.Helper()
	g := NewWithT(t)
	var bed v1alpha1.TestBed
	g.Expect(l.Get(t.Context(), client.ObjectKey{Name: b.Status.TestBedName}, &bed)).To(Succeed())
	if bed.Status.Lease != nil {
		g.Expect(bed.Status.Lease.UID).NotTo(Equal(string(b.UID)), "the bed is still leased to %s", b.Name)
	}
	g.Expect(meta.IsStatusConditionTrue(bed.Status.Conditions, v1alpha1.ConditionQuarantined)).To(BeFalse())
	labels := client.MatchingLabels{"nodrop.dev/benchmark-uid": string(b.UID)}
	var pods corev1.PodList
	g.Expect(l.List(t.Context(), &pods, client.InNamespace(labNamespace), labels)).To(Succeed())
	g.Expect(pods.Items).To(BeEmpty())
	var secrets corev1.SecretList
	g.Expect(l.List(t.Context(), &secrets, client.InNamespace(labNamespace), labels)).To(Succeed())
	g.Expect(secrets.Items).To(BeEmpty())
}

//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// clockSchedule is a schedule that fires every minute.
const clockSchedule = "by-the-clock"

// TestNightly triggers a schedule, injects a regression, and lets the schedule fire by its clock,
// with the real InfluxDB, an archive and a receiver of notifications. The gate relative to the
// release fails, and condition, exit code, event, notification, lab page, database and archive
// say so.
func TestNightly(t *testing.T) {
	togetherAfterUpgrade(t)
	l, g := newLab(t), NewWithT(t)
	host := l.nodeAddress(t)
	db := testserver.StartInfluxAt(t, testserver.Influx113, testserver.FreeAddressOf(t, host))
	hook, values := l.startHook(t, host)
	l.installRecorder(t, db.URL, testserver.InfluxUser+":"+testserver.InfluxPassword, values+",labPage.enabled=true",
		"notifications.allowedHosts=null,notifications.allowedNetworks=null,notifications.caConfigMap=,networkPolicy.operatorEgress=null,labPage.enabled=false")
	l.installSink(t, hook)
	routing, others := l.visitor(t, "nightly-routing", teamNamespace), l.visitor(t, "nightly-others", "default")
	lab := l.text(t, "config", "samples", "schedule", "lab.yaml")
	l.applyText(t, strings.Replace(lab, "64,62.5,", "64,69.6875,", 1)) // The candidate is as the release.
	l.apply(t, "config", "samples", "schedule", "release.yaml")
	release := l.finish(t, client.ObjectKey{Namespace: teamNamespace, Name: "nightly-release"})
	g.Expect(release.Status.Phase).To(Equal(v1alpha1.PhaseMeasured), release.Status.Message)

	text := l.text(t, "config", "samples", "schedule", "schedule.yaml")
	for _, edit := range [][2]string{
		{"name: nightly\n", "name: " + clockSchedule + "\n"}, {`"30 1 * * *"`, `"* * * * *"`}, {"  jitter: 10m\n", "  suspend: true\n"},
		{"[image-release, image-candidate]", "[image-candidate]"},
	} {
		g.Expect(text).To(ContainSubstring(edit[0]))
		text = strings.Replace(text, edit[0], edit[1], 1)
	}
	l.applyText(t, text)
	schedule := &v1alpha1.BenchmarkSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: teamNamespace, Name: clockSchedule}}
	t.Cleanup(func() {
		if out, err := l.kubectl(t, "", "delete", "benchmarks", "-n", teamNamespace, "-l", v1alpha1.LabelSchedule+"="+clockSchedule, "--wait=false"); err != nil {
			t.Error(err, out)
		}
	})
	// The database is away while the first night is measured, and the recorder's pod is deleted: its rows come later.
	db.Stop()
	good := l.finish(t, l.trigger(t, clockSchedule, "image-candidate"))
	g.Expect(l.Delete(t.Context(), l.recorderPod(t))).To(Succeed())
	db.Resume()
	g.Expect(good.Status.Phase).To(Equal(v1alpha1.PhasePassed), good.Status.Message)
	g.Eventually(hook.events, time.Minute, poll).Should(ContainElement(string(good.UID) + "/Finished"))

	if out, err := l.kubectl(t, lab, "apply", "-f", "-"); err != nil { // The new image is slower with small frames.
		t.Fatal(err, out)
	}
	begin := time.Now()
	l.suspend(t, schedule, false)
	b := l.fired(t, v1alpha1.PhaseFailed)
	l.suspend(t, schedule, true)
	firing, err := time.Parse("20060102-1504", b.Labels[v1alpha1.LabelFiring])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(firing).To(BeTemporally(">", begin.Add(-time.Minute)))
	g.Expect(b.CreationTimestamp.Time).To(BeTemporally(">=", firing), "made at its time, and not by hand")
	g.Expect(b.Annotations).NotTo(HaveKey(v1alpha1.AnnotationTriggeredBy))
	t.Logf("the gate of %s failed: %s", b.Name, b.Status.Message)

	// Condition, event and exit code.
	g.Expect(meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionGatesPassed)).To(And(
		HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonGateFailed), HaveField("Message", ContainSubstring("as-the-release"))))
	g.Eventually(func(g Gomega) {
		g.Expect(l.Get(t.Context(), client.ObjectKeyFromObject(schedule), schedule)).To(Succeed())
		g.Expect(meta.IsStatusConditionFalse(schedule.Status.Conditions, v1alpha1.ConditionLastRunPassed)).To(BeTrue())
		var events corev1.EventList
		g.Expect(l.List(t.Context(), &events, client.InNamespace(teamNamespace))).To(Succeed())
		g.Expect(events.Items).To(ContainElement(And(
			HaveField("InvolvedObject.UID", schedule.UID), HaveField("Reason", v1alpha1.EventRunFailed), HaveField("Message", ContainSubstring(b.Name)))))
	}, time.Minute, poll).Should(Succeed())
	code, out := l.watch(t, b.Name)
	g.Expect(code).To(Equal(2), out)

	// The notification, by the reference implementation of Standard Webhooks.
	g.Eventually(hook.events, time.Minute, poll).Should(ContainElements(string(b.UID)+"/Finished", string(b.UID)+"/GateFailed"))
	g.Expect(hook.events()).NotTo(ContainElement(string(good.UID) + "/GateFailed"))
	data := hook.verified(t, string(b.UID)+"/GateFailed")
	g.Expect(data).To(And(HaveKeyWithValue("phase", "Failed"), HaveKeyWithValue("schedule", clockSchedule), HaveKeyWithValue("message", ContainSubstring("as-the-release"))))
	g.Eventually(func(g Gomega) {
		g.Expect(l.benchmark(g, client.ObjectKeyFromObject(b)).Status.Notifications).To(HaveEach(HaveField("State", v1alpha1.NotificationDelivered)))
	}, time.Minute, poll).Should(Succeed())

	// Database and archive have both nights.
	for _, of := range []*v1alpha1.Benchmark{good, b} {
		g.Eventually(func(g Gomega) {
			now := l.benchmark(g, client.ObjectKeyFromObject(of))
			g.Expect(meta.IsStatusConditionTrue(now.Status.Conditions, v1alpha1.ConditionMetricsRecorded)).To(BeTrue())
			g.Expect(now.Status.Results.Archive).NotTo(BeNil())
			now.DeepCopyInto(of)
		}, runTimeout, poll).Should(Succeed())
		rows := l.archived(t, of).Rows
		g.Expect(rows).NotTo(BeEmpty())
		g.Eventually(func() []testserver.Row {
			return db.InfluxQL(fmt.Sprintf("SELECT digest FROM nodrop_row WHERE run = '%s'", of.UID))
		}, runTimeout, poll).Should(HaveLen(len(rows)))
	}

	l.expectOnPage(t, routing, others, b, "2 runs from")

	// Plain CI: apply, wait, report, exit code.
	if !testing.Short() { // TestRunInTheCluster of cmd/nodrop.
		l.expectPipeline(t, text)
	}

	// The report outlives the benchmark.
	g.Expect(l.Delete(t.Context(), b)).To(Succeed())
	g.Eventually(func() error {
		return client.IgnoreNotFound(l.get(client.ObjectKeyFromObject(b), &v1alpha1.Benchmark{}, true))
	}, time.Minute, poll).Should(Succeed())
	document := l.archived(t, b)
	g.Expect(document.Gates).NotTo(BeNil())
	g.Expect(document.Gates.Verdict).To(Equal(v1alpha1.GateFailed))
	status, history, err := routing.open(ofHistory(b))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(status).To(Equal(http.StatusOK))
	g.Expect(history).To(And(ContainSubstring("2 runs from"), ContainSubstring(b.Name)), "the page has it from the archive")
}

func (l *lab) suspend(t *testing.T, s *v1alpha1.BenchmarkSchedule, suspend bool) {
	t.Helper()
	if err := l.Patch(t.Context(), s, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"suspend":%t}}`, suspend))); err != nil {
		t.Fatal(err)
	}
}

// expectOnPage checks that the lab page shows the failed gate of a benchmark and its history
// to a member of the team, and nothing of it to others.
func (l *lab) expectOnPage(t *testing.T, member, other visitor, b *v1alpha1.Benchmark, history string) {
	t.Helper()
	g := NewWithT(t)
	key := client.ObjectKeyFromObject(b).String()
	for path, want := range map[string][]string{
		"/benchmarks/" + key:        {"Failed", "as-the-release", "37,202,381 frames/s is more than 0.5% below 41,428,571 frames/s"},
		"/benchmarks?view=finished": {b.Name, v1alpha1.ReasonGateFailed},
		"/results/" + key:           {"Gates", "as-the-release", "at most 0.5% below nightly-release"},
		ofHistory(b):                {history, b.Name, "Failed"},
	} {
		g.Eventually(func(g Gomega) { // The page and the API server's authorizer learn of changes a moment later.
			status, text, err := member.open(path)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(status).To(Equal(http.StatusOK))
			for _, each := range want {
				g.Expect(text).To(ContainSubstring(each))
			}
		}, time.Minute, poll).Should(Succeed(), path)
		status, text, err := other.open(path)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(text).NotTo(ContainSubstring(b.Name), path)
		if !strings.Contains(path, "?") {
			g.Expect(status).To(Equal(http.StatusNotFound), path)
		}
	}
}

// ofHistory is the path of the page with the history of a benchmark.
func ofHistory(b *v1alpha1.Benchmark) string {
	return "/history/" + b.Namespace + "/" + b.Spec.History(b.Name)
}

// fired waits for a benchmark of the schedule that has ended in a phase.
func (l *lab) fired(t *testing.T, phase v1alpha1.BenchmarkPhase) *v1alpha1.Benchmark {
	t.Helper()
	g := NewWithT(t)
	found := &v1alpha1.Benchmark{}
	g.Eventually(func(g Gomega) {
		var all v1alpha1.BenchmarkList
		g.Expect(l.List(t.Context(), &all, client.InNamespace(teamNamespace), client.MatchingLabels{v1alpha1.LabelSchedule: clockSchedule})).To(Succeed())
		var seen []string
		for i := range all.Items {
			seen = append(seen, all.Items[i].Name+" "+string(all.Items[i].Status.Phase)+" "+all.Items[i].Status.Message)
			if all.Items[i].Status.Phase == phase {
				all.Items[i].DeepCopyInto(found)
			}
		}
		g.Expect(found.Name).NotTo(BeEmpty(), strings.Join(seen, "\n"))
	}, runTimeout, poll).Should(Succeed())
	return found
}

// expectPipeline runs what a CI job runs, with the benchmark of the schedule.
func (l *lab) expectPipeline(t *testing.T, schedule string) {
	t.Helper()
	g := NewWithT(t)
	var s v1alpha1.BenchmarkSchedule
	decode(t, schedule, &s)
	spec, err := json.Marshal(s.Spec.BenchmarkTemplate.Spec)
	g.Expect(err).NotTo(HaveOccurred())
	dir := t.TempDir()
	file := filepath.Join(dir, "benchmark.yaml")
	manifest := fmt.Sprintf("apiVersion: nodrop.dev/v1alpha1\nkind: Benchmark\nmetadata: {name: ci, namespace: %s}\nspec: %s\n", teamNamespace, spec)
	g.Expect(os.WriteFile(file, []byte(manifest), 0o600)).To(Succeed())
	ctx, cancel := context.WithTimeout(t.Context(), runTimeout)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "kubectl", "nodrop", "run", "--wait", "-f", file, "--name-suffix", "0a1b2c3", "--report-dir", filepath.Join(dir, "reports"))
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	t.Logf("kubectl nodrop run --wait:\n%s", &out)
	g.Expect(cmd.ProcessState.ExitCode()).To(Equal(2))
	for ending, want := range map[string]string{".html": "as-the-release", ".json": `"verdict": "Failed"`, ".xml": "<failure", ".sarif": `"kind": "fail"`} {
		text, err := os.ReadFile(filepath.Join(dir, "reports", "ci-0a1b2c3"+ending))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(text)).To(ContainSubstring(want))
	}
	l.remove(t, objects.Benchmark(teamNamespace, "ci-0a1b2c3"))
}

func (l *lab) text(t *testing.T, elem ...string) string {
	t.Helper()
	text, err := os.ReadFile(l.path(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// hook is a receiver of notifications.
type hook struct {
	*httptest.Server
	secret string

	mu  sync.Mutex
	got []received
}

type received struct {
	header http.Header
	body   []byte
}

// startHook starts a receiver at an address of the node, and returns it with the values of the
// chart that allow it.
func (l *lab) startHook(t *testing.T, host string) (_ *hook, values string) {
	t.Helper()
	g := NewWithT(t)
	h := &hook{secret: "whsec_" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32))}
	certificate, authority := selfSigned(t, host)
	h.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.got = append(h.got, received{r.Header, body})
	}))
	g.Expect(h.Listener.Close()).To(Succeed())
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	g.Expect(err).NotTo(HaveOccurred())
	h.Listener, h.TLS = listener, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	h.StartTLS()
	t.Cleanup(h.Close)
	address := listener.Addr().String()
	_, port, err := net.SplitHostPort(address)
	g.Expect(err).NotTo(HaveOccurred())

	roots := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "hook-authority"}, Data: map[string]string{"ca.crt": authority}}
	g.Expect(l.Create(t.Context(), roots)).To(Succeed())
	t.Cleanup(func() { g.Expect(l.Delete(context.Background(), roots)).To(Succeed()) })
	return h, "notifications.allowedHosts={" + address + "},notifications.allowedNetworks={" + host + "/32},notifications.caConfigMap=hook-authority," +
		"networkPolicy.operatorEgress[0].ports[0].port=" + port + ",networkPolicy.operatorEgress[0].ports[0].protocol=TCP"
}

// installSink makes the sink of the team with its Secret.
func (l *lab) installSink(t *testing.T, h *hook) {
	t.Helper()
	g := NewWithT(t)
	manifest := fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: nightly-hook, namespace: %[1]s}
stringData: {secret: %[2]q}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: nightly-hook, namespace: %[1]s}
rules:
- {apiGroups: [""], resources: [secrets], resourceNames: [nightly-hook], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: nightly-hook, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: nightly-hook}
subjects:
- {kind: ServiceAccount, name: nodrop-operator, namespace: %[3]s}
---
apiVersion: nodrop.dev/v1alpha1
kind: NotificationSink
metadata: {name: nightly, namespace: %[1]s}
spec:
  url: %[4]q
  events: [Finished, GateFailed]
  benchmarkSelector: {matchLabels: {pipeline: nightly}}
  secretRef: {name: nightly-hook}
`, teamNamespace, h.secret, operatorNamespace, h.URL+"/nightly")
	l.applyText(t, manifest)
	g.Eventually(func(g Gomega) {
		var s v1alpha1.NotificationSink
		g.Expect(l.Get(t.Context(), client.ObjectKey{Namespace: teamNamespace, Name: "nightly"}, &s)).To(Succeed())
		g.Expect(meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)).To(HaveField("Reason", v1alpha1.ReasonSinkReady))
	}, time.Minute, poll).Should(Succeed())
}

// events are the identifiers of what came.
func (h *hook) events() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	for _, r := range h.got {
		all = append(all, r.header.Get("webhook-id"))
	}
	return all
}

// verified checks the signature of an event, and returns its data.
func (h *hook) verified(t *testing.T, id string) map[string]any {
	t.Helper()
	g := NewWithT(t)
	verifier, err := standardwebhooks.NewWebhook(h.secret)
	g.Expect(err).NotTo(HaveOccurred())
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.got {
		if r.header.Get("webhook-id") != id {
			continue
		}
		g.Expect(verifier.Verify(r.body, r.header)).To(Succeed())
		var e struct{ Data map[string]any }
		g.Expect(json.Unmarshal(r.body, &e)).To(Succeed())
		return e.Data
	}
	t.Fatalf("no event %s", id)
	return nil
}

// selfSigned is a certificate of an address, and itself as its authority in PEM.
func selfSigned(t *testing.T, host string) (tls.Certificate, string) {
	t.Helper()
	g := NewWithT(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.ParseIP(host)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	g.Expect(err).NotTo(HaveOccurred())
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

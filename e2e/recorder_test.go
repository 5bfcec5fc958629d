//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/archive"
	"nodrop.dev/nodrop/internal/reporting/metrics"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/reporting/stored"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// recorderName is the name of the recorder's Deployment, Service and claim.
const recorderName = "nodrop-recorder"

// TestRecorder installs the recorder, and measures while the database is away and the
// recorder's pod is deleted. Every row of the archived result is in the database once, as are
// the samples of a trial; the token is nowhere.
func TestRecorder(t *testing.T) {
	long(t) // TestNightly stops the database and deletes the recorder's pod as well.
	l, g := newLab(t), NewWithT(t)
	var node corev1.Node
	g.Expect(l.Get(t.Context(), client.ObjectKey{Name: "node1"}, &node)).To(Succeed())
	host := node.Status.Addresses[slices.IndexFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP })].Address
	db := testserver.StartInfluxAt(t, testserver.Influx113, testserver.FreeAddressOf(t, host))
	token := testserver.InfluxUser + ":" + testserver.InfluxPassword
	dir := l.installRecorder(t, db.URL, token, "", "")

	key := l.create(t, "recorded", append([]string{"trafficProfileName: ipv4-pairs", "trafficProfileName: " + l.oneSize(t)}, shortTrials...)...)
	b := l.inPhase(t, key, v1alpha1.PhaseRunning, 1)
	runner := l.follow(t, l.pod(t, b, "runner"))
	db.Stop()
	first := l.recorderPod(t)
	before := l.log(t, first)
	g.Expect(l.Delete(t.Context(), first)).To(Succeed())
	l.inPhase(t, key, v1alpha1.PhaseRunning, 2)
	db.Resume()
	b = l.finish(t, key)
	g.Eventually(func(g Gomega) {
		b = l.benchmark(g, key)
		g.Expect(meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionMetricsRecorded)).To(BeTrue())
	}, runTimeout, poll).Should(Succeed())

	document := l.archived(t, b)
	of := fmt.Sprintf(` WHERE run = '%s'`, b.UID)
	g.Expect(document.Rows).NotTo(BeEmpty())
	g.Eventually(func() []testserver.Row { return db.InfluxQL("SELECT digest FROM nodrop_row" + of) }, runTimeout, poll).Should(HaveLen(len(document.Rows)))
	l.expectRows(t, b, document.Rows, db)
	expectSeries(t, document.Rows, db, of)
	g.Expect(runner()).To(ContainSubstring("points of the run"))
	l.expectNowhere(t, dir, before+runner(), testserver.InfluxPassword)
}

// installRecorder upgrades the chart with a recorder whose spool is in a directory of the
// node, and takes it away at the end. More values go on and off in the same upgrades.
func (l *lab) installRecorder(t *testing.T, url, token, on, off string) (dir string) {
	t.Helper()
	g := NewWithT(t)
	dir, err := os.MkdirTemp("", "spool")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.Chown(dir, 65532, 65532)).To(Succeed())
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "spool"}, Spec: corev1.PersistentVolumeSpec{
		Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("3Gi")}, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: dir}},
		PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
	}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "influxdb"}, StringData: map[string]string{"token": token}}
	g.Expect(l.Create(t.Context(), volume)).To(Succeed())
	g.Expect(l.Create(t.Context(), secret)).To(Succeed())
	_, port, err := net.SplitHostPort(strings.TrimPrefix(url, "http://"))
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		l.helm(t, strings.Trim("recorder.enabled=false,"+off, ","))
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: recorderName}}
		for _, o := range []client.Object{claim, volume, secret} {
			g.Expect(l.Delete(context.Background(), o)).To(Succeed())
		}
		g.Expect(os.RemoveAll(dir)).To(Succeed())
	})
	l.helm(t, strings.Trim("recorder.enabled=true,recorder.interval=100ms,recorder.url="+url+",recorder.bucket="+testserver.InfluxDatabase+",recorder.tokenSecret.name=influxdb,recorder.ports={"+port+"},"+on, ","))
	return dir
}

// helm changes values of the installed chart, and waits until its pods are ready and the
// operator admits.
func (l *lab) helm(t *testing.T, values string) {
	t.Helper()
	l.upgrade(t, l.path("charts", "nodrop"), "--set", values)
}

// recorderPod is the pod of the recorder, once it is ready.
func (l *lab) recorderPod(t *testing.T) *corev1.Pod {
	t.Helper()
	g := NewWithT(t)
	var pods corev1.PodList
	g.Eventually(func(g Gomega) {
		g.Expect(l.List(t.Context(), &pods, client.InNamespace(operatorNamespace), client.MatchingLabels{"app.kubernetes.io/component": "recorder"})).To(Succeed())
		g.Expect(pods.Items).To(HaveLen(1))
		g.Expect(pods.Items[0].Status.ContainerStatuses).To(HaveLen(1))
		g.Expect(pods.Items[0].Status.ContainerStatuses[0].Ready).To(BeTrue())
	}, runTimeout, poll).Should(Succeed())
	return &pods.Items[0]
}

func (l *lab) log(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	out, err := l.kubectl(t, "", "logs", "-n", pod.Namespace, pod.Name, "--all-containers")
	if err != nil {
		t.Logf("kubectl logs %s: %v\n%s", pod.Name, err, out)
	}
	return out
}

// follow collects the log of a pod until it ends.
func (l *lab) follow(t *testing.T, pod *corev1.Pod) (whole func() string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "kubectl", "logs", "-f", "-n", pod.Namespace, pod.Name)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	collected := &bytes.Buffer{}
	go func() {
		defer close(done)
		_, _ = collected.ReadFrom(out)
		_ = cmd.Wait()
	}()
	return func() string {
		<-done
		return collected.String()
	}
}

// archived reads a result from the archive, which is in a volume of the operator's pod.
func (l *lab) archived(t *testing.T, b *v1alpha1.Benchmark) *report.Document {
	t.Helper()
	g := NewWithT(t)
	g.Expect(b.Status.Results.Archive).NotTo(BeNil())
	root := fmt.Sprintf("/proc/%d/root", podProcess(t, l.operatorPod(t), "operator"))
	text, err := archive.Get(t.Context(), filepath.Join(root, strings.TrimPrefix(b.Status.Results.Archive.URL, "file://")))
	g.Expect(err).NotTo(HaveOccurred())
	document, err := report.Read(text)
	g.Expect(err).NotTo(HaveOccurred())
	return document
}

// expectRows checks that the database has the rows of an archived result, each once, with all
// tags and fields.
func (l *lab) expectRows(t *testing.T, b *v1alpha1.Benchmark, rows []v1alpha1.ResultRow, db *testserver.Influx) {
	t.Helper()
	g := NewWithT(t)
	in, err := stored.ReadInputs(t.Context(), l, b)
	g.Expect(err).NotTo(HaveOccurred())
	run, err := metrics.NewRun(b, in.Profile, in.Bed, b.Status.StartTime.Time)
	g.Expect(err).NotTo(HaveOccurred())
	points, err := run.Rows(rows)
	g.Expect(err).NotTo(HaveOccurred())
	var digests []string
	for _, p := range points {
		found := db.InfluxQL(fmt.Sprintf(`SELECT * FROM nodrop_row WHERE time = %d`, p.Time.UnixNano()))
		g.Expect(found).To(HaveLen(1), "points at %s", p.Time)
		want := map[string]string{"time": fmt.Sprint(p.Time.UnixNano())}
		for _, tag := range p.Tags {
			want[tag.Key] = tag.Value
		}
		for _, f := range p.Fields {
			want[f.Key] = fmt.Sprint(f.Value)
			if f.Key == "digest" {
				digests = append(digests, fmt.Sprint(f.Value))
			}
		}
		got := map[string]string{}
		for k, v := range found[0] {
			got[k] = fmt.Sprint(v)
		}
		g.Expect(got).To(Equal(want))
	}
	var read []string
	for _, row := range db.Flux(fmt.Sprintf(`from(bucket: %q) |> range(start: 0) |> filter(fn: (r) => r._measurement == "nodrop_row" and r._field == "digest")`, testserver.InfluxDatabase)) {
		read = append(read, fmt.Sprint(row["_value"]))
	}
	g.Expect(read).To(ConsistOf(digests))
}

// expectSeries checks that the samples of the trial of a row follow one another without a gap,
// and add up to what it sent. The last interval ends with the trial, and may be missing.
func expectSeries(t *testing.T, rows []v1alpha1.ResultRow, db *testserver.Influx, of string) {
	t.Helper()
	g := NewWithT(t)
	row := rows[slices.IndexFunc(rows, func(r v1alpha1.ResultRow) bool { return r.Method == v1alpha1.MethodLatency })]
	trials := db.InfluxQL("SELECT * FROM nodrop_trial" + of + fmt.Sprintf(` AND sent = %d AND received = %d AND test = '%s'`, row.Frames.Sent, row.Frames.Received, row.Test))
	g.Expect(trials).To(HaveLen(1), "the trial of row %s", row.Name())
	trial := trials[0]
	samples := db.InfluxQL("SELECT * FROM nodrop_port" + of + fmt.Sprintf(` AND test = '%s' AND load_ppm = %s AND time > %s AND time <= %s + %s + 500ms`,
		row.Test, trial["load_ppm"], trial["time"], trial["time"], trial["tx_time_ns"]))
	ended, sent := map[any]int64{}, int64(0)
	for _, s := range samples {
		at := integer(t, s["time"])
		if before, later := ended[s["port"]]; later {
			g.Expect(at-integer(t, s["interval_ns"])).To(Equal(before), "sample %v does not follow the one before", s)
		}
		ended[s["port"]] = at
		sent += integer(t, s["sent"])
	}
	t.Logf("trial %v: %d samples, %d frames", trial, len(samples), sent)
	g.Expect(ended).To(HaveLen(2))
	g.Expect(sent).To(And(BeNumerically("<=", row.Frames.Sent), BeNumerically(">=", row.Frames.Sent/2)))
}

func integer(t *testing.T, v any) int64 {
	t.Helper()
	var n int64
	if _, err := fmt.Sscan(fmt.Sprint(v), &n); err != nil {
		t.Fatalf("%v: %v", v, err)
	}
	return n
}

// expectNowhere looks for a secret in logs, objects but Secrets, metrics and the spool.
func (l *lab) expectNowhere(t *testing.T, spool, logs, secret string) {
	t.Helper()
	g := NewWithT(t)
	look := func(where, text string) {
		t.Helper()
		for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(testserver.InfluxUser + ":" + secret))} {
			if strings.Contains(text, form) {
				t.Errorf("the token is in %s", where)
			}
		}
	}
	look("the log of a pod that is gone", logs)
	var pods corev1.PodList
	g.Expect(l.List(t.Context(), &pods)).To(Succeed())
	for _, pod := range pods.Items {
		look("the log of "+pod.Name, l.log(t, &pod))
	}
	kinds, err := l.kubectl(t, "", "api-resources", "--verbs=list", "-o", "name")
	g.Expect(err).NotTo(HaveOccurred(), kinds)
	all := slices.DeleteFunc(strings.Fields(kinds), func(kind string) bool { return kind == "secrets" })
	objects, err := l.kubectl(t, "", "get", "-A", "-o", "json", strings.Join(all, ","))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(objects).To(ContainSubstring(v1alpha1.ConditionMetricsRecorded))
	look("an object", objects)
	own, err := l.kubectl(t, "", "get", "--raw", "/api/v1/namespaces/"+operatorNamespace+"/pods/https:"+l.recorderPod(t).Name+":8443/proxy/metrics")
	g.Expect(err).NotTo(HaveOccurred(), own)
	g.Expect(own).To(ContainSubstring("nodrop_recorder_written_points_total"))
	look("the recorder's metrics", own)
	file, err := os.ReadFile(filepath.Join(spool, "metrics.db"))
	g.Expect(err).NotTo(HaveOccurred())
	look("the spool", string(file))
}

func (l *lab) operatorPod(t *testing.T) *corev1.Pod {
	t.Helper()
	g := NewWithT(t)
	var pods corev1.PodList
	g.Expect(l.List(t.Context(), &pods, client.InNamespace(operatorNamespace), client.MatchingLabels{"app.kubernetes.io/component": "operator"})).To(Succeed())
	g.Expect(pods.Items).To(HaveLen(1))
	return &pods.Items[0]
}

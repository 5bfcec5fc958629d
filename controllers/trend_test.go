package controllers_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/reporting/archive"
	"nodrop.dev/nodrop/internal/reporting/metrics"
)

// rate is a row with a throughput.
func rate(size int32, framesPerSecond int64) v1alpha1.ResultRow {
	r := row(size)
	r.Frames.FramesPerSecond, r.Frames.OfferedFramesPerSecond = framesPerSecond, framesPerSecond
	r.Frames.Sent, r.Frames.Received = framesPerSecond, framesPerSecond
	return r
}

// nightly measures a benchmark of this name once.
func (w *world) nightly(rows ...v1alpha1.ResultRow) *v1alpha1.Benchmark {
	w.t.Helper()
	create(w.t, w.c, benchmark("nightly", "sim"))
	w.runners.report(w.reaches("nightly", v1alpha1.PhaseRunning), measured(rows...))
	w.reaches("nightly", v1alpha1.PhaseMeasured)
	w.archived("nightly")
	return w.benchmark("nightly")
}

// trendRegressed has a history in the archive in which rates are a tenth lower from the 16th
// run on. The operator names them when the benchmark has run again.
func trendRegressed(w *world) {
	d := &directory{w: w, path: filepath.Join(w.t.TempDir(), "archive")}
	points := w.recording(func(o *kit.Options) { o.Archive = w.openArchive(d.path) })
	points.comesBack()
	w.modelledBed()
	first := w.nightly(rate(64, 1_000_000), rate(128, 800_000))
	c := w.says("nightly", v1alpha1.ConditionRegression, v1alpha1.ReasonNoRegression)
	w.Expect(c.Status).To(Equal(metav1.ConditionFalse))
	w.Expect(c.Message).To(Equal("no level of a figure became worse in 1 run"))

	store, err := archive.Open(d.path)
	w.Expect(err).NotTo(HaveOccurred())
	defer store.Close()
	measured := d.read("nightly")
	for n := range int64(30) {
		earlier := *measured
		earlier.Benchmark.UID = fmt.Sprintf("earlier-%02d", n)
		earlier.StartTime = &metav1.Time{Time: measured.StartTime.AddDate(0, 0, int(n)-40)}
		level := int64(100)
		if n < 15 {
			level = 110
		}
		earlier.Rows = []v1alpha1.ResultRow{rate(64, 10_000*level+n%7), rate(128, 8_000*level+n%5)}
		_, err := store.Put(w.t.Context(), &earlier)
		w.Expect(err).NotTo(HaveOccurred())
	}
	w.Expect(w.c.Delete(w.t.Context(), first)).To(Succeed())
	w.vanishes(first)

	newest := w.nightly(rate(64, 1_000_003), rate(128, 800_002))
	c = w.says("nightly", v1alpha1.ConditionRegression, v1alpha1.ReasonLevelWorse)
	w.Expect(c.Status).To(Equal(metav1.ConditionTrue))
	w.Expect(c.Message).To(MatchRegexp(`^throughput .* B: throughput from .* frames/s \(-9\.09 %, .*UID earlier-15; 1 other figure became worse as well$`))
	w.Eventually(func() []string {
		var all corev1.EventList
		w.Expect(w.c.List(w.t.Context(), &all, client.InNamespace(team))).To(Succeed())
		var messages []string
		for _, e := range all.Items {
			if e.Reason == v1alpha1.ConditionRegression {
				messages = append(messages, e.Message)
			}
		}
		return messages
	}).Should(ConsistOf(c.Message))
	w.Eventually(func() []string {
		return slices.DeleteFunc(points.lines(), func(line string) bool { return !strings.HasPrefix(line, metrics.MeasurementRegression) })
	}).Should(ConsistOf(
		MatchRegexp(`^nodrop_regression,bed=sim,device=simulated,frame_size=64,method=Throughput,metric=Throughput,team=%s,test=throughput run="%s",benchmark="nightly",from=\d+i,to=\d+i,shift_ppm=-90\d+i `, team, newest.UID),
		HavePrefix("nodrop_regression,bed=sim,device=simulated,frame_size=128,"),
	))
}

// trendUnreadable has a result in the history that cannot be read: it is left out and named, and
// the others are a history.
func trendUnreadable(w *world) {
	d := w.archiving()
	w.modelledBed()
	damaged := filepath.Join(d.path, team, w.namespaceUID(team), "nightly", "damaged.json.zst")
	w.Expect(os.MkdirAll(filepath.Dir(damaged), 0o755)).To(Succeed())
	w.Expect(os.WriteFile(damaged, []byte(`{"schema": "unknown"}`), 0o644)).To(Succeed())

	w.nightly(rate(64, 1_000_000))
	c := w.says("nightly", v1alpha1.ConditionRegression, v1alpha1.ReasonNoRegression)
	w.Expect(c.Status).To(Equal(metav1.ConditionFalse))
	w.Expect(c.Message).To(HavePrefix("no level of a figure became worse in 1 run; 1 result could not be read in two attempts (damaged.json.zst: the schema is"))
}

// trendOfPredecessor measures in a namespace that was deleted and created again: its history does not
// contain the result of the deleted namespace.
func trendOfPredecessor(w *world) {
	d := w.archiving()
	w.modelledBed()
	first := w.nightly(rate(64, 1_000_000))
	w.says("nightly", v1alpha1.ConditionRegression, v1alpha1.ReasonNoRegression)
	w.Expect(w.c.Delete(w.t.Context(), first)).To(Succeed())
	w.vanishes(first)
	w.recreated(team)

	create(w.t, w.c, profile())
	w.nightly(rate(64, 1_000_000))
	c := w.says("nightly", v1alpha1.ConditionRegression, v1alpha1.ReasonNoRegression)
	w.Expect(c.Message).To(Equal("no level of a figure became worse in 1 run"))
	w.Expect(d.documents()).To(HaveLen(2))
}

// recreated deletes a namespace with its profiles and creates it again.
func (w *world) recreated(name string) {
	w.t.Helper()
	w.Expect(w.c.DeleteAllOf(w.t.Context(), &v1alpha1.TrafficProfile{}, client.InNamespace(name))).To(Succeed())
	w.Expect(w.c.Delete(w.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
	w.remade(name)
}

// remade removes a namespace that is being deleted and has no objects, and creates it again.
func (w *world) remade(name string) {
	w.t.Helper()
	before := &corev1.Namespace{}
	w.Expect(w.c.Get(w.t.Context(), client.ObjectKey{Name: name}, before)).To(Succeed())
	before.Spec.Finalizers = nil // as the controller of namespaces, which the tests do not run
	w.Expect(w.c.SubResource("finalize").Update(w.t.Context(), before)).To(Succeed())
	create(w.t, w.c, namespace(name, before.Labels[levelLabel]))
}

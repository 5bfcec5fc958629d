package controllers_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/reporting/archive"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/reporting/stored"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// directory is an archive that can be unavailable: then a file is in its place.
type directory struct {
	w    *world
	path string
}

// archiving restarts the operator with an archive in a directory.
func (w *world) archiving() *directory {
	w.t.Helper()
	d := &directory{w: w, path: filepath.Join(w.t.TempDir(), "archive")}
	w.with(func(o *kit.Options) { o.Archive = w.openArchive(d.path) })
	return d
}

func (w *world) openArchive(where string) kit.Archive {
	w.t.Helper()
	store, err := archive.Open(where)
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(func() { w.Expect(store.Close()).To(Succeed()) })
	return store
}

// with restarts the operator with other options.
func (w *world) with(changes ...func(*kit.Options)) {
	w.t.Helper()
	w.stop()
	w.change = func(o *kit.Options) {
		o.ArchiveRetry, o.Sweep = 200*time.Millisecond, 200*time.Millisecond
		for _, change := range changes {
			change(o)
		}
	}
	w.start()
}

func (d *directory) goesAway() {
	d.w.t.Helper()
	d.w.Expect(os.WriteFile(d.path, nil, 0o600)).To(Succeed())
}

func (d *directory) comesBack() {
	d.w.t.Helper()
	d.w.Expect(os.Remove(d.path)).To(Succeed())
}

// namespaceUID returns the UID of a namespace.
func (w *world) namespaceUID(name string) string {
	w.t.Helper()
	uid, err := stored.NamespaceUID(w.t.Context(), w.c, name)
	w.Expect(err).NotTo(HaveOccurred())
	return uid
}

// documents lists the results in the archive.
func (d *directory) documents() []string {
	d.w.t.Helper()
	found, err := filepath.Glob(filepath.Join(d.path, "*", "*", "*", "*.json.zst"))
	d.w.Expect(err).NotTo(HaveOccurred())
	return found
}

// read reads the only result of a benchmark in the archive.
func (d *directory) read(name string) *report.Document {
	d.w.t.Helper()
	found, err := filepath.Glob(filepath.Join(d.path, team, "*", name, "*.json.zst"))
	d.w.Expect(err).NotTo(HaveOccurred())
	d.w.Expect(found).To(HaveLen(1))
	return d.w.readArchived(found[0])
}

func (w *world) readArchived(where string) *report.Document {
	w.t.Helper()
	text, err := archive.Get(w.t.Context(), where)
	w.Expect(err).NotTo(HaveOccurred())
	document, err := report.Read(text)
	w.Expect(err).NotTo(HaveOccurred())
	return document
}

// measures runs a new benchmark on the bed "sim" to its end.
func (w *world) measures(name string, change ...func(*v1alpha1.Benchmark)) *v1alpha1.Benchmark {
	w.t.Helper()
	create(w.t, w.c, benchmark(name, "sim", change...))
	w.runners.report(w.reaches(name, v1alpha1.PhaseRunning), measured(row(64), row(128)))
	return w.reaches(name, v1alpha1.PhaseMeasured)
}

// modelledBed makes the bed "sim" and what belongs to it.
func (w *world) modelledBed() {
	w.t.Helper()
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("sim"), profile())
}

// archived waits until a benchmark is archived and has no finalizers.
func (w *world) archived(name string) *v1alpha1.ArchiveReference {
	w.t.Helper()
	w.says(name, v1alpha1.ConditionArchived, v1alpha1.ReasonArchived)
	w.Eventually(func() []string { return w.benchmark(name).Finalizers }).Should(BeEmpty(), "the finalizers of %s", name)
	return w.benchmark(name).Status.Results.Archive
}

// vanishes waits until a benchmark is gone with everything that is stored of it.
func (w *world) vanishes(b *v1alpha1.Benchmark) {
	w.t.Helper()
	w.Eventually(func() bool {
		return apierrors.IsNotFound(w.c.Get(w.t.Context(), client.ObjectKeyFromObject(b), &v1alpha1.Benchmark{}))
	}).Should(BeTrue(), "benchmark %s is gone", b.Name)
}

// storedOf lists the parts of the result and the snapshots of a benchmark.
func (w *world) storedOf(b *v1alpha1.Benchmark) []client.Object {
	w.t.Helper()
	var objects []client.Object
	for _, list := range []client.ObjectList{&v1alpha1.BenchmarkResultList{}, &v1alpha1.BenchmarkSnapshotList{}} {
		w.Expect(w.c.List(w.t.Context(), list, client.InNamespace(b.Namespace),
			client.MatchingLabels{v1alpha1.LabelBenchmarkUID: string(b.UID)})).To(Succeed())
		items, err := meta.ExtractList(list)
		w.Expect(err).NotTo(HaveOccurred())
		for _, item := range items {
			objects = append(objects, item.(client.Object))
		}
	}
	return objects
}

// isKept checks that neither a benchmark nor what is stored of it can disappear.
func (w *world) isKept(b *v1alpha1.Benchmark) {
	w.t.Helper()
	w.Expect(w.benchmark(b.Name).Finalizers).To(ContainElement(v1alpha1.FinalizerArchive))
	w.Expect(w.storedOf(b)).NotTo(BeEmpty(), "what is stored of %s", b.Name)
	for _, o := range w.storedOf(b) {
		w.Expect(o.GetFinalizers()).To(ContainElement(v1alpha1.FinalizerArchive), "%T %s", o, o.GetName())
	}
}

// isFree checks that the garbage collector can remove what is stored of a benchmark.
func (w *world) isFree(b *v1alpha1.Benchmark) {
	w.t.Helper()
	for _, o := range w.storedOf(b) {
		w.Expect(o.GetFinalizers()).To(BeEmpty(), "%T %s", o, o.GetName())
		w.Expect(o.GetLabels()).NotTo(HaveKey(v1alpha1.LabelUnarchived))
	}
}

// TestArchive keeps the results of benchmarks in a directory.
func TestArchive(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"a benchmark that passed":                archivePassed,
		"benchmarks that did not pass":           archiveOthers,
		"away, and deleted meanwhile":            archiveAwayDeleted,
		"away, and deleted in the foreground":    archiveAwayForeground,
		"away, and the namespace is deleted":     archiveAwayNamespace,
		"deleted while it is measured":           archiveDeletedEarly,
		"away while the operator is replaced":    archiveAwayRestart,
		"an answer that was lost":                archiveAnswerLost,
		"another document in its place":          archiveConflict,
		"an operator without archive":            archiveNotAnyMore,
		"an archive that comes after the result": archiveLater,
		"a benchmark removed by force":           archiveForced,
		"a history that became worse":            trendRegressed,
		"a history that cannot be read":          trendUnreadable,
		"a namespace that is created again":      trendOfPredecessor,
	} {
		t.Run(name, func(t *testing.T) { tc(newWorld(t, server)) })
	}
}

func archivePassed(w *world) {
	d := w.archiving()
	w.modelledBed()
	b := w.measures("b")
	reference := w.archived("b")
	w.Expect(reference.URL).To(Equal("file://" + filepath.Join(d.path, team, w.namespaceUID(team), "b", string(b.UID)+".json.zst")))
	document := d.read("b")
	w.Expect(document.Phase).To(Equal(v1alpha1.PhaseMeasured))
	w.Expect(document.Rows).To(HaveLen(2))
	w.Expect(document.Benchmark.UID).To(Equal(string(b.UID)))
	w.Expect(document.Benchmark.NamespaceUID).To(Equal(w.namespaceUID(team)))
	w.Expect(document.Environment.NoDropVersion).To(Equal("test"))
	w.Expect(w.storedOf(b)).NotTo(BeEmpty())
	w.isFree(b)
	w.Expect(w.c.Delete(w.t.Context(), b)).To(Succeed())
	w.vanishes(b)
	w.Expect(d.read("b")).To(Equal(document), "the document after its benchmark was deleted")
}

func archiveOthers(w *world) {
	d := w.archiving()
	w.modelledBed()
	create(w.t, w.c, benchmark("aborted", "sim"))
	w.runners.report(w.reaches("aborted", v1alpha1.PhaseRunning), measuring(row(64)))
	w.Eventually(func() *v1alpha1.Progress { return w.benchmark("aborted").Status.Progress }).Should(HaveField("RowsDone", int32(1)))
	w.edit(w.benchmark("aborted"), func(b *v1alpha1.Benchmark) { b.Spec.Abort = true })
	w.reaches("aborted", v1alpha1.PhaseAborted)
	w.archived("aborted")
	w.Expect(d.read("aborted").Phase).To(Equal(v1alpha1.PhaseAborted))
	w.Expect(d.read("aborted").Rows).To(HaveLen(1), "rows that were finished before")

	create(w.t, w.c, benchmark("late", "sim", objects.Deadline(60)))
	w.reaches("late", v1alpha1.PhaseRunning)
	w.pass(2 * time.Minute)
	w.reaches("late", v1alpha1.PhaseInvalid)
	w.archived("late")
	w.Expect(d.read("late").Phase).To(Equal(v1alpha1.PhaseInvalid))
}

// outOfReach runs a benchmark to its end while the archive is unavailable.
func (w *world) outOfReach() (*directory, *v1alpha1.Benchmark) {
	w.t.Helper()
	d := w.archiving()
	d.goesAway()
	w.modelledBed()
	b := w.measures("b")
	c := w.says("b", v1alpha1.ConditionArchived, v1alpha1.ReasonArchiveUnavailable)
	w.Expect(c.Status).To(Equal(metav1.ConditionFalse))
	w.Expect(c.Message).To(ContainSubstring("not a directory"))
	w.isKept(b)
	w.Expect(w.count("nodrop_archive_writes_total", "result", "unavailable")).To(BeNumerically(">=", 1))
	w.counted(1, "nodrop_archive_waiting_benchmarks")
	w.Expect(w.count("nodrop_archive_oldest_waiting_timestamp_seconds")).To(BeNumerically("==", b.Status.CompletionTime.Unix()))
	return d, b
}

func archiveAwayDeleted(w *world) {
	d, b := w.outOfReach()
	w.Expect(w.c.Delete(w.t.Context(), b)).To(Succeed())
	w.isKept(b)
	d.comesBack()
	w.vanishes(b)
	w.Expect(d.read("b").Rows).To(HaveLen(2))
}

func archiveAwayForeground(w *world) {
	d, b := w.outOfReach()
	w.Expect(w.c.Delete(w.t.Context(), b, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
	w.collectGarbage(b)
	w.isKept(b)
	d.comesBack()
	w.Eventually(func() []string { return w.benchmark("b").Finalizers }).Should(Equal([]string{metav1.FinalizerDeleteDependents}))
	w.Expect(d.read("b").Rows).To(HaveLen(2))
}

// collectGarbage deletes what a benchmark owns, as the garbage collector does, which
// does not run together with the API server of the tests.
func (w *world) collectGarbage(b *v1alpha1.Benchmark) {
	w.t.Helper()
	for _, o := range w.storedOf(b) {
		w.Expect(w.c.Delete(w.t.Context(), o)).To(Succeed())
	}
}

// archiveAwayNamespace deletes all objects at once, as the controller of namespaces
// does.
func archiveAwayNamespace(w *world) {
	d, b := w.outOfReach()
	w.collectGarbage(b)
	w.Expect(w.c.Delete(w.t.Context(), b)).To(Succeed())
	w.isKept(b)
	d.comesBack()
	w.vanishes(b)
	w.Expect(w.storedOf(b)).To(HaveLen(0))
	w.Expect(d.read("b").Rows).To(HaveLen(2))
}

func archiveDeletedEarly(w *world) {
	d := w.archiving()
	w.modelledBed()
	create(w.t, w.c, benchmark("b", "sim"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.runners.report(b, measuring(row(64)))
	w.Eventually(func() *v1alpha1.Progress { return w.benchmark("b").Status.Progress }).Should(HaveField("RowsDone", int32(1)))
	w.Expect(w.c.Delete(w.t.Context(), b)).To(Succeed())
	w.vanishes(b)
	document := d.read("b")
	w.Expect(document.Phase).To(Equal(v1alpha1.PhaseAborted))
	w.Expect(document.Message).To(ContainSubstring("the benchmark was deleted"))
	w.Expect(document.Rows).To(HaveLen(1))
}

func archiveAwayRestart(w *world) {
	d, b := w.outOfReach()
	w.stop()
	w.Expect(w.c.Delete(w.t.Context(), b)).To(Succeed())
	d.comesBack()
	w.isKept(b)
	w.start()
	w.vanishes(b)
	w.Expect(d.read("b").Rows).To(HaveLen(2))
}

// deafArchive is a real archive whose first answers are lost on the way.
type deafArchive struct {
	kit.Archive
	puts atomic.Int32
}

func (d *deafArchive) Put(ctx context.Context, document *report.Document) (v1alpha1.ArchiveReference, error) {
	reference, err := d.Archive.Put(ctx, document)
	if d.puts.Add(1) <= 2 && err == nil {
		return v1alpha1.ArchiveReference{}, errors.New("connection reset by peer")
	}
	return reference, err
}

func archiveAnswerLost(w *world) {
	d := &directory{w: w, path: w.t.TempDir()}
	deaf := &deafArchive{Archive: w.openArchive(d.path)}
	w.with(func(o *kit.Options) { o.Archive = deaf })
	w.modelledBed()
	w.measures("b")
	w.archived("b")
	w.Expect(deaf.puts.Load()).To(BeNumerically(">", 2))
	w.Expect(d.documents()).To(HaveLen(1))
}

func archiveConflict(w *world) {
	d := w.archiving()
	w.modelledBed()
	create(w.t, w.c, benchmark("b", "sim"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	other := &report.Document{Schema: report.Schema, Phase: v1alpha1.PhaseFailed,
		Benchmark: report.Identity{Namespace: team, NamespaceUID: w.namespaceUID(team), Name: "b", UID: string(b.UID)}}
	reference, err := w.openArchive(d.path).Put(w.t.Context(), other)
	w.Expect(err).NotTo(HaveOccurred())

	w.runners.report(b, measured(row(64), row(128)))
	c := w.says("b", v1alpha1.ConditionArchived, v1alpha1.ReasonArchiveConflict)
	w.Expect(c.Message).To(And(ContainSubstring(reference.URL), ContainSubstring(reference.SHA256), ContainSubstring("move it away")))
	w.isKept(b)

	file := strings.TrimPrefix(reference.URL, "file://")
	w.Expect(os.Rename(file, file+".other")).To(Succeed())
	w.archived("b")
	w.Expect(d.read("b").Phase).To(Equal(v1alpha1.PhaseMeasured))
	w.Expect(w.count("nodrop_archive_writes_total", "result", "conflict")).To(BeNumerically(">=", 1))
	w.counted(1, "nodrop_archive_writes_total", "result", "stored")
	w.counted(1, "nodrop_benchmark_phase_duration_seconds", "phase", "Archiving")
	w.counted(0, "nodrop_archive_waiting_benchmarks")
}

func archiveNotAnyMore(w *world) {
	_, b := w.outOfReach()
	w.Expect(w.c.Delete(w.t.Context(), b)).To(Succeed())
	w.with(func(o *kit.Options) { o.Archive = nil })
	w.vanishes(b)
}

func archiveLater(w *world) {
	w.modelledBed()
	b := w.measures("b")
	w.Expect(meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionArchived)).To(BeNil())
	d := w.archiving()
	w.archived("b")
	w.Expect(d.read("b").Rows).To(HaveLen(2))
}

func archiveForced(w *world) {
	_, b := w.outOfReach()
	part := &v1alpha1.BenchmarkResult{
		ObjectMeta: metav1.ObjectMeta{
			Name: "b-extra", Namespace: team, Finalizers: []string{v1alpha1.FinalizerArchive},
			Labels: map[string]string{v1alpha1.LabelBenchmarkUID: string(b.UID), v1alpha1.LabelUnarchived: "true"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: "Benchmark", Name: b.Name, UID: b.UID, Controller: &[]bool{true}[0],
			}},
		},
		Spec: v1alpha1.BenchmarkResultSpec{BenchmarkName: b.Name, BenchmarkUID: string(b.UID), Part: 99},
	}
	create(w.t, w.c, part)
	w.collectGarbage(b)
	w.Expect(w.c.Delete(w.t.Context(), b)).To(Succeed())
	w.isKept(b)
	w.edit(b, func(b *v1alpha1.Benchmark) { b.Finalizers = nil })
	w.Eventually(func() int { return len(w.storedOf(b)) }).Should(BeZero(), "what was stored of it")
}

package controllers_test

import (
	"context"
	"net"
	"path/filepath"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/lab/recordercert"
	"nodrop.dev/nodrop/internal/reporting/metrics"
	"nodrop.dev/nodrop/internal/reporting/metrics/recorder"
	"nodrop.dev/nodrop/internal/reporting/metrics/spool"
	"nodrop.dev/nodrop/internal/testkit/freeport"
)

// labRecorder is a real recorder with its spool, and the keeper of its certificates. Its
// Service and Secret are not in the API server of the tests, which assigns no address of
// this machine.
type labRecorder struct {
	w       *world
	keeper  *recordercert.Keeper
	address string
	file    string
	server  *recorder.Server
	spool   *spool.Spool
	ended   chan error
	// handed are the lines that were read of the spool.
	handed []string
}

// recording restarts the operator with a recorder that is away.
func (w *world) recording(changes ...func(*kit.Options)) *labRecorder {
	w.t.Helper()
	address := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: freeport.Get(w.t)}
	meta := metav1.ObjectMeta{Namespace: operatorNamespace, Name: "recorder"}
	api := fakeclient.NewClientBuilder().WithObjects(&corev1.Secret{ObjectMeta: meta}, &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		ClusterIP: address.IP.String(), Ports: []corev1.ServicePort{{Port: int32(address.Port)}},
	}}).Build()
	key := client.ObjectKey{Namespace: meta.Namespace, Name: meta.Name}
	r := &labRecorder{
		w: w, address: address.String(), file: filepath.Join(w.t.TempDir(), "metrics.db"),
		keeper: &recordercert.Keeper{Secret: key, Service: key, Interval: time.Second, Reader: api, Writer: api, Now: time.Now},
	}
	w.Expect(r.keeper.Ensure(w.t.Context())).To(Succeed())
	w.t.Cleanup(r.goesAway)
	rowsOnly := func(o *kit.Options) { o.Metrics, o.BedSeries = r.keeper, time.Hour }
	w.with(append([]func(*kit.Options){rowsOnly}, changes...)...)
	return r
}

func (r *labRecorder) comesBack() {
	r.w.t.Helper()
	var err error
	r.spool, err = spool.Open(r.file, 64<<20)
	r.w.Expect(err).NotTo(HaveOccurred())
	config, err := pki.RecorderConfig(func() (pki.Bundle, error) {
		var secret corev1.Secret
		err := r.keeper.Reader.Get(context.Background(), r.keeper.Secret, &secret)
		b, _ := pki.FromData(secret.Data)
		return b, err
	})
	r.w.Expect(err).NotTo(HaveOccurred())
	l, err := net.Listen("tcp", r.address)
	r.w.Expect(err).NotTo(HaveOccurred())
	r.server, r.ended = recorder.NewServer(r.spool, config), make(chan error, 1)
	go func() { r.ended <- r.server.Serve(l) }()
}

func (r *labRecorder) goesAway() {
	if r.server == nil {
		return
	}
	r.server.Stop()
	r.w.Expect(<-r.ended).To(Succeed())
	r.w.Expect(r.spool.Close()).To(Succeed())
	r.server = nil
}

// lines returns the lines that the recorder was handed, each once. They leave its spool, which
// shows rows before series.
func (r *labRecorder) lines() []string {
	r.w.t.Helper()
	for {
		batch, err := r.spool.Next(1 << 30)
		r.w.Expect(err).NotTo(HaveOccurred())
		if len(batch.Lines) == 0 {
			return slices.Clone(r.handed)
		}
		for _, line := range batch.Lines {
			r.handed = append(r.handed, string(line))
		}
		slices.Sort(r.handed)
		r.handed = slices.Compact(r.handed)
		r.w.Expect(r.spool.Done(batch, nil)).To(Succeed())
	}
}

// measuresFor runs a benchmark to its end. It returns the points that its runner, which hands
// none over, makes of its rows.
func (w *world) measuresFor(name string, change ...func(*v1alpha1.Benchmark)) (b *v1alpha1.Benchmark, points []string) {
	w.t.Helper()
	create(w.t, w.c, benchmark(name, "sim", change...))
	b = w.reaches(name, v1alpha1.PhaseRunning)
	cfg := w.runnerConfig(name)
	run, err := metrics.NewRun(&cfg.Benchmark, &cfg.Profile, &cfg.Bed, cfg.Started.Time)
	w.Expect(err).NotTo(HaveOccurred())
	add := func(p metrics.Point, err error) {
		w.Expect(err).NotTo(HaveOccurred())
		line, err := p.AppendLine(nil)
		w.Expect(err).NotTo(HaveOccurred())
		points = append(points, string(line))
	}
	add(run.Point(cfg.Bed.Spec.Engine.Kind, "test"), nil)
	rows := []v1alpha1.ResultRow{row(64), row(128)}
	for i := range rows {
		rows[i].ElapsedMilliseconds = 1000 + int64(i)
		rows[i].Series = &v1alpha1.RateSeries{Samples: int32(i) + 1, PointMilliseconds: 100}
		add(run.Row(rows[i]))
	}
	slices.Sort(points)
	w.runners.report(b, measured(rows...))
	return w.reaches(name, v1alpha1.PhaseMeasured), points
}

// TestRecord hands the rows of finished benchmarks to the recorder.
func TestRecord(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"rows that no runner handed over":           recordRows,
		"without an archive":                        recordWithoutArchive,
		"away, and deleted meanwhile":               recordAwayDeleted,
		"away for long, and deleted":                recordAwayDeletedLong,
		"away when the time to live is over":        recordAwayRetention,
		"away, and an operator without recorder":    recordNotAnyMore,
		"a recorder that comes after the result":    recordLater,
		"verdicts of gates":                         recordGates,
		"rows that the recorder refuses":            recordRefused,
		"many that wait while the recorder is away": recordMany,
		"the series of the beds":                    recordBeds,
	} {
		t.Run(name, func(t *testing.T) { tc(newWorld(t, server)) })
	}
}

func (w *world) inArchive(o *kit.Options) { o.Archive = w.openArchive(w.t.TempDir()) }

func recordRows(w *world) {
	r := w.recording(w.inArchive)
	r.comesBack()
	w.modelledBed()
	_, points := w.measuresFor("b")
	c := w.says("b", v1alpha1.ConditionMetricsRecorded, v1alpha1.ReasonRecorded)
	w.Expect(c.Status).To(Equal(metav1.ConditionTrue))
	w.Expect(r.lines()).To(Equal(points))
	w.archived("b")
}

func recordWithoutArchive(w *world) {
	r := w.recording()
	r.comesBack()
	w.modelledBed()
	_, points := w.measuresFor("b")
	w.says("b", v1alpha1.ConditionMetricsRecorded, v1alpha1.ReasonRecorded)
	w.Expect(r.lines()).To(Equal(points))
}

// recordGates hands the verdicts over with the rows.
func recordGates(w *world) {
	r := w.recording(w.inArchive)
	r.comesBack()
	w.modelledBed()
	w.ends(benchmark("b", "sim", gated(rateGate("fast", "1001"))), v1alpha1.PhaseFailed, rate(64, 1000), rate(128, 2000))
	w.says("b", v1alpha1.ConditionMetricsRecorded, v1alpha1.ReasonRecorded)
	verdict := func(size, verdict, value string) gomegatypes.GomegaMatcher {
		return SatisfyAll(HavePrefix("nodrop_gate,bed=sim,"), ContainSubstring("frame_size="+size+",gate=fast,"), ContainSubstring(`verdict="`+verdict+`"`),
			ContainSubstring("value="+value+"i"), ContainSubstring("min=1001i"))
	}
	w.Expect(r.lines()).To(ContainElements(verdict("64", "Failed", "1000"), verdict("128", "Passed", "2000")))
}

// unrecorded runs a benchmark to its end while the recorder is away.
func (w *world) unrecorded() (r *labRecorder, b *v1alpha1.Benchmark, points []string) {
	w.t.Helper()
	r = w.recording(w.inArchive)
	w.modelledBed()
	b, points = w.measuresFor("b")
	c := w.says("b", v1alpha1.ConditionMetricsRecorded, v1alpha1.ReasonRecorderUnavailable)
	w.Expect(c.Status).To(Equal(metav1.ConditionFalse))
	w.Expect(c.Message).To(ContainSubstring("connection refused"))
	w.isKept(b)
	return r, b, points
}

func recordAwayDeleted(w *world) {
	r, b, points := w.unrecorded()
	w.Expect(w.c.Delete(w.t.Context(), b)).To(Succeed())
	w.isKept(b)
	w.stop()
	r.comesBack()
	w.start()
	w.vanishes(b)
	w.Expect(r.lines()).To(Equal(points))
}

func recordAwayDeletedLong(w *world) {
	_, b, _ := w.unrecorded()
	w.Expect(w.c.Delete(w.t.Context(), b)).To(Succeed())
	w.isKept(b)
	w.Eventually(func() error {
		w.pass(time.Minute) // The time between two checks counts up to that.
		return w.c.Get(w.t.Context(), client.ObjectKeyFromObject(b), &v1alpha1.Benchmark{})
	}).WithPolling(200 * time.Millisecond).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
}

func recordAwayRetention(w *world) {
	r, b, points := w.unrecorded()
	w.edit(b, func(b *v1alpha1.Benchmark) { b.Spec.TTLSecondsAfterFinished = ptr(int32(0)) })
	w.pass(24 * time.Hour)
	w.stays(b)
	r.comesBack()
	w.vanishes(b)
	w.Expect(r.lines()).To(Equal(points))
}

func recordNotAnyMore(w *world) {
	_, b, _ := w.unrecorded()
	w.with(w.inArchive)
	w.archived("b")
	w.Expect(w.c.Delete(w.t.Context(), b)).To(Succeed())
	w.vanishes(b)
}

func recordLater(w *world) {
	w.with(w.inArchive)
	w.modelledBed()
	_, points := w.measuresFor("b")
	w.archived("b")
	r := w.recording(w.inArchive)
	r.comesBack()
	w.says("b", v1alpha1.ConditionMetricsRecorded, v1alpha1.ReasonRecorded)
	w.Expect(r.lines()).To(Equal(points))
}

func recordRefused(w *world) {
	f := &fakeMetrics{err: status.Error(codes.InvalidArgument, "reading points: no")}
	w.with(w.inArchive, func(o *kit.Options) { o.Metrics = f })
	w.modelledBed()
	w.measures("b")
	c := w.says("b", v1alpha1.ConditionMetricsRecorded, v1alpha1.ReasonPointsRefused)
	w.Expect(c.Message).To(ContainSubstring("reading points: no"))
	w.archived("b")
}

func recordMany(w *world) {
	r := w.recording(w.inArchive)
	w.modelledBed()
	var points []string
	for _, name := range []string{"a", "b", "c"} {
		_, of := w.measuresFor(name)
		w.says(name, v1alpha1.ConditionMetricsRecorded, v1alpha1.ReasonRecorderUnavailable)
		points = append(points, of...)
	}
	r.comesBack()
	for _, name := range []string{"a", "b", "c"} {
		w.says(name, v1alpha1.ConditionMetricsRecorded, v1alpha1.ReasonRecorded)
	}
	slices.Sort(points)
	w.Expect(r.lines()).To(Equal(points))
}

// recordBeds follows a bed while one benchmark has it and another one waits, and while the
// recorder is away.
func recordBeds(w *world) {
	r := w.recording(func(o *kit.Options) { o.BedSeries = 50 * time.Millisecond })
	r.comesBack()
	w.modelledBed()
	is := func(holder string, parts ...string) {
		w.t.Helper()
		all := []gomegatypes.GomegaMatcher{HavePrefix("nodrop_bed,bed=sim" + holder + " ")}
		for _, part := range parts {
			all = append(all, ContainSubstring(part))
		}
		w.Eventually(r.lines).Should(ContainElement(SatisfyAll(all...)))
	}
	is("", "ready=true", "waiting=0i", "utilisation_ppm=0i")
	create(w.t, w.c, benchmark("b", "sim"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	create(w.t, w.c, benchmark("next", "sim"))
	is(",team="+team, `holder="b"`, `run="`+string(b.UID)+`"`, "waiting=1i", "longest_wait_ns=", "utilisation_ppm=1000000i")
	r.goesAway()
	w.runners.report(b, measured(row(64), row(128)))
	w.reaches("next", v1alpha1.PhaseRunning)
	r.comesBack()
	is(",team="+team, `holder="next"`, "waiting=0i")
}

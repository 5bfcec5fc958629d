package histories

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/reporting/history"
	"nodrop.dev/nodrop/internal/reporting/metrics/spool"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// errDatabaseFull is the answer of an API server whose etcd is full: it has no reason, only a code.
var errDatabaseFull = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: "etcdserver: mvcc: database space exceeded",
}}

// fullDisk is a disk that is full until a time, or for good.
type fullDisk struct {
	until time.Time
	good  bool
}

func (d *fullDisk) isFull() bool { return d.good || time.Now().Before(d.until) }

// fakeStores are the archive and the recorder of the lab, whose disks may be full.
type fakeStores struct {
	check *checker

	mu                sync.Mutex
	archived          map[string][]byte
	newest            map[string][]byte // by the name of the benchmark
	archive, recorder fullDisk
}

var _ kit.Archive = (*fakeStores)(nil)

func newFakeStores(check *checker) *fakeStores {
	return &fakeStores{check: check, archived: map[string][]byte{}, newest: map[string][]byte{}}
}

// fill fills a disk for a while, or for good.
func (s *fakeStores) fill(which func(*fakeStores) *fullDisk, d time.Duration, good bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	disk := which(s)
	disk.until, disk.good = time.Now().Add(d), disk.good || good
}

func archiveDisk(s *fakeStores) *fullDisk  { return &s.archive }
func recorderDisk(s *fakeStores) *fullDisk { return &s.recorder }

// heal empties the disks that are not full for good.
func (s *fakeStores) heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.archive.until, s.recorder.until = time.Time{}, time.Time{}
}

// isFull reports which disk is full.
func (s *fakeStores) isFull() (archive, recorder bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.archive.isFull(), s.recorder.isFull()
}

func (s *fakeStores) has(uid string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.archived[uid] != nil
}

// Put implements kit.Archive.
func (s *fakeStores) Put(_ context.Context, d *report.Document) (v1alpha1.ArchiveReference, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return v1alpha1.ArchiveReference{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.archive.isFull() {
		return v1alpha1.ArchiveReference{}, fmt.Errorf("writing the result: %w", syscall.ENOSPC)
	}
	uid := d.Benchmark.UID
	if before := s.archived[uid]; before != nil && !bytes.Equal(before, text) {
		s.check.seeArchived(d, "another document of it is there")
	}
	s.archived[uid], s.newest[d.Benchmark.Name] = text, text
	s.check.seeArchived(d, "")
	return v1alpha1.ArchiveReference{URL: "file:///archive/" + uid, SHA256: "0", Bytes: int64(len(text)), Time: metav1.NewTime(time.Now())}, nil
}

// EachOf implements kit.Archive: the history of a benchmark has only its own last run.
func (s *fakeStores) EachOf(_ context.Context, key history.Key, _ int, f func(*report.Document) error) ([]history.Unreadable, error) {
	s.mu.Lock()
	text := s.newest[key.Name]
	s.mu.Unlock()
	if text == nil {
		return nil, nil
	}
	d := &report.Document{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, err
	}
	return nil, f(d)
}

// URL implements kit.Archive.
func (s *fakeStores) URL() string { return "file:///archive" }

// fakeRecorder is the recorder of fakeStores.
type fakeRecorder struct{ *fakeStores }

var _ kit.Metrics = fakeRecorder{}

func (r fakeRecorder) Access(context.Context, string, time.Time) (*runner.Recorder, error) {
	return nil, errors.New("runners of histories have no recorder")
}

func (r fakeRecorder) Record(context.Context, [][]byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.recorder.isFull() {
		return fmt.Errorf("handing points to the recorder: %w", spool.ErrFull)
	}
	return nil
}

func (r fakeRecorder) Sample(context.Context, [][]byte) error { return nil }

// seeArchived judges a document of the archive: it has every row that is stored.
func (c *checker) seeArchived(d *report.Document, wrong string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if stored := c.stored(d.Benchmark.UID); len(d.Rows) != len(stored) && !c.behind {
		wrong = fmt.Sprintf("it has %d rows, and %v are stored", len(d.Rows), stored)
	}
	if wrong != "" {
		c.violated("the result of benchmark %s in the archive: %s", d.Benchmark.Name, wrong)
	}
}

// seeDeletion judges a benchmark that goes: its result is in the archive. The caller holds the lock.
func (c *checker) seeDeletion(b *v1alpha1.Benchmark) {
	if c.stores == nil || c.behind || slices.Contains(c.forced, b.Name) || b.Status.StartTime == nil {
		return
	}
	if !c.stores.has(string(b.UID)) {
		c.violated("benchmark %s is gone, and its result is not in the archive", b.Name)
	}
}

// fillRunner has the disks of the runners of a benchmark be full: what they measure from now on
// ends the run, since no checkpoint can be written.
func (w *world) fillRunner(ctx context.Context, name string) {
	for _, pod := range w.lab.podsOf(ctx, w.uidOf(ctx, name), "runner") {
		w.check.allow(name, v1alpha1.PhaseError)
		w.lab.runners.fill(pod.UID)
	}
}

// fill lets the runner in a pod end with the rows that it has by now.
func (f *fakeRunners) fill(pod types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.of(pod)
	if r.failed == "" {
		r.checkpoint, r.failed = r.log(f.unit), "writing the checkpoint: "+syscall.ENOSPC.Error()
	}
}

// fillDatabase has the API server refuse what needs room, for a time.
func (w *world) fillDatabase(d time.Duration, leaseLost bool) {
	if w.api == nil {
		return // A real API server is not filled.
	}
	w.api.setFull(true)
	if leaseLost { // No operator leads without a lease that it can renew.
		time.Sleep(min(d, 10*w.unit))
		w.replace(max(d-10*w.unit, 0))
	} else {
		time.Sleep(d)
	}
	w.api.setFull(false)
}

// fillStore fills the disk of the archive or of the recorder: for a while, or, one time in eight, for good.
func (w *world) fillStore(which func(*fakeStores) *fullDisk, d time.Duration, e event) {
	if w.check.stores != nil {
		w.check.stores.fill(which, d, e.much%8 == 7)
	}
}

// force notes that a benchmark is removed by force: what becomes of its result is open.
func (c *checker) force(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forced = append(c.forced, name)
	c.allowed[name] = append(c.allowed[name], v1alpha1.PhaseAborted)
}

// kept reports whether a finalizer keeps a finished benchmark for a disk that is full for good.
func (c *checker) kept(b *v1alpha1.Benchmark) bool {
	if c.stores == nil || !slices.Equal(b.Finalizers, []string{v1alpha1.FinalizerArchive}) {
		return false
	}
	archive, recorder := c.stores.isFull()
	return archive || recorder && b.DeletionTimestamp.IsZero()
}

// TestDeletionWithoutRecorder deletes a benchmark while the disk of the recorder is full for good: it goes
// after ten minutes, whatever the clocks of operator and API server show.
func TestDeletionWithoutRecorder(t *testing.T) {
	for _, ahead := range []time.Duration{-5 * time.Hour, 5 * time.Hour} {
		t.Run("API server ahead by "+ahead.String(), func(t *testing.T) {
			inBubble(t, 1, func(w *world, api *fakeAPI) {
				ctx := context.Background()
				w.check.stores = newFakeStores(w.check)
				w.check.stores.fill(recorderDisk, 0, true)
				api.step(ahead)
				stop := w.begin(ctx)
				defer stop()
				_ = w.Create(ctx, benchmark("b0", "sim", 0))
				w.until(ctx, t, "b0 is measured", 5*time.Minute, func() bool { return w.phaseOf(ctx, "b0") == v1alpha1.PhaseMeasured })
				time.Sleep(time.Minute)
				_ = w.Delete(ctx, benchmark("b0", "", 0))
				isGone := func() bool { return apierrors.IsNotFound(w.Get(ctx, keyOf("b0"), &v1alpha1.Benchmark{})) }
				time.Sleep(8 * time.Minute)
				if isGone() {
					t.Error("b0 is gone after 8 minutes, and the recorder does not have its rows")
				}
				w.until(ctx, t, "b0 is gone", 5*time.Minute, isGone)
			})
		})
	}
}

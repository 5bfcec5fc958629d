package controllers_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/measure/runner"
)

// fakeMetrics contains the access to a recorder, or the error in its place.
type fakeMetrics struct {
	access *runner.Recorder
	err    error
	asked  atomic.Value
}

func (f *fakeMetrics) Access(_ context.Context, uid string, until time.Time) (*runner.Recorder, error) {
	f.asked.Store(uid)
	if left := time.Until(until); left <= 0 || left > 24*time.Hour {
		return nil, errors.New("the certificate would not be valid as long as the run may take")
	}
	return f.access, f.err
}

func (f *fakeMetrics) Record(context.Context, [][]byte) error { return f.err }
func (f *fakeMetrics) Sample(context.Context, [][]byte) error { return f.err }

// A runner gets access to the recorder, and when its run began.
func TestRunnersGetTheRecorder(t *testing.T) {
	f := &fakeMetrics{access: &runner.Recorder{Address: "10.96.0.7:7446", CA: []byte("ca"), Cert: []byte("cert"), Key: []byte("key"), IntervalMilliseconds: 500}}
	w := newWorld(t, startServer(t), func(w *world) { w.change = func(o *kit.Options) { o.Metrics = f } })
	w.measuringOnModel()
	cfg, b := w.runnerConfig("b"), w.benchmark("b")
	w.Expect(cfg.Recorder).To(Equal(f.access))
	w.Expect(cfg.Started.Equal(b.Status.StartTime)).To(BeTrue())
	w.Expect(f.asked.Load()).To(Equal(string(b.UID)))
}

// A run goes on without a recorder that cannot be reached.
func TestARunWithoutItsRecorder(t *testing.T) {
	f := &fakeMetrics{err: errors.New("services \"nodrop-recorder\" not found")}
	w := newWorld(t, startServer(t), func(w *world) { w.change = func(o *kit.Options) { o.Metrics = f } })
	b := w.measuringOnModel()
	w.Expect(f.asked.Load()).To(Equal(string(b.UID)))
	w.Expect(w.runnerConfig("b").Recorder).To(BeNil())
	w.runners.report(b, measured(row(64)))
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.bedIsClean("sim")
}

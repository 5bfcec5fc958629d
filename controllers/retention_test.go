package controllers_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// TestRetention deletes benchmarks some time after their end.
func TestRetention(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"what the benchmark says":                      retentionOwn,
		"what the lab says":                            retentionOfLab,
		"kept for ever":                                retentionNone,
		"changed after the end":                        retentionChanged,
		"not before it is archived":                    retentionArchive,
		"an operator that was away when the time came": retentionRestart,
		"a benchmark that never had a bed":             retentionQueued,
	} {
		t.Run(name, func(t *testing.T) { tc(newWorld(t, server)) })
	}
}

func kept(seconds int32) func(*v1alpha1.Benchmark) {
	return func(b *v1alpha1.Benchmark) { b.Spec.TTLSecondsAfterFinished = &seconds }
}

// stays checks that a benchmark was not deleted, after the operator has reconciled it.
func (w *world) stays(b *v1alpha1.Benchmark) {
	w.t.Helper()
	seen := w.asked.Load()
	w.Eventually(w.asked.Load).Should(BeNumerically(">", seen+3), "the operator reads its clock")
	w.Expect(w.benchmark(b.Name).DeletionTimestamp).To(BeNil(), "%s is being deleted", b.Name)
}

func retentionOwn(w *world) {
	w.with()
	w.modelledBed()
	b := w.measures("b", kept(3600))
	w.pass(59 * time.Minute)
	w.stays(b)
	w.pass(2 * time.Minute)
	w.vanishes(b)
}

// lab30m is a lab's default.
func lab30m(o *kit.Options) {
	ttl := 30 * time.Minute
	o.TimeToLive = &ttl
}

func retentionOfLab(w *world) {
	w.with(lab30m)
	w.modelledBed()
	short, long := w.measures("short"), w.measures("long", kept(7200))
	w.pass(29 * time.Minute)
	w.stays(short)
	w.pass(2 * time.Minute)
	w.vanishes(short)
	w.stays(long)
	w.pass(2 * time.Hour)
	w.vanishes(long)
}

func retentionNone(w *world) {
	w.with()
	w.modelledBed()
	b, other := w.measures("b"), w.measures("other", kept(3600))
	w.pass(20 * 365 * 24 * time.Hour)
	// The deletion of the second one shows that the operator has reconciled.
	w.vanishes(other)
	w.Expect(w.benchmark(b.Name).DeletionTimestamp).To(BeNil())
}

func retentionChanged(w *world) {
	w.with()
	w.modelledBed()
	b := w.measures("b", kept(3600))
	w.edit(b, func(b *v1alpha1.Benchmark) { b.Spec.TTLSecondsAfterFinished = ptr(int32(7200)) })
	w.pass(90 * time.Minute)
	w.stays(b)
	w.edit(b, func(b *v1alpha1.Benchmark) { b.Spec.TTLSecondsAfterFinished = ptr(int32(60)) })
	w.vanishes(b)
}

func (w *world) edit(b *v1alpha1.Benchmark, change func(*v1alpha1.Benchmark)) {
	w.t.Helper()
	w.Eventually(func() error {
		b := w.benchmark(b.Name)
		change(b)
		return w.c.Update(w.t.Context(), b)
	}).Should(Succeed())
}

func retentionArchive(w *world) {
	d, b := w.outOfReach()
	w.edit(b, func(b *v1alpha1.Benchmark) { b.Spec.TTLSecondsAfterFinished = ptr(int32(0)) })
	w.stays(b)
	d.comesBack()
	w.vanishes(b)
	w.Expect(d.read("b").Rows).To(HaveLen(2))
}

func retentionRestart(w *world) {
	w.with()
	w.modelledBed()
	b := w.measures("b", kept(3600))
	w.stop()
	w.pass(2 * time.Hour)
	w.start()
	w.vanishes(b)
}

func retentionQueued(w *world) {
	w.with()
	w.modelledBed()
	create(w.t, w.c, benchmark("other", "sim", objects.Deadline(86400)))
	w.reaches("other", v1alpha1.PhaseRunning)
	create(w.t, w.c, benchmark("b", "sim", kept(3600)))
	w.edit(w.reaches("b", v1alpha1.PhaseQueued), func(b *v1alpha1.Benchmark) { b.Spec.Abort = true })
	b := w.reaches("b", v1alpha1.PhaseAborted)
	w.pass(59 * time.Minute)
	w.stays(b)
	w.pass(2 * time.Minute)
	w.vanishes(b)
}

func ptr[T any](v T) *T { return &v }

package labpage

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/allocation"
	"nodrop.dev/nodrop/internal/lab/queue"
)

// TestSnapshotsInTheBackground checks that a request is served from a snapshot that is bearable while the next one is made, and
// waits for one where the last is too old.
func TestSnapshotsInTheBackground(t *testing.T) {
	var clock atomic.Int64
	now := func() time.Time { return noon.Add(time.Duration(clock.Load())) }
	reading, goOn := make(chan struct{}), make(chan struct{})
	l := &snapshots{reader: caches(t), now: now, wait: func(context.Context, []v1alpha1.TestBed, []v1alpha1.Benchmark) ([]queue.Waiting, error) {
		reading <- struct{}{}
		<-goOn
		return nil, nil
	}}
	take := func() chan *snapshot {
		taken := make(chan *snapshot, 1)
		go func() {
			s, err := l.snapshot(t.Context())
			if err != nil {
				t.Error(err)
			}
			taken <- s
		}()
		return taken
	}
	first := take()
	<-reading
	goOn <- struct{}{}
	s := <-first
	s.took = 0

	clock.Store(int64(fresh) / 2)
	if again := <-take(); again != s {
		t.Error("a fresh snapshot is not served")
	}
	clock.Store(int64(fresh) + 1)
	for range 3 {
		if again := <-take(); again != s {
			t.Error("a bearable snapshot is not served while the next one is made")
		}
	}
	<-reading // One is made for all of them.
	goOn <- struct{}{}
	l.making.Lock() // It is made.
	next := l.last.Load()
	l.making.Unlock()
	if next == s || !next.at.Equal(now()) {
		t.Errorf("the next snapshot is of %s, want %s", next.at, now())
	}
	next.took = 0

	clock.Add(int64(bearable))
	waits := take()
	<-reading
	select {
	case old := <-waits:
		t.Errorf("a snapshot of %s is served at %s", old.at, now())
	default:
	}
	goOn <- struct{}{}
	if last := <-waits; last == next {
		t.Error("a snapshot that is too old is served")
	}
}

// TestNotFoundYet checks that a benchmark that was made after the last snapshot is found, though that snapshot is bearable.
func TestNotFoundYet(t *testing.T) {
	c := caches(t)
	var clock atomic.Int64
	now := func() time.Time { return noon.Add(time.Duration(clock.Load())) }
	p := New(Options{Reader: c, Results: c, Access: fakeAccess("a"), Now: now, Log: logr.Discard(), Waiting: allocation.WaitingFrom(c, allocation.LineupInput{}, now)})
	if status, _, _ := get(t, p, "/benchmarks/a/new"); status != http.StatusNotFound {
		t.Fatalf("status %d before it was made", status)
	}
	if err := c.(client.Client).Create(t.Context(), benchmark("a", "new", v1alpha1.PhaseQueued, nil)); err != nil {
		t.Fatal(err)
	}
	clock.Store(int64(bearable) / 2)
	p.lab.last.Load().took = 0
	if status, text, _ := get(t, p, "/benchmarks/a/new"); status != http.StatusOK {
		t.Errorf("status %d: %s", status, text)
	}
}

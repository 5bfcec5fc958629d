package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/reporting/metrics"
	"nodrop.dev/nodrop/internal/reporting/metrics/metricstest"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
	"nodrop.dev/nodrop/internal/traffic"
)

// fakeTarget keeps lines; it can fail, after or without keeping them.
type fakeTarget struct {
	mu    sync.Mutex
	fail  func(call int) (keeps bool, err error)
	calls int
	kept  []string
}

func (f *fakeTarget) Take(_ context.Context, rows, series [][]byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	keeps, err := true, error(nil)
	f.calls++
	if f.fail != nil {
		keeps, err = f.fail(f.calls)
	}
	if keeps {
		for _, line := range slices.Concat(rows, series) {
			f.kept = append(f.kept, string(line))
		}
	}
	return err
}

// identities returns the sorted identities of the kept points.
func (f *fakeTarget) identities(t *testing.T) []string {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	keys := map[string]bool{}
	for _, line := range f.kept {
		key, _, err := metricstest.Identity(line)
		if err != nil {
			t.Fatal(err)
		}
		keys[key] = true
	}
	return slices.Sorted(maps.Keys(keys))
}

func newStream(t *testing.T, target Target) *Stream {
	t.Helper()
	benchmark := objects.Benchmark("", "")
	benchmark.Name, benchmark.UID = "b", "1"
	benchmark.Spec.Tests = []v1alpha1.Test{{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{}}}
	profile, bed := objects.TrafficProfile("", ""), objects.TestBed("")
	profile.Spec = v1alpha1.TrafficProfileSpec{FrameSizes: []int32{64}, Pattern: v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}}, Packet: v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}}
	bed.Name = "bed"
	bed.Spec.Device.Simulated = &v1alpha1.SimulatedDevice{}
	bed.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineSim, Sim: &v1alpha1.SimEngine{Ports: &v1alpha1.SimPorts{Count: 2, Speed: "10G"}}}
	if err := manifest.Default(benchmark, profile, bed); err != nil {
		t.Fatal(err)
	}
	run, err := metrics.NewRun(benchmark, profile, bed, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return Open(run, target, slog.New(slog.NewTextHandler(io.Discard, nil)), time.Now)
}

// interval ends so long after the beginning of its trial.
func interval(at time.Duration) trials.Interval {
	ports := []trials.PortInterval{{ClassAt: traffic.ClassAt{Port: "p1", Class: "unicast"}, Sends: true}}
	return trials.Interval{Began: time.Now().Truncate(time.Hour), At: at, Length: time.Second, Ports: ports}
}

func row() v1alpha1.ResultRow {
	return v1alpha1.ResultRow{RowID: v1alpha1.RowID{Test: "throughput", Method: v1alpha1.MethodThroughput, FrameSize: 64}, Validity: v1alpha1.ValidityValid}
}

// TestATargetThatFails checks that a failing target does not delay the run and gets all points
// in the end, also if it kept lines of a failed attempt.
func TestATargetThatFails(t *testing.T) {
	t.Parallel()
	for name, keeps := range map[string]bool{"and keeps nothing": false, "and keeps all": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				target := &fakeTarget{fail: func(call int) (bool, error) {
					if call <= 3 {
						return keeps, errors.New("away")
					}
					return true, nil
				}}
				s := newStream(t, target)
				begin := time.Now()
				s.Begin(v1alpha1.EngineSim)
				for n := range 5 {
					s.Interval(interval(time.Duration(n) * time.Second))
					s.Row(row())
				}
				if time.Since(begin) != 0 {
					t.Errorf("the run waited %s for its metrics", time.Since(begin))
				}
				counts := s.Close(t.Context())
				if counts != (Counts{Handed: 11}) {
					t.Errorf("%+v", counts)
				}
				// The row is the same point each time.
				if got := target.identities(t); len(got) != 7 {
					t.Errorf("%q", got)
				}
			})
		})
	}
}

// TestATargetThatStaysAway checks the stream for a target that never works again: the queue is
// bounded, rows are kept, and Close returns when its context ends.
func TestATargetThatStaysAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStream(t, &fakeTarget{fail: func(int) (bool, error) { return false, errors.New("away") }})
		s.Row(row())
		i := interval(0)
		for n := range 64 {
			port := i.Ports[0]
			port.Port = fmt.Sprint("p", n, strings.Repeat("x", 8<<10))
			i.Ports = append(i.Ports, port)
		}
		for n := range 100 {
			i.At = time.Duration(n) * time.Second
			s.Interval(i)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		begin := time.Now()
		counts := s.Close(ctx)
		if time.Since(begin) != 10*time.Second {
			t.Errorf("closing took %s", time.Since(begin))
		}
		if counts.Handed != 0 || counts.Dropped == 0 || counts.Dropped+counts.Queued != 6501 || s.bytes > maxQueued || len(s.rows) != 1 {
			t.Errorf("%+v, %d bytes, %d rows", counts, s.bytes, len(s.rows))
		}
	})
}

// Points of a clock of its own are placed in the time of the day, one generator after the
// other; those of a clock that shows it stay where they are.
func TestTimeline(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return now.Add(d) }
	simulated := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	line := timeline{now: func() time.Time { return now }}
	line.begin(at(-3 * time.Millisecond))
	if got := line.at(at(time.Second)); !got.Equal(at(time.Second)) {
		t.Errorf("a clock that shows the time of the day is moved to %s", got)
	}
	line = timeline{now: func() time.Time { return now }}
	line.begin(simulated)
	if got := line.at(simulated.Add(time.Minute)); !got.Equal(at(time.Minute)) {
		t.Errorf("a minute after the beginning is %s", got)
	}
	line.begin(simulated.Add(2 * time.Minute))
	if got := line.at(simulated.Add(3 * time.Minute)); !got.Equal(at(3 * time.Minute)) {
		t.Errorf("the second trial is at %s", got)
	}
	line.begin(simulated) // another variant, with a clock that begins anew
	if got := line.at(simulated.Add(time.Second)); !got.After(at(3*time.Minute + time.Second)) {
		t.Errorf("the second generator is at %s, among the points of the first", got)
	}
}

package controllers_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/allocation"
)

// labEstimates asks a simulated lab for expected starts when parts of its benchmarks have ended, and
// compares them with the times at which these benchmarks get their beds.
type labEstimates struct {
	benchmarks int
	moments    []float64
	promises   map[float64]map[string]labPromise
	leased     map[string]time.Time
	// last are the times at which beds were leased last, and cycles the times from one lease of a bed to
	// the next, by the moment that was asked for last.
	last   map[string]time.Time
	cycles map[float64][]time.Duration
	moment float64
	mu     sync.Mutex
}

// labPromise is an expected start, zero if it is not known, and when it was computed.
type labPromise struct{ made, start time.Time }

func newLabEstimates(benchmarks int, moments ...float64) *labEstimates {
	return &labEstimates{
		benchmarks: benchmarks, moments: moments, promises: map[float64]map[string]labPromise{}, leased: map[string]time.Time{},
		last: map[string]time.Time{}, cycles: map[float64][]time.Duration{},
	}
}

func (e *labEstimates) bed(b *v1alpha1.TestBed, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if l := b.Status.Lease; l != nil && e.leased[l.Holder].IsZero() {
		e.leased[l.Holder] = now
		if last, known := e.last[b.Name]; known {
			e.cycles[e.moment] = append(e.cycles[e.moment], now.Sub(last))
		}
		e.last[b.Name] = now
	}
}

func (e *labEstimates) look(ctx context.Context, c client.Client, ended int) (enough bool, _ error) {
	if len(e.moments) == 0 || float64(ended) < e.moments[0]*float64(e.benchmarks) {
		return false, nil
	}
	moment := e.moments[0]
	e.moments = e.moments[1:]
	e.mu.Lock()
	e.moment = moment
	e.mu.Unlock()
	var beds v1alpha1.TestBedList
	var benchmarks v1alpha1.BenchmarkList
	for _, list := range []client.ObjectList{&beds, &benchmarks} {
		if err := c.List(ctx, list); err != nil {
			return false, fmt.Errorf("listing objects: %w", err)
		}
	}
	lab, err := allocation.ReadLineupInput(ctx, c, beds.Items, benchmarks.Items)
	if err != nil {
		return false, err
	}
	lab.Now = time.Now()
	e.promises[moment] = map[string]labPromise{}
	for _, p := range allocation.Lineup(lab) {
		e.promises[moment][p.Benchmark.Namespace+"/"+p.Benchmark.Name] = labPromise{lab.Now, p.Start}
	}
	return false, nil
}

// table prints the errors of the estimates of each moment, and of all. Waits below the shortest
// one are left out.
func (e *labEstimates) table(shortest time.Duration) string {
	text := fmt.Sprintf("%-10s%8s%8s%10s%10s%10s%12s\n", "moment", "waits", "known", "median", "p90", "bias", "median wait")
	begin := fmt.Sprintf("mean time from lease to lease of a bed: %.1f s before", mean(e.cycles[0]))
	var all []labError
	for _, moment := range slices.Sorted(maps.Keys(e.promises)) {
		of := e.errorsOf(e.promises[moment], shortest)
		text += tableOfErrors(fmt.Sprintf("%.0f %%", 100*moment), of)
		all = append(all, of...)
		begin += fmt.Sprintf(", %.1f s after %.0f %%", mean(e.cycles[moment]), 100*moment)
	}
	return text + tableOfErrors("all", all) + begin
}

// mean returns the mean of durations in seconds.
func mean(durations []time.Duration) float64 {
	var sum time.Duration
	for _, d := range durations {
		sum += d
	}
	return sum.Seconds() / max(float64(len(durations)), 1)
}

// labError is the relative error of one expected start, with its sign.
type labError struct {
	wait  time.Duration
	known bool
	of    float64
}

func (e *labEstimates) errorsOf(promises map[string]labPromise, shortest time.Duration) []labError {
	var all []labError
	for name, p := range promises {
		wait := e.leased[name].Sub(p.made)
		if e.leased[name].IsZero() || wait < shortest {
			continue
		}
		all = append(all, labError{wait, !p.start.IsZero(), float64(p.start.Sub(e.leased[name])) / float64(wait)})
	}
	return all
}

func tableOfErrors(name string, all []labError) string {
	var errs []float64
	var waits []time.Duration
	bias := 0.0
	for _, e := range all {
		waits = append(waits, e.wait)
		if e.known {
			errs, bias = append(errs, math.Abs(e.of)), bias+e.of
		}
	}
	slices.Sort(errs)
	slices.Sort(waits)
	if len(errs) == 0 {
		return fmt.Sprintf("%-10s%8d%8d\n", name, len(all), 0)
	}
	return fmt.Sprintf("%-10s%8d%8d%9.1f%%%9.1f%%%9.1f%%%11.1fs\n", name, len(all), len(errs),
		100*errs[len(errs)/2], 100*errs[len(errs)*9/10], 100*bias/float64(len(errs)), waits[len(waits)/2].Seconds())
}

// TestMeasureEstimates measures how far expected starts are from the times at which benchmarks
// got their beds, in labs of the sizes that NODROP_LAB_ESTIMATES lists, such as 400x20: with
// durations that are all the same and mixed ones, each without and with a LabPolicy.
func TestMeasureEstimates(t *testing.T) {
	list := os.Getenv("NODROP_LAB_ESTIMATES")
	if list == "" {
		t.Skip("NODROP_LAB_ESTIMATES is not set: make lab-sim")
	}
	for _, size := range labSizes(t, list) {
		size.namespaces = 4
		for _, lab := range []labSize{{run: 10 * time.Second}, {run: 4 * time.Second, mixed: true}} {
			for _, size.policy = range []bool{false, true} {
				size.run, size.mixed = lab.run, lab.mixed
				t.Run(fmt.Sprintf("%dx%d,mixed=%t,policy=%t", size.benchmarks, size.beds, size.mixed, size.policy), func(t *testing.T) {
					e := newLabEstimates(size.benchmarks, 0.1, 0.3, 0.5)
					s := launchServer(t)
					size.fill(t, s.admin)
					if _, err := simulateOperator(t.Context(), s.operator, size, e); err != nil {
						t.Fatal(err)
					}
					t.Logf("%d benchmarks of %d teams on %d beds\n%s", size.benchmarks, size.namespaces, size.beds, e.table(10*time.Second))
					if err := s.stop(); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

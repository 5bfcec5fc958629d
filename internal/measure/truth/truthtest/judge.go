// Package truthtest helps tests that measure devices with real frames, of which the true answers are
// known.
package truthtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/measure/truth"
)

// Pairs returns the number of pairs of each method that NODROP_TRUTH_PAIRS has, and whether it has one.
func Pairs() (int, bool) {
	n, err := strconv.Atoi(os.Getenv("NODROP_TRUTH_PAIRS"))
	return n, err == nil
}

// Number is the claim that a figure is the truth, to an amount.
func Number(figure string, value int64, truly, amount float64) truth.Claim {
	return truth.Claim{Figure: figure, Low: float64(value) - amount, High: float64(value) + amount, TrueLow: truly, TrueHigh: truly}
}

// Run is the measurement of a pair.
type Run struct {
	Seed int
	// Device and Fault describe the device and the fault of the tester; no fault is empty.
	Device, Fault string
	Rows          []v1alpha1.ResultRow
	// Message of the run.
	Message string
	// Claims of a row, nil for none.
	Claims func(row *v1alpha1.ResultRow) []truth.Claim
}

// Judge judges the rows of a pair, adds it to the line of its method, and logs it. The test fails if a
// row is wrong and not marked, or if a tester without a fault has no row.
func (r Run) Judge(t *testing.T, line *truth.Line) {
	t.Helper()
	pair := truth.Pair{Method: line.Method, Seed: uint64(r.Seed), Claims: r.Claims}
	out := pair.Judge(runner.State{Rows: r.Rows})
	line.Add(&pair, out)
	text := fmt.Sprintf("%s: %s, fault: %s", out.Verdict, r.Device, r.Fault)
	for i := range r.Rows {
		row := &r.Rows[i]
		text += fmt.Sprintf("\n  %s %s %v %s", row.Name(), row.Validity, row.ValidityReasons, row.Message)
	}
	t.Log(text, r.Message)
	if out.Rows == [3]int{} && r.Fault == "" {
		t.Errorf("the run has no row of %s: %s", line.Method, r.Message)
	}
	for _, reason := range out.Reasons {
		t.Error(reason)
	}
}

// Disturb lets other processes use processors for a time, again and again, until ctx ends: all
// processors, if none is named.
func Disturb(ctx context.Context, every, lasts time.Duration, on ...int) {
	if len(on) == 0 {
		for n := range runtime.NumCPU() {
			on = append(on, n)
		}
	}
	Again(ctx, every, func() {
		var all sync.WaitGroup
		for _, processor := range slices.Repeat(on, 2) {
			all.Go(func() {
				_ = exec.Command("taskset", "-c", fmt.Sprint(processor), "timeout", fmt.Sprint(lasts.Seconds()), "nice", "-n", "-20", "sh", "-c", "while :; do :; done").Run()
			})
		}
		all.Wait()
	})
}

// Again calls f every so often until ctx ends.
func Again(ctx context.Context, every time.Duration, f func()) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f()
		}
	}
}

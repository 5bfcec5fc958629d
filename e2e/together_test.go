//go:build e2e

package e2e

import (
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"

	xdpmachine "nodrop.dev/nodrop/internal/traffic/xdp/machine"
)

// Some tests run at the same time, after all others. What they share is here: one chart, one
// router, one LabPolicy. They never depend on who is first.

func TestMain(m *testing.M) {
	flag.Parse()
	ctrl.SetLogger(logr.Discard()) // Warnings of the API server have tests of their own.
	// They wait for an upgrade by one of them, and most of the time for the cluster: all at once.
	if err := flag.Set("test.parallel", "16"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// chart is the installed chart. Who upgrades it replaces the operator, and no other test runs
// meanwhile.
var chart struct {
	sync.RWMutex
	// first waits for the tests that upgrade the chart before others leave it as it is. upgraded
	// maps the names of these tests to functions that mark their upgrade as done.
	first    sync.WaitGroup
	upgraded sync.Map
}

// together lets a test run at the same time as others. It must leave the operator as it is, and
// have beds, namespaces and names of its own.
func together(t *testing.T) {
	t.Helper()
	t.Parallel()
	chart.first.Wait()
	chart.RLock()
	t.Cleanup(chart.RUnlock)
}

// togetherAfterUpgrade is together for a test that begins with an upgrade of the chart: the
// others wait for it. A further upgrade, such as the one that takes the first back, waits until
// the others have ended.
func togetherAfterUpgrade(t *testing.T) {
	t.Helper()
	chart.first.Add(1)
	done := sync.OnceFunc(chart.first.Done)
	chart.upgraded.Store(t.Name(), done)
	t.Cleanup(done)
	t.Parallel()
}

// upgrading keeps other tests from running until the returned function is called.
func upgrading(t *testing.T) (done func()) {
	chart.Lock()
	return func() {
		chart.Unlock()
		if first, found := chart.upgraded.LoadAndDelete(t.Name()); found {
			first.(func())()
		}
	}
}

// long skips a test in make test: what it shows is rare, or other tests cover it.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long: make test-long")
	}
}

// What one test has at a time.
var theRouter, thePolicy sync.Mutex

// alone keeps other tests from something until the test ends.
func alone(t *testing.T, what *sync.Mutex) {
	t.Helper()
	what.Lock()
	t.Cleanup(what.Unlock)
}

// quietSample is the time for which the processors must be quiet, and quietPatience the remaining time for which tests
// wait until they are.
const quietSample = 2 * time.Second

var quietPatience = 5 * time.Minute

// awaitQuiet waits until other programs leave the processors to a tester, within quietPatience: tests that only compute
// may still run.
func awaitQuiet(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	begin, err := xdpmachine.ReadCPUTime()
	g.Expect(err).NotTo(HaveOccurred())
	for ; quietPatience > 0; quietPatience -= quietSample {
		time.Sleep(quietSample)
		end, err := xdpmachine.ReadCPUTime()
		g.Expect(err).NotTo(HaveOccurred())
		busy := false
		for processor := range end.Busy {
			busy = busy || len(begin.Foreign(end, processor, "this machine")) > 0
		}
		if !busy {
			return
		}
		begin = end
	}
	t.Log("other programs use the processors all the time")
}

package traffictest

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// Occupy keeps a processor busy until the test ends, so that other threads of this
// processor run late.
func Occupy(t *testing.T, processor int) {
	t.Helper()
	var stop atomic.Bool
	var running sync.WaitGroup
	bound := make(chan error, 1)
	running.Go(func() {
		runtime.LockOSThread() // for good: the thread ends with its goroutine
		var set unix.CPUSet
		set.Set(processor)
		err := unix.SchedSetaffinity(0, &set)
		bound <- err
		for err == nil && !stop.Load() {
		}
	})
	if err := <-bound; err != nil {
		t.Fatalf("binding a thread to processor %d: %v", processor, err)
	}
	t.Cleanup(func() {
		stop.Store(true)
		running.Wait()
	})
}

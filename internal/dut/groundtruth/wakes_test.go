package groundtruth

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/truth"
	"nodrop.dev/nodrop/internal/traffic/xdp/machine"
)

// longestWake returns, once ctx ends, the longest time by which processors began too late to run a thread that
// had slept. A device that works on them, in threads of the kernel, holds frames for as long: when a hypervisor
// takes a processor away, for example.
func longestWake(ctx context.Context, t *testing.T, processors []int) time.Duration {
	var mu sync.Mutex
	var longest time.Duration
	var all sync.WaitGroup
	for _, processor := range processors {
		all.Go(func() {
			runtime.LockOSThread() // for good: the thread ends with the goroutine
			if err := machine.Pin(processor); err != nil {
				t.Error(err)
				return
			}
			const sleep = time.Millisecond
			for ctx.Err() == nil {
				begin := time.Now()
				request := unix.NsecToTimespec(int64(sleep))
				if err := unix.Nanosleep(&request, nil); err != nil {
					continue // A signal ended the sleep.
				}
				mu.Lock()
				longest = max(longest, time.Since(begin)-sleep)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return longest
}

// waking adds to claims about times that end when the kernel wakes by how much longer than wake it took.
func waking(late time.Duration, claims func(*v1alpha1.ResultRow) []truth.Claim) func(*v1alpha1.ResultRow) []truth.Claim {
	return func(row *v1alpha1.ResultRow) []truth.Claim {
		all := claims(row)
		for i := range all {
			all[i].TrueHigh += float64(max(0, late-wake))
		}
		return all
	}
}

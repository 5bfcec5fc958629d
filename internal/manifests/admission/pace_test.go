package admission

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// writeOf returns a write of an object of so many bytes.
func writeOf(namespace string, bytes int) admission.Request {
	var r admission.Request
	r.Namespace, r.Object = namespace, runtime.RawExtension{Raw: make([]byte, bytes)}
	return r
}

// TestWritePace lets a namespace write without pause, from many clients or one, with small and large objects.
func TestWritePace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		clients, bytes int
		// minimum and maximum are the numbers of writes in a minute.
		minimum, maximum int
	}{
		{1, 100, 200 + 60*20 - 2, 200 + 60*20 + 2},
		{8, 100, 200 + 60*20 - 10, 200 + 60*20 + 10},
		// A write of 80 KiB counts as 11, and waits for the longest time: two per second.
		{1, 80 << 10, 120 + 200/11, 122 + 200/11},
		{4, 80 << 10, 4*120 + 200/11, 4*122 + 200/11},
		// One that counts as more than what passes at once is the first one, or waits for the longest time.
		{1, 4 << 20, 121, 122},
		// More than so many do not wait at the same time.
		{maxPaused + 1, 100, 100_000, 1 << 60},
	} {
		t.Run(fmt.Sprintf("clients=%d,bytes=%d", c.clients, c.bytes), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newWritePace()
				var all sync.WaitGroup
				var mu sync.Mutex
				n, began := 0, time.Now()
				for range c.clients {
					all.Go(func() {
						for time.Since(began) < time.Minute {
							before := time.Now()
							answer := p.Handle(t.Context(), writeOf("fast", c.bytes))
							waited := time.Since(before)
							if !answer.Allowed {
								t.Error("a write was refused")
							}
							if waited > longestPause || (waited >= worthSaying) != (len(answer.Warnings) > 0) {
								t.Errorf("a write waited for %v, with the warnings %q", waited, answer.Warnings)
							}
							mu.Lock()
							n++
							enough := n > c.minimum && c.clients > maxPaused
							mu.Unlock()
							if enough {
								return
							}
						}
					})
				}
				time.Sleep(30 * time.Second)
				before := time.Now()
				if answer := p.Handle(t.Context(), writeOf("other", c.bytes)); !answer.Allowed || time.Since(before) > 0 {
					t.Error("another namespace waits")
				}
				all.Wait()
				if n < c.minimum || n > c.maximum {
					t.Errorf("%d writes in a minute, want %d to %d", n, c.minimum, c.maximum)
				}
			})
		})
	}
}

// TestWritePaceEndsEarly does not go on when the API server has given up.
func TestWritePaceEndsEarly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newWritePace()
		p.Handle(t.Context(), writeOf("fast", writesAtOnce*bytesOfAWrite))
		ctx, cancel := context.WithTimeout(t.Context(), longestPause/2)
		defer cancel()
		before := time.Now()
		if answer := p.Handle(ctx, writeOf("fast", writesAtOnce*bytesOfAWrite)); answer.Allowed || time.Since(before) != longestPause/2 {
			t.Errorf("the answer came after %v: %v", time.Since(before), answer)
		}
		if len(p.paused) > 0 {
			t.Error("a write still waits")
		}
	})
}

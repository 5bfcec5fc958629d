package interrupt_test

import (
	"context"
	"testing"
	"testing/synctest"

	"nodrop.dev/nodrop/internal/base/interrupt"
)

// TestStopWaitsForTheInterrupt stops while connections are interrupted, and before the context ends.
func TestStopWaitsForTheInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		release, stopped := make(chan struct{}), make(chan struct{})
		stop := interrupt.AtEnd(ctx, func() { <-release })
		cancel()
		synctest.Wait()
		go func() {
			if !stop() {
				t.Error("stop reports no interrupt")
			}
			close(stopped)
		}()
		synctest.Wait()
		select {
		case <-stopped:
			t.Error("stop has returned, and connections are still interrupted")
		default:
		}
		close(release)
		<-stopped

		ctx, cancel = context.WithCancel(t.Context())
		if interrupt.AtEnd(ctx, func() { t.Error("connections are interrupted after stop") })() {
			t.Error("stop reports an interrupt before the end")
		}
		cancel()
		synctest.Wait()
	})
}

package kernelstack

import (
	"context"
	"testing"
	"testing/synctest"
)

// TestStopWaitsForTheInterrupt stops while connections are interrupted, and before the context ends.
func TestStopWaitsForTheInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		release, stopped := make(chan struct{}), make(chan struct{})
		stop := interruptAtEnd(ctx, func() { <-release })
		cancel()
		synctest.Wait()
		go func() {
			stop()
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
		interruptAtEnd(ctx, func() { t.Error("connections are interrupted after stop") })()
		cancel()
		synctest.Wait()
	})
}

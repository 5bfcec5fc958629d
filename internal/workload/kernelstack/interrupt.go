package kernelstack

import "context"

// interruptAtEnd calls interrupt when the context ends, until stop is called. Stop waits for a call that has begun, so that
// connections can be closed after it: later their file descriptors can be those of other connections.
func interruptAtEnd(ctx context.Context, interrupt func()) (stop func()) {
	done := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(done)
		interrupt()
	})
	return func() {
		if !cancel() {
			<-done
		}
	}
}

// Package interrupt ends reads and writes of connections when a context ends.
package interrupt

import "context"

// AtEnd calls interrupt in a goroutine when the context ends, unless stop was called before. Stop waits for a call that has
// begun, and reports whether there was one. Close connections after stop: once they are closed, the kernel gives their file
// descriptors to others.
func AtEnd(ctx context.Context, interrupt func()) (stop func() bool) {
	done := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(done)
		interrupt()
	})
	return func() bool {
		if cancel() {
			return false
		}
		<-done
		return true
	}
}

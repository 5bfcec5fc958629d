package allocation

import "sync"

// writesAtOnce bounds the allocator's concurrent requests.
const writesAtOnce = 32

// requests are the allocator's requests under way. Each ends with a result for the inbox.
type requests struct {
	inbox *inbox
	slots chan struct{}
	group sync.WaitGroup
}

func newRequests(in *inbox) *requests {
	return &requests{inbox: in, slots: make(chan struct{}, writesAtOnce)}
}

// begin runs a write concurrently with the allocator, and passes it the result.
func (r *requests) begin(write func() written) {
	r.group.Go(func() {
		r.slots <- struct{}{}
		result := write()
		<-r.slots
		r.inbox.note(func(c *changes) { c.written = append(c.written, result) })
	})
}

// wait waits until all requests are done.
func (r *requests) wait() { r.group.Wait() }

package admission

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// sharedBeds lists all beds from the API server for requests that would be refused. A request gets a list that began after
// the request came, and shares it with all others that wait. One list is made at a time, and after each the API server
// is left alone for four times as long as the list took, at most a second, whatever the number of requests.
type sharedBeds struct {
	mu sync.Mutex
	// next is the list that requests wait for and that has not begun; nil without one.
	next *bedList
	// busy reports whether lists are made.
	busy bool
}

// bedList is a list of beds, which can be read once done is closed.
type bedList struct {
	done chan struct{}
	beds []v1alpha1.TestBed
	err  error
}

const (
	restsPerList = 4
	longestRest  = time.Second
	// listTimeout is the timeout of the webhooks.
	listTimeout = 10 * time.Second
)

// list returns the beds, which the caller shares with others and must not change.
func (s *sharedBeds) list(ctx context.Context, live client.Reader) ([]v1alpha1.TestBed, error) {
	s.mu.Lock()
	if s.next == nil {
		s.next = &bedList{done: make(chan struct{})}
	}
	l := s.next
	if !s.busy {
		s.busy = true
		go s.work(live)
	}
	s.mu.Unlock()
	select {
	case <-l.done:
		return l.beds, l.err
	case <-ctx.Done():
		return nil, fmt.Errorf("listing test beds: %w", context.Cause(ctx))
	}
}

// work makes lists until no request waits for one.
func (s *sharedBeds) work(live client.Reader) {
	for {
		s.mu.Lock()
		l := s.next
		s.next, s.busy = nil, l != nil
		s.mu.Unlock()
		if l == nil {
			return
		}
		began := time.Now()
		l.fill(live)
		time.Sleep(min(restsPerList*time.Since(began), longestRest))
	}
}

// fill makes a list. It does not end with a request that waits for it.
func (l *bedList) fill(live client.Reader) {
	defer close(l.done)
	ctx, cancel := context.WithTimeout(context.Background(), listTimeout)
	defer cancel()
	var beds v1alpha1.TestBedList
	if err := live.List(ctx, &beds); err != nil {
		l.err = fmt.Errorf("listing test beds: %w", err)
	}
	l.beds = beds.Items
}

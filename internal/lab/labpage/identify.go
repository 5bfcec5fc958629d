package labpage

import (
	"context"
	"crypto/sha256"
	"net/http"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
)

const (
	// reviewsAtOnce is the maximum number of tokens that the API server is asked about at the same
	// time, and reviewsWaiting that of requests that wait for it. More are refused.
	reviewsAtOnce, reviewsWaiting = 4, 256
	// mostKnown is the maximum number of tokens that are remembered as known.
	mostKnown = 4096
)

// door finds out who sends requests. Every peer that reaches the page can send unknown tokens: door bounds
// what these cost the API server. Requests with a token that was known a moment ago do not wait behind
// them.
type door struct {
	access Access
	now    func() time.Time
	asking chan struct{}
	queue  chan struct{}

	mu sync.Mutex
	// known has hashes of Authorization headers, and until when they are remembered.
	known map[[sha256.Size]byte]time.Time
}

func newDoor(access Access, now func() time.Time) *door {
	return &door{
		access: access, now: now, asking: make(chan struct{}, reviewsAtOnce), queue: make(chan struct{}, reviewsWaiting),
		known: map[[sha256.Size]byte]time.Time{},
	}
}

// identify returns the user who sent a request, as Access does. Its error is errUnavailable as well if
// too many others wait for the API server.
func (d *door) identify(ctx context.Context, r *http.Request) (user.Info, error) {
	r = r.WithContext(ctx)
	token := sha256.Sum256([]byte(r.Header.Get("Authorization")))
	if d.knows(token) {
		return d.access.identify(r)
	}
	select {
	case d.queue <- struct{}{}:
		defer func() { <-d.queue }()
	default:
		return nil, errUnavailable
	}
	select {
	case d.asking <- struct{}{}:
		defer func() { <-d.asking }()
	case <-ctx.Done():
		return nil, errUnavailable
	}
	who, err := d.access.identify(r)
	if err == nil {
		d.remember(token)
	}
	return who, err
}

func (d *door) knows(token [sha256.Size]byte) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now().Before(d.known[token])
}

func (d *door) remember(token [sha256.Size]byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	if len(d.known) >= mostKnown {
		for one, until := range d.known {
			if !now.Before(until) {
				delete(d.known, one)
			}
		}
	}
	if len(d.known) < mostKnown {
		d.known[token] = now.Add(remembered)
	}
}

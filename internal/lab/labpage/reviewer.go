package labpage

import (
	"errors"
	"net/http"
)

// reviewsAtOnce is the maximum number of tokens that the API server is asked about at the same time, and
// reviewsWaiting that of questions in hand or waiting. More are refused.
const reviewsAtOnce, reviewsWaiting = 4, 256

// errCrowded means that too many tokens wait for their review.
var errCrowded = errors.New("too many tokens wait for their review")

// reviewer is the connection on which the API server is asked about tokens. Every peer that reaches the
// page can send unknown tokens: reviewer bounds what these cost the API server. Tokens that were reviewed a
// moment ago are remembered, and cause no question.
type reviewer struct {
	next            http.RoundTripper
	asking, waiting chan struct{}
}

// newReviewer returns a client that asks about tokens as another client does.
func newReviewer(c *http.Client) *http.Client {
	bounded := *c
	next := c.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	bounded.Transport = &reviewer{next: next, asking: make(chan struct{}, reviewsAtOnce), waiting: make(chan struct{}, reviewsWaiting)}
	return &bounded
}

// RoundTrip asks a question when it is its turn. Its error is errCrowded if too many others wait.
func (r *reviewer) RoundTrip(request *http.Request) (*http.Response, error) {
	select {
	case r.waiting <- struct{}{}:
		defer func() { <-r.waiting }()
	default:
		return nil, errCrowded
	}
	select {
	case r.asking <- struct{}{}:
		defer func() { <-r.asking }()
	case <-request.Context().Done():
		return nil, request.Context().Err()
	}
	return r.next.RoundTrip(request)
}

package labpage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/rest"
)

// fakeReviews answers TokenReviews as an API server does that knows the token alice. TestLabPage of the
// end-to-end tests asks a real one.
type fakeReviews func(ctx context.Context)

func (unknown fakeReviews) RoundTrip(r *http.Request) (*http.Response, error) {
	var review authenticationv1.TokenReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		return nil, err
	}
	if review.Spec.Token == "alice" {
		review.Status.Authenticated, review.Status.User.Username = true, "alice"
	} else {
		unknown(r.Context())
	}
	text, err := json.Marshal(review)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusCreated, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(text))), Request: r,
	}, nil
}

// Unknown tokens cost the API server a few reviews at a time, and do not keep out users who were known before.
func TestUnknownTokensAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked, most, refused atomic.Int32
		answers := make(chan struct{})
		reviews := fakeReviews(func(ctx context.Context) {
			if n := asked.Add(1); n > most.Load() {
				most.Store(n)
			}
			select {
			case <-answers:
			case <-ctx.Done():
			}
			asked.Add(-1)
		})
		config := &rest.Config{Host: "http://api.example", QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
		access, err := Delegated(config, &http.Client{Transport: reviews})
		if err != nil {
			t.Fatal(err)
		}
		identify := func(name string) error {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			r.Header.Set("Authorization", "Bearer "+name)
			_, err := access.identify(r)
			return err
		}
		if err := identify("alice"); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for i := range 2 * reviewsWaiting {
			all.Go(func() {
				if errors.Is(identify(fmt.Sprint("unknown-", i)), errUnavailable) {
					refused.Add(1)
				}
			})
		}
		synctest.Wait()
		if most.Load() != reviewsAtOnce || refused.Load() != reviewsWaiting {
			t.Errorf("%d reviews at once and %d requests refused; want %d and %d", most.Load(), refused.Load(), reviewsAtOnce, reviewsWaiting)
		}
		if err := identify("alice"); err != nil {
			t.Errorf("alice, who was known: %v", err)
		}
		close(answers)
		all.Wait()
	})
}

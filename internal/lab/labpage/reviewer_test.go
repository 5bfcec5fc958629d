package labpage

import (
	"context"
	"crypto/rand"
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
	"time"

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

func reviewedBy(t *testing.T, reviews fakeReviews) Access {
	t.Helper()
	config := &rest.Config{Host: "http://api.example", QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	access, err := Delegated(config, &http.Client{Transport: reviews})
	if err != nil {
		t.Fatal(err)
	}
	return access
}

func identifyFrom(t *testing.T, access Access, address, token string) error {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.RemoteAddr = address
	r.Header.Set("Authorization", "Bearer "+token)
	_, err := access.identify(r)
	return err
}

// An address that sends unknown tokens is answered without a review, and users with the same address whose tokens are known
// are not kept out.
func TestUnknownTokensOfAnAddressAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reviewed atomic.Int32
		access := reviewedBy(t, func(context.Context) { reviewed.Add(1) })
		const proxy, other = "192.0.2.1:1000", "192.0.2.2:1000"
		if err := identifyFrom(t, access, proxy, "alice"); err != nil {
			t.Fatal(err)
		}
		send := func(n int) (refused int) {
			var strange, otherwise atomic.Int32
			var all sync.WaitGroup
			for range n {
				all.Go(func() {
					switch err := identifyFrom(t, access, proxy, rand.Text()); {
					case errors.Is(err, errStrangers):
						strange.Add(1)
					case !errors.Is(err, errUnknown):
						otherwise.Add(1)
					}
				})
			}
			all.Wait()
			if n := otherwise.Load(); n > 0 {
				t.Errorf("%d unknown tokens were answered otherwise than as unknown", n)
			}
			return int(strange.Load())
		}
		const sent = 500
		began := time.Now()
		if refused, of := send(sent), strangersAtOnce-1; int(reviewed.Load()) != of || refused != sent-of {
			t.Errorf("of %d unknown tokens %d were reviewed and %d refused; want %d and %d", sent, reviewed.Load(), refused, of, sent-of)
		}
		if took := time.Since(began); took != refusalDelay {
			t.Errorf("the requests were refused after %s, want %s", took, refusalDelay)
		}
		if err := identifyFrom(t, access, other, "unknown"); !errors.Is(err, errUnknown) {
			t.Errorf("an unknown token of another address: %v", err)
		}
		time.Sleep(10 * time.Minute)
		send(sent)
		if err := identifyFrom(t, access, proxy, "alice"); err != nil {
			t.Errorf("alice, who was known, at the same address: %v", err)
		}
		if got, want := int(reviewed.Load()), 2*strangersAtOnce; got != want {
			t.Errorf("%d reviews after ten minutes, want %d", got, want)
		}
	})
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
		access := reviewedBy(t, reviews)
		identify := func(name string) error { return identifyFrom(t, access, name+":1", name) }
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

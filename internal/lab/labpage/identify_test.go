package labpage

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Unknown tokens cost the API server a few reviews at a time, and do not keep out users who were known before.
func TestUnknownTokensAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked, most, refused atomic.Int32
		answers := make(chan struct{})
		d := newDoor(Access{Authenticator: authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
			name := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			if name == "alice" {
				return &authenticator.Response{User: &user.DefaultInfo{Name: name}}, true, nil
			}
			if n := asked.Add(1); n > most.Load() {
				most.Store(n)
			}
			<-answers
			asked.Add(-1)
			return nil, false, nil
		})}, time.Now)
		identify := func(name string) error {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			r.Header.Set("Authorization", "Bearer "+name)
			_, err := d.identify(t.Context(), r)
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

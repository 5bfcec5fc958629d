package admission

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// inBubble runs a test in simulated time, until the last rest is over.
func inBubble(t *testing.T, test func(*testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(t)
		time.Sleep(longestRest)
	})
}

// slowServer takes a while for each list, and notes when lists began.
type slowServer struct {
	client.Reader
	takes time.Duration
	err   error

	mu    sync.Mutex
	beds  []v1alpha1.TestBed
	begun []time.Time
}

func (s *slowServer) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	s.mu.Lock()
	list.(*v1alpha1.TestBedList).Items = s.beds
	s.begun = append(s.begun, time.Now())
	s.mu.Unlock()
	time.Sleep(s.takes)
	return s.err
}

func (s *slowServer) add(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bed := v1alpha1.TestBed{}
	bed.Name = name
	s.beds = append(s.beds, bed)
}

// TestBedsAreListedOnceForMany has a hundred requests come while a list is made: they share the next one, which has what was
// created in between.
func TestBedsAreListedOnceForMany(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server, shared := &slowServer{takes: 100 * time.Millisecond}, &sharedBeds{}
		server.add("first")
		var wg sync.WaitGroup
		expect := func(want int) {
			wg.Go(func() {
				if beds, err := shared.list(t.Context(), server); err != nil || len(beds) != want {
					t.Errorf("%d beds, want %d: %v", len(beds), want, err)
				}
			})
		}
		expect(1)
		synctest.Wait() // The first list has begun.
		server.add("second")
		for range 100 {
			expect(2)
		}
		wg.Wait()
		if n := len(server.begun); n != 2 {
			t.Errorf("%d lists, want 2", n)
		}
	})
}

// TestListsRest sends requests one after the other: the API server makes lists for a fifth of the time, and the longest
// rest is a second.
func TestListsRest(t *testing.T) {
	for takes, apart := range map[time.Duration]time.Duration{10 * time.Millisecond: 50 * time.Millisecond, 5 * time.Second: 6 * time.Second} {
		inBubble(t, func(t *testing.T) {
			server, shared := &slowServer{takes: takes}, &sharedBeds{}
			for range 20 {
				if _, err := shared.list(t.Context(), server); err != nil {
					t.Error(err)
				}
			}
			for i := 1; i < len(server.begun); i++ {
				if got := server.begun[i].Sub(server.begun[i-1]); got != apart {
					t.Fatalf("lists that take %s begin %s apart, want %s", takes, got, apart)
				}
			}
		})
	}
}

// TestListsEnd ends a request that waits, and has a list fail: others go on.
func TestListsEnd(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server, shared := &slowServer{takes: time.Minute, err: errors.New("the server is away")}, &sharedBeds{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := shared.list(ctx, server); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want the end of the request", err)
		}
		if _, err := shared.list(t.Context(), server); !errors.Is(err, server.err) {
			t.Errorf("%v, want the error of the list", err)
		}
		server.mu.Lock()
		server.err = nil
		server.mu.Unlock()
		if _, err := shared.list(t.Context(), server); err != nil {
			t.Error(err)
		}
	})
}

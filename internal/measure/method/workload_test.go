package method

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"nodrop.dev/nodrop/internal/traffic"
)

// TestUninterrupted runs a workload again after an interruption only, and not for ever.
func TestUninterrupted(t *testing.T) {
	t.Parallel()
	lost := fmt.Errorf("agent: %w", traffic.ErrInterrupted)
	for name, tc := range map[string]struct {
		errs  []error
		calls int
		want  error
	}{
		"once":             {[]error{nil}, 1, nil},
		"again":            {[]error{lost, nil}, 2, nil},
		"always":           {[]error{lost, lost, lost, nil}, 3, lost},
		"another failure":  {[]error{context.DeadlineExceeded, nil}, 1, context.DeadlineExceeded},
		"another one then": {[]error{lost, context.DeadlineExceeded}, 2, context.DeadlineExceeded},
	} {
		calls := 0
		_, err := uninterrupted(t.Context(), func() (int, error) {
			calls++
			return calls, tc.errs[calls-1]
		})
		if calls != tc.calls || !errors.Is(err, tc.want) {
			t.Errorf("%s: %d calls, %v; want %d, %v", name, calls, err, tc.calls, tc.want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	calls := 0
	if _, err := uninterrupted(ended, func() (int, error) { calls++; return 0, lost }); calls != 1 || !errors.Is(err, lost) {
		t.Errorf("%d calls, %v", calls, err)
	}
}

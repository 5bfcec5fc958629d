package labpage

import (
	"bufio"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"nodrop.dev/nodrop/internal/reporting/apart"
)

const (
	// largePatience is the timeout of a request for a large result, which is read and sent meanwhile.
	largePatience = 2 * time.Minute
	// maxFailures is the number of times that reading a result may fail before it is no longer tried.
	maxFailures = 2
	// maxFailed bounds the results whose failures are remembered.
	maxFailed = 1000
)

// apartly returns what a task writes in a process of its own, which ends when the request does. A
// result for which that failed twice is not read again.
func (r *results) apartly(ctx context.Context, a *answer, id string, t apart.Task) (*answer, error) {
	if reason := r.failures.of(id); reason != "" {
		return nil, &problem{500, "This result cannot be shown", "Reading it failed twice, and it is not read again: " + reason +
			`. Read it on your own machine with "kubectl nodrop report", which can have more memory.`}
	}
	ctx, cancel := context.WithTimeout(ctx, largePatience)
	reader, writer := io.Pipe()
	go func() {
		defer cancel()
		err := r.apart.Do(ctx, t, writer)
		switch apart.CauseOf(err) {
		case apart.CauseEnded, apart.CauseUnreadable:
			r.failures.add(id, err.Error())
		}
		_ = writer.CloseWithError(err)
	}()
	body := bufio.NewReader(reader)
	if _, err := body.Peek(1); err != nil {
		cancel()
		_ = reader.Close()
		return nil, asProblem(err)
	}
	a.body, a.end = body, func() { cancel(); _ = reader.Close() }
	return a, nil
}

// asProblem is a failure of a task as the page shows it.
func asProblem(err error) error {
	switch apart.CauseOf(err) {
	case apart.CauseMissing:
		return errNotFound
	case apart.CauseIncomparable:
		return &problem{400, "Cannot be compared", err.Error()}
	case apart.CauseEnded:
		return errors.Join(&problem{500, "This result cannot be shown", "It is too large to be read here. Try once more, or read it on your own machine with \"kubectl nodrop report\"."}, err)
	}
	return err
}

// failures remembers which results could not be read.
type failures struct {
	mu      sync.Mutex
	reasons map[string][]string // by what identifies the result
}

// add notes a failure.
func (f *failures) add(id, reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.reasons == nil || len(f.reasons) >= maxFailed {
		f.reasons = map[string][]string{}
	}
	f.reasons[id] = append(f.reasons[id], reason)
}

// of returns the reason why a result is no longer read; empty if it may be.
func (f *failures) of(id string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if all := f.reasons[id]; len(all) >= maxFailures {
		return all[len(all)-1]
	}
	return ""
}

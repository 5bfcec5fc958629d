package labpage

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/allocation"
	"nodrop.dev/nodrop/internal/reporting/apart"
)

// fakeWorker answers tasks with a text and an error.
type fakeWorker struct {
	text  string
	err   error
	asked atomic.Int32
}

func (f *fakeWorker) Do(_ context.Context, t apart.Task, out io.Writer) error {
	f.asked.Add(1)
	if f.text != "" {
		_, _ = fmt.Fprintf(out, f.text, t.Format)
	}
	return f.err
}

// TestLargeResults lets a worker read large results. One that failed twice is not read again, and
// a result of which the end is missing is no whole answer.
func TestLargeResults(t *testing.T) {
	t.Parallel()
	large := func(name string) *v1alpha1.Benchmark {
		return benchmark("a", name, v1alpha1.PhasePassed, func(b *v1alpha1.Benchmark) { b.Status.Results = &v1alpha1.ResultSummary{Rows: 20_000} })
	}
	c := caches(t, large("one"), large("two"))
	open := func(w *fakeWorker) func(path string) (int, string, error) {
		page := httptest.NewServer(New(Options{
			Reader: c, Results: c, Apart: w, Access: fakeAccess("a"), Now: func() time.Time { return noon },
			Waiting: allocation.WaitingFrom(c, allocation.LineupInput{}, func() time.Time { return noon }),
		}))
		t.Cleanup(page.Close)
		return func(path string) (int, string, error) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer alice")
			answer, err := page.Client().Do(r)
			if err != nil {
				return 0, "", err
			}
			defer func() { _ = answer.Body.Close() }()
			text, err := io.ReadAll(answer.Body)
			return answer.StatusCode, string(text), err
		}
	}
	const report, compared = "/results/a/one?format=csv", "/comparisons/a/one?with=two"

	get := open(&fakeWorker{text: "the result as %s"})
	for path, want := range map[string]string{report: "the result as csv", compared: "the result as html"} {
		if status, text, err := get(path); status != http.StatusOK || text != want || err != nil {
			t.Errorf("%s: %d, %q, %v, want %q", path, status, text, err, want)
		}
	}
	if _, text, err := open(&fakeWorker{text: "a part as %s", err: &apart.Failure{Cause: apart.CauseEnded, Message: "no memory"}})(report); err == nil {
		t.Errorf("%q was taken for the whole result", text)
	}
	incomparable := &fakeWorker{err: &apart.Failure{Cause: apart.CauseIncomparable, Message: "other traffic"}}
	if status, text, _ := open(incomparable)(compared); status != http.StatusBadRequest || !strings.Contains(text, "other traffic") {
		t.Errorf("%d, %q, want the reason", status, text)
	}
	dies := &fakeWorker{err: &apart.Failure{Cause: apart.CauseEnded, Message: "no memory"}}
	get = open(dies)
	for i, want := range []string{"Try once more", "Try once more", "failed twice, and it is not read again: no memory", "failed twice"} {
		if status, text, _ := get(report); status != http.StatusInternalServerError || !strings.Contains(text, want) {
			t.Errorf("request %d: %d, %q, want %q", i, status, text, want)
		}
	}
	if n := dies.asked.Load(); n != 2 {
		t.Errorf("the result was read %d times, want 2", n)
	}
}

// TestLateAnswer makes a page ready after the time that a server gives to a request: the browser gets it,
// and an error too.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	b := benchmark("a", "one", v1alpha1.PhasePassed, func(b *v1alpha1.Benchmark) { b.Status.Results = &v1alpha1.ResultSummary{Rows: 20_000} })
	c := caches(t, b)
	for name, tc := range map[string]struct {
		worker *fakeWorker
		status int
	}{
		"a result":         {&fakeWorker{text: "the result as %s"}, http.StatusOK},
		"it took too long": {&fakeWorker{err: context.DeadlineExceeded}, http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			page := httptest.NewUnstartedServer(New(Options{
				Reader: c, Results: c, Apart: &slowWorker{tc.worker}, Access: fakeAccess("a"), Now: func() time.Time { return noon },
				Waiting: allocation.WaitingFrom(c, allocation.LineupInput{}, func() time.Time { return noon }),
			}))
			page.Config.WriteTimeout = lateAfter / 10
			page.Start() // A handshake would have to be as fast.
			defer page.Close()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page.URL+"/results/a/one?format=csv", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer alice")
			answer, err := page.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = answer.Body.Close() }()
			if answer.StatusCode != tc.status {
				t.Errorf("the status is %s, want %d", answer.Status, tc.status)
			}
		})
	}
}

// lateAfter is the time that a slowWorker takes.
const lateAfter = 200 * time.Millisecond

// slowWorker is a fakeWorker that takes its time.
type slowWorker struct{ *fakeWorker }

func (s *slowWorker) Do(ctx context.Context, t apart.Task, out io.Writer) error {
	time.Sleep(lateAfter)
	return s.fakeWorker.Do(ctx, t, out)
}

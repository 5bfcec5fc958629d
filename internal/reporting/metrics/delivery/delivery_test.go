package delivery

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/reporting/metrics/metricstest"
	"nodrop.dev/nodrop/internal/reporting/metrics/sink"
	"nodrop.dev/nodrop/internal/reporting/metrics/spool"
)

const token = "a-token-that-nobody-may-see"

// lab is a spool in a file, and a fake sink.
type lab struct {
	t    *testing.T
	fake *metricstest.Fake
	path string
	log  bytes.Buffer
	// spool is open between start and stop.
	spool *spool.Spool
	*Delivery
	stop func()
}

func newLab(t *testing.T) *lab {
	return &lab{t: t, fake: metricstest.NewFake(t), path: filepath.Join(t.TempDir(), "spool.db")}
}

// open opens the spool, as a process does that starts.
func (l *lab) open(to sink.Sink) {
	l.t.Helper()
	var err error
	if l.spool, err = spool.Open(l.path, 16<<20); err != nil {
		l.t.Fatal(err)
	}
	l.Delivery = New(l.spool, to, slog.New(slog.NewTextHandler(&l.log, nil)), WithPause(func(int) time.Duration { return time.Millisecond }))
}

// start opens the spool and writes until stop is called.
func (l *lab) start(to sink.Sink) {
	l.t.Helper()
	l.open(to)
	ctx, cancel := context.WithCancel(l.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Run(ctx)
	}()
	l.stop = func() {
		cancel()
		<-done
		if err := l.spool.Close(); err != nil {
			l.t.Error(err)
		}
	}
}

func (l *lab) http() sink.Sink {
	l.t.Helper()
	h, err := sink.NewHTTP(sink.Config{URL: l.fake.URL, API: sink.V2, Bucket: "lab", Token: token}, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	return h
}

func lines(name string, n int) [][]byte {
	all := make([][]byte, n)
	for i := range all {
		all[i] = fmt.Appendf(nil, "%s,bed=b f=%di %d\n", name, i, 1_700_000_000_000_000_000+i)
	}
	return all
}

func (l *lab) take(rows, series [][]byte) {
	l.t.Helper()
	if err := l.spool.Take(l.t.Context(), rows, series); err != nil {
		l.t.Fatal(err)
	}
}

// empty waits until nothing waits any more.
func (l *lab) empty() {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	for {
		changed := l.spool.Changed()
		if l.spool.Stats().Points() == 0 {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			l.t.Fatalf("points wait: %+v", l.Stats())
		}
	}
}

// has checks that the fake has exactly these points.
func (l *lab) has(want ...[][]byte) {
	l.t.Helper()
	var keys []string
	for _, line := range slices.Concat(want...) {
		key, _, err := metricstest.Identity(string(line))
		if err != nil {
			l.t.Fatal(err)
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	if got := slices.Sorted(maps.Keys(l.fake.Points())); !slices.Equal(got, keys) {
		l.t.Errorf("%d points are stored, want %d", len(got), len(keys))
	}
}

// failing answers so to the first n requests, and takes all later ones.
func failing(n int64, status int, header map[string]string, body string) metricstest.Answer {
	var asked atomic.Int64
	return func(metricstest.Request) (int, map[string]string, string, []int) {
		if asked.Add(1) <= n {
			return status, header, body, nil
		}
		return 0, nil, "", nil
	}
}

// A sink that fails for a while loses nothing and gets nothing twice.
func TestASinkThatFailsForAWhile(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]metricstest.Answer{
		"too many requests":             failing(3, http.StatusTooManyRequests, map[string]string{"Retry-After": "0"}, ""),
		"away":                          failing(3, http.StatusServiceUnavailable, nil, ""),
		"an error":                      failing(3, http.StatusInternalServerError, nil, ""),
		"a token that is not known yet": failing(3, http.StatusUnauthorized, nil, `{"code":"unauthorized","message":"who is `+token+`"}`),
		"no bucket yet":                 failing(3, http.StatusNotFound, nil, `{"code":"not found","message":"bucket not found"}`),
		// It stores everything, and the answer is lost.
		"an answer that is lost": func() metricstest.Answer {
			var asked atomic.Int64
			return func(r metricstest.Request) (int, map[string]string, string, []int) {
				if asked.Add(1) > 3 {
					return 0, nil, "", nil
				}
				var all []int
				for i := range r.Lines {
					all = append(all, i)
				}
				return http.StatusBadGateway, nil, "", all
			}
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.fake.Set(answer)
			l.start(l.http())
			rows, series := lines("row", 10), lines("series", 500)
			l.take(rows, series)
			l.empty()
			l.stop()
			l.has(rows, series)
			if s := l.Stats(); s.Written != 510 || s.Dropped != 0 || s.Refused.Points != 0 {
				t.Errorf("%+v", s)
			}
			if !strings.Contains(l.log.String(), "takes no points") || !strings.Contains(l.log.String(), "takes points again") {
				t.Errorf("the log does not say that the sink was away, and is back: %s", &l.log)
			}
			l.noToken()
		})
	}
}

// noToken searches for the token in log and spool.
func (l *lab) noToken() {
	l.t.Helper()
	file, err := os.ReadFile(l.path)
	if err != nil {
		l.t.Fatal(err)
	}
	if bytes.Contains(file, []byte(token)) || strings.Contains(l.log.String(), token) || strings.Contains(l.Stats().Problem, token) {
		l.t.Errorf("the token is in the spool, the log or the status:\n%s", &l.log)
	}
}

// Of a batch that is refused for half of its points, the other half is stored, and the
// half is kept.
func TestHalfOfABatchIsRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	isBad := func(line string) bool { return strings.HasPrefix(line, "bad") }
	l.fake.Set(func(r metricstest.Request) (int, map[string]string, string, []int) {
		if !slices.ContainsFunc(r.Lines, isBad) {
			return 0, nil, "", nil
		}
		var good []int
		for i, line := range r.Lines {
			if !isBad(line) {
				good = append(good, i)
			}
		}
		return http.StatusBadRequest, nil, `{"code":"invalid","message":"partial write: field type conflict"}`, good
	})
	good, bad := lines("good", 40), lines("bad", 40)
	var mixed [][]byte
	for i := range good {
		mixed = append(mixed, good[i], bad[i])
	}
	l.start(l.http())
	l.take(mixed, nil)
	l.empty()
	l.stop()
	l.has(good)
	if s := l.Stats(); s.Written != 40 || s.Refused.Points != 40 || s.Dropped != 0 {
		t.Errorf("%+v", s)
	}
	// The schema of the database is put right, and the process starts again.
	l.fake.Set(nil)
	l.start(l.http())
	l.empty()
	l.stop()
	l.has(good, bad)
}

// A process that dies after the sink has stored a batch, and before it has noted that, is
// followed by one that writes the batch again.
func TestAProcessThatDies(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	rows, series := lines("row", 5), lines("series", 100)
	l.open(l.http())
	l.take(rows, series)
	ctx, die := context.WithCancel(t.Context())
	l.fake.Set(func(r metricstest.Request) (int, map[string]string, string, []int) {
		die()
		return 0, nil, "", nil
	})
	l.Run(ctx)
	if s := l.spool.Stats(); s.Points() == 0 {
		t.Fatal("the spool does not have the batch any more")
	}
	if err := l.spool.Close(); err != nil {
		t.Fatal(err)
	}
	l.fake.Set(nil)
	l.start(l.http())
	l.empty()
	l.stop()
	l.has(rows, series)
}

// A slow sink delays no one who takes points, and one that is absent neither.
func TestTakingDoesNotWaitForTheSink(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	release := make(chan struct{})
	asked := make(chan struct{}, 1)
	l.fake.Set(func(metricstest.Request) (int, map[string]string, string, []int) {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-release
		return 0, nil, "", nil
	})
	l.start(l.http())
	l.take(nil, lines("first", 10))
	<-asked
	l.take(lines("row", 10), lines("second", 10))
	if s := l.Stats(); s.Written != 0 || s.Points() != 30 {
		t.Errorf("%+v while the sink answers nothing", s)
	}
	close(release)
	l.empty()
	l.stop()
	l.has(lines("first", 10), lines("row", 10), lines("second", 10))
}

// A sink that never was there holds up nothing, and says so.
func TestAnAbsentSink(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	h, err := sink.NewHTTP(sink.Config{URL: "http://127.0.0.1:1", API: sink.V1, Database: "lab", Token: "nodrop:" + token}, nil)
	if err != nil {
		t.Fatal(err)
	}
	l.open(h)
	defer l.spool.Close()
	l.take(lines("row", 10), nil)
	ctx, cancel := context.WithCancel(t.Context())
	tried := 0
	l.pause = func(failed int) time.Duration {
		if tried = failed; failed == 3 {
			cancel()
		}
		return 0
	}
	l.Run(ctx)
	if s := l.Stats(); tried != 3 || s.Written != 0 || s.Rows.Points != 10 || s.Problem == "" || s.Since.IsZero() {
		t.Errorf("%d attempts, %+v", tried, s)
	}
	l.noToken()
}

func TestPausesGrowAndAreBounded(t *testing.T) {
	t.Parallel()
	for failed := 1; failed < 100; failed++ {
		most := lastPause
		if failed < 7 {
			most = firstPause << (failed - 1)
		}
		if d := backOff(failed); d < most/2 || d > most {
			t.Errorf("after %d failures a pause of %s, want %s to %s", failed, d, most/2, most)
		}
	}
}

package labpage

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/go-logr/logr"

	"nodrop.dev/nodrop/controllers/allocation"
)

// viewLoads is the number of loads of each view that are measured.
const viewLoads = 10

// TestMeasureViews prints how long each view of a lab of 1,000 beds and 15,000 benchmarks that wait takes in Chromium, for a person
// who may see half of 40 teams: the time from the request until the end of the answer, and the time until the page is complete, each
// as the median and the longest of ten loads. It judges nothing. NODROP_PAGE_LOAD=1 runs it.
func TestMeasureViews(t *testing.T) {
	if os.Getenv("NODROP_PAGE_LOAD") == "" {
		t.Skip("NODROP_PAGE_LOAD=1 measures views of a large lab")
	}
	beds, benchmarks := largeLab()
	loops, _, _, _ := largeOthers()
	c := fakeCaches{lists: largeLists(append(beds, loops...), benchmarks)}
	began := time.Now()
	now := func() time.Time { return noon.Add(time.Since(began)) }
	p := New(Options{Reader: c, Results: c, Access: fakeAccess(halfOfTeams()...), Now: now, Log: logr.Discard(), Waiting: allocation.WaitingFrom(c, allocation.LineupInput{}, now)})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer anna@example.com")
		p.ServeHTTP(w, r)
	}))
	defer server.Close()
	var took, spent []time.Duration
	for range 3 {
		began, cpu := time.Now(), processorTime(t)
		if _, err := p.lab.make(t.Context()); err != nil {
			t.Fatal(err)
		}
		took, spent = append(took, time.Since(began)), append(spent, processorTime(t)-cpu)
	}
	estimated := 0
	for _, w := range p.lab.last.Load().waits {
		if !w.Start.IsZero() {
			estimated++
		}
	}
	t.Logf("a snapshot: %s, %s of processors; %d of %d benchmarks that wait have an expected start", spread(took), spread(spent), estimated, len(p.lab.last.Load().waiting))
	b := openBrowser(t)
	for _, view := range largeViews {
		var served, shown []time.Duration
		var size int
		for range viewLoads {
			var timing struct {
				Server, Shown float64
				Size          int
			}
			b.do(t, chromedp.Navigate(server.URL+view.Path), chromedp.WaitReady("main"), chromedp.Evaluate(
				`(([n]) => ({server: n.responseEnd - n.requestStart, shown: n.domComplete - n.startTime, size: n.decodedBodySize}))(performance.getEntriesByType("navigation"))`, &timing))
			served, shown, size = append(served, milliseconds(timing.Server)), append(shown, milliseconds(timing.Shown)), timing.Size
		}
		t.Logf("| %s | %s | %s | %d kB |", view.Name, spread(served), spread(shown), (size+500)/1000)
	}
}

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// spread returns the median and the longest of durations.
func spread(all []time.Duration) string {
	slices.Sort(all)
	return fmt.Sprintf("%d, %d ms", all[len(all)/2].Milliseconds(), all[len(all)-1].Milliseconds())
}

// processorTime is the time of processors that this process has used.
func processorTime(t testing.TB) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

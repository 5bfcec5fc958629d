package labpage

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync/atomic"
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
// who may see half of 40 teams: the time from the request until the end of the answer, the time until the page is complete, and the
// processor time of the server, each as the median and the longest of ten loads. The page of a moment ago is never served: each
// load finds a snapshot that is bearable and no more fresh, and makes another one. It judges nothing. NODROP_PAGE_LOAD=1 runs it.
func TestMeasureViews(t *testing.T) {
	if os.Getenv("NODROP_PAGE_LOAD") == "" {
		t.Skip("NODROP_PAGE_LOAD=1 measures views of a large lab")
	}
	beds, benchmarks := largeLab()
	loops, _, _, _ := largeOthers()
	c := fakeCaches{lists: largeLists(append(beds, loops...), benchmarks)}
	var teams []string
	for i := range 20 {
		teams = append(teams, fmt.Sprintf("team-%02d", 2*i))
	}
	var clock atomic.Int64
	now := func() time.Time { return noon.Add(time.Duration(clock.Load())) }
	p := New(Options{Reader: c, Results: c, Access: fakeAccess(teams...), Now: now, Log: logr.Discard(), Waiting: allocation.WaitingFrom(c, allocation.LineupInput{}, now)})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer anna@example.com")
		p.ServeHTTP(w, r)
	}))
	defer server.Close()
	began, cpu := time.Now(), processorTime(t)
	if _, err := p.lab.snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	estimated := 0
	for _, w := range p.lab.last.Load().waits {
		if !w.Start.IsZero() {
			estimated++
		}
	}
	t.Logf("a snapshot: %s, %s of a processor; %d of %d benchmarks that wait have an expected start", time.Since(began).Round(time.Millisecond), (processorTime(t) - cpu).Round(time.Millisecond), estimated, len(p.lab.last.Load().waiting))
	b := openBrowser(t)
	for _, view := range largeViews {
		var served, shown, spent []time.Duration
		var size int
		for range viewLoads {
			p.lab.making.Lock() // The one before is made.
			p.lab.last.Load().took = 0
			clock.Add(int64(fresh))
			p.lab.making.Unlock()
			cpu := processorTime(t)
			var timing struct {
				Server, Shown float64
				Size          int
			}
			b.do(t, chromedp.Navigate(server.URL+view.Path), chromedp.WaitReady("main"), chromedp.Evaluate(
				`(([n]) => ({server: n.responseEnd - n.requestStart, shown: n.domComplete - n.startTime, size: n.decodedBodySize}))(performance.getEntriesByType("navigation"))`, &timing))
			served, shown, size = append(served, milliseconds(timing.Server)), append(shown, milliseconds(timing.Shown)), timing.Size
			p.lab.making.Lock() // The snapshot belongs to the load.
			spent = append(spent, processorTime(t)-cpu)
			p.lab.making.Unlock()
		}
		t.Logf("| %s | %s | %s | %s | %d kB |", view.Name, spread(served), spread(shown), spread(spent), (size+500)/1000)
	}
}

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// spread returns the median and the longest of durations.
func spread(all []time.Duration) string {
	slices.Sort(all)
	return fmt.Sprintf("%d, %d ms", all[len(all)/2].Milliseconds(), all[len(all)-1].Milliseconds())
}

// processorTime is the time of processors that this process has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

package controllers_test

import (
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// requestCounter counts the requests of a client by verb and resource.
type requestCounter struct {
	mu    sync.Mutex
	kinds map[string]int
	// order has the requests that were answered, as they were.
	order []string
}

// count returns a copy of a configuration whose requests are counted.
func (c *requestCounter) count(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return countingTripper{c, next} })
	return cfg
}

type countingTripper struct {
	counter *requestCounter
	next    http.RoundTripper
}

func (t countingTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	t.counter.add(r.Method + " " + resourceOf(r))
	answer, err := t.next.RoundTrip(r)
	if err == nil {
		t.counter.answered(r, answer.StatusCode)
	}
	return answer, err
}

// answered notes a request with its answer.
func (c *requestCounter) answered(r *http.Request, code int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.order = append(c.order, fmt.Sprintf("%d %s %s %s", code, r.Method, resourceOf(r), path.Base(r.URL.Path)))
}

// resourceOf names the resource of a request: testbeds, testbeds/status, events.
func resourceOf(r *http.Request) string {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	parts = parts[min(2, len(parts)):] // api/v1, or apis/GROUP
	if len(parts) > 0 && strings.HasPrefix(parts[0], "v") {
		parts = parts[1:]
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	switch {
	case len(parts) == 0:
		return r.URL.Path
	case len(parts) > 2:
		return parts[0] + "/" + parts[2]
	case r.URL.Query().Has("watch"):
		return parts[0] + " (watch)"
	case len(parts) == 1 && r.Method == http.MethodGet:
		return parts[0] + " (list)"
	}
	return parts[0]
}

func (c *requestCounter) add(kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kinds == nil {
		c.kinds = map[string]int{}
	}
	c.kinds[kind]++
}

// of returns the number of requests whose kind has all of the words.
func (c *requestCounter) of(words ...string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := 0
next:
	for kind, n := range c.kinds {
		for _, w := range words {
			if !strings.Contains(kind, w) {
				continue next
			}
		}
		sum += n
	}
	return sum
}

// sequence returns the requests that were answered, in their order.
func (c *requestCounter) sequence() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.order)
}

// copy returns the number of requests by kind.
func (c *requestCounter) copy() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.kinds)
}

// table prints requests per benchmark, the most frequent first.
func (c *requestCounter) table(benchmarks int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var lines []string
	for kind, n := range c.kinds {
		lines = append(lines, fmt.Sprintf("%8.2f  %s", float64(n)/float64(benchmarks), kind))
	}
	sort.Sort(sort.Reverse(sort.StringSlice(lines)))
	return strings.Join(lines, "\n")
}

// TestCrowd has many benchmarks wait for a few beds by selector. What one of them
// costs the API server must not depend on how many wait.
func TestCrowd(t *testing.T) {
	const beds = 10
	crowd := 100
	if testing.Short() {
		crowd = 30
	}
	w := newWorld(t, startServer(t), counted)
	w.runners.always(measured(row(64)))
	create(t, w.c, configMap("model", "model.csv", table), profile())
	for i := range beds {
		create(t, w.c, modelled(fmt.Sprintf("sim-%02d", i)))
	}
	for i := range crowd {
		create(t, w.c, benchmark(fmt.Sprintf("b-%03d", i), "", bySelector))
	}
	phases := func() map[v1alpha1.BenchmarkPhase]int {
		var all v1alpha1.BenchmarkList
		w.Expect(w.c.List(t.Context(), &all, client.InNamespace(team))).To(Succeed())
		count := map[v1alpha1.BenchmarkPhase]int{}
		for _, b := range all.Items {
			count[b.Status.Phase]++
		}
		return count
	}
	w.Eventually(phases).WithTimeout(10 * patience).WithPolling(time.Second).
		Should(Equal(map[v1alpha1.BenchmarkPhase]int{v1alpha1.PhaseMeasured: crowd}))
	requests := w.requests.of()
	t.Logf("%.1f requests for each of %d benchmarks:\n%s", float64(requests)/float64(crowd), crowd, w.requests.table(crowd))
	w.Expect(requests/crowd).To(BeNumerically("<", 60), "requests per benchmark")
	w.Expect(w.requests.of("GET testbeds (list)")).To(BeNumerically("<", 5), "lists of all beds")
	for i := range beds {
		w.Expect(w.bed(fmt.Sprintf("sim-%02d", i)).Status.Conditions).To(
			ContainElement(And(HaveField("Type", "Ready"), HaveField("Status", BeEquivalentTo("True")))))
	}
}

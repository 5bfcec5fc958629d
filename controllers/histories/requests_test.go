package histories

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// ofLab is the team of requests that are for no benchmark.
const ofLab = ""

// requests counts the requests of all operators to the API server, by the team that they are for.
type requests struct {
	mu sync.Mutex
	// owners are the UIDs of runs, by the names of their objects in the lab.
	owners map[string]string
	counts map[string]int
	// causes counts what a team did that operators answer: creations, and events of its benchmarks.
	causes map[string]int
	// leased is the time for which benchmarks of a team had beds.
	leased map[string]time.Duration
	since  map[string]time.Time
}

func newRequestCounts() *requests {
	return &requests{owners: map[string]string{}, counts: map[string]int{}, causes: map[string]int{}, leased: map[string]time.Duration{}, since: map[string]time.Time{}}
}

// count counts a request about an object, or, with a selector, about the objects of a run.
func (r *requests) count(c *checker, namespace, name string, labels map[string]string) {
	r.mu.Lock()
	uid := labels[labobjects.LabelUID]
	if namespace == labNamespace && name != "" {
		if uid != "" {
			r.owners[name] = uid
		}
		uid = r.owners[name]
	}
	r.mu.Unlock()
	of := ofLab
	switch {
	case slices.Contains(teams, namespace):
		of = namespace
	case uid != "":
		of = c.keyOf(uid).Namespace // Empty, as for the lab, if it is not known.
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[of]++
}

// lease notes that a benchmark of a team got or lost a bed.
func (r *requests) lease(bed, team string, has bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if has {
		r.since[bed] = time.Now()
	} else if from, known := r.since[bed]; known {
		r.leased[team] += time.Since(from)
		delete(r.since, bed)
	}
}

// The requests that a team may cause: some for each thing that it does, and some for each second in which
// one of its benchmarks has a bed.
const (
	perCause  = 60
	perSecond = 12
)

// excessive describes the teams for which operators made more requests than what the teams did
// explains.
func (r *requests) excessive() (wrong []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range teams {
		if limit := perCause*r.causes[of] + int(perSecond*r.leased[of].Seconds()); r.counts[of] > limit {
			wrong = append(wrong, fmt.Sprintf("%d requests to the API server were made for %s, want %d at most for %d events and %s on beds",
				r.counts[of], of, limit, r.causes[of], r.leased[of]))
		}
	}
	return wrong
}

// counted counts a request of an operator; requests of the test are not counted.
func (c *fakeClient) counted(namespace, name string, labels map[string]string) {
	if c.link != nil && c.link.requests != nil {
		c.link.requests.count(c.link.check, namespace, name, labels)
	}
}

func (c *fakeClient) countedObject(obj client.Object) {
	c.counted(obj.GetNamespace(), obj.GetName(), obj.GetLabels())
}

// noteEvent counts an event as a cause of requests for all teams: most events happen to the lab.
func (w *world) noteEvent() {
	r := w.check.requests
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range teams {
		r.causes[of]++
	}
}

package labpage

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/team"
)

// filter contains the search criteria of a list.
type filter struct {
	Team, Bed, State, Name string
	// Teams that may be chosen: the namespaces of which the person may see something.
	Teams []string
	// States that may be chosen.
	States []string
}

// longestFilter bounds a text to look for, in bytes: the length of a name.
const longestFilter = 253

func newFilter(q *request, v visible) filter {
	query := q.URL.Query()
	get := func(key string) string {
		text := strings.TrimSpace(query.Get(key))
		return strings.ToValidUTF8(text[:min(len(text), longestFilter)], "")
	}
	f := filter{Team: get("team"), Bed: get("bed"), State: get("state"), Name: get("name")}
	for _, s := range states {
		f.States = append(f.States, s.Name)
	}
	for _, namespace := range v.lab.namespaces {
		if v.benchmarks.has(namespace) || v.reservations.has(namespace) || v.schedules.has(namespace) {
			f.Teams = append(f.Teams, namespace)
		}
	}
	return f
}

// Any reports whether something is left out.
func (f filter) Any() bool { return f.Team != "" || f.Bed != "" || f.State != "" || f.Name != "" }

// has reports whether a benchmark is let through.
func (f filter) has(b *v1alpha1.Benchmark) bool {
	bed := b.Status.TestBedName
	if bed == "" {
		bed = b.Spec.TestBedName
	}
	return (f.Team == "" || b.Namespace == f.Team) && contains(bed, f.Bed) && contains(b.Name, f.Name) &&
		(f.State == "" || strings.EqualFold(string(b.Status.Phase), f.State))
}

// runView is a benchmark in a list.
type runView struct {
	Namespace, Name string
	Phase           v1alpha1.BenchmarkPhase
	Bed             string
	// AnyBed reports whether the benchmark asks for a bed by its labels.
	AnyBed bool
	// Priority is the name of its priority class, or else a number.
	Priority string
	Created  time.Time
	Began    time.Time
	Ended    time.Time
	// Starts is the time at which it is expected to get a bed; zero if not known.
	Starts        time.Time
	Until, Latest time.Time
	Progress      *v1alpha1.Progress
	// Percent of the trials that are done.
	Percent int
	// Why it waits, or how it ended.
	Why   string
	Gates string
	Now   time.Time
}

// runOf is a benchmark of the lab in a list.
func (s *snapshot) runOf(b *v1alpha1.Benchmark) runView {
	now := s.at
	v := runView{
		Namespace: b.Namespace, Name: b.Name, Phase: b.Status.Phase, Bed: b.Status.TestBedName, Priority: team.PriorityName(b),
		Created: b.CreationTimestamp.Time, Began: begin(b), Ended: end(b), Progress: b.Status.Progress, Why: b.Status.Message, Now: now,
	}
	if v.Phase == "" {
		v.Phase = v1alpha1.PhasePending
	}
	if v.Bed == "" {
		v.Bed, v.AnyBed = b.Spec.TestBedName, b.Spec.TestBedName == ""
	}
	if b.Status.Phase.Finished() {
		v.Progress = nil
	} else if b.Status.TestBedName != "" {
		v.Until, v.Latest = ends(b, now)
	} else {
		v.Starts, v.Why = s.waits[b].Start, s.waits[b].Why
	}
	if pr := v.Progress; pr != nil && pr.TrialsEstimated > 0 {
		v.Percent = min(int(100*int64(pr.TrialsDone)/int64(pr.TrialsEstimated)), 100)
	}
	if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionGatesPassed); c != nil {
		v.Gates = c.Reason
	}
	return v
}

// listSize is the number of benchmarks on a page.
const listSize = 100

// views are the lists of benchmarks.
var views = []struct{ Name, Title string }{{"running", "Running"}, {"waiting", "Waiting"}, {"finished", "Finished"}}

type listPage struct {
	frame
	View   string
	Tabs   []tab
	Filter filter
	Rows   []runView
	Pager  pager
	// Hidden is the number of benchmarks that the user may not see.
	Hidden int
	// Estimates reports whether a start is known of some that are shown.
	Estimates bool
}

type tab struct {
	Name, Title, Link string
	Count             int
}

func (p *Page) list(ctx context.Context, q *request) (*answer, error) {
	v, err := p.see(ctx, q)
	if err != nil {
		return nil, err
	}
	view := q.URL.Query().Get("view")
	if !slices.ContainsFunc(views, func(w struct{ Name, Title string }) bool { return w.Name == view }) {
		view = views[0].Name
	}
	refresh := 15
	if view == "running" {
		refresh = 5
	}
	page := listPage{frame: p.frame(q, "benchmarks", "Benchmarks", refresh), View: view, Filter: newFilter(q, v)}
	page.Filter.States = nil
	lists := map[string][]*v1alpha1.Benchmark{"running": q.lab.running, "waiting": q.lab.waiting, "finished": q.lab.finished}
	for _, w := range views {
		var shown []*v1alpha1.Benchmark
		f := page.Filter
		if w.Name != view {
			f.State = "" // Another list has other states.
		}
		for _, b := range lists[w.Name] {
			if v.benchmarks.has(b.Namespace) && f.has(b) {
				shown = append(shown, b)
			}
		}
		link := url.Values{"view": {w.Name}}
		for key, value := range map[string]string{"team": f.Team, "bed": f.Bed, "name": f.Name} {
			if value != "" {
				link.Set(key, value)
			}
		}
		page.Tabs = append(page.Tabs, tab{w.Name, w.Title, "?" + link.Encode(), len(shown)})
		if w.Name == view {
			var part []*v1alpha1.Benchmark
			part, page.Pager = paged(shown, q.URL.Query(), listSize, "benchmark")
			for _, b := range part {
				row := q.lab.runOf(b)
				page.Estimates = page.Estimates || !row.Starts.IsZero()
				page.Rows = append(page.Rows, row)
			}
		}
	}
	switch view {
	case "running":
		page.Filter.States = []string{string(v1alpha1.PhasePreparing), string(v1alpha1.PhaseRunning), string(v1alpha1.PhaseCleaningUp)}
	case "waiting":
		page.Filter.States = []string{string(v1alpha1.PhasePending), string(v1alpha1.PhaseQueued)}
	default:
		for _, phase := range []v1alpha1.BenchmarkPhase{v1alpha1.PhasePassed, v1alpha1.PhaseMeasured, v1alpha1.PhaseInconclusive, v1alpha1.PhaseFailed, v1alpha1.PhaseInvalid, v1alpha1.PhaseAborted, v1alpha1.PhaseError} {
			page.Filter.States = append(page.Filter.States, string(phase))
		}
	}
	return render("benchmarks", page)
}

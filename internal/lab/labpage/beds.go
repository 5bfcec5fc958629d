package labpage

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// States of a bed, as the page names and filters them.
const (
	stateInUse       = "In use"
	stateReserved    = "Reserved"
	stateFree        = "Free"
	stateClosed      = "Closed"
	stateNotReady    = "Not ready"
	stateQuarantined = "Quarantined"
)

// states in the order of the summary, with their tones.
var states = []struct{ Name, Tone string }{
	{stateFree, "good"}, {stateInUse, "busy"}, {stateReserved, "held"}, {stateClosed, "open"}, {stateNotReady, "open"}, {stateQuarantined, "bad"},
}

// party has a bed: a benchmark or a reservation. Its name is in the status of the TestBed, which those who
// see a bed may read.
type party struct {
	Text string
	// Link to its page, below the base; empty if there is none, or the person may not see it.
	Link      string
	Namespace string
}

// use is a period in which a party has a bed.
type use struct {
	Who  party
	From time.Time
	// Until is the expected end, and Latest the latest possible end; zero if not known.
	Until, Latest time.Time
	// For is the benchmark for which the bed is being taken away; nil if it is not.
	For *party
}

// bedView is a bed as one person sees it.
type bedView struct {
	Bed         *v1alpha1.TestBed
	State, Tone string
	// Closing reports whether a bed in use takes no further benchmark.
	Closing bool
	// Lease is the current use of the bed; nil while it is free.
	Lease *use
	// Reserved are the next reservations, that in progress first.
	Reserved []use
	// Why it cannot be used, from its conditions.
	Why string
	Now time.Time
	// Calibration of the tester, and Uses of the bed in the last week by team; see complete.
	Calibration calibrated
	Uses        []used
}

// Next is the reservation that comes next, or is in progress.
func (v bedView) Next() *use {
	if len(v.Reserved) == 0 {
		return nil
	}
	return &v.Reserved[0]
}

// visible contains the parts of the lab that a user may see.
type visible struct {
	lab                                 *snapshot
	labNamespace                        string
	beds                                bool
	benchmarks, reservations, schedules scope
}

// see asks what a person may see.
func (p *Page) see(ctx context.Context, q *request) (v visible, err error) {
	v = visible{lab: q.lab, labNamespace: p.LabNamespace}
	if v.beds, err = q.may(ctx, "list", "testbeds", "", ""); err != nil {
		return v, err
	}
	if v.benchmarks, err = q.list(ctx, "benchmarks", q.lab.namespaces); err != nil {
		return v, err
	}
	if v.reservations, err = q.list(ctx, "reservations", q.lab.namespaces); err != nil {
		return v, err
	}
	v.schedules, err = q.list(ctx, "benchmarkschedules", q.lab.namespaces)
	return v, err
}

// holder is the party of a lease.
func (v visible) holder(of string) (party, *v1alpha1.Benchmark) {
	namespace, name, _ := strings.Cut(of, "/")
	b := v.lab.byKey[types.NamespacedName{Namespace: namespace, Name: name}]
	who := party{Text: of, Namespace: namespace}
	if b != nil && v.benchmarks.has(namespace) {
		who.Link = "benchmarks/" + of
	}
	return who, b
}

// reserver is the party of a reservation.
func (v visible) reserver(of string) party {
	namespace, _, _ := strings.Cut(of, "/")
	who := party{Text: of, Namespace: namespace}
	if v.reservations.has(namespace) {
		who.Link = "reservations?team=" + namespace
	} else if namespace == v.labNamespace {
		who.Text = "maintenance"
	}
	return who
}

// bed is a bed as the person sees it.
func (v visible) bed(bed *v1alpha1.TestBed) bedView {
	view := bedView{Bed: bed, Closing: bed.Spec.Unschedulable, Now: v.lab.at}
	for _, r := range bed.Status.Reservations {
		if r.Until.After(v.lab.at) {
			view.Reserved = append(view.Reserved, use{Who: v.reserver(r.Reservation), From: r.From.Time, Until: r.Until.Time})
		}
	}
	slices.SortStableFunc(view.Reserved, func(a, b use) int { return a.From.Compare(b.From) })
	if l := bed.Status.Lease; l != nil {
		who, b := v.holder(l.Holder)
		view.Lease = &use{Who: who, From: l.AcquireTime.Time}
		if l.Preemption != nil {
			by, _ := v.holder(l.Preemption.By)
			view.Lease.For = &by
		}
		if b != nil && string(b.UID) == l.UID {
			view.Lease.Until, view.Lease.Latest = ends(b, v.lab.at)
		}
	}
	quarantined := meta.FindStatusCondition(bed.Status.Conditions, v1alpha1.ConditionQuarantined)
	ready := meta.FindStatusCondition(bed.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case quarantined != nil && quarantined.Status == metav1.ConditionTrue:
		view.State, view.Why = stateQuarantined, quarantined.Message
	case view.Lease != nil:
		view.State = stateInUse
	case ready == nil || ready.Status != metav1.ConditionTrue:
		view.State, view.Why = stateNotReady, "The operator has not checked it yet."
		if ready != nil {
			view.Why = ready.Message
		}
	case bed.Spec.Unschedulable:
		view.State = stateClosed
	case len(view.Reserved) > 0 && !view.Reserved[0].From.After(v.lab.at):
		view.State = stateReserved
	default:
		view.State = stateFree
	}
	for _, s := range states {
		if s.Name == view.State {
			view.Tone = s.Tone
		}
	}
	return view
}

// ends returns the time at which a benchmark is expected to release its bed, and the latest
// possible time; zero if not known.
func ends(b *v1alpha1.Benchmark, now time.Time) (expected, latest time.Time) {
	if left := b.Spec.ActiveDeadlineSeconds - b.Status.ActiveSeconds; b.Spec.ActiveDeadlineSeconds > 0 {
		latest = now.Add(time.Duration(max(left, 0)) * time.Second)
		if b.Status.ActiveSeconds == 0 && b.Status.StartTime != nil {
			latest = b.Status.StartTime.Add(time.Duration(b.Spec.ActiveDeadlineSeconds) * time.Second)
		}
	}
	if p := b.Status.Progress; p != nil && p.SecondsLeft > 0 && b.Status.Phase == v1alpha1.PhaseRunning {
		expected = now.Add(time.Duration(p.SecondsLeft) * time.Second)
	}
	return expected, latest
}

// bedsSize is the number of beds on a page.
const bedsSize = 100

type overviewPage struct {
	frame
	MayBeds bool
	// Counts of beds by state.
	Counts []stateCount
	// Running and Waiting benchmarks that the person may see; Queued counts those of all
	// teams by beds.
	Running, Waiting int
	Beds             []bedView
	Pager            pager
	Filter           filter
	Live             []runView
	LiveMore         int
	// Failed are the benchmarks that did not succeed in the last day, the latest first.
	Failed     []runView
	FailedMore int
	// Table is the address of the table to print, below the base.
	Table string
}

type stateCount struct {
	Name, Tone string
	Beds       int
}

// complete adds what a view of one bed has in addition to its state.
func (v visible) complete(view *bedView) {
	view.Calibration, view.Uses = v.lab.calibrationOf(view.Bed), v.usesOf(view.Bed.Name)
}

const (
	// liveSize and failedSize are the maximum numbers of running and of failed benchmarks on the overview.
	liveSize, failedSize = 12, 8
	// recently is the time for which the overview shows a benchmark that did not succeed.
	recently = 24 * time.Hour
)

func (p *Page) overview(ctx context.Context, q *request) (*answer, error) {
	v, err := p.see(ctx, q)
	if err != nil {
		return nil, err
	}
	page := overviewPage{frame: p.frame(q, "beds", "Beds", 10), MayBeds: v.beds, Filter: newFilter(q, v)}
	page.Live, page.Running = v.live(liveSize)
	page.LiveMore = page.Running - len(page.Live)
	page.Failed, page.FailedMore = v.failed(failedSize)
	page.Waiting = v.count(q.lab.waiting)
	if v.beds {
		var all []bedView
		all, page.Counts = page.Filter.beds(v)
		page.Beds, page.Pager = paged(all, q.URL.Query(), bedsSize, "bed")
		for i := range page.Beds {
			v.complete(&page.Beds[i])
		}
	}
	page.Table = "table"
	if query := q.URL.Query(); page.Filter.Any() {
		query.Del("page")
		page.Table += "?" + query.Encode()
	}
	return render("overview", page)
}

// live returns the first benchmarks that have a bed, at most so many, and the number of all of them.
func (v visible) live(most int) (shown []runView, all int) {
	for _, b := range v.lab.running {
		if !v.benchmarks.has(b.Namespace) {
			continue
		}
		if all++; len(shown) < most {
			shown = append(shown, v.lab.runOf(b))
		}
	}
	return shown, all
}

// count returns the number of benchmarks that the person may see.
func (v visible) count(benchmarks []*v1alpha1.Benchmark) (n int) {
	for _, b := range benchmarks {
		if v.benchmarks.has(b.Namespace) {
			n++
		}
	}
	return n
}

// failed returns the benchmarks that ended without a result that can be used in the last day, at most so many, and the
// number of further ones.
func (v visible) failed(most int) (shown []runView, more int) {
	for _, b := range v.lab.finished {
		if v.lab.at.Sub(end(b)) > recently {
			break // They are in the order of their ends.
		}
		switch b.Status.Phase {
		case v1alpha1.PhaseFailed, v1alpha1.PhaseError, v1alpha1.PhaseInvalid, v1alpha1.PhaseInconclusive:
		default:
			continue
		}
		switch {
		case !v.benchmarks.has(b.Namespace):
		case len(shown) < most:
			shown = append(shown, v.lab.runOf(b))
		default:
			more++
		}
	}
	return shown, more
}

// beds returns the beds that match a filter, and the number of beds in each state.
func (f filter) beds(v visible) (shown []bedView, counts []stateCount) {
	byState := map[string]int{}
	for i := range v.lab.beds {
		view := v.bed(&v.lab.beds[i])
		byState[view.State]++
		if f.State != "" && f.State != view.State || !contains(view.Bed.Name, f.Bed) {
			continue
		}
		if f.Team != "" && (view.Lease == nil || view.Lease.Who.Namespace != f.Team) &&
			!slices.ContainsFunc(view.Reserved, func(u use) bool { return u.Who.Namespace == f.Team }) {
			continue
		}
		shown = append(shown, view)
	}
	for _, s := range states {
		counts = append(counts, stateCount{s.Name, s.Tone, byState[s.Name]})
	}
	return shown, counts
}

type bedPage struct {
	frame
	View    bedView
	Waiting []runView
	// Others is about how many wait that the person may not see.
	Others     int
	More       int
	Recent     []runView
	Conditions []metav1.Condition
}

// lastSize is the maximum number of benchmarks on the page of one object.
const lastSize = 20

func (p *Page) bed(ctx context.Context, q *request) (*answer, error) {
	v, err := p.see(ctx, q)
	if err != nil {
		return nil, err
	}
	bed := q.lab.bed(q.PathValue("name"))
	if bed == nil || !v.beds {
		return nil, errNotFound
	}
	page := bedPage{frame: p.frame(q, "beds", "Bed "+bed.Name, 10), View: v.bed(bed), Conditions: bed.Status.Conditions}
	v.complete(&page.View)
	waiting := 0
	for _, b := range q.lab.waiting {
		if b.Spec.TestBedName != bed.Name || !v.benchmarks.has(b.Namespace) {
			continue
		}
		if waiting++; waiting <= lastSize {
			page.Waiting = append(page.Waiting, q.lab.runOf(b))
		}
	}
	page.More, page.Others = waiting-len(page.Waiting), max(int(bed.Status.Queued)-waiting, 0)
	for _, b := range q.lab.finished {
		if b.Status.TestBedName == bed.Name && v.benchmarks.has(b.Namespace) {
			if page.Recent = append(page.Recent, q.lab.runOf(b)); len(page.Recent) == lastSize {
				break
			}
		}
	}
	return render("bed", page)
}

//go:build !standalone

package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/cmd/nodrop/terminal"
	"nodrop.dev/nodrop/controllers/allocation"
	"nodrop.dev/nodrop/internal/manifests/team"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// queueView contains the queue to print.
type queueView struct {
	places  []allocation.Place
	beds    []v1alpha1.TestBed
	partial bool
	// bed and namespace to which the table is limited; empty means all.
	bed, namespace string
	now            time.Time
}

// queueDocument is the queue as -o json and -o yaml write it.
type queueDocument struct {
	Time metav1.Time `json:"time"`
	// Partial reports whether only the benchmarks of one namespace are known, so that a place
	// is the lowest that it can be.
	Partial bool `json:"partial,omitempty"`
	// Total is the number of benchmarks that wait, of which Waiting has the first.
	Total   int            `json:"total"`
	Waiting []queuedRow    `json:"waiting"`
	Beds    []queueSummary `json:"beds,omitempty"`
	Teams   []queueSummary `json:"namespaces,omitempty"`
	// Others are the benchmarks of other namespaces that wait for each bed, where they are not
	// listed.
	Others       []queueSummary `json:"others,omitempty"`
	Reservations []reservedRow  `json:"reservations,omitempty"`
}

// queuedRow is a benchmark that waits.
type queuedRow struct {
	// Place on the bed where the fewest come first, from 1; 0 if the benchmark fits no bed.
	Place     int         `json:"place,omitempty"`
	Namespace string      `json:"namespace"`
	Name      string      `json:"name"`
	Priority  string      `json:"priority"`
	Beds      []string    `json:"beds,omitempty"`
	WaitsFor  string      `json:"waitsFor,omitempty"`
	Created   metav1.Time `json:"created"`
	// Starts is the time at which it is expected to get a bed, if that is known.
	Starts  *metav1.Time `json:"expectedStart,omitempty"`
	Reason  string       `json:"reason,omitempty"`
	Message string       `json:"message,omitempty"`
}

// queueSummary counts those that wait for a bed, or in a namespace.
type queueSummary struct {
	Name    string       `json:"name"`
	Waiting int          `json:"waiting"`
	Oldest  *metav1.Time `json:"oldest,omitempty"`
}

// reservedRow is a reservation of a bed.
type reservedRow struct {
	Bed         string      `json:"bed"`
	Reservation string      `json:"reservation"`
	From        metav1.Time `json:"from"`
	Until       metav1.Time `json:"until"`
}

func (v queueView) shows(p allocation.Place) bool {
	if v.namespace != "" && p.Benchmark.Namespace != v.namespace {
		return false
	}
	return v.bed == "" || slices.Contains(p.Beds, v.bed) || p.Benchmark.Spec.TestBedName == v.bed
}

// document returns what is shown, with at most so many benchmarks; 0 for all.
func (v queueView) document(limit int) *queueDocument {
	d := &queueDocument{Time: metav1.Time{Time: v.now}, Partial: v.partial, Waiting: []queuedRow{}}
	beds, teams := map[string]*queueSummary{}, map[string]*queueSummary{}
	for _, p := range v.places {
		if !v.shows(p) {
			continue
		}
		if d.Total++; limit == 0 || d.Total <= limit {
			d.Waiting = append(d.Waiting, rowOf(p))
		}
		count(teams, p.Benchmark.Namespace, p.Benchmark.CreationTimestamp)
		for _, bed := range p.Beds {
			count(beds, bed, p.Benchmark.CreationTimestamp)
		}
	}
	d.Beds, d.Teams = sorted(beds), sorted(teams)
	for _, bed := range v.beds {
		if v.bed != "" && bed.Name != v.bed {
			continue
		}
		if v.partial {
			own := 0
			for _, p := range v.places {
				if slices.Contains(p.Beds, bed.Name) {
					own++
				}
			}
			if n := int(bed.Status.Queued) - own; n > 0 {
				d.Others = append(d.Others, queueSummary{Name: bed.Name, Waiting: n})
			}
		}
		for _, r := range bed.Status.Reservations {
			if !r.Until.After(v.now) {
				continue
			}
			name := r.Reservation
			if r.TestBedName != "" {
				name += " (of bed " + r.TestBedName + ", which shares an interface)"
			}
			d.Reservations = append(d.Reservations, reservedRow{bed.Name, name, r.From, r.Until})
		}
	}
	return d
}

func rowOf(p allocation.Place) queuedRow {
	b := p.Benchmark
	row := queuedRow{
		Namespace: b.Namespace, Name: b.Name, Priority: team.PriorityName(b), Beds: p.Beds, Created: b.CreationTimestamp,
		Reason: p.Reason, Message: strings.ReplaceAll(p.Why, "\n", " "),
	}
	if p.Accepted {
		row.Place = p.Place.Ahead + 1
		row.WaitsFor = p.Place.WaitsFor
		if p.Place.Beds == 1 { // It resumes on the bed that it had.
			row.Beds = []string{p.Place.WaitsFor}
		}
	}
	if !p.Start.IsZero() {
		row.Starts = &metav1.Time{Time: p.Start}
	}
	return row
}

func count(by map[string]*queueSummary, name string, since metav1.Time) {
	s := by[name]
	if s == nil {
		s = &queueSummary{Name: name, Oldest: &since}
		by[name] = s
	}
	s.Waiting++
	if since.Before(s.Oldest) {
		s.Oldest = &since
	}
}

// sorted returns summaries in descending order of the number that waits.
func sorted(by map[string]*queueSummary) []queueSummary {
	var all []queueSummary
	for _, name := range slices.Sorted(maps.Keys(by)) {
		all = append(all, *by[name])
	}
	slices.SortStableFunc(all, func(a, b queueSummary) int { return cmp.Compare(b.Waiting, a.Waiting) })
	return all
}

// Write writes the queue in a format.
func (d *queueDocument) Write(out io.Writer, format report.Format) error {
	switch format {
	case report.FormatTable:
		_, err := io.WriteString(out, d.text(layout.PaperOf(out)))
		return err
	case terminal.FormatName:
		for _, w := range d.Waiting {
			fmt.Fprintln(out, w.Name)
		}
		return nil
	}
	return terminal.WriteObject(out, d, format)
}

// text is the queue for people.
func (d *queueDocument) text(p layout.Paper) string {
	var b strings.Builder
	waiting := &layout.Grid{Flush: true, Columns: []layout.Column{
		{Name: "PLACE", Left: true}, {Name: "NAMESPACE", Left: true}, {Name: "BENCHMARK", Left: true}, {Name: "PRIORITY", Left: true, Drop: 2},
		{Name: "WAITS FOR", Left: true, Drop: 3}, {Name: "SINCE", Left: true, Drop: 1}, {Name: "STARTS IN", Left: true}, {Name: "WHY", Left: true},
	}}
	for _, w := range d.Waiting {
		waiting.Rows = append(waiting.Rows, []string{d.placeOf(w), w.Namespace, w.Name, w.Priority, waitsFor(w), d.since(w.Created), d.startsIn(w), w.Message})
	}
	if len(d.Waiting) == 0 {
		b.WriteString("No benchmark waits.\n")
	} else {
		b.WriteString(waiting.On(p))
	}
	if more := d.Total - len(d.Waiting); more > 0 {
		fmt.Fprintf(&b, "%d more wait: --limit 0 shows them all\n", more)
		for _, s := range []struct {
			heading string
			rows    []queueSummary
		}{{"BED", d.Beds}, {"NAMESPACE", d.Teams}} {
			grid := &layout.Grid{Flush: true, Columns: []layout.Column{{Name: s.heading, Left: true}, {Name: "WAITING", Left: true}, {Name: "OLDEST", Left: true}}}
			for _, r := range s.rows {
				grid.Rows = append(grid.Rows, []string{r.Name, fmt.Sprint(r.Waiting), d.since(*r.Oldest)})
			}
			b.WriteString("\n" + grid.On(p))
		}
	}
	for _, o := range d.Others {
		b.WriteString(p.Title(fmt.Sprintf("About %d of other namespaces, which you may not list, wait for bed %s too.", o.Waiting, o.Name)))
	}
	reserved := &layout.Grid{Flush: true, Columns: []layout.Column{
		{Name: "BED", Left: true}, {Name: "RESERVATION", Left: true}, {Name: "FROM", Left: true}, {Name: "UNTIL", Left: true}, {Name: "BEGINS IN", Left: true, Drop: 1},
	}}
	for _, r := range d.Reservations {
		begins := "now"
		if wait := r.From.Sub(d.Time.Time); wait > 0 {
			begins = duration.HumanDuration(wait)
		}
		reserved.Rows = append(reserved.Rows, []string{r.Bed, r.Reservation, stampOf(r.From.Time), stampOf(r.Until.Time), begins})
	}
	if len(reserved.Rows) > 0 {
		b.WriteString("\n" + reserved.On(p))
	}
	return b.String()
}

func (d *queueDocument) since(t metav1.Time) string {
	return duration.HumanDuration(d.Time.Sub(t.Time))
}

// startsIn returns the time until a benchmark is expected to get a bed; "?" if not known.
func (d *queueDocument) startsIn(w queuedRow) string {
	switch {
	case w.Starts == nil:
		return "?"
	case !w.Starts.After(d.Time.Time):
		return "now"
	}
	return "~" + duration.HumanDuration(w.Starts.Sub(d.Time.Time))
}

func (d *queueDocument) placeOf(w queuedRow) string {
	switch {
	case w.Place == 0:
		return "-"
	case d.Partial:
		return fmt.Sprintf(">=%d", w.Place)
	}
	return fmt.Sprint(w.Place)
}

func waitsFor(w queuedRow) string {
	switch {
	case w.Place == 0:
		return "-"
	case len(w.Beds) > 1:
		return fmt.Sprintf("%d beds", len(w.Beds))
	}
	return w.WaitsFor
}

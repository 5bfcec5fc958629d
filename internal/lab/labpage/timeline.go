package labpage

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/reservation"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// span is a length of the timeline.
type span struct {
	Hours, Slots int
	Title        string
}

var spans = []span{{6, 6, "6 hours"}, {24, 8, "24 hours"}, {72, 6, "3 days"}, {168, 7, "7 days"}}

const (
	// units is the width of a lane, and letterUnits the width of a letter in the narrowest lane that has names.
	units, letterUnits = 1000, 11
)

// lane is one bed in the timeline.
type lane struct {
	Bed, Tone string
	Bars      []bar
	// Text describes the bars in words.
	Text []string
	// Alt is the text in one line.
	Alt string
}

// bar is a time in a lane, in units of its width.
type bar struct {
	X, Width int
	Class    string
	// Label is drawn where it has room, Title shown when the bar is pointed at.
	Label, Title string
	// Behind reports whether the label is drawn to the right of the bar.
	Behind bool
}

// lanesSize is the number of beds in a timeline.
const lanesSize = 50

// queuedSize is the maximum number of estimated starts in a lane.
const queuedSize = 20

// runEnd is a way in which earlier runs ended, and a phase that has its color.
type runEnd struct {
	Name  string
	Phase v1alpha1.BenchmarkPhase
}

var runEnds = []runEnd{
	{"passed", v1alpha1.PhasePassed}, {"measured", v1alpha1.PhaseMeasured}, {"failed, or with an error", v1alpha1.PhaseFailed},
	{"inconclusive, invalid, aborted or preempted", v1alpha1.PhaseInconclusive},
}

type timelinePage struct {
	frame
	// Ends are the colors of earlier runs.
	Ends      []runEnd
	MayBeds   bool
	Spans     []spanLink
	Slots     []string
	Count     int
	NowX      int
	Lanes     []lane
	Pager     pager
	Filter    filter
	Hours     int
	From, To  time.Time
	Estimates bool
}

// axisLabel labels a slot of the axis by its time; the first one, and the first one of each day, by its day too.
func axisLabel(from time.Time, i int, slot time.Duration) string {
	t := from.Add(time.Duration(i) * slot).UTC()
	day, clock := t.Format("Mon 2"), t.Format("15:04")
	switch {
	case slot >= 24*time.Hour && t.Hour() == 0:
		return day
	case i == 0 || t.Add(-slot).YearDay() != t.YearDay():
		return day + " " + clock
	}
	return clock
}

type spanLink struct {
	span
	Link    string
	Current bool
}

func (p *Page) timeline(ctx context.Context, q *request) (*answer, error) {
	v, err := p.see(ctx, q)
	if err != nil {
		return nil, err
	}
	chosen := spans[1]
	for _, s := range spans {
		if q.URL.Query().Get("hours") == strconv.Itoa(s.Hours) {
			chosen = s
		}
	}
	slot := time.Duration(chosen.Hours) * time.Hour / time.Duration(chosen.Slots)
	from := q.lab.at.UTC().Truncate(slot)
	if q.lab.at.Sub(from) < slot/2 {
		from = from.Add(-slot) // What was a moment ago is shown too.
	}
	page := timelinePage{
		frame: p.frame(q, "timeline", "Timeline", 30), Ends: runEnds, MayBeds: v.beds, Filter: newFilter(q, v), Hours: chosen.Hours,
		From: from, To: from.Add(time.Duration(chosen.Hours) * time.Hour), Count: chosen.Slots,
	}
	for i := range chosen.Slots {
		page.Slots = append(page.Slots, axisLabel(from, i, slot))
	}
	for _, s := range spans {
		other := q.URL.Query()
		other.Del("page")
		other.Set("hours", strconv.Itoa(s.Hours))
		page.Spans = append(page.Spans, spanLink{s, "?" + other.Encode(), s == chosen})
	}
	if v.beds {
		all, _ := page.Filter.beds(v)
		var beds []bedView
		beds, page.Pager = paged(all, q.URL.Query(), lanesSize, "bed")
		v.addOccurrences(beds, reservation.Span{From: q.lab.at, Until: page.To})
		d := drawing{from: page.From, to: page.To, now: q.lab.at}
		page.NowX = d.at(q.lab.at)
		queued, past := byBed(v)
		for _, bed := range beds {
			l := d.lane(bed, queued[bed.Bed.Name], past[bed.Bed.Name])
			page.Estimates = page.Estimates || len(queued[bed.Bed.Name]) > 0
			page.Lanes = append(page.Lanes, l)
		}
	}
	return render("timeline", page)
}

// start is the time at which a benchmark is expected to begin.
type start struct {
	name string
	at   time.Time
}

// run is a time in which a benchmark had a bed.
type run struct {
	b           *v1alpha1.Benchmark
	from, until time.Time
	ended       string
	tone        string
}

// byBed are the estimated starts and the last runs of each bed, of what the person may see.
func byBed(v visible) (queued map[string][]start, past map[string][]run) {
	queued, past = map[string][]start{}, map[string][]run{}
	for i := range v.lab.benchmarks {
		b := &v.lab.benchmarks[i]
		if len(b.Status.EarlierRuns) == 0 || !v.benchmarks.has(b.Namespace) {
			continue
		}
		for _, r := range b.Status.EarlierRuns {
			past[r.TestBedName] = append(past[r.TestBedName], run{b, r.From.Time, r.Until.Time, "preempted", "open"})
		}
	}
	for _, b := range v.lab.waiting {
		bed := b.Spec.TestBedName
		if bed == "" || !v.benchmarks.has(b.Namespace) || len(queued[bed]) == queuedSize {
			continue
		}
		if at := v.lab.waits[b].Start; !at.IsZero() {
			queued[bed] = append(queued[bed], start{b.Namespace + "/" + b.Name, at})
		}
	}
	for _, b := range v.lab.finished {
		if v.lab.at.Sub(end(b)) > 24*time.Hour {
			break // They are in the order of their ends.
		}
		if bed := b.Status.TestBedName; bed != "" && v.benchmarks.has(b.Namespace) && b.Status.StartTime != nil {
			past[bed] = append(past[bed], run{b, lastBegin(b), end(b), string(b.Status.Phase), report.ToneOf(b.Status.Phase)})
		}
	}
	return queued, past
}

// drawing puts times into lanes.
type drawing struct{ from, to, now time.Time }

// at returns the horizontal position of a time, limited to the drawing.
func (d drawing) at(t time.Time) int {
	return int(units * min(max(t.Sub(d.from), 0), d.to.Sub(d.from)) / d.to.Sub(d.from))
}

// bar adds a bar from one time until another, and reports whether it is inside of the drawing.
func (d drawing) bar(l *lane, from, until time.Time, class, label, title string) bool {
	if !until.After(d.from) || !from.Before(d.to) {
		return false
	}
	x := min(d.at(from), units-4)
	if d.at(until)-x < units/25 {
		label = "" // It would be a letter or two.
	}
	l.Bars = append(l.Bars, bar{X: x, Width: max(d.at(until)-x, 4), Class: class, Label: label, Title: title})
	return true
}

// End returns the end of the bar, in units.
func (b bar) End() int { return b.X + b.Width }

// hideNames removes the names of expected starts that have no room to the right of their bars.
func (l *lane) hideNames() {
	for i := range l.Bars {
		b := &l.Bars[i]
		if !b.Behind {
			continue
		}
		room := units - b.X - b.Width
		for j, other := range l.Bars {
			switch {
			case j == i || other.X+other.Width <= b.X:
			case other.X > b.X:
				room = min(room, other.X-b.X-b.Width)
			default:
				room = 0 // Another bar covers it.
			}
		}
		if room < (len(b.Label)+1)*letterUnits {
			b.Label = ""
		}
	}
}

func (d drawing) lane(v bedView, queued []start, past []run) lane {
	l := lane{Bed: v.Bed.Name, Tone: v.Tone}
	for _, r := range past {
		title := fmt.Sprintf("%s/%s had it from %s until %s: %s", r.b.Namespace, r.b.Name, stamp(r.from, d.now), stamp(r.until, d.now), r.ended)
		d.bar(&l, r.from, r.until, "past "+r.tone, "", title)
	}
	switch v.State {
	case stateClosed, stateNotReady, stateQuarantined:
		d.bar(&l, d.now, d.to, "shut", "", strings.ToLower(v.State))
	}
	if v.Lease != nil {
		until, text := v.Lease.Until, fmt.Sprintf("%s has it since %s", v.Lease.Who.Text, stamp(v.Lease.From, d.now))
		switch {
		case !until.IsZero():
			text += ", until about " + stamp(until, d.now)
		case !v.Lease.Latest.IsZero():
			text += ", until " + stamp(v.Lease.Latest, d.now) + " at the latest"
			until = d.now
		default:
			until = d.now
		}
		d.bar(&l, v.Lease.From, until, "lease", v.Lease.Who.Text, text)
		l.Text = append(l.Text, text)
	} else {
		text := strings.ToLower(v.State) + " now"
		if v.State == stateReserved {
			text = ""
		}
		if text != "" {
			l.Text = append(l.Text, text)
		}
	}
	for _, r := range v.Reserved {
		text := fmt.Sprintf("reserved for %s from %s until %s", r.Who.Text, stamp(r.From, d.now), stamp(r.Until, d.now))
		d.bar(&l, r.From, r.Until, "reserved", r.Who.Text, text)
		if r.From.Before(d.to) {
			l.Text = append(l.Text, text)
		}
	}
	for _, s := range queued {
		text := fmt.Sprintf("%s is expected to start at %s", s.name, stamp(s.at, d.now))
		if d.bar(&l, s.at, s.at.Add(d.to.Sub(d.from)/100), "queued", "", text) {
			last := &l.Bars[len(l.Bars)-1]
			last.Label, last.Behind = s.name, true
		}
		if s.at.Before(d.to) {
			l.Text = append(l.Text, text)
		}
	}
	if n := int(v.Bed.Status.Queued); n > 0 {
		l.Text = append(l.Text, count(n, "benchmark")+" in the queue")
	}
	l.hideNames()
	l.Alt = strings.Join(l.Text, "; ")
	return l
}

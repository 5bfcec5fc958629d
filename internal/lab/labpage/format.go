package labpage

import (
	"fmt"
	"html/template"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/report"
)

var functions = template.FuncMap{
	"iso":     func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"stamp":   stamp,
	"away":    away,
	"tone":    report.ToneOf,
	"group":   group,
	"moment":  func(t, now time.Time) moment { return moment{t, now} },
	"int":     func(n int32) int { return int(n) },
	"big":     func(n int64) string { return group(int(n)) },
	"percent": percent,
	"hours":   func(h float64) string { return group(int(math.Round(h))) + " h" },
	"span":    spanText,
	// share is a number of units as a part of the width.
	"share":   func(n int) string { return fmt.Sprintf("%d.%d%%", n*100/units, n*1000/units%10) },
	"ticks":   ticks,
	"verdict": func(v v1alpha1.GateVerdict) v1alpha1.BenchmarkPhase { return v1alpha1.BenchmarkPhase(v) },
	"item":    func(f framed, section, path, title string) item { return f.item(section, path, title) },
	"by":      func(base string, p party) byParty { return byParty{base, p} },
	"named":   func(base string, r runView) namedRun { return namedRun{base, r} },
	"form":    func(f filter, view string, hours int, bed, name bool) form { return form{f, view, hours, bed, name} },
	"listed":  func(list []metav1.Condition, now time.Time) listed { return listed{list, now} },
}

// What parts of pages are given.
type (
	item struct {
		Base, Path, Title string
		Current           bool
	}
	byParty struct {
		Base  string
		Party party
	}
	namedRun struct {
		Base string
		Run  runView
	}
	form struct {
		Filter    filter
		View      string
		Hours     int
		Bed, Name bool
	}
	listed struct {
		List []metav1.Condition
		Now  time.Time
	}
)

// ticks returns the positions at which the slots of a lane begin.
func ticks(slots int) (at []int) {
	for i := range slots {
		at = append(at, i*units/slots)
	}
	return at
}

// moment is a time as seen from now.
type moment struct{ T, Now time.Time }

// stamp is a time to the minute in UTC, with its day unless that is today.
func stamp(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	switch {
	case t.Year() != now.Year():
		return t.Format("2 Jan 2006 15:04")
	case t.YearDay() != now.YearDay():
		return t.Format("2 Jan 15:04")
	}
	return t.Format("15:04")
}

// away returns the time from now to t in words: "5m ago", "in 2h".
func away(t, now time.Time) string {
	d := t.Sub(now)
	switch {
	case d > -time.Second && d < time.Second:
		return "now"
	case d < 0:
		return duration.HumanDuration(-d) + " ago"
	}
	return "in " + duration.HumanDuration(d)
}

// percent is a share in whole percent; one that is not 0 is at least "< 1 %".
func percent(p float64) string {
	if p > 0 && p < 1 {
		return "< 1 %"
	}
	return fmt.Sprintf("%.0f %%", p)
}

// spanText is a duration in hours and minutes.
func spanText(d time.Duration) string {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	d = d.Round(time.Minute)
	if d < time.Hour {
		return fmt.Sprintf("%s%d min", sign, int(d.Minutes()))
	}
	return fmt.Sprintf("%s%s h %d min", sign, group(int(d.Hours())), int(d.Minutes())%60)
}

// group is a number with commas between thousands.
func group(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// count is a number of things: "1 benchmark", "15,000 benchmarks".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%s %ss", group(n), what)
}

// pager divides a long list into pages.
type pager struct {
	// From and To are the numbers of the first and last one that are shown, from 1.
	From, To, Total int
	// Previous and Next are queries of other pages; empty where there are none.
	Previous, Next string
	What           string
}

// paged returns the part of a list that a query asks for.
func paged[T any](all []T, query url.Values, size int, what string) ([]T, pager) {
	page, _ := strconv.Atoi(query.Get("page")) // What is no number is the first page.
	page = min(max(page, 1), max((len(all)+size-1)/size, 1))
	from := (page - 1) * size
	to := min(from+size, len(all))
	p := pager{From: from + 1, To: to, Total: len(all), What: what}
	link := func(n int) string {
		other := url.Values{}
		for key, values := range query {
			if key != "page" && len(values) > 0 && values[0] != "" {
				other.Set(key, values[0])
			}
		}
		if n > 1 {
			other.Set("page", strconv.Itoa(n))
		}
		return "?" + other.Encode()
	}
	if page > 1 {
		p.Previous = link(page - 1)
	}
	if to < len(all) {
		p.Next = link(page + 1)
	}
	return all[from:to], p
}

// contains looks for a text without regard to case.
func contains(text, part string) bool {
	return part == "" || strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

package hostileteam

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Report contains what a lab accepted and refused.
type Report struct {
	Duration time.Duration
	// Lines has one line for each kind of request, in the order of their names.
	Lines []Line
}

// Line counts requests of one kind.
type Line struct {
	Request  string
	Accepted int
	// Refused counts refusals by their reason.
	Refused map[string]int
}

// Rate returns the number of answered requests per second.
func (r Report) Rate(l Line) float64 {
	n := l.Accepted
	for _, refused := range l.Refused {
		n += refused
	}
	return float64(n) / r.Duration.Seconds()
}

// Accepted returns the number of accepted requests of a kind.
func (r Report) Accepted(request string) int {
	for _, l := range r.Lines {
		if l.Request == request {
			return l.Accepted
		}
	}
	return 0
}

// Merge returns the counts of reports of the same length together.
func Merge(reports ...Report) Report {
	c, longest := newCounts(), time.Duration(0)
	for _, r := range reports {
		longest = max(longest, r.Duration)
		for _, l := range r.Lines {
			into := c.line(l.Request)
			into.Accepted += l.Accepted
			for reason, n := range l.Refused {
				into.Refused[reason] += n
			}
		}
	}
	return c.report(longest)
}

// Print prints a table.
func (r Report) Print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "REQUEST\tPER SECOND\tACCEPTED\tREFUSED")
	for _, l := range r.Lines {
		var refused []string
		for _, reason := range slices.Sorted(maps.Keys(l.Refused)) {
			refused = append(refused, fmt.Sprintf("%d %s", l.Refused[reason], reason))
		}
		fmt.Fprintf(table, "%s\t%.1f\t%d\t%s\n", l.Request, r.Rate(l), l.Accepted, strings.Join(refused, ", "))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("printing the table: %w", err)
	}
	return nil
}

// counts counts answers.
type counts struct {
	mu    sync.Mutex
	lines map[string]*Line
}

func newCounts() *counts { return &counts{lines: map[string]*Line{}} }

// add counts the answer to a request. A request that the end of the attack cut off does not count.
func (c *counts) add(ctx context.Context, request string, err error) {
	if err != nil && ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.line(request)
	if err == nil {
		l.Accepted++
		return
	}
	l.Refused[reason(err)]++
}

// line returns the counts of a kind of request.
func (c *counts) line(request string) *Line {
	l := c.lines[request]
	if l == nil {
		l = &Line{Request: request, Refused: map[string]int{}}
		c.lines[request] = l
	}
	return l
}

func (c *counts) report(d time.Duration) Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := Report{Duration: d}
	for _, name := range slices.Sorted(maps.Keys(c.lines)) {
		r.Lines = append(r.Lines, *c.lines[name])
	}
	return r
}

// pageStatus is an answer of the lab page other than 200.
type pageStatus int

func (s pageStatus) Error() string { return http.StatusText(int(s)) }

// reason names the reason of a refusal: the reason of the API server with the first field, or the status
// of a page.
func reason(err error) string {
	var page pageStatus
	if errors.As(err, &page) {
		return page.Error()
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		s := status.Status()
		text := string(s.Reason)
		if text == "" {
			text = fmt.Sprint(s.Code)
		}
		if s.Details != nil && len(s.Details.Causes) > 0 && s.Details.Causes[0].Field != "" {
			text += " " + s.Details.Causes[0].Field
		}
		return text
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return "no answer in time"
	}
	return "broken connection"
}

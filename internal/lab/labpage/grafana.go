package labpage

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// aroundRun is the time before and after a run that Grafana shows with it.
const aroundRun = time.Hour

// grafanaURL returns the address of the results of a benchmark in Grafana, at the time of its run; empty
// without Grafana or a result.
func grafanaURL(dashboard string, b *v1alpha1.Benchmark) string {
	if dashboard == "" || b.Status.Results == nil || b.Status.Results.Rows == 0 {
		return ""
	}
	query := url.Values{"var-run": {string(b.UID)}}
	if v := b.Status.Results.Validity; len(v) > 0 {
		query.Set("var-validity", string(v[0].Validity))
	}
	if s := b.Status.StartTime; s != nil {
		query.Set("from", strconv.FormatInt(s.Add(-aroundRun).UnixMilli(), 10))
		query.Set("to", "now")
		if e := b.Status.CompletionTime; e != nil {
			query.Set("to", strconv.FormatInt(e.Add(aroundRun).UnixMilli(), 10))
		}
	}
	separator := "?"
	if strings.Contains(dashboard, "?") {
		separator = "&"
	}
	return dashboard + separator + query.Encode()
}

// onGrafana leads from a report to the results of its benchmark in Grafana.
func (r *results) onGrafana(b *v1alpha1.Benchmark) []report.Link {
	if address := grafanaURL(r.grafana, b); address != "" {
		return []report.Link{{Name: "Run in Grafana", URL: address}}
	}
	return nil
}

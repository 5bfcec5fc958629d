package labpage

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// The link has the run, its validity and its time, and there is none without Grafana or without rows.
func TestLinkToGrafana(t *testing.T) {
	b := &v1alpha1.Benchmark{}
	b.UID = "1-2"
	const dashboard = "https://grafana.example.com/d/nodrop-results-flux"
	if link := grafanaURL(dashboard, b); link != "" {
		t.Errorf("a benchmark without rows has the link %s", link)
	}
	b.Status.Results = &v1alpha1.ResultSummary{Rows: 3, Validity: []v1alpha1.ValidityCount{{Validity: v1alpha1.ValidityVirtual, Rows: 3}}}
	began := metav1.NewTime(time.UnixMilli(10_000_000))
	b.Status.StartTime = &began
	if got, want := grafanaURL(dashboard, b), dashboard+"?from=6400000&to=now&var-run=1-2&var-validity=Virtual"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	ended := metav1.NewTime(time.UnixMilli(20_000_000))
	b.Status.CompletionTime = &ended
	r := &results{grafana: dashboard + "?orgId=2"}
	want := report.Link{Name: "Run in Grafana", URL: dashboard + "?orgId=2&from=6400000&to=23600000&var-run=1-2&var-validity=Virtual"}
	if links := r.onGrafana(b); len(links) != 1 || links[0] != want || !report.IsLink(links[0].URL) {
		t.Errorf("%v, want %v", links, want)
	}
	if links := (&results{}).onGrafana(b); links != nil {
		t.Errorf("%v without Grafana", links)
	}
}

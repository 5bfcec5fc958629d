package dashboards

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// drawing is a dashboard with the answers to its queries, for hack/dashboards.
type drawing struct {
	// Dashboard is the dashboard from the chart.
	Dashboard json.RawMessage `json:"dashboard"`
	// From and To are the time that is shown, in milliseconds since 1970.
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// Variables are the values that are chosen, by label.
	Variables []choice `json:"variables"`
	// Panels are the answers to the queries of each panel, and Marks those of the
	// annotations, as annotated CSV.
	Panels [][]string `json:"panels"`
	Marks  []string   `json:"marks"`
}

type choice struct {
	Label  string   `json:"label"`
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// TestDrawings writes the answers to the queries of all panels into the directory
// NODROP_DRAWINGS: hack/dashboards/draw makes pictures of them.
func TestDrawings(t *testing.T) {
	dir := os.Getenv("NODROP_DRAWINGS")
	if dir == "" {
		t.Skip("it makes what hack/dashboards/draw draws: make dashboards-pictures")
	}
	f := fillBusy(t)
	for _, d := range All() {
		made, err := d.Build(Flux)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(made)
		if err != nil {
			t.Fatal(err)
		}
		s := f.busySettings(d.Name)
		// As wide as Grafana makes windows for a panel of 600 pixels.
		window := func(points int) time.Duration {
			return max(finest, (s.to.Sub(s.from) / time.Duration(points)).Round(time.Second))
		}
		to := drawing{Dashboard: text, From: s.from.UnixMilli(), To: s.to.UnixMilli()}
		for _, v := range d.Variables {
			chosen := s.variables[v.Name]
			if len(chosen) == 0 {
				chosen = []string{"All"}
			}
			to.Variables = append(to.Variables, choice{v.Label, v.Name, chosen})
		}
		ask := func(name string, points int) string {
			s.step = window(points)
			return f.db.FluxTables(interpolate(t, query(d.Name, name, Flux), Flux, d, s))
		}
		for _, m := range d.Marks {
			to.Marks = append(to.Marks, ask(m.Query, 600))
		}
		for _, p := range d.Panels {
			var answers []string
			for _, name := range p.Queries {
				answers = append(answers, ask(name, cmp.Or(p.most, 600)))
			}
			to.Panels = append(to.Panels, answers)
		}
		content, err := json.Marshal(to)
		if err != nil {
			t.Fatal(err)
		}
		// A page that is opened as a file may read scripts only.
		if err := os.WriteFile(filepath.Join(dir, d.Name+".js"), fmt.Appendf(nil, "window.drawing = %s\n", content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

package dashboards

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// override contains the settings of a column of a table, as Grafana returns them.
type override struct {
	Matcher    struct{ Options any }
	Properties []struct {
		ID    string
		Value any
	}
}

// hasEmphasis checks that Grafana has the colors and links of the columns, and that a link to a dashboard
// leads to one.
func (g *grafana) hasEmphasis(t *testing.T, d Dashboard, p Panel, l Language, overrides []override) {
	t.Helper()
	for _, c := range p.columns {
		for _, want := range c.emphasis(l) {
			name := cmp.Or(c.label, c.name)
			i := slices.IndexFunc(overrides, func(o override) bool { return o.Matcher.Options == name })
			if i < 0 || !slices.ContainsFunc(overrides[i].Properties, func(p struct {
				ID    string
				Value any
			}) bool {
				return p.ID == want.Id && len(fmt.Sprint(p.Value)) > len("[]")
			}) {
				t.Errorf("%s: column %s of %s in %s has no %s", l, name, p.Title, d.Name, want.Id)
			}
			if want.Id != "links" {
				continue
			}
			for _, link := range want.Value.([]any) {
				url := link.(map[string]any)["url"].(string)
				uid, isDashboard := strings.CutPrefix(url, "/d/")
				if uid, _, _ = strings.Cut(uid, "?"); isDashboard {
					var there struct{ Dashboard struct{ Title string } }
					if err := g.read(t.Context(), "/api/dashboards/uid/"+uid, &there); err != nil || there.Dashboard.Title == "" {
						t.Errorf("the link %s leads to no dashboard: %v", url, err)
					}
				}
			}
		}
	}
}

var (
	fieldInLink    = regexp.MustCompile(`__data\.fields\["([^"]*)"\]`)
	variableInLink = regexp.MustCompile(`\$\{([a-z]+)(?::raw)?\}`)
)

// Links name columns of their table, and variables of the dashboard; runs lead to the lab page and to
// their results; and losses, validities and states of beds have colors.
func TestEmphasis(t *testing.T) {
	links, colored := map[string]bool{}, map[string]bool{}
	for _, d := range All() {
		variables := []string{"datasource", PageVariable}
		for _, v := range d.Variables {
			variables = append(variables, v.Name)
		}
		for _, p := range d.Panels {
			if len(p.words) > 0 {
				colored[p.x] = true
			}
			for _, c := range p.columns {
				colored[c.name] = colored[c.name] || len(c.levels)+len(c.words) > 0
				for _, link := range c.links {
					links[d.Name+": "+link.title] = true
					for _, m := range fieldInLink.FindAllStringSubmatch(link.url, -1) {
						if !slices.ContainsFunc(p.columns, func(c column) bool { return cmp.Or(c.label, c.name) == m[1] }) {
							t.Errorf("%s: the link %q names the column %q, which the table does not have", p.Title, link.title, m[1])
						}
					}
					for _, m := range variableInLink.FindAllStringSubmatch(link.url, -1) {
						if !slices.Contains(variables, m[1]) {
							t.Errorf("%s: the link %q names the variable %q, which the dashboard does not have", p.Title, link.title, m[1])
						}
					}
				}
				if !slices.IsSortedFunc(c.levels, func(a, b level) int { return cmp.Compare(a.from, b.from) }) {
					t.Errorf("%s: the levels of %s are not in order", p.Title, c.name)
				}
			}
		}
	}
	for _, want := range []string{"live: Report", "live: Results of the run", "results: Benchmark on the lab page", "trend: Results of the run", "lab: Report"} {
		if !links[want] {
			t.Errorf("there is no link %q", want)
		}
	}
	for _, want := range []string{"lost", "loss", "passed", "validity", "verdict", "shift", "calibration_age_ns", "ready", "quarantined"} {
		if !colored[want] {
			t.Errorf("%s has no color", want)
		}
	}
}

// The first level begins at minus infinity, which is none in JSON.
func TestLevels(t *testing.T) {
	for name, c := range map[string]struct {
		levels []level
		want   string
	}{
		"values above 0": {lossLevels, "[map[color:text value:<nil>] map[color:red value:1e-09]]"},
		"a change":       {changeLevels, "[map[color:red value:<nil>] map[color:text value:-1] map[color:green value:1]]"},
	} {
		set := column{levels: c.levels}.emphasis(Flux)
		if got := fmt.Sprint(set[0].Value.(map[string]any)["steps"]); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

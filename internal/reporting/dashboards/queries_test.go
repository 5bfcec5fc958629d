package dashboards

import (
	"fmt"
	"slices"
	"testing"

	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// Every query of every panel, annotation and variable has an answer in both languages, from
// a real InfluxDB; what panels show is what was archived.
func TestQueries(t *testing.T) {
	t.Parallel()
	f := fill(t)
	checked := map[string]int{}
	for _, l := range Languages() {
		spoiled(t, f, l)
		for _, d := range All() {
			s := f.settingsOf(d.Name)
			for _, v := range d.Variables {
				if rows := f.ask(t, d, query("variables", v.Name, l), l, s); len(rows) == 0 {
					t.Errorf("%s: the variable %s of %s has no values", l, v.Name, d.Name)
				}
			}
			for _, m := range d.Marks {
				if rows := f.ask(t, d, query(d.Name, m.Query, l), l, s); len(rows) == 0 {
					t.Errorf("%s: no annotations %s in %s", l, m.Title, d.Name)
				} else {
					checkColumns(t, m, l, rows)
				}
			}
			for _, p := range d.Panels {
				for _, name := range p.Queries {
					rows := f.ask(t, d, query(d.Name, name, l), l, s)
					if len(rows) == 0 {
						t.Errorf("%s: the query %s of %s has no answer", l, name, d.Name)
						continue
					}
					checkNames(t, p, l, rows)
					if check := checks[d.Name+"/"+name]; check != nil {
						checked[d.Name]++
						t.Run(fmt.Sprintf("%s %s/%s", l, d.Name, name), func(t *testing.T) { check(t, f, rows) })
					}
				}
			}
		}
	}
	for _, d := range All() {
		if checked[d.Name] < 4 {
			t.Errorf("%d panels of %s were compared with what was archived", checked[d.Name], d.Name)
		}
	}
	t.Run("Grafana", f.throughGrafana)
}

// spoiled keeps rows that are not Valid, or not of the validity that is asked for, away.
func spoiled(t *testing.T, f *filled, l Language) {
	t.Helper()
	s := f.settingsOf("results")
	s.variables["run"] = []string{f.runs[nights+1].uid}
	for validity, want := range map[string]string{usual: "64", string(useless): "512"} {
		s.variables["validity"] = []string{validity}
		rows := f.ask(t, results(), query("results", "throughput", l), l, s)
		if len(rows) != 1 || rows[0]["frame_size"] != want {
			t.Errorf("%s: %s rows of a run with both: %v", l, validity, rows)
		}
	}
}

// checkColumns finds what the annotations are made of.
func checkColumns(t *testing.T, m Mark, l Language, rows []testserver.Row) {
	t.Helper()
	columns := []string{"_time", "title", "text", "tags"}
	if l == InfluxQL {
		columns = []string{"time", m.title, m.text, m.tags}
	}
	for _, c := range columns {
		if fmt.Sprint(rows[0][c]) == "" || rows[0][c] == nil {
			t.Errorf("%s: annotations %s have no column %s: %v", l, m.Title, c, rows[0])
		}
	}
}

// checkNames finds what Grafana would show under a name that is not for a reader: columns of
// tables that the panel does not name, and series without the labels of their name.
func checkNames(t *testing.T, p Panel, l Language, rows []testserver.Row) {
	t.Helper()
	for _, row := range rows {
		if _, series := row["_value"]; !series && len(p.legend) > 0 && l == Flux {
			t.Errorf("%s: %s has no _value, so that the columns of its legend are no labels: %v", l, p.Title, row)
			return
		}
		for name := range row {
			hidden := name == "" || name == "result" || name == "table" || slices.Contains(times, name)
			named := slices.ContainsFunc(p.columns, func(c column) bool { return c.name == name })
			if p.kind == grid && len(p.summary) == 0 && !hidden && !named {
				t.Errorf("%s: %s has the column %s, which has no name: %v", l, p.Title, name, row)
				return
			}
		}
	}
}

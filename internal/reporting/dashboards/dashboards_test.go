package dashboards

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	sdk "github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

var update = flag.Bool("update", false, "write the dashboards of the chart")

// inChart is the directory of the dashboards in the chart.
const inChart = "../../../charts/nodrop/files/dashboards"

func TestMain(m *testing.M) {
	plugins.RegisterDefaultPlugins()
	cog.NewRuntime().RegisterDataqueryVariant(TargetVariant())
	os.Exit(m.Run())
}

// The chart has what the code says.
func TestDashboardsOfTheChart(t *testing.T) {
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(inChart, name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	there, err := filepath.Glob(filepath.Join(inChart, "*"))
	if err != nil || len(there) != len(files) {
		t.Errorf("%d files in the chart, and %d dashboards: %v", len(there), len(files), err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(inChart, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not up to date: go test ./internal/reporting/dashboards -update (%v)", name, err)
		}
		// A ConfigMap holds 1 MiB.
		if len(got) > 1<<20 {
			t.Errorf("%s has %d bytes", name, len(got))
		}
	}
}

// Grafana's schema knows every field, also those of panels and queries.
func TestDashboardsFollowTheSchema(t *testing.T) {
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		var d sdk.Dashboard
		if err := d.UnmarshalJSONStrict(text); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := d.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, p := range d.Panels {
			if _, is := p.Panel.Targets[0].(Target); !is {
				t.Errorf("%s: panel %s has the query %T", name, *p.Panel.Title, p.Panel.Targets[0])
			}
		}
		for _, wrong := range []string{`"refId": `, `"xField": `, `"iconColor": `} {
			changed := bytes.ReplaceAll(text, []byte(wrong), []byte(`"noSuchField": 1, `+wrong))
			if bytes.Equal(changed, text) {
				continue
			}
			var d sdk.Dashboard
			if err := d.UnmarshalJSONStrict(changed); err == nil {
				t.Errorf("%s is read with a field that does not exist next to %s", name, wrong)
			}
		}
	}
}

// Every file of a query is used, in both languages.
func TestEveryQueryIsUsed(t *testing.T) {
	used := map[string]bool{}
	for _, d := range All() {
		for _, v := range d.Variables {
			used["variables/"+v.Name] = true
		}
		for _, m := range d.Marks {
			used[d.Name+"/"+m.Query] = true
		}
		for _, p := range d.Panels {
			for _, q := range p.Queries {
				used[d.Name+"/"+q] = true
			}
		}
	}
	files := map[string][]string{}
	err := fs.WalkDir(queries, "queries", func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			name, language, _ := strings.Cut(strings.TrimPrefix(path, "queries/"), ".")
			files[name] = append(files[name], language)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, languages := range files {
		if !used[name] || !slices.Equal(languages, []string{"flux", "influxql"}) {
			t.Errorf("query %s, used %t, is there in %v", name, used[name], languages)
		}
	}
}

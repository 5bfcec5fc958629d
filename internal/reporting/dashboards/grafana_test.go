package dashboards

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// grafana is the real backend of Grafana 6.1.6 with the dashboards and data sources that
// were provisioned.
type grafana struct {
	t   testing.TB
	url string
}

// patience bounds the wait for its start, and for what it provisions.
const patience = 60 * time.Second

// startGrafana runs it until the test ends, with a data source for each language. It skips
// the test where the server was not built.
func startGrafana(t *testing.T, db *testserver.Influx) *grafana {
	t.Helper()
	address := testserver.FreeAddress(t)
	server := testserver.NewGrafana(t, address)
	host, port, _ := strings.Cut(address, ":")
	dir := t.TempDir()
	files := map[string]string{
		"grafana.ini": fmt.Sprintf(`[paths]
data = %[1]s/data
logs = %[1]s/logs
plugins = %[1]s/plugins
provisioning = %[1]s/provisioning
[server]
http_addr = %[2]s
http_port = %[3]s
[analytics]
reporting_enabled = false
check_for_updates = false
[auth.anonymous]
enabled = true
org_role = Admin
[log]
mode = console
`, dir, host, port),
		"provisioning/notifiers/none.yaml": "apiVersion: 1\n",
		"provisioning/datasources/influxdb.yaml": fmt.Sprintf(`apiVersion: 1
datasources:
- {name: influxql, type: influxdb, access: proxy, url: %[1]q, database: %[2]q, user: %[3]q, password: %[4]q}
- {name: flux, type: influxdb, access: proxy, url: %[1]q, jsonData: {version: Flux, httpHeaderName1: Authorization}, secureJsonData: {httpHeaderValue1: %[5]q}}
`, db.URL, testserver.InfluxDatabase, testserver.InfluxUser, testserver.InfluxPassword, "Token "+testserver.InfluxUser+":"+testserver.InfluxPassword),
	}
	// Each language has a folder: titles are unique in one.
	providers := "apiVersion: 1\nproviders:\n"
	made, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range Languages() {
		providers += fmt.Sprintf("- {name: %[1]s, type: file, folder: NoDrop %[1]s, options: {path: %[2]s/dashboards/%[1]s}}\n", l, dir)
		for name, text := range made {
			if strings.HasSuffix(name, string(l)+".json") {
				files[fmt.Sprintf("dashboards/%s/%s", l, name)] = string(text)
			}
		}
	}
	files["provisioning/dashboards/nodrop.yaml"] = providers
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("Grafana said:\n%s", server.Output())
		}
	})
	server.Run(t, nil, "-config", filepath.Join(dir, "grafana.ini"))
	g := &grafana{t: t, url: server.URL}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		var found []struct{ UID, Type string }
		if g.read(ctx, "/api/search?type=dash-db", &found) == nil && len(found) == len(made) {
			return g
		}
		select {
		case <-ctx.Done():
			t.Fatalf("Grafana has %d of %d dashboards", len(found), len(made))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// read decodes what a path of the API answers.
func (g *grafana) read(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, g.url+path, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", path, answer.Status, content)
	}
	return json.Unmarshal(content, into)
}

// through is the database behind the data source of a language.
func (g *grafana) through(db *testserver.Influx, l Language) *testserver.Influx {
	g.t.Helper()
	var source struct{ ID int }
	if err := g.read(g.t.Context(), "/api/datasources/name/"+string(l), &source); err != nil {
		g.t.Fatal(err)
	}
	return db.Through(g.t, fmt.Sprintf("%s/api/datasources/proxy/%d", g.url, source.ID), patient{})
}

// patient is a transport that repeats what the proxy of Grafana 6.1 broke off: with a newer
// Go than it was written for, it closes the connection to the database when an answer comes
// before it has looked for the end of the request.
type patient struct{}

func (patient) RoundTrip(request *http.Request) (*http.Response, error) {
	const tries = 20
	for try := 1; ; try++ {
		again := request.Clone(request.Context())
		if request.GetBody != nil {
			body, err := request.GetBody()
			if err != nil {
				return nil, err
			}
			again.Body = body
		}
		answer, err := http.DefaultTransport.RoundTrip(again)
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil {
			return nil, err
		}
		answer.Body = io.NopCloser(bytes.NewReader(content))
		if try == tries || !bytes.Contains(content, []byte("Check the Grafana server logs")) {
			return answer, nil
		}
	}
}

// Grafana takes the dashboards, answers with them, and leads their queries to the database.
func (f *filled) throughGrafana(t *testing.T) {
	g := startGrafana(t, f.db)
	for _, l := range Languages() {
		behind := *f
		behind.db = g.through(f.db, l)
		for _, d := range All() {
			var answer struct {
				Meta      struct{ Provisioned bool }
				Dashboard struct {
					Title  string
					Links  []struct{ URL string }
					Panels []struct {
						Title       string
						FieldConfig struct{ Overrides []override }
						Targets     []struct{ Query string }
					}
					Templating struct {
						List []struct{ Name string }
					}
				}
			}
			if err := g.read(t.Context(), "/api/dashboards/uid/"+d.UID(l), &answer); err != nil {
				t.Error(err)
				continue
			}
			got := answer.Dashboard
			if !answer.Meta.Provisioned || got.Title != d.Title || len(got.Panels) != len(d.Panels) || len(got.Templating.List) != len(d.Variables)+2 {
				t.Errorf("%s of %s: Grafana has %+v", d.Name, l, answer)
				continue
			}
			for i, p := range d.Panels {
				g.hasEmphasis(t, d, p, l, got.Panels[i].FieldConfig.Overrides)
			}
			s := f.settingsOf(d.Name)
			for i, p := range d.Panels {
				for j, name := range p.Queries {
					// What is asked is what Grafana answered.
					rows := behind.ask(t, d, got.Panels[i].Targets[j].Query, l, s)
					direct := f.ask(t, d, query(d.Name, name, l), l, s)
					if len(rows) == 0 || !slices.EqualFunc(rows, direct, func(a, b testserver.Row) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
						t.Errorf("%s: %s/%s has %d rows through Grafana, and %d without it", l, d.Name, name, len(rows), len(direct))
					}
				}
			}
		}
	}
}

package testserver

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// InfluxVersion is a version of the server that hack/influxdb/build makes.
type InfluxVersion string

// The servers.
const (
	// Influx16 is Debian's InfluxDB 1.6: API v1.
	Influx16 InfluxVersion = "influxd-1.6"
	// Influx113 is InfluxDB 1.13: APIs v1 and v2, InfluxQL and Flux.
	Influx113 InfluxVersion = "influxd"
)

// Names in an Influx.
const (
	// InfluxDatabase is the database of the tests. It is a bucket of API v2, too, with the default retention
	// policy.
	InfluxDatabase = "lab"
	// InfluxUser may write and read, with InfluxPassword.
	InfluxUser     = "nodrop"
	InfluxPassword = "a-password-of-the-tests"
)

// Influx is a real server of InfluxDB with a database, which demands a password.
// Stop kills it, and Resume starts it with the points that it had.
type Influx struct {
	// URL of the server.
	URL string

	t testing.TB
	Process
	// client sends the requests.
	client http.Client
	// anonymous sends no password, which whatever is in between knows.
	anonymous bool
}

// Through is the same server, which is asked through a proxy that knows the password, by a
// transport that knows the proxy.
func (s *Influx) Through(t testing.TB, url string, transport http.RoundTripper) *Influx {
	return &Influx{URL: url, t: t, client: http.Client{Transport: transport}, anonymous: true}
}

// StartInflux runs a server until the test ends, by a command that runs commands, such as
// nice, if there is one. It skips the test where the server was not built.
func StartInflux(t testing.TB, version InfluxVersion, by ...string) *Influx {
	t.Helper()
	return StartInfluxAt(t, version, FreeAddress(t), by...)
}

// StartInfluxAt is StartInflux for a server at an address.
func StartInfluxAt(t testing.TB, version InfluxVersion, address string, by ...string) *Influx {
	t.Helper()
	binary, dir := Binary(t, string(version), "InfluxDB", "hack/influxdb/build"), t.TempDir()
	config := fmt.Sprintf(`reporting-disabled = true
bind-address = %q
[meta]
  dir = %q
[data]
  dir = %q
  wal-dir = %q
[http]
  bind-address = %q
  auth-enabled = true
  flux-enabled = true
  log-enabled = false
[monitor]
  store-enabled = false
`, FreeAddress(t), filepath.Join(dir, "meta"), filepath.Join(dir, "data"), filepath.Join(dir, "wal"), address)
	file := filepath.Join(dir, "influxdb.conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Influx{URL: "http://" + address, t: t}
	s.Process = Process{
		What: "InfluxDB server", Command: append(slices.Clone(by), binary, "run", "-config", file), Env: []string{"HOME=" + dir},
		Health: s.URL + "/ping", Status: http.StatusNoContent,
	}
	s.Start(t)
	s.InfluxQL(fmt.Sprintf("CREATE USER %s WITH PASSWORD '%s' WITH ALL PRIVILEGES", InfluxUser, InfluxPassword))
	s.InfluxQL("CREATE DATABASE " + InfluxDatabase)
	return s
}

// post returns the answer to a request.
func (s *Influx) post(path string, header map[string]string, body string) []byte {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	answer, err := s.client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode/100 != 2 {
		s.t.Fatalf("%s: %s: %s (%v)", path, answer.Status, content, err)
	}
	return content
}

// Row is a row of an answer by the names of its columns. Numbers are json.Number.
type Row map[string]any

// InfluxQL asks a query and returns the rows of all series, with their tags.
func (s *Influx) InfluxQL(query string) []Row {
	s.t.Helper()
	values := url.Values{"db": {InfluxDatabase}, "epoch": {"ns"}, "q": {query}}
	if !s.anonymous {
		values.Set("u", InfluxUser)
		values.Set("p", InfluxPassword)
	}
	content := s.post("/query?"+values.Encode(), nil, "")
	var answer struct {
		Results []struct {
			Error  string
			Series []struct {
				Tags    map[string]string
				Columns []string
				Values  [][]any
			}
		}
	}
	d := json.NewDecoder(bytes.NewReader(content))
	d.UseNumber()
	if err := d.Decode(&answer); err != nil {
		s.t.Fatalf("%s: %v in %s", query, err, content)
	}
	var rows []Row
	for _, result := range answer.Results {
		if result.Error != "" {
			s.t.Fatalf("%s: %s", query, result.Error)
		}
		for _, series := range result.Series {
			for _, values := range series.Values {
				row := Row{}
				for name, value := range series.Tags {
					row[name] = value
				}
				for i, column := range series.Columns {
					if values[i] != nil {
						row[column] = values[i]
					}
				}
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// FluxTables asks a query and returns the answer as annotated CSV, as Grafana does.
func (s *Influx) FluxTables(query string) string {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "dialect": map[string]any{"annotations": []string{"datatype", "group", "default"}}})
	if err != nil {
		s.t.Fatal(err)
	}
	header := map[string]string{"Content-Type": "application/json", "Accept": "application/csv", "Authorization": "Token " + InfluxUser + ":" + InfluxPassword}
	return string(s.post("/api/v2/query", header, string(body)))
}

// Flux asks a query and returns the rows of all tables. All values are texts.
func (s *Influx) Flux(query string) []Row {
	s.t.Helper()
	// Grafana 6 compresses answers that are compressed.
	header := map[string]string{"Content-Type": "application/vnd.flux", "Accept": "application/csv", "Accept-Encoding": "identity"}
	if !s.anonymous {
		header["Authorization"] = "Token " + InfluxUser + ":" + InfluxPassword
	}
	content := s.post("/api/v2/query", header, query)
	var rows []Row
	// Tables with other columns follow after an empty line.
	for _, table := range strings.Split(strings.ReplaceAll(string(content), "\r\n", "\n"), "\n\n") {
		records, err := csv.NewReader(strings.NewReader(table)).ReadAll()
		if err != nil {
			s.t.Fatalf("%s: %v in %s", query, err, table)
		}
		for i, record := range records {
			if i == 0 {
				continue
			}
			row := Row{}
			for j, value := range record {
				if value != "" {
					row[records[0][j]] = value
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}

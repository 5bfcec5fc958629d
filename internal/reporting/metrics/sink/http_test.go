package sink_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/reporting/metrics/metricstest"
	"nodrop.dev/nodrop/internal/reporting/metrics/sink"
)

const token = "a-token-that-nobody-may-see"

var line = [][]byte{[]byte("m,bed=b f=1i 1\n")}

func open(t *testing.T, c sink.Config) *sink.HTTP {
	t.Helper()
	h, err := sink.NewHTTP(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestRequestsOfTheWriteAPIs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config              sink.Config
		path, authorization string
	}{
		"v1":        {sink.Config{API: sink.V1, Database: "lab 1", RetentionPolicy: "years", Token: "nodrop:" + token}, "/write?db=lab+1&precision=ns&rp=years", "Basic bm9kcm9wOmEtdG9rZW4tdGhhdC1ub2JvZHktbWF5LXNlZQ=="},
		"v2":        {sink.Config{API: sink.V2, Org: "net", Bucket: "lab", Token: token}, "/api/v2/write?bucket=lab&org=net&precision=ns", "Token " + token},
		"v3":        {sink.Config{API: sink.V3, Database: "lab", Token: token}, "/api/v3/write_lp?accept_partial=true&db=lab&precision=nanosecond", "Bearer " + token},
		"no token":  {sink.Config{API: sink.V1, Database: "lab"}, "/write?db=lab&precision=ns", ""},
		"with path": {sink.Config{URL: "/influx/", API: sink.V1, Database: "lab"}, "/influx/write?db=lab&precision=ns", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := metricstest.NewFake(t)
			c.config.URL = fake.URL + c.config.URL
			if err := open(t, c.config).Write(t.Context(), line); err != nil {
				t.Fatal(err)
			}
			r := fake.Requests()
			if len(r) != 1 || r[0].Path != c.path || r[0].Authorization != c.authorization || len(r[0].Lines) != 1 || r[0].Lines[0] != string(line[0]) {
				t.Errorf("%+v, want %s with %q", r, c.path, c.authorization)
			}
		})
	}
}

func TestTLSIsChecked(t *testing.T) {
	t.Parallel()
	fake, ca := metricstest.NewTLSFake(t)
	c := sink.Config{URL: fake.URL, API: sink.V2, Bucket: "lab", CAFile: ca}
	if err := open(t, c).Write(t.Context(), line); err != nil {
		t.Error(err)
	}
	c.CAFile = ""
	if err := open(t, c).Write(t.Context(), line); err == nil {
		t.Error("a server whose authority nobody knows is trusted")
	}
}

// A token that is replaced in its file is used with the next request.
func TestTokenIsReadAgain(t *testing.T) {
	t.Parallel()
	fake := metricstest.NewFake(t)
	file := filepath.Join(t.TempDir(), "token")
	h := open(t, sink.Config{URL: fake.URL, API: sink.V2, Bucket: "lab", TokenFile: file})
	if err := h.Write(t.Context(), line); err == nil {
		t.Error("it writes without its token")
	}
	for _, token := range []string{"one", "two"} {
		if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := h.Write(t.Context(), line); err != nil {
			t.Fatal(err)
		}
	}
	if r := fake.Requests(); len(r) != 2 || r[0].Authorization != "Token one" || r[1].Authorization != "Token two" {
		t.Errorf("%+v", r)
	}
}

// What a server answers is either about the points, which are then refused, or asks for a
// pause, or is a failure after which the same is tried again.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const refused, later, again = "refused", "later", "again"
	for name, c := range map[string]struct {
		status int
		header map[string]string
		body   string
		want   string
		after  time.Duration
	}{
		"v1, one point of a batch":   {400, nil, `{"error":"partial write: field type conflict: input field \"f\" on measurement \"m\" is type float, already exists as type integer dropped=1"}`, refused, 0},
		"v1, a line":                 {400, nil, `{"error":"unable to parse 'm f': invalid field format"}`, refused, 0},
		"v1, no database":            {404, nil, `{"error":"database not found: \"lab\""}`, again, 0},
		"v1, a parameter":            {400, nil, `{"error":"database is required"}`, again, 0},
		"v2, a line":                 {400, nil, `{"code":"invalid","message":"unable to parse 'm f'"}`, refused, 0},
		"v2, beyond retention":       {422, nil, `{"code":"unprocessable entity","message":"failure writing points to database: partial write: points beyond retention policy dropped=1"}`, refused, 0},
		"v3, one line":               {400, nil, `{"error":"partial write of line protocol occurred","data":[{"original_line":"m","line_number":1,"error_message":"no fields"}]}`, refused, 0},
		"too large":                  {413, nil, ``, refused, 0},
		"too many, in seconds":       {429, map[string]string{"Retry-After": "7"}, `{"code":"too many requests","message":"slow down"}`, later, 7 * time.Second},
		"away":                       {503, nil, `upstream`, later, 0},
		"away for long":              {503, map[string]string{"Retry-After": "999999"}, `upstream`, later, 5 * time.Minute},
		"a wrong token":              {401, nil, `{"code":"unauthorized","message":"token ` + token + ` is not known"}`, again, 0},
		"an error of a proxy":        {400, nil, `<html>bad request</html>`, again, 0},
		"an error":                   {500, nil, ``, again, 0},
		"a redirection is no answer": {307, map[string]string{"Location": "http://127.0.0.1:1/"}, ``, again, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := metricstest.NewFake(t)
			fake.Set(func(metricstest.Request) (int, map[string]string, string, []int) {
				return c.status, c.header, c.body, nil
			})
			err := open(t, sink.Config{URL: fake.URL, API: sink.V2, Bucket: "lab", Token: token}).Write(t.Context(), line)
			var no *sink.RefusedError
			var pause *sink.LaterError
			got := again
			switch {
			case err == nil:
				t.Fatal("it succeeds")
			case errors.As(err, &no):
				got = refused
			case errors.As(err, &pause):
				got = later
				if pause.After != c.after {
					t.Errorf("a pause of %s, want %s", pause.After, c.after)
				}
			}
			if got != c.want {
				t.Errorf("%s: %v, want %s", got, err, c.want)
			}
			if strings.Contains(err.Error(), token) {
				t.Errorf("the error holds the token: %v", err)
			}
		})
	}
}

func TestConfigurationsThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config sink.Config
		want   string
	}{
		"a password in the URL": {sink.Config{URL: "http://nodrop:" + token + "@influxdb:8086", API: sink.V1, Database: "lab"}, "holds a password"},
		"a URL that is none":    {sink.Config{URL: "http://nodrop:" + token + "@influxdb:80%zz86", API: sink.V1, Database: "lab"}, "URL"},
		"a token as parameter":  {sink.Config{URL: "http://influxdb:8086/write?p=" + token, API: sink.V1, Database: "lab"}, "parameters"},
		"no scheme":             {sink.Config{URL: "influxdb:8086", API: sink.V1, Database: "lab"}, "https://"},
		"no API":                {sink.Config{URL: "http://influxdb:8086", Database: "lab"}, "v1, v2 and v3"},
		"v1 without database":   {sink.Config{URL: "http://influxdb:8086", API: sink.V1}, "needs a database"},
		"v1 with a bucket":      {sink.Config{URL: "http://influxdb:8086", API: sink.V1, Database: "lab", Bucket: "lab"}, "no bucket"},
		"v2 without bucket":     {sink.Config{URL: "http://influxdb:8086", API: sink.V2}, "needs a bucket"},
		"v2 with a policy":      {sink.Config{URL: "http://influxdb:8086", API: sink.V2, Bucket: "lab", RetentionPolicy: "x"}, "no retention policy"},
		"authorities of none":   {sink.Config{URL: "http://influxdb:8086", API: sink.V2, Bucket: "lab", CAFile: "/dev/null"}, "no certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := sink.NewHTTP(c.config, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), token) {
				t.Errorf("%v, want %q and no token", err, c.want)
			}
		})
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	t.Parallel()
	c := sink.Config{URL: "http://influxdb:8086", API: sink.V2, Bucket: "lab", Token: token}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(text), fmt.Sprint(c), fmt.Sprintf("%+v %#v %s %q", c, c, c, c), open(t, c).String()} {
		if strings.Contains(text, token) {
			t.Errorf("the token is in %s", text)
		}
	}
	if bytes.Contains(text, []byte(token)) {
		t.Errorf("the token is in %s", text)
	}
}

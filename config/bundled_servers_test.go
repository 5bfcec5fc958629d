package config

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"nodrop.dev/nodrop/internal/reporting/metrics/sink"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// environment of a pod, with the keys of Secrets that the chart rendered.
func environment(t *testing.T, objects []object, deployment string) []string {
	t.Helper()
	var all []string
	for _, e := range as[appsv1.Deployment](t, objects, "Deployment", deployment).Spec.Template.Spec.Containers[0].Env {
		if e.ValueFrom != nil {
			e.Value = secret(t, objects, e.ValueFrom.SecretKeyRef.Name, e.ValueFrom.SecretKeyRef.Key)
		}
		all = append(all, e.Name+"="+e.Value)
	}
	return all
}

func secret(t *testing.T, objects []object, name, key string) string {
	t.Helper()
	encoded, _, _ := unstructured.NestedString(find(t, objects, "Secret", name).Object, "data", key)
	value, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(value) == 0 {
		t.Fatalf("%s of %s: %q, %v", key, name, value, err)
	}
	return string(value)
}

func value(env []string, name string) string {
	for _, e := range env {
		if v, is := strings.CutPrefix(e, name+"="); is {
			return v
		}
	}
	return ""
}

// asks sends a request with a header, and returns the status and what was answered.
func asks(t *testing.T, method, address, authorization, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", authorization)
	if strings.HasPrefix(body, "from(") {
		request.Header.Set("Content-Type", "application/vnd.flux")
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(content)
}

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// startInfluxDB runs a real InfluxDB with the environment of the chart's pod, and makes
// database and users of it as the image is documented to do when its volume is empty.
func startInfluxDB(t *testing.T, objects []object) string {
	t.Helper()
	env, dir, address := environment(t, objects, "nodrop-influxdb"), t.TempDir(), testserver.FreeAddress(t)
	server := testserver.Process{
		What: "InfluxDB server", Command: []string{testserver.Binary(t, "influxd", "InfluxDB", "hack/influxdb/build"), "run"},
		Env: append(env, "HOME="+dir, "INFLUXDB_META_DIR="+dir+"/meta", "INFLUXDB_DATA_DIR="+dir+"/data", "INFLUXDB_DATA_WAL_DIR="+dir+"/wal",
			"INFLUXDB_HTTP_BIND_ADDRESS="+address, "INFLUXDB_BIND_ADDRESS="+testserver.FreeAddress(t)),
		Health: "http://" + address + "/ping", Status: http.StatusNoContent,
	}
	server.Start(t)
	admin, database := value(env, "INFLUXDB_ADMIN_USER"), value(env, "INFLUXDB_DB")
	statements := []string{fmt.Sprintf(`CREATE USER "%s" WITH PASSWORD '%s' WITH ALL PRIVILEGES`, admin, value(env, "INFLUXDB_ADMIN_PASSWORD")), "CREATE DATABASE " + database}
	for _, right := range []string{"WRITE", "READ"} {
		user := value(env, "INFLUXDB_"+right+"_USER")
		statements = append(statements, fmt.Sprintf(`CREATE USER "%s" WITH PASSWORD '%s'`, user, value(env, "INFLUXDB_"+right+"_USER_PASSWORD")), fmt.Sprintf(`GRANT %s ON "%s" TO "%s"`, right, database, user))
	}
	for _, s := range statements {
		if status, said := asks(t, http.MethodPost, "http://"+address+"/query?q="+url.QueryEscape(s), basic(admin, value(env, "INFLUXDB_ADMIN_PASSWORD")), ""); status != http.StatusOK || strings.Contains(said, "error") {
			t.Fatalf("%s: %d %s", s, status, said)
		}
	}
	return "http://" + address
}

// TestBundleOnRealServers: what the recorder writes with the arguments and the token that the
// chart gives it, Grafana reads with the data source that the chart provisions, and neither can
// do what the other can. The servers are InfluxDB 1.13 and the backend of Grafana 6.1.6,
// which are not those of the images.
func TestBundleOnRealServers(t *testing.T) {
	objects, err := chart(t, append([]string{"--set", "grafana.dashboards.language=influxql"}, bundled...)...)
	if err != nil {
		t.Fatal(err)
	}
	database := startInfluxDB(t, objects)
	config := sink.Config{URL: database, TokenFile: filepath.Join(t.TempDir(), "token")}
	for _, a := range as[appsv1.Deployment](t, objects, "Deployment", "nodrop-recorder").Spec.Template.Spec.Containers[0].Args {
		switch name, value, _ := strings.Cut(a, "="); name {
		case "--api":
			config.API = sink.API(value)
		case "--bucket":
			config.Bucket = value
		case "--token-file":
			token := secret(t, objects, "nodrop-influxdb", filepath.Base(value))
			if err := os.WriteFile(config.TokenFile, []byte(token), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	to, err := sink.NewHTTP(config, nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UnixNano()
	if err := to.Write(t.Context(), [][]byte{fmt.Appendf(nil, "nodrop_run,bed=one benchmark=\"nightly\" %d\n", now)}); err != nil {
		t.Fatal(err)
	}
	const influxql, flux = `SELECT benchmark FROM nodrop_run`, `from(bucket: "nodrop/autogen") |> range(start: -1h)`
	ask := func(authorization string) (int, string) {
		return asks(t, http.MethodPost, database+"/query?db=nodrop&q="+url.QueryEscape(influxql), authorization, "")
	}
	password := secret(t, objects, "nodrop-influxdb", "grafana-password")
	if status, said := asks(t, http.MethodPost, database+"/api/v2/query", "Token grafana:"+password, flux); status != http.StatusOK || !strings.Contains(said, "nightly") {
		t.Errorf("Grafana's user asks in Flux: %d %s", status, said)
	}
	if status, _ := asks(t, http.MethodPost, database+"/api/v2/write?bucket=nodrop/autogen", "Token grafana:"+password, "nodrop_run,bed=two benchmark=\"x\""); status != http.StatusForbidden {
		t.Errorf("Grafana's user writes: %d", status)
	}
	if status, said := ask(basic("recorder", secret(t, objects, "nodrop-influxdb", "recorder-password"))); strings.Contains(said, "nightly") {
		t.Errorf("the recorder's user reads: %d %s", status, said)
	}
	if status, said := ask(""); status != http.StatusUnauthorized {
		t.Errorf("everyone reads: %d %s", status, said)
	}
	grafana, admin := startGrafana(t, objects, database)
	var source struct{ ID int }
	_, said := asks(t, http.MethodGet, grafana+"/api/datasources/name/NoDrop", admin, "")
	if err := json.Unmarshal([]byte(said), &source); err != nil || source.ID == 0 {
		t.Fatalf("Grafana has no data source: %s (%v)", said, err)
	}
	if strings.Contains(said, password) {
		t.Error("Grafana shows the password")
	}
	if status, said := asks(t, http.MethodGet, fmt.Sprintf("%s/api/datasources/proxy/%d/query?db=nodrop&q=%s", grafana, source.ID, url.QueryEscape(influxql)), admin, ""); status != http.StatusOK || !strings.Contains(said, "nightly") {
		t.Errorf("the query through Grafana: %d %s", status, said)
	}
	if status, said := asks(t, http.MethodGet, grafana+"/api/dashboards/home", "", ""); status != http.StatusUnauthorized {
		t.Errorf("Grafana without a password: %d %s", status, said)
	}
}

// TestFluxOfTheBundle: Grafana reads the data source for Flux, whose token it keeps. Grafana
// 6.1.6 asks nothing in Flux by itself.
func TestFluxOfTheBundle(t *testing.T) {
	objects, err := chart(t, bundled...)
	if err != nil {
		t.Fatal(err)
	}
	grafana, admin := startGrafana(t, objects, "http://127.0.0.1:1")
	var source struct {
		JSONData         struct{ Version, Organization, DefaultBucket string }
		SecureJSONFields map[string]bool
	}
	_, said := asks(t, http.MethodGet, grafana+"/api/datasources/name/NoDrop", admin, "")
	if err := json.Unmarshal([]byte(said), &source); err != nil || source.JSONData.Version != "Flux" || source.JSONData.Organization == "" || source.JSONData.DefaultBucket != "nodrop/autogen" || !source.SecureJSONFields["token"] {
		t.Errorf("the data source is %s (%v)", said, err)
	}
}

// startGrafana runs the real backend with environment and files of the chart's pod, whose
// database is at a URL, until it has the dashboards.
func startGrafana(t *testing.T, objects []object, database string) (address, authorization string) {
	t.Helper()
	dir, listen := t.TempDir(), testserver.FreeAddress(t)
	server := testserver.NewGrafana(t, listen)
	host, port, _ := strings.Cut(listen, ":")
	env := environment(t, objects, "nodrop-grafana")
	// Grafana 6.1 does not put its environment into provisioning files, as later ones do.
	moved := strings.NewReplacer("/etc/nodrop/", dir+"/", "http://nodrop-influxdb.nodrop-system.svc:8086", database,
		"$NODROP_INFLUXDB_PASSWORD", value(env, "NODROP_INFLUXDB_PASSWORD"))
	pod := as[appsv1.Deployment](t, objects, "Deployment", "nodrop-grafana").Spec.Template.Spec
	files := 0
	for _, v := range pod.Volumes {
		var maps []string
		switch {
		case v.ConfigMap != nil:
			maps = []string{v.ConfigMap.Name}
		case v.Projected != nil:
			for _, s := range v.Projected.Sources {
				maps = append(maps, s.ConfigMap.Name)
			}
		}
		for _, m := range pod.Containers[0].VolumeMounts {
			if m.Name != v.Name {
				continue
			}
			for _, name := range maps {
				data, _, _ := unstructured.NestedStringMap(find(t, objects, "ConfigMap", name).Object, "data")
				for file, text := range data {
					path := moved.Replace(m.MountPath + "/" + file)
					if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, []byte(moved.Replace(text)), 0o600); err != nil {
						t.Fatal(err)
					}
					files++
				}
			}
		}
	}
	if files < 3 {
		t.Fatalf("the pod has %d files", files)
	}
	// Grafana 6 wants all folders of the provisioning.
	if err := os.MkdirAll(dir+"/provisioning/notifiers", 0o755); err != nil {
		t.Fatal(err)
	}
	for i, e := range env {
		env[i] = moved.Replace(e)
	}
	env = append(env, "GF_PATHS_DATA="+dir+"/data", "GF_PATHS_LOGS="+dir+"/logs", "GF_PATHS_PLUGINS="+dir+"/plugins", "GF_SERVER_HTTP_ADDR="+host, "GF_SERVER_HTTP_PORT="+port)
	server.Run(t, env)
	authorization = basic(value(env, "GF_SECURITY_ADMIN_USER"), value(env, "GF_SECURITY_ADMIN_PASSWORD"))
	want := files - 2 // less the data sources and the provider
	// Grafana looks at the files when it starts and each minute. It drops a dashboard that it cannot
	// store at once, since others use its database.
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(250 * time.Millisecond) {
		var found []struct{ UID, FolderTitle string }
		_, said := asks(t, http.MethodGet, server.URL+"/api/search?type=dash-db", authorization, "")
		if json.Unmarshal([]byte(said), &found) == nil && len(found) == want && found[0].FolderTitle == "NoDrop" {
			return server.URL, authorization
		}
		if time.Now().After(deadline) {
			t.Fatalf("Grafana has not all %d dashboards: %s", want, said)
		}
	}
}

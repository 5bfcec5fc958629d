package config

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// dashboards are the ConfigMaps with dashboards, and the GrafanaDashboards.
func dashboards(t *testing.T, args ...string) (maps, resources []object) {
	t.Helper()
	objects, err := chart(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		switch {
		case o.GetKind() == "GrafanaDashboard":
			resources = append(resources, o)
		case o.GetKind() == "ConfigMap" && strings.HasPrefix(o.GetName(), "nodrop-dashboard-"):
			maps = append(maps, o)
		}
	}
	return maps, resources
}

func TestDashboardsUnlessAsked(t *testing.T) {
	if maps, resources := dashboards(t); len(maps)+len(resources) != 0 {
		t.Errorf("%d ConfigMaps and %d GrafanaDashboards", len(maps), len(resources))
	}
}

// Each dashboard of the language is in a ConfigMap as it is in the chart's files, where a
// sidecar finds it, and with the operator in a resource that refers to it.
func TestDashboards(t *testing.T) {
	for _, language := range []string{"flux", "influxql"} {
		maps, resources := dashboards(t, "--set", "grafana.dashboards.enabled=true,grafana.dashboards.operator.enabled=true,grafana.dashboards.namespace=monitoring,grafana.dashboards.language="+language)
		files, err := filepath.Glob("../charts/nodrop/files/dashboards/*-" + language + ".json")
		if err != nil || len(files) == 0 || len(maps) != len(files) || len(resources) != len(files) {
			t.Fatalf("%s: %d ConfigMaps and %d resources of %d files: %v", language, len(maps), len(resources), len(files), err)
		}
		keys := map[string]string{}
		for _, m := range maps {
			if m.GetNamespace() != "monitoring" || m.GetLabels()["grafana_dashboard"] != "1" || m.GetAnnotations()["grafana_folder"] != "NoDrop" {
				t.Errorf("%s: %s %v %v", m.GetName(), m.GetNamespace(), m.GetLabels(), m.GetAnnotations())
			}
			data, _, _ := unstructured.NestedStringMap(m.Object, "data")
			for key, text := range data {
				if text != read(t, filepath.Join("../charts/nodrop/files/dashboards", key)) || !json.Valid([]byte(text)) {
					t.Errorf("%s is not what the file has", key)
				}
				keys[m.GetName()] = key
			}
		}
		for _, r := range resources {
			of, _, _ := unstructured.NestedStringMap(r.Object, "spec", "configMapRef")
			if of["key"] == "" || keys[of["name"]] != of["key"] || r.GetNamespace() != "monitoring" {
				t.Errorf("%s refers to %v, and there is %v", r.GetName(), of, keys)
			}
		}
	}
}

func TestDashboardsOfNoLanguage(t *testing.T) {
	if _, err := chart(t, "--set", "grafana.dashboards.enabled=true,grafana.dashboards.language=sql"); err == nil || !strings.Contains(err.Error(), "language") {
		t.Errorf("the language sql is taken: %v", err)
	}
}

// The addresses of the lab page and of Grafana come from values: the dashboards link to the one, and the
// operator links to the other.
func TestLinksBetweenPageAndDashboards(t *testing.T) {
	const page, grafana = "https://nodrop.example.com", "https://grafana.example.com"
	maps, _ := dashboards(t, "--set", "grafana.dashboards.enabled=true,grafana.dashboards.labPageURL="+page+"/")
	for _, m := range maps {
		data, _, _ := unstructured.NestedStringMap(m.Object, "data")
		for key, text := range data {
			if strings.Contains(text, "lab-page.invalid") || !strings.Contains(text, `"query": "`+page+`"`) || !json.Valid([]byte(text)) {
				t.Errorf("%s does not have the address of the lab page", key)
			}
		}
	}
	for language, want := range map[string]string{"flux": grafana + "/d/nodrop-results-flux", "influxql": grafana + "/d/nodrop-results-influxql"} {
		objects, err := chart(t, "--set", "labPage.enabled=true,labPage.grafanaURL="+grafana+"/,grafana.dashboards.language="+language)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(objects)
		if err != nil || !strings.Contains(string(text), `"--grafana-results-url=`+want+`"`) {
			t.Errorf("%v: the operator does not link to %s", err, want)
		}
	}
	for _, value := range []string{"grafana.dashboards.labPageURL=nodrop", "labPage.grafanaURL=javascript:0"} {
		if _, err := chart(t, "--set", value); err == nil || !strings.Contains(err.Error(), "URL") {
			t.Errorf("%s is taken: %v", value, err)
		}
	}
}

package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// Pages, the Dockerfile and the chart name one version: the next release, or the one that the commit is.
func TestOneVersion(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	chart := read("charts/nodrop/Chart.yaml")
	version := regexp.MustCompile(`(?m)^version: (.+)$`).FindStringSubmatch(chart)
	if version == nil {
		t.Fatal("the chart has no version")
	}
	want := "v" + version[1]
	if app := regexp.MustCompile(`(?m)^appVersion: (.+)$`).FindStringSubmatch(chart); app == nil || app[1] != want {
		t.Errorf("charts/nodrop/Chart.yaml: appVersion is %q, and the version is %s", app, want)
	}
	named := regexp.MustCompile(`(?:VERSION=|REGISTRY/nodrop(?:-device)?:|image\.tag=|deviceImage\.tag=)(v[0-9][0-9a-z.-]*)`)
	for _, file := range []string{"docs/own-cluster.md", "Dockerfile"} {
		all := named.FindAllStringSubmatch(read(file), -1)
		if len(all) == 0 {
			t.Errorf("%s names no version", file)
		}
		for _, m := range all {
			if m[1] != want {
				t.Errorf("%s: %q, and the chart has the version %s", file, m[0], want)
			}
		}
	}
}

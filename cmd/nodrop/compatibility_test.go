//go:build !standalone

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/reporting/metrics"
	"nodrop.dev/nodrop/internal/reporting/opmetrics"
	"nodrop.dev/nodrop/internal/testkit/surface"
)

// released contains what the latest release promises. docs/releasing.md describes when it is written anew.
const released = "testdata/compatibility/v0.1.0.txt"

// What the previous release promises, this one keeps; docs/compatibility.md lists it. Additions are allowed.
func TestKeepsPromisesOfTheRelease(t *testing.T) {
	sendsNoFrames(t)
	s := currentSurface(t)
	if *updateGolden {
		if err := os.WriteFile(released, []byte(s.Text()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(released)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range s.Breaks(surface.Parse(string(text))) {
		t.Errorf("a break against %s: %s", released, problem)
	}
}

// Each of these, done to the real program, is a break.
func TestDetectsBreaks(t *testing.T) {
	sendsNoFrames(t)
	now := currentSurface(t)
	for name, without := range map[string]string{
		"a removed field of a resource": "field Benchmark.v1alpha1.spec.tests[].throughput is object",
		"a renamed field of results":    "document result.benchmark is Identity",
		"a dropped flag":                "command nodrop run --filename is stringArray",
		"a changed tag of a series":     "series nodrop_row tag test",
		"a changed label of a metric":   "metric nodrop_bed_ready label bed",
		"a changed exit code":           "exit code 7 is Inconclusive",
		"a removed resource":            "resource TestBed.v1alpha1 nodrop.dev/testbeds Cluster",
	} {
		t.Run(name, func(t *testing.T) {
			if _, has := now[without]; !has {
				t.Fatalf("the program does not promise %q", without)
			}
			changed := surface.Surface{}
			changed.Add(now)
			delete(changed, without)
			if breaks := changed.Breaks(now); len(breaks) != 1 || !strings.Contains(breaks[0], without) {
				t.Errorf("got %q", breaks)
			}
		})
	}
}

// currentSurface returns what the program promises now.
func currentSurface(t *testing.T) surface.Surface {
	t.Helper()
	s := surface.Surface{}
	add := func(of surface.Surface, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		s.Add(of)
	}
	resources, err := filepath.Glob("../../charts/nodrop/files/crds/nodrop.dev_*.yaml")
	if err != nil || len(resources) == 0 {
		t.Fatalf("no definitions of resources: %v", err)
	}
	for _, file := range resources {
		add(surface.Resource([]byte(read(t, file))))
	}
	for _, name := range []string{"result", "comparison", "history"} {
		add(surface.Document(name, []byte(read(t, "../../docs/"+name+"-schema.json"))))
	}
	add(surface.ExitCodes("../../internal/base/exit/exit.go"))
	s.Add(surface.Commands(newRootCommand("nodrop"), podsGroup))
	s.Add(surface.Series(metrics.Schema()))
	s.Add(surface.Metrics(opmetrics.Definitions()))
	return s
}

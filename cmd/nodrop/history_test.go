//go:build !standalone

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/reporting/archive"
	"nodrop.dev/nodrop/internal/reporting/history"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// TestHistoryFindsWhenFECWasTurnedOn makes a history of two configurations of a device: 15
// runs of the one, and then of the other. It is read from an archive, from a directory and
// from files.
func TestHistoryFindsWhenFECWasTurnedOn(t *testing.T) {
	sendsNoFrames(t)
	off, on := results(t)
	dir := t.TempDir()
	store, err := archive.Open(filepath.Join(dir, "archive"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	namespaces := []string{"6b1e3a52-4f0c-4d3b-9a53-0d7c8c1f2e10", "f2a90c1d-7a55-4c0e-8a39-1f6f0f1d9b77"}
	var files []string
	for n := range 30 {
		file := off
		if n >= 15 {
			file = on
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d, err := report.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		d.Benchmark.Namespace, d.Benchmark.NamespaceUID, d.Benchmark.Name, d.Benchmark.UID, d.TestBed = "team", namespaces[n/20], "fec", fmt.Sprintf("%03d", n), "switch"
		d.StartTime = &metav1.Time{Time: time.Date(2026, 5, 1+n, 2, 0, 0, 0, time.UTC)}
		if _, err := store.Put(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		files = append(files, filepath.Join(dir, "files", fmt.Sprintf("%03d.json", n)))
		if err := os.MkdirAll(filepath.Dir(files[n]), 0o755); err != nil {
			t.Fatal(err)
		}
		text, err = json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(files[n], text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, args := range map[string][]string{
		"archive":   {store.URL() + "/team/fec"},
		"directory": {filepath.Join(dir, "files")},
		"files":     files,
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, append([]string{"history", "-o", "json"}, args...)...)
			p.wants(exit.Passed, "", "")
			var h history.History
			if err := json.Unmarshal([]byte(p.stdout.String()), &h); err != nil {
				t.Fatal(err)
			}
			worse := 0
			for _, l := range h.Lines {
				for _, c := range l.Changes {
					if c.Run != 15 {
						t.Errorf("%v %s changed with run %d, want 15", l.RowID, l.Metric, c.Run)
					}
				}
				if l.Regressed() {
					worse++
				}
			}
			if len(h.Runs) != 30 || worse == 0 {
				t.Errorf("%d runs, %d figures became worse", len(h.Runs), worse)
			}
		})
	}
	p := start(t, "history", filepath.Join(dir, "files"))
	p.wants(exit.Passed, "History of team/fec on bed switch: 30 runs from 2026-05-01 02:00 to 2026-05-30 02:00 UTC", "")
	text := strings.Join(strings.Fields(p.stdout.String()), " ")
	for _, want := range []string{"regression", "2 namespaces with the name team, which differ in their UIDs: " + namespaces[0] + " (20 runs), " + namespaces[1] + " (10 runs)"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, p.stdout.String())
		}
	}
}

// TestHistoryUnreadable leaves out a file of a directory that cannot be read, and names it.
func TestHistoryUnreadable(t *testing.T) {
	sendsNoFrames(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "1.json")
	off, _ := results(t)
	text, err := os.ReadFile(off)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(dir, "2.json")
	if err := os.WriteFile(damaged, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, "history", dir).wants(exit.Passed, "1 result could not be read in two attempts", "")
	start(t, "history", dir, "-o", "json").wants(exit.Passed, `"name": "`+damaged+`"`, "")
	start(t, "history", file, damaged).wants(exit.Use, "", "2.json: decoding the result: unexpected EOF")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	start(t, "history", dir).wants(exit.Use, "", "no result can be read: 1 result could not be read in two attempts ("+damaged)
}

func TestHistoryRefuses(t *testing.T) {
	sendsNoFrames(t)
	empty := t.TempDir()
	start(t, "history").wants(exit.Use, "", "requires at least 1 arg")
	start(t, "history", empty).wants(exit.Use, "", "has no file with the ending .json, .yaml, .yml or .zst")
	start(t, "history", "file://"+empty).wants(exit.Use, "", "has no results")
	start(t, "history", filepath.Join(empty, "absent.json")).wants(exit.Use, "", "no such file")
	start(t, "history", empty, "-o", "csv").wants(exit.Use, "", `"csv" is not an output format: give table, json, yaml, html or pdf`)
}

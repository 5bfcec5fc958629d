package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// TestRunIncast measures the sample incast-linux over the queue that it describes, and over a large one: the goodput
// collapses over the first only.
func TestRunIncast(t *testing.T) {
	needsRoot(t)
	text, err := os.ReadFile(filepath.Join(samplesDir, "incast-linux", "benchmark.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	// Small and slow, so that a busy machine is not the limit.
	sample := strings.NewReplacer("rate: 500M", "rate: 50M", "totalSize: 1000000", "totalSize: 200000", "iterations: 20", "iterations: 5", "[1, 2, 4, 8, 16, 32]", "[1, 32]").Replace(string(text))
	for name, tc := range map[string]struct {
		buffer    string
		collapses bool
	}{"small buffer": {"32000", true}, "large buffer": {"8000000", false}} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "benchmark.yaml")
			changed := strings.Replace(sample, "bufferBytes: 32000", "bufferBytes: "+tc.buffer, 1)
			if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
				t.Fatal(err)
			}
			p := start(t, "run", "-f", file, "-o", "json")
			p.exit() // A busy machine measures without a conclusion.
			var document report.Document
			if err := json.Unmarshal([]byte(p.stdout.String()), &document); err != nil {
				t.Fatalf("%v\n%s\n%s", err, &p.stdout, &p.stderr)
			}
			rows := byMethod(t, &document, map[v1alpha1.Method]int{v1alpha1.MethodIncast: 2})[v1alpha1.MethodIncast]
			one, many := rows[0].Incast, rows[1].Incast
			if rows[0].Servers != 1 || rows[1].Servers != 32 || one.Collapsed != nil || many.Collapsed == nil {
				t.Fatalf("%s and %s, collapsed %v and %v", rows[0].Name(), rows[1].Name(), one.Collapsed, many.Collapsed)
			}
			if *many.Collapsed != tc.collapses || (many.CollapsedFrom != nil) != tc.collapses {
				t.Errorf("collapsed %v, from %v, want %v", *many.Collapsed, many.CollapsedFrom, tc.collapses)
			}
			if tc.collapses && (many.Timeouts == 0 || many.Retransmissions == 0) {
				t.Errorf("a collapse with %d timeouts and %d retransmissions", many.Timeouts, many.Retransmissions)
			}
			for _, s := range []*v1alpha1.IncastSummary{one, many} {
				if s.CongestionControl != "reno" || s.MTU != 1500 || s.Iterations != 5 || s.Bytes != 200_000 {
					t.Errorf("%+v", s)
				}
				if s.DeviceDrops == nil || (*s.DeviceDrops > 0) != (tc.collapses && s == many) && s == many {
					t.Errorf("drops of the device: %v", s.DeviceDrops)
				}
				if s.ReceivedBytes < 5*200_000 {
					t.Errorf("the client received %d bytes", s.ReceivedBytes)
				}
			}
		})
	}
}

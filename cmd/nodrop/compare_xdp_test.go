//go:build !standalone

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/measure/result"
	"nodrop.dev/nodrop/internal/reporting/compare"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/testkit/longtest"
)

// A router and a bridge are measured with real frames, and the command compares what
// the two results say.
func TestCompareRouterAndBridge(t *testing.T) {
	needsRoot(t)
	longtest.Skip(t, "TestRunLabels, which compares two results of real frames")
	const tests = `  - name: latency
    latency: {loads: [1%, 2%], trialDuration: 200ms}
`
	dir := t.TempDir()
	var files []string
	rows := make([]map[v1alpha1.Load]v1alpha1.ResultRow, 2)
	for i, device := range []struct{ name, bed string }{{"router", routedBed()}, {"bridge", bridgedBed}} {
		file := filepath.Join(dir, device.name+".json")
		benchmark := strings.Replace(benchmarkOf(tests), "metadata: {name: pattern}", "metadata: {name: "+device.name+"}", 1)
		start(t, "run", "-f", manifests(t, benchmark, withPattern(device.bed, "{pairs: {}}", "{ipv4: {}}")), "-o", "json", "--output-file", file).measures("")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		document, err := report.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		rows[i] = map[v1alpha1.Load]v1alpha1.ResultRow{}
		for _, row := range document.Rows {
			rows[i][row.Load] = row
		}
		files = append(files, file)
	}
	p := start(t, append([]string{"compare", "-o", "json"}, files...)...)
	p.wants(exit.Passed, "", "")
	var c compare.Comparison
	if err := json.Unmarshal([]byte(p.stdout.String()), &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Results) != 2 || c.Results[0].Name != "router" || !strings.HasPrefix(c.Results[0].Device, "Linux router") || !strings.HasPrefix(c.Results[1].Device, "Linux bridge") {
		t.Fatalf("results %+v", c.Results)
	}
	if len(c.Lines) != 4 {
		t.Fatalf("%d lines, want the average and the maximum latency at two loads", len(c.Lines))
	}
	for _, l := range c.Lines {
		a, b := rows[0][l.Load], rows[1][l.Load]
		// A row that lost frames, or that the tester could not offer, has no rank, and
		// leaves nothing to compare the other with.
		unranked := func(r v1alpha1.ResultRow) bool { return r.Frames.Lost > 0 || !result.Trusted(r.Validity) }
		if unranked(a) || unranked(b) {
			t.Logf("%s at %s: %+v", l.Metric, l.Load, l.Cells)
			if l.Cells[1].Difference != nil || l.Winners != nil || unranked(a) && l.Cells[0].Reason == "" || unranked(b) && l.Cells[1].Reason == "" {
				t.Errorf("%s at %s: %+v of %v, lost %d and %d, %s and %s", l.Metric, l.Load, l.Cells, l.Winners, a.Frames.Lost, b.Frames.Lost, a.Validity, b.Validity)
			}
			continue
		}
		values := [2]int64{a.Latency.AvgNs, b.Latency.AvgNs}
		if l.Metric == compare.LatencyMax {
			values = [2]int64{a.Latency.MaxNs, b.Latency.MaxNs}
		}
		var winners []string
		for i, name := range []string{"router", "bridge"} {
			if cell := l.Cells[i]; cell.Value == nil || *cell.Value != values[i] {
				t.Errorf("%s at %s of the %s: %+v, the row has %d ns", l.Metric, l.Load, name, cell, values[i])
			}
			if values[i] == min(values[0], values[1]) {
				winners = append(winners, name)
			}
		}
		if d := l.Cells[1].Difference; d == nil || *d != values[1]-values[0] {
			t.Errorf("%s at %s: difference %v of %v", l.Metric, l.Load, d, values)
		}
		if strings.Join(l.Winners, " ") != strings.Join(winners, " ") {
			t.Errorf("%s at %s: %v wins with %v, want %v", l.Metric, l.Load, l.Winners, values, winners)
		}
	}
}

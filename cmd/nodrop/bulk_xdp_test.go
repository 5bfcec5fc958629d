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

// TestRunBulk measures the sample bulk-linux with less data, over a router that sends 50 Mbit/s, and over one that sends half of it:
// all bytes arrive, and the rows and their comparison show half of the goodput.
func TestRunBulk(t *testing.T) {
	needsRoot(t)
	folder := t.TempDir()
	var results []string
	var rates [][]int64
	for _, rate := range []string{"50M", "25M"} {
		file, result := filepath.Join(folder, rate+".yaml"), filepath.Join(folder, rate+".json")
		changed := changedSample(t, "bulk-linux", "rate: 200M", "rate: "+rate, "500000000", "5000000")
		if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		p := start(t, "run", "-f", file, "-o", "json", "--output-file", result)
		p.exit() // A busy machine measures without a conclusion.
		written, err := os.ReadFile(result)
		if err != nil {
			t.Fatalf("%v\n%s", err, &p.stderr)
		}
		var document report.Document
		if err := json.Unmarshal(written, &document); err != nil {
			t.Fatal(err)
		}
		rows := byMethod(t, &document, map[v1alpha1.Method]int{v1alpha1.MethodBulk: 2})[v1alpha1.MethodBulk]
		var found []int64
		for i, row := range rows {
			s := row.Bulk
			t.Logf("%s, %s: %+v, %s %q", rate, row.Name(), s, row.Validity, row.ValidityReasons)
			if s.SentBytes != 5_000_000 || s.ReceivedBytes != 5_000_000 || s.LostConnections != 0 || len(s.ReceivedByConnection) != []int{1, 8}[i] || s.SenderCPUPPM == nil || s.ReceiverCPUPPM == nil {
				t.Errorf("%s: %+v", row.Name(), s)
			}
			found = append(found, s.GoodputBitsPerSecond)
		}
		recomputes(t, &document)
		results, rates = append(results, result), append(rates, found)
	}
	for i := range rates[0] {
		if ratio := float64(rates[1][i]) / float64(rates[0][i]); ratio < 0.45 || ratio > 0.55 {
			t.Errorf("row %d: %d and %d bit/s, a ratio of %.3f", i, rates[0][i], rates[1][i], ratio)
		}
	}
	p := start(t, "compare", "fast="+results[0], "slow="+results[1])
	p.exit()
	for _, want := range []string{"Test one-connection: goodput (more is better)", "Test many-connections: goodput (more is better)", "ratio"} {
		if !strings.Contains(p.stdout.String(), want) {
			t.Errorf("the comparison lacks %q:\n%s%s", want, &p.stdout, &p.stderr)
		}
	}
	t.Logf("%s%s", &p.stdout, &p.stderr)
}

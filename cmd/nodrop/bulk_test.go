package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/base/exit"
)

// TestCompareBulk compares the sample bulk with a bed that forwards a quarter as much of frames of 1518 bytes.
func TestCompareBulk(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(samplesDir, "bulk", "benchmark.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	result := func(name, rate string) string {
		file, result := filepath.Join(folder, name+".yaml"), filepath.Join(folder, name+".json")
		if err := os.WriteFile(file, []byte(strings.Replace(string(text), "1518,60,", "1518,"+rate+",", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		start(t, "run", "-f", file, "-o", "json", "--output-file", result).wants(exit.Passed, "", "")
		return name + "=" + result
	}
	p := start(t, "compare", result("slow", "15"), result("fast", "60"))
	p.wants(exit.Passed, "goodput (more is better)", "")
	p.ended(exit.Passed, "300.00   4.00  fast", "")
	p.ended(exit.Passed, "0.00   1.00  tie", "") // jumbo frames
}

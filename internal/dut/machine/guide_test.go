package machine

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/testkit/kubetest"
	"nodrop.dev/nodrop/internal/testkit/longtest"
)

var code = regexp.MustCompile("`([^`]+)`")

// TestGuide runs the lines of docs/guides/machine.md for each feature in one machine with the modules that it names.
func TestGuide(t *testing.T) {
	longtest.Skip(t, "TestMachine, which configures MPLS and a bond")
	text, err := os.ReadFile(filepath.Join(kubetest.Root(t), "docs", "guides", "machine.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "| feature | modules | lines of the script |\n|---|---|---|\n")
	table, _, ended := strings.Cut(table, "\n\n")
	if !found || !ended {
		t.Fatal("the guide has no table of features")
	}
	var modules, names, scripts []string
	for row := range strings.Lines(table) {
		cells := strings.Split(row, " | ")
		if len(cells) != 3 {
			t.Fatalf("row %q has %d cells", row, len(cells))
		}
		script := ""
		for _, line := range code.FindAllStringSubmatch(cells[2], -1) {
			script += line[1] + "\n"
		}
		modules = append(modules, code.FindStringSubmatch(cells[1])[1])
		names, scripts = append(names, cells[0]), append(scripts, script)
	}
	m := prepared(t, modules...)
	for i, name := range names {
		if err := m.ConfigureWith(t.Context(), scripts[i]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

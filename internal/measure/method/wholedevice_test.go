package method

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestWholeDevice keeps the list of docs/port-groups.md as it is in the methods, so that a new
// method is put into one of both lists.
func TestWholeDevice(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "port-groups.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "## Tests\n")
	listed := map[string][]string{}
	for line := range strings.Lines(rest) {
		if cells := strings.Split(line, "|"); len(cells) == 4 {
			for name := range strings.SplitSeq(cells[2], ",") {
				listed[strings.TrimSpace(cells[1])] = append(listed[strings.TrimSpace(cells[1])], strings.Trim(name, " `"))
			}
		}
	}
	for _, d := range definitions {
		kind := "allowed"
		if d.WholeDevice != "" {
			kind = d.WholeDevice
		}
		if !slices.Contains(listed[kind], d.Member) {
			t.Errorf("docs/port-groups.md does not list %s as %q", d.Member, kind)
		}
	}
}

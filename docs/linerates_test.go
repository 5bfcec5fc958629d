package docs

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestLineRates checks the table of line rates in switch-setup.md: a frame takes its own bytes and 20 bytes of preamble and gap on the
// wire (RFC 2544 appendix B).
func TestLineRates(t *testing.T) {
	text, err := os.ReadFile("switch-setup.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "<!-- line rates -->\n")
	table, _, _ = strings.Cut(table, "<!-- end -->")
	lines := strings.Split(strings.TrimSpace(table), "\n")
	number := regexp.MustCompile(`[0-9,]+`)
	numbers := func(line string) []int {
		var all []int
		for _, word := range number.FindAllString(line, -1) {
			n, err := strconv.Atoi(strings.ReplaceAll(word, ",", ""))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, n)
		}
		return all
	}
	speeds := numbers(lines[0])
	if len(lines) < 4 || len(speeds) < 2 {
		t.Fatalf("the table has %d lines and %d speeds", len(lines), len(speeds))
	}
	for _, line := range lines[2:] {
		row := numbers(line)
		for i, speed := range speeds {
			wire := 8 * (row[0] + 20)
			if want := (2*speed*1_000_000_000 + wire) / (2 * wire); row[i+1] != want {
				t.Errorf("line rate of %d bytes at %d Gbit/s is %d, want %d", row[0], speed, row[i+1], want)
			}
		}
	}
}
